"""Builds HTML from functions; everything not marked as HTML is escaped, so content stays data."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias
from urllib.parse import quote

VOID: Final = frozenset(("br", "hr", "img", "input", "link", "meta"))


class Html(str):
    """Text that already is HTML."""

    __slots__ = ()


Child: TypeAlias = "str | int | bool | Iterable[Child] | None"


def text(child: Child) -> Html:
    """Example: "<b>" -> "&lt;b&gt;"; [Html("<br>"), None, 3] -> "<br>3" """
    if child is None or isinstance(child, bool):
        return Html("")
    if isinstance(child, Html):
        return child
    if isinstance(child, (str, int)):
        return Html(escape(str(child)))
    return Html("".join(map(text, child)))


def el(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """An element. Example: el("a", "x<y", href="/", class_="big") -> '<a href="/" class="big">x&lt;y</a>'

    A trailing underscore is dropped from an attribute's name and the others become hyphens; None and False leave the
    attribute out.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        named = key.rstrip("_").replace("_", "-")
        parts.append(f" {named}" if value is True else f' {named}="{escape(str(value))}"')
    inside = ">" if name in VOID else f">{text(children)}</{name}>"
    return Html("".join(parts) + inside)


def link(label: Child, base: str, *segments: str | int, current: bool = False, class_: str | None = None) -> Html:
    """A link to a page. Example: link("One", "/brim", "sessions", "a/b") -> '<a href="/brim/sessions/a%2Fb">One</a>'"""
    return el("a", label, href=address(base, *segments), aria_current="page" if current else None, class_=class_)


def address(base: str, *segments: str | int) -> str:
    """Example: address("/brim", "sessions", "a/b") -> "/brim/sessions/a%2Fb" """
    return f"{base}/{'/'.join(quote(str(segment), safe=':') for segment in segments)}"


def table(
    caption: str, heads: Iterable[Child], rows: Iterable[Html], id: str | None = None, class_: str | None = None
) -> Html:
    """A table with a caption; if it is too wide, it scrolls sideways, also by keyboard."""
    head = el("thead", el("tr", [part if isinstance(part, Html) else el("th", part, scope="col") for part in heads]))
    made = el("table", el("caption", caption), head, el("tbody", list(rows), id=id), class_=class_)
    return el("div", made, class_="scroll", tabindex="0", role="group", aria_label=caption)


def number(content: Child, **attributes: str | None) -> Html:
    """A cell with a number."""
    return el("td", content, class_="n", **attributes)


def numbers(*names: str) -> list[Html]:
    """Headers of number columns."""
    return [el("th", name, scope="col", class_="n") for name in names]
