"""Pages as they are opened in the tests: with everything that goes wrong in them noted."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import Browser, Page

Scheme = Literal["light", "dark"]
SIZES = {1280: 800, 390: 844}


def opened(browser: Browser, address: str, width: int = 1280, scheme: Scheme = "light") -> tuple[Page, list[str]]:
    """A page, and the list that its errors are added to."""
    page = browser.new_page(viewport={"width": width, "height": SIZES[width]}, color_scheme=scheme)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(address)
    return page, problems
