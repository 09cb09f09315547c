"""Every page in a real browser: no errors, no sideways scrolling, keyboard use, the slider and the live numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.sample import HOSTILE, Sample

SESSION = "/sessions/claude-code.3fa91c02"
PATHS = {
    "live": "/",
    "sessions": "/sessions",
    "session": SESSION,
    "turn": f"{SESSION}/turns/24",
    "models": "/models",
    "settings": "/settings",
}
SIZES = {1280: 800, 390: 844}


def opened(browser: Browser, address: str, width: int = 1280, scheme: Literal["light", "dark"] = "light") -> Page:
    page = browser.new_page(viewport={"width": width, "height": SIZES[width]}, color_scheme=scheme)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(address)
    assert problems == []
    return page


@pytest.fixture
def turn(browser: Browser, url: str) -> Iterator[Page]:
    page = opened(browser, f"{url}{PATHS['turn']}")
    yield page
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", PATHS)
def test_a_page_fits_its_width_and_obeys_its_policy(
    browser: Browser, url: str, pictures: Path, name: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = opened(browser, f"{url}{PATHS[name]}", width, scheme)
    page.screenshot(path=pictures / f"{name}-{width}-{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(background[4:].split(",")[0]) < 128) == (scheme == "dark")
    page.close()


def test_content_with_a_script_is_text(browser: Browser, url: str) -> None:
    page = browser.new_page()
    page.on("dialog", lambda dialog: pytest.fail("a script in the content ran"))
    page.goto(f"{url}{PATHS['turn']}")
    assert HOSTILE in page.inner_text("#plan")
    page.close()


def test_the_slider_plans_again_and_tells_it(turn: Page) -> None:
    slider = turn.get_by_role("slider", name="Budget in tokens")
    expect(slider).to_be_visible()
    before = turn.inner_text("#plan h3 >> nth=0")
    slider.focus()
    for _ in range(30):
        turn.keyboard.press("ArrowLeft")
    expect(turn.locator("#plan h3").first).to_contain_text("Tried at")
    assert before == "As sent"
    expect(turn.locator("#told")).to_contain_text("Tried at")
    assert "budget=" in turn.url


def test_a_budget_that_is_too_small_is_said_in_words(turn: Page) -> None:
    turn.get_by_label("Budget in tokens").first.fill("40")
    expect(turn.get_by_role("alert")).to_contain_text("What must stay needs")


def test_the_first_tab_stop_leads_to_the_content(turn: Page) -> None:
    turn.keyboard.press("Tab")
    assert turn.evaluate("document.activeElement.textContent") == "Skip to the content"
    turn.keyboard.press("Enter")
    assert turn.evaluate("document.activeElement.id") == "main"


def test_live_numbers_renew_until_they_are_paused(browser: Browser, url: str, sample: Sample) -> None:
    page = opened(browser, f"{url}/")
    figure = page.locator("[data-live=requests]")
    known = int(figure.inner_text())
    added: list[dict[str, Any]] = [{**sample.last[-1], "number": 1}]
    sample.last += added
    try:
        expect(figure).to_have_text(str(known + 1), timeout=10_000)
        expect(page.locator("#sentence")).to_contain_text(f"{known + 1} requests", timeout=100)
        page.get_by_role("button", name="Pause updates").click()
        expect(page.get_by_role("button", name="Pause updates")).to_have_attribute("aria-pressed", "true")
        with page.expect_request("**/live.json", timeout=10_000):
            page.get_by_role("button", name="Pause updates").click()
    finally:
        sample.last.pop()
        page.close()


def test_pages_work_without_scripts(browser: Browser, url: str) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{url}{PATHS['turn']}")
    page.get_by_label("Budget in tokens").first.fill("3000")
    page.get_by_role("button", name="Plan at this budget").click()
    expect(page.locator("#plan h3").first).to_contain_text("Tried at 3,000 tokens")
    page.close()
