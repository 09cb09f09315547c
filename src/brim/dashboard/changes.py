"""Messages before and after, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brim.dashboard import diff, words
from brim.dashboard.data import Values
from brim.dashboard.html import Child, Html, el
from brim.dashboard.page import Place

# A page holds so many lines of content; further changes are told by their sizes.
MOST_LINES = 2_500
SIGNS = {"same": "same", "changed": "changed", "removed": "left out", "added": "put in"}


def render(before: Sequence[Values] | None, after: Sequence[Values] | None, place: Place) -> Html:
    """The messages that differ; runs of those that do not are one row."""
    if before is None or after is None:
        return el("p", "The messages of this turn are not held any more.")
    pairs = diff.pairs(before, after)
    if all(pair.status == "same" for pair in pairs):
        return el("p", f"Nothing differs: {words.plural(len(pairs), 'message')} passed as they came.")
    rows = list(_rows(pairs, place.content))
    caption = f"{words.plural(len(before), 'message')} as they came, {len(after):,} as sent"
    head = el("thead", el("tr", el("th", "Before", scope="col"), el("th", "After", scope="col")))
    return el("table", el("caption", caption), head, el("tbody", rows), class_="diff")


def _rows(pairs: Sequence[diff.Pair], content: bool) -> Iterator[Html]:
    left, run = MOST_LINES, 0
    for pair in pairs:
        if pair.status == "same":
            run += 1
            continue
        if run:
            yield _gap(f"{words.plural(run, 'message')} the same")
            run = 0
        yield _heads(pair)
        if not content or left <= 0:
            continue
        for line in diff.lines(_text(pair.before), _text(pair.after), min(left, diff.MOST_LINES)):
            left -= 1
            yield _gap(f"… {line.left}") if line.status == "gap" else _line(line)
    if run:
        yield _gap(f"{words.plural(run, 'message')} the same")


def _text(message: Values | None) -> str:
    return str(message.get("text", "")) if message else ""


def _gap(told: str) -> Html:
    return el("tr", el("td", told, colspan=2), class_="gap")


def _heads(pair: diff.Pair) -> Html:
    word = SIGNS[pair.status]
    return el(
        "tr",
        el("th", _head(pair.before, f"{pair.at + 1} · ", word if pair.after is None else "")),
        el("th", _head(pair.after, "", word)),
        class_="message",
    )


def _head(message: Values | None, place: str, word: str) -> Child:
    if message is None:
        return "–"
    size = message.get("characters", len(message.get("text", "")))
    facts = [f"{place}{message['role']}", word, words.plural(size, "character")]
    facts += [f"calls {', '.join(message['calls'])}"] if message.get("calls") else []
    facts += [f"answers {', '.join(message['answers'])}"] if message.get("answers") else []
    return [" · ".join(filter(None, facts)), " ", el("code", message["digest"])]


def _line(line: diff.Line) -> Html:
    old = line.status in ("changed", "removed")
    new = line.status in ("changed", "added")
    left: Child = el("del", line.left) if old else line.left
    right: Child = el("ins", line.right) if new else line.right
    return el(
        "tr",
        el("td", left, dir="auto", class_="out" if old else None),
        el("td", right, dir="auto", class_="in" if new else None),
    )
