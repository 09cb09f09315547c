"""The frame of every page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import brim
from brim.dashboard.html import Child, Html, el, link

HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # With "no-referrer", browsers would send forms without their origin.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
PAGES: Final = (
    ("Home", ""),
    ("Sessions", "sessions"),
    ("Models", "models"),
    ("Settings", "settings"),
    ("Glossary", "glossary"),
)


@dataclass(frozen=True, slots=True)
class NavigationPlace:
    """Where the dashboard is mounted, the version of its static files, and whether content may be shown.

    `origin` is the address that the visitor used, for the commands that connect a client.
    """

    base: str
    stamp: str
    content: bool = False
    origin: str = ""


def page(place: NavigationPlace, title: str, *body: Child, section: str = "", refresh: int = 0, live: str = "") -> str:
    """A whole page. `refresh` is in seconds, for browsers without scripts; the script updates it from `live`."""
    head = [
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{title} · Brim"),
        el("link", rel="icon", href=f"{place.base}/static/brim.svg?{place.stamp}"),
        el("link", rel="stylesheet", href=f"{place.base}/static/brim.css?{place.stamp}"),
        el("script", src=f"{place.base}/static/brim.js?{place.stamp}", defer=True),
    ]
    if refresh:
        head.append(el("noscript", el("meta", http_equiv="refresh", content=refresh)))
    content = [
        el("a", "Skip to the content", href="#main", class_="skip"),
        el("header", el("div", el("a", "Brim", href=f"{place.base}/", class_="brand"), _navigation(place, section))),
        el("main", body, id="main", tabindex="-1", data_live=live or None),
        el("footer", el("p", f"Brim {brim.__version__}. {_note(place)}")),
    ]
    return f"<!doctype html>\n{el('html', el('head', head), el('body', content), lang='en')}\n"


def _navigation(place: NavigationPlace, section: str) -> Html:
    items = [el("li", link(name, place.base, path, current=path == section)) for name, path in PAGES]
    return el("nav", el("ul", items), aria_label="Pages")


def _note(place: NavigationPlace) -> str:
    if place.content:
        return "Content is shown (gateway.log_content is on); what the redaction rules match is masked."
    return "Content is not shown: digests, sizes and reasons only."


def hidden_note() -> Html:
    """A note on how to show content, for places that would show it."""
    return el(
        "p",
        "Content is not shown here; digests, sizes and reasons are. To see texts, set ",
        el("code", "log_content = true"),
        " under ",
        el("code", "[gateway]"),
        " in brim.toml, or ",
        el("code", "BRIM_GATEWAY_LOG_CONTENT=true"),
        " in the environment, and restart; ",
        el("code", "redact"),
        " holds patterns of what is masked.",
        class_="note",
    )


def figure(label: Child, value: Child, note: Child = None, key: str | None = None, class_: str | None = None) -> Html:
    """A labelled number with a remark; `key` identifies it for the script."""
    remark = el("dd", el("span", note, data_live=key and f"{key}_note"), class_="remark")
    return el(
        "div",
        el("dt", label),
        el("dd", el("span", value, class_="value", data_live=key), class_=class_),
        None if note is None else remark,
    )


def figures(*made: Html) -> Html:
    return el("dl", made, class_="figures")
