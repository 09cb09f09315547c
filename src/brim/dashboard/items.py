"""The items of a request, with their sizes, form and reason, and their texts when opened."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from brim.dashboard import contextmap, diff, words
from brim.dashboard.changes import lines_table
from brim.dashboard.contextmap import Block, Map
from brim.dashboard.data import ViewValues
from brim.dashboard.html import Child, Html, address, el, link, number, numbers, table
from brim.dashboard.page import NavigationPlace, hidden_note

MOST_ITEMS = 1_000
FORMS = {
    "full": "full",
    "dense": "dense",
    "outline": "outline",
    "line": "one line",
    "archived": "archived",
    "dropped": "dropped",
    "summary": "summary",
    "recalled": "recalled",
}
# Ordered by how much an item was changed.
_ORDER = ("full", "dense", "outline", "line", "summary", "archived", "dropped")
_PLACE = re.compile(r"^\w+\[(\d+)\]")
ADDED = {
    "recalled": "archived content that the current message asks about",
    "summary": "stands for the messages that were archived",
}


def decided(report: ViewValues) -> dict[int, list[ViewValues]]:
    """The decisions of a plan by message; -1 is the system field."""
    found: dict[int, list[ViewValues]] = {}
    for decision in report["decisions"]:
        match = _PLACE.match(decision["item"])
        found.setdefault(int(match[1]) if match else -1, []).append(decision)
    return found


def told(block: Block, decisions: Mapping[int, Sequence[ViewValues]]) -> tuple[str, str, str]:
    """The form of a message, the reason, and the handle of its original."""
    if block.pair.before is None:
        return block.category, ADDED.get(block.category, "put in by Brim"), ""
    its = decisions.get(block.pair.before.get("at", block.pair.at), ())
    if not its:
        same = block.pair.status == "same"
        return ("full", "sent as it came", "") if same else ("outline", "shortened in an earlier turn", "")
    worst = max(its, key=lambda decision: _ORDER.index(decision["form"]) if decision["form"] in _ORDER else 0)
    return worst["form"], worst["reason"], worst.get("handle", "")


def listed(found: Map, report: ViewValues, place: NavigationPlace, turn: ViewValues, query: str) -> Html:
    """All items, with the changed ones highlighted; each opens to show its texts."""
    decisions = decided(report)
    blocks = found.blocks[-MOST_ITEMS:]
    changed = sum(block.pair.status != "same" for block in found.blocks)
    head = f"{words.plural(len(found.blocks), 'item')}, {changed:,} of them changed. Open one to see its text and why"
    if len(blocks) < len(found.blocks):
        head += f"; the last {len(blocks):,} are listed"
    rows = [_item(block, decisions, place, turn, query) for block in blocks]
    box = el("input", type="checkbox", id="only-changed")
    only = el("p", box, el("label", " Show only what changed", for_="only-changed")) if changed else None
    return el("div", el("p", head, ".", class_="note"), only, rows, class_="items")


def _item(
    block: Block, decisions: Mapping[int, Sequence[ViewValues]], place: NavigationPlace, turn: ViewValues, query: str
) -> Html:
    form, why, handle = told(block, decisions)
    message = block.pair.before or block.pair.after or {}
    peek = " ".join(str(message.get("text", ""))[:200].split())[:110]
    here = address(place.base, "sessions", turn["session"], "turns", turn["number"], "items", block.key)
    where = f"{here}?fragment=1{'&' + query if query else ''}"
    return el(
        "details",
        el(
            "summary",
            el("span", class_=f"swatch k-{block.category}"),
            el("span", contextmap.name_of(block)),
            el("span", el("bdi", peek), class_="peek"),
            el("span", words.before_after(block.before, block.after), class_="n"),
            el("span", FORMS.get(form, form), class_=f"form {form}"),
        ),
        el(
            "div",
            el("p", el("b", "Why: "), why, ".", _original(handle, place, turn["session"])),
            el(
                "div",
                link("Its text, as it came and as it was sent", place.base, *_segments(turn, block)),
                data_load=where,
            )
            if place.content
            else el("p", _sizes(block), class_="note"),
        ),
        id=block.key,
        class_="item same" if block.pair.status == "same" else "item",
    )


def _segments(turn: ViewValues, block: Block) -> tuple[str | int, ...]:
    return ("sessions", turn["session"], "turns", turn["number"], "items", block.key)


def _original(handle: str, place: NavigationPlace, session: str) -> list[Child]:
    if not handle:
        return []
    shown: Child = el("code", handle)
    if place.content:
        shown = link(shown, place.base, "sessions", session, "archive", handle)
    return [" Its original is kept as ", shown, "."]


def _sizes(block: Block) -> str:
    sizes = [one["characters"] for one in (block.pair.before, block.pair.after) if one and "characters" in one]
    digests = [one["digest"] for one in (block.pair.before, block.pair.after) if one]
    return " → ".join(f"{size:,}" for size in sizes) + f" characters, {' → '.join(dict.fromkeys(digests))}"


def table_of(report: ViewValues, place: NavigationPlace, turn: ViewValues) -> Html:
    """The items without their messages: only sizes, forms and reasons."""
    shown = report["decisions"][:MOST_ITEMS]
    if not shown:
        return el("p", "The request was sent as it came.")
    rows = [
        el(
            "tr",
            el("th", decision["item"], el("small", f"{decision['role']}, {decision['kind']}"), scope="row"),
            number(words.before_after(decision["before"], decision["after"])),
            el(
                "td",
                el("span", FORMS.get(decision["form"], decision["form"]), class_=f"form {decision['form']}"),
                f" {decision['reason']}.",
                _original(decision.get("handle", ""), place, turn["session"]),
            ),
        )
        for decision in shown
    ]
    return table(words.plural(len(report["decisions"]), "item"), ["Item", *numbers("Tokens"), "Form and reason"], rows)


def texts(block: Block, place: NavigationPlace) -> Html:
    """An item's original text, and what was sent of it."""
    if not place.content:
        return el("div", hidden_note())
    before, after = block.pair.before, block.pair.after
    if block.pair.status == "same" and before is not None:
        return el("div", el("p", "Sent as it came:", class_="note"), _text(before))
    if before is None or after is None:
        label = "Not sent. It said:" if after is None else "Put in by Brim:"
        return el("div", el("p", label, class_="note"), _text(before or after or {}))
    made = diff.lines(str(before.get("text", "")), str(after.get("text", "")), diff.MOST_LINES)
    return el("div", lines_table(made))


def _text(message: ViewValues) -> Html:
    return el("pre", message.get("text", ""), dir="auto", tabindex="0")
