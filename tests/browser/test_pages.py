"""Every page in a real browser: no errors, no sideways scrolling, no broken accessibility rule, and every action."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.sample import HOSTILE, Sample

from . import looks
from .conftest import served
from .opening import SIZES, Scheme, opened

SESSION = "/sessions/claude-code.3fa91c02"
TURN = f"{SESSION}/turns/24"
PATHS = {
    "home": "/",
    "week": "/?span=7d&model=gpt-4o",
    "sessions": "/sessions",
    "nobody": "/sessions?query=nobody",
    "session": SESSION,
    "turn": TURN,
    "tried": f"{TURN}?budget=4000&policy=rolling",
    "refused": f"{TURN}?budget=4",
    "missing": f"{TURN}?why=builds",
    "item": f"{TURN}/items/item-3",
    "first": f"{SESSION}/turns/1",
    "archive": f"{SESSION}/archive/brim:5ca1ab1e",
    "models": "/models",
    "settings": "/settings",
    "glossary": "/glossary",
    "nowhere": "/nowhere",
}
ANSWERED_WITH_ERROR = {"refused", "nowhere"}
AXE = "axe.run().then(found => found.violations.map(one => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`))"


@pytest.fixture
def turn(browser: Browser, url: str) -> Iterator[Page]:
    page, problems = opened(browser, f"{url}{TURN}")
    yield page
    page.close()
    assert problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", PATHS)
def test_a_page_fits_its_width_obeys_its_policy_and_breaks_no_rule_of_accessibility(
    browser: Browser, url: str, pictures: Path, axe: str, name: str, width: int, scheme: Scheme
) -> None:
    page, problems = opened(browser, f"{url}{PATHS[name]}", width, scheme)
    page.screenshot(path=pictures / f"{name}-{width}-{scheme}.png", full_page=True)
    assert looks.changed(f"{name}-{width}-{scheme}", looks.sketch(browser, page)) == ""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(background[4:].split(",")[0]) < 128) == (scheme == "dark")
    page.evaluate(axe)
    assert page.evaluate(AXE) == []
    page.close()
    told = [problem for problem in problems if "status of 4" not in problem or name not in ANSWERED_WITH_ERROR]
    assert told == []


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("path", ["/", "/sessions", "/models"])
def test_a_page_without_any_request_is_whole_and_tells_how_to_connect(
    browser: Browser, empty: str, axe: str, width: int, path: str
) -> None:
    page, problems = opened(browser, f"{empty}{path}", width)
    if path != "/models":
        expect(page.locator("#connect")).to_contain_text(f"OPENAI_BASE_URL={empty.removesuffix('/brim')}/v1")
        expect(page.get_by_role("button", name="Copy").first).to_be_visible()
    page.evaluate(axe)
    assert page.evaluate(AXE) == []
    assert problems == []
    page.close()


def test_every_link_of_the_demo_leads_to_a_page_that_breaks_no_rule(browser: Browser, demo: str, axe: str) -> None:
    page, problems = opened(browser, f"{demo}/")
    waiting, seen = ["/"], set()
    while waiting:
        path = waiting.pop(0)
        # One item, turn and original stand for all of their kind.
        kind = re.sub(r"\d+", "N", re.sub(r"brim:\w+", "brim:X", path))
        if kind in seen:
            continue
        seen.add(kind)
        page.goto(f"{demo}{path}")
        page.evaluate(axe)
        assert (path, page.evaluate(AXE)) == (path, [])
        links = page.eval_on_selector_all("a[href^='/brim/']", "all => all.map(one => one.getAttribute('href'))")
        waiting += [link.removeprefix("/brim").partition("#")[0] for link in links]
    assert problems == []
    assert len(seen) > 8
    page.close()


def test_the_demo_shows_where_an_answer_came_from_and_why_a_line_was_left_out(browser: Browser, demo: str) -> None:
    page, problems = opened(browser, f"{demo}/")
    expect(page.locator("#sentence")).to_contain_text("inside their models' windows and saved $")
    page.locator("#moments li", has_text="Recall").last.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Where the answer came from")).to_be_visible()
    expect(page.locator(".quote").first).to_contain_text("(code 4211)")
    page.get_by_label("Why is this missing?").fill("settled batch 219")
    page.get_by_role("button", name="Find it").click()
    expect(page.locator("#missing")).to_contain_text(re.compile("It was sent|It came, and was not sent|not missing"))
    assert problems == []
    page.close()


def test_content_with_a_script_is_text(browser: Browser, url: str) -> None:
    page = browser.new_page()
    page.on("dialog", lambda dialog: pytest.fail("a script in the content ran"))
    page.goto(f"{url}{TURN}?why=script")
    page.goto(f"{url}{SESSION}")
    assert HOSTILE in page.inner_text("#main")
    page.close()


def test_a_block_of_the_map_opens_its_message(turn: Page) -> None:
    turn.locator(".strip a").nth(3).click()
    item = turn.locator("details.item[open]")
    expect(item).to_have_count(1)
    expect(item.locator("pre, table.diff").first).to_be_visible()
    assert turn.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_unchanged_items_can_be_hidden_and_a_block_brings_its_message_back(turn: Page) -> None:
    same = turn.locator("details.item.same").first
    expect(same).to_be_visible()
    turn.get_by_label("Show only what changed").check()
    expect(same).to_be_hidden()
    expect(turn.locator("details.item:not(.same)").first).to_be_visible()
    turn.evaluate("location.hash = document.querySelector('details.item.same').id")
    expect(same).to_be_visible()


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


def test_a_policy_is_tried_by_choosing_it(turn: Page) -> None:
    turn.get_by_label("Policy").select_option("rolling")
    expect(turn.locator("#told-plan")).to_contain_text("Policy: rolling")
    turn.locator(".item").nth(2).click()
    expect(turn.locator(".item[open] pre, .item[open] table").first).to_be_visible()


def test_a_budget_that_is_too_small_is_said_in_words(browser: Browser, url: str) -> None:
    page, _ = opened(browser, f"{url}{TURN}")
    page.get_by_label("Budget in tokens").first.fill("40")
    expect(page.get_by_role("alert")).to_contain_text("What must stay needs")
    page.close()


def test_the_first_tab_stop_leads_to_the_content(turn: Page) -> None:
    turn.keyboard.press("Tab")
    assert turn.evaluate("document.activeElement.textContent") == "Skip to the content"
    turn.keyboard.press("Enter")
    assert turn.evaluate("document.activeElement.id") == "main"


def test_a_filter_is_applied_by_choosing_it(browser: Browser, url: str, sample: Sample) -> None:
    page, problems = opened(browser, f"{url}/")
    page.get_by_role("combobox", name="Model").select_option("gpt-4o")
    page.wait_for_url("**model=gpt-4o*")
    mine = sum(row["model"] == "gpt-4o" for row in sample.last)
    expect(page.locator("#sentence")).to_contain_text(f"{mine} requests")
    page.get_by_role("combobox", name="Time").select_option("7d")
    page.wait_for_url("**span=7d*")
    expect(page.locator("#sentence")).to_contain_text("In the last 7 days")
    assert problems == []
    page.close()


def test_a_word_is_explained_by_keyboard(browser: Browser, url: str) -> None:
    page, _ = opened(browser, f"{url}/")
    page.keyboard.press("Tab")
    word = page.get_by_role("link", name="Cache hits")
    word.focus()
    assert "prompt cache" in word.evaluate("element => getComputedStyle(element, '::after').content")
    word.press("Enter")
    page.wait_for_url("**/glossary#cache-hits")
    page.close()


def test_live_numbers_renew_until_they_are_paused(browser: Browser, url: str, sample: Sample) -> None:
    page, problems = opened(browser, f"{url}/")
    known = len(sample.last)
    expect(page.locator("#sentence")).to_contain_text(f"{known} requests")
    added: list[dict[str, Any]] = [{**sample.last[-1], "number": 1}]
    sample.last += added
    try:
        expect(page.locator("#sentence")).to_contain_text(f"{known + 1} requests", timeout=10_000)
        page.get_by_role("button", name="Pause updates").click()
        expect(page.get_by_role("button", name="Pause updates")).to_have_attribute("aria-pressed", "true")
        with page.expect_request("**/live.json*", timeout=10_000):
            page.get_by_role("button", name="Pause updates").click()
    finally:
        sample.last.pop()
        page.close()
    assert problems == []


def test_a_gateway_that_does_not_answer_is_told(browser: Browser, url: str) -> None:
    page, _ = opened(browser, f"{url}/")
    page.route("**/live.json*", lambda route: route.abort())
    expect(page.locator("#sentence")).to_contain_text("The gateway does not answer", timeout=10_000)
    page.close()


def test_pages_work_without_scripts(browser: Browser, url: str) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{url}{TURN}")
    page.get_by_label("Budget in tokens").first.fill("3000")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#plan h3").first).to_contain_text("Tried at 3,000 tokens")
    page.locator(".item").first.click()
    page.get_by_role("link", name="Its text, as it came").first.click()
    expect(page.locator("h1")).to_contain_text("Message 1")
    page.goto(f"{url}/?span=1h")
    page.get_by_role("combobox", name="Model").select_option("gpt-4o")
    page.get_by_role("button", name="Show").click()
    assert "model=gpt-4o" in page.url
    page.close()


def test_a_printed_page_has_its_content_and_no_controls(browser: Browser, url: str) -> None:
    page, _ = opened(browser, f"{url}{TURN}")
    page.emulate_media(media="print")
    expect(page.locator("#try-budget")).to_be_hidden()
    expect(page.locator(".cells").first).to_be_visible()
    page.close()


def test_a_setting_is_changed_by_its_form(browser: Browser) -> None:
    with served(Sample(turns=2)) as url:
        page, problems = opened(browser, f"{url}/settings")
        page.get_by_text("rolling", exact=True).click()
        page.get_by_label("Recent messages to keep").first.fill("8")
        page.get_by_role("button", name="Switch to rolling").click()
        expect(page.get_by_role("status")).to_contain_text("policy.recent_messages_to_keep = 8")
        expect(page.get_by_text("rolling (in force)")).to_be_visible()
        page.close()
    assert problems == []
