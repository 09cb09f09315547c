"""Requests as table rows: received, sent, and the outcome."""

from __future__ import annotations

from collections.abc import Sequence

from brim.dashboard import words
from brim.dashboard.data import ViewValues
from brim.dashboard.html import Html, el, link, number, numbers, table
from brim.dashboard.page import NavigationPlace

OUTCOMES = {
    "done": "done",
    "running": "running",
    "refused": "refused",
    "failed": "failed",
    "gone": "client left",
    "incomplete": "incomplete",
}


def listed(turns: Sequence[ViewValues], place: NavigationPlace) -> Html:
    """The last requests as a table."""
    heads = ["Session and turn", *numbers("Tokens"), "Window and outcome"]
    empty = el("tr", el("td", "No request has come yet.", colspan=3))
    return table("The last requests, newest first", heads, [_row(turn, place) for turn in turns] or [empty])


def _row(turn: ViewValues, place: NavigationPlace) -> Html:
    where = ("sessions", turn["session"], "turns", turn["number"])
    name = el("bdi", f"{words.brief(turn['session'])} · {turn['number']}")
    about = el("small", words.moment(turn["at"]), " · ", el("bdi", turn["model"] or words.api(turn["api"])))
    counted = bool(turn["limit"] or turn["tokens_before"])
    return el(
        "tr",
        el("th", link(name, place.base, *where) if turn["session"] else "no session", about, scope="row"),
        number(words.before_after(turn["tokens_before"], turn["tokens_after"]) if counted else words.UNKNOWN),
        el(
            "td",
            words.meter(turn["used"], turn["level"]) if turn["limit"] else "window not known" if counted else None,
            [" ", el("span", "overflow avoided", class_="badge")] if turn["would_have_overflowed"] else None,
            None if fine(turn) else [" ", outcome(turn)],
        ),
    )


def fine(turn: ViewValues) -> bool:
    """Whether a request ended, or continues, normally."""
    return turn["outcome"] == "done" and int(turn["status"]) < 400


def outcome(turn: ViewValues) -> Html:
    """The outcome of a request in words."""
    word = OUTCOMES.get(turn["outcome"], turn["outcome"])
    if turn["outcome"] == "done" and not fine(turn):
        word = "answered with an error:"
    if fine(turn) or turn["outcome"] == "running":
        return el("span", word)
    return el("span", f"{word} {turn['status'] or ''}".strip(), class_="critical", title=turn["note"] or None)
