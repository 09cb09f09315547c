"""Messages before and after, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brim.dashboard import diff, words
from brim.dashboard.data import ViewValues
from brim.dashboard.html import Child, Html, el
from brim.dashboard.page import NavigationPlace

# A page holds so many lines of content; further changes are told by their sizes.
MOST_LINES = 2_500
# The first changes can be read at once, the others are opened by the reader.
OPEN = 2
SIGNS = {"same": "the same", "changed": "changed", "removed": "left out", "added": "put in"}


def render(before: Sequence[ViewValues] | None, after: Sequence[ViewValues] | None, place: NavigationPlace) -> Html:
    """The messages that differ; runs of those that do not are one line."""
    if before is None or after is None:
        return el("p", "The messages of this turn are not held any more.")
    pairs = diff.pairs(before, after)
    if all(pair.status == "same" for pair in pairs):
        return el("p", f"Nothing differs: {words.plural(len(pairs), 'message')} passed as they came.")
    told = f"{words.plural(len(before), 'message')} as they came, {len(after):,} as sent."
    return el("div", el("p", told), list(_changes(pairs, place.content)))


def _changes(pairs: Sequence[diff.Pair], content: bool) -> Iterator[Html]:
    left, run, shown = MOST_LINES, 0, 0
    for pair in pairs:
        if pair.status == "same":
            run += 1
            continue
        if run:
            yield _same(run)
            run = 0
        lines = diff.lines(_text(pair.before), _text(pair.after), diff.MOST_LINES) if content and left > 0 else []
        left -= len(lines)
        yield _change(pair, lines, opened=shown < OPEN)
        shown += 1
    if run:
        yield _same(run)


def _same(run: int) -> Html:
    return el("p", f"{words.plural(run, 'message')} the same", class_="note")


def _text(message: ViewValues | None) -> str:
    return str(message.get("text", "")) if message else ""


def _change(pair: diff.Pair, lines: Sequence[diff.DiffLine], opened: bool) -> Html:
    title = _title(pair)
    if not lines:
        return el("div", el("p", title), class_="change")
    heads = el("thead", el("tr", el("th", "Before", scope="col"), el("th", "After", scope="col"), role="row"))
    # The roles keep this a table where a narrow screen stacks its cells.
    caption = el("caption", "Lines before and after", class_="visually-hidden")
    made = el(
        "table", caption, heads, el("tbody", list(map(_line, lines)), role="rowgroup"), class_="diff", role="table"
    )
    return el("details", el("summary", title), made, class_="change", open=opened)


def _title(pair: diff.Pair) -> list[Child]:
    """Example: "Message 7 · tool · changed · 1,651 → 812 characters · answers call_7" and the digests."""
    message = pair.after or pair.before or {}
    where = f"Message {pair.at + 1}" if pair.before else f"Before message {pair.at + 1}"
    facts = [where, str(message.get("role", "")), SIGNS[pair.status], _sizes(pair)]
    for name in ("calls", "answers"):
        if message.get(name):
            facts.append(f"{name} {', '.join(message[name])}")
    digests = [one["digest"] for one in (pair.before, pair.after) if one is not None]
    return [" · ".join(facts), " ", el("code", " → ".join(digests), class_="note")]


def _sizes(pair: diff.Pair) -> str:
    sizes = [_characters(one) for one in (pair.before, pair.after) if one is not None]
    return " → ".join(f"{size:,}" for size in sizes) + " characters"


def _characters(message: ViewValues) -> int:
    return int(message.get("characters", len(_text(message))))


def _line(line: diff.DiffLine) -> Html:
    if line.status == "gap":
        return el("tr", el("td", f"… {line.left}", colspan=2, role="cell"), class_="gap", role="row")
    old = line.status in ("changed", "removed")
    new = line.status in ("changed", "added")
    left: Child = el("del", line.left) if old else line.left
    right: Child = el("ins", line.right) if new else line.right
    return el(
        "tr",
        el("td", left, dir="auto", class_="out" if old else None, role="cell"),
        el("td", right, dir="auto", class_="in" if new else "unchanged" if not old else None, role="cell"),
        role="row",
    )
