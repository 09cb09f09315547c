"""Lists of records in plain text, such as search results, tool lists and changelogs. Every record keeps its first line.

    20 records, 104 lines [… 61 lines, recall brim:3f2a9c01]
    1. Attention Is All You Need
       ID: 1706.03762
    2. …

Next come short lines that most records have, one label at a time, then whatever else fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from brim.content import plain_text
from brim.content.selection import fits, lines, plural
from brim.content.types import Room
from brim.relevance import query_match

_START = re.compile(r"(\s*)(?:(\d{1,5})[.)] |([-*•]) )(?:[\w \"'-]{1,40}: )?\S")
_LABEL = re.compile(
    r"\s*(?:[-*•] )?(?:\d{1,5}[.)] )?(?:\*\*)?([^\W\d][\w .()/-]{0,30}?)(?:\*\*)?\s*[:：](?:\*\*)?(?=\s|$)"
)
# A label whose lines are longer than this on average has prose.
_SHORT = 80
# A label is common if at least this share of the records have it.
_COMMON = 0.5
_LEAST = 3
# In fewer tokens than this, a first line with all counts would take a third of the room.
_BRIEF = 60
_ROUNDS = 5
# A line of a text is shown with all lines before it; further inside than this, it is not shown in an extract.
_CHAIN = 40
_TAIL = 0.2
_LARGEST = 4_000_000
# Characters to check for a list; reading every line of a megabyte takes as long as counting its tokens.
_LOOKED_AT = 100_000


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """One record: its lines [first, end)."""

    first: int
    end: int


def entries(pieces: Sequence[str]) -> list[RecordEntry]:
    """The records of a list; none unless the text is mostly one."""
    for starts in (_marked(pieces), _labelled(pieces)):
        if len(starts) >= _LEAST and 2 * starts[0] <= len(pieces):
            ends = [*starts[1:], len(pieces)]
            found = [RecordEntry(first, end) for first, end in zip(starts, ends, strict=True)]
            # Single-line records are a plain list, and a few lines don't turn the pages between them into records.
            several = sum(1 for one in found if one.end - one.first > 1)
            middle = sorted(one.end - one.first for one in found)[len(found) // 2]
            if 2 * several > len(found) and max(one.end - one.first for one in found) <= 12 * middle:
                return found
    return []


def is_record_list(text: str) -> bool:
    """Example: "1. Title\\n   ID: 7\\n\\n2. Title\\n   ID: 8\\n…" -> True"""
    return len(text) <= _LARGEST and bool(entries(lines(text[:_LOOKED_AT])))


def _marked(pieces: Sequence[str]) -> list[int]:
    """Lines that begin with an increasing number, or with a dash and a label, at the same indentation."""
    numbered: list[int] = []
    dashed: dict[str, list[int]] = {}
    due = 1
    for row, line in enumerate(pieces):
        match = _START.match(line)
        if match is None:
            continue
        if match[2]:
            if int(match[2]) == due or (not numbered and int(match[2]) < 3):
                numbered.append(row)
                due = int(match[2]) + 1
        elif _LABEL.match(line):
            dashed.setdefault(match[1], []).append(row)
    outer = dashed[min(dashed, key=len)] if dashed else []
    inside = bool(outer and numbered) and _indent(pieces[numbered[0]]) > _indent(pieces[outer[0]])
    return numbered if len(numbered) >= len(outer) and not (inside and len(outer) >= _LEAST) else outer


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _needed(pieces: Sequence[str], found: Sequence[RecordEntry]) -> dict[int, int]:
    """The line that a line says nothing without: the label that it stands below, or the line that it goes on from."""
    heads = {one.first for one in found}
    needed: dict[int, int] = {}
    labels: list[tuple[int, int, bool]] = []  # indentation and row of the labels above, and whether text follows them
    last = -1
    for row, line in enumerate(pieces):
        indent = _indent(line)
        match = _LABEL.match(line)
        if not line.strip():
            continue
        while labels and indent <= labels[-1][0] and not (match is None and row not in heads and line[indent] in "-*•"):
            labels.pop()
        if row in heads:
            labels = []
        elif labels and (match is None or not labels[-1][2]):
            needed[row] = last if labels[-1][2] else labels[-1][1]
        if match is not None:
            labels.append((indent, row, bool(line[match.end() :].strip())))
        last = row
    return needed


def _labelled(pieces: Sequence[str]) -> list[int]:
    """Lines after a blank line or a rule that begin with the same label."""
    found: dict[str, list[int]] = {}
    fresh = True
    for row, line in enumerate(pieces):
        bare = line.strip()
        if fresh and (match := _LABEL.match(line)):
            found.setdefault(match[1], []).append(row)
        fresh = not bare or not any(map(str.isalnum, bare))
    return max(found.values(), key=len, default=[])


def extract(text: str, room: Room) -> str:
    """As much of the records as fits: first lines, then short labelled lines, then prose."""
    if room.tokens <= 0:
        return ""
    if fits(text, room):
        return text
    pieces = lines(text)
    found = entries(pieces)
    made = _fitted(pieces, found, room) if found else None
    return plain_text.extract(text, room) if made is None else made


def _fitted(pieces: Sequence[str], found: Sequence[RecordEntry], room: Room) -> str | None:
    sizes = [room.count(line) for line in pieces]
    needed = _needed(pieces, found)
    heads = {one.first for one in found}
    alone = {row for row in needed.values() if row not in heads and not _says(pieces[row])}
    order = [row for row in _order(pieces, found, sizes, room) if row not in alone]
    limit, best, best_size = room.tokens, None, 0
    for _ in range(_ROUNDS):
        kept = _chosen(order, sizes, limit - room.count(_head(pieces, found, set(), room)) - 1, found, needed)
        text = _head(pieces, found, kept, room) + "\n" + "".join(pieces[row] for row in sorted(kept))
        size = room.count(text)
        if best_size < size <= room.tokens and kept:
            best, best_size = text, size
        slack = room.tokens - size
        if 0 <= slack <= max(2, room.tokens // 50):
            break
        limit += slack
    return best


def _says(line: str) -> bool:
    """Whether a line has more than a label."""
    match = _LABEL.match(line)
    return match is None or bool(line[match.end() :].strip())


def _chosen(
    order: Sequence[int], sizes: Sequence[int], left: int, found: Sequence[RecordEntry], needed: Mapping[int, int]
) -> set[int]:
    kept: set[int] = set()
    heads = [one.first for one in found]
    if sum(sizes[row] for row in heads) > left:  # not even all first lines fit, so keep the first and last of them
        for_tail, tail = _TAIL * left, []
        for row in reversed(heads):
            for_tail -= sizes[row]
            if for_tail < 0:
                break
            tail.append(row)
        left -= sum(sizes[row] for row in tail)
        kept.update(tail)
        order = heads
    for row in order:
        wanted: list[int] = []
        at: int | None = row
        while at is not None and at not in kept and len(wanted) < _CHAIN:
            wanted.append(at)
            at = needed.get(at)
        cost = sum(sizes[one] for one in wanted)
        if cost <= left and len(wanted) < _CHAIN:
            kept.update(wanted)
            left -= cost
        elif order is heads:
            break
    return kept


def _order(pieces: Sequence[str], found: Sequence[RecordEntry], sizes: Sequence[int], room: Room) -> Iterator[int]:
    """All first lines, lines that match the query, common labels, shortest first, then the rest."""
    yield from (one.first for one in found)
    scores = query_match.scores(pieces, room.query)
    rare = [row for row in scores if scores[row] >= 0.7 * max(scores.values())]
    yield from sorted(rare, key=lambda row: (-scores[row], row))[: len(found) // 2]
    labels: dict[str, list[int]] = {}
    rest: list[int] = []
    for one in found:
        for row in range(one.first + 1, one.end):
            match = _LABEL.match(pieces[row])
            if match:
                labels.setdefault(match[1], []).append(row)
            elif pieces[row].strip():
                rest.append(row)
    average = {label: sum(len(pieces[row]) for row in rows) / len(rows) for label, rows in labels.items()}
    common = [label for label, rows in labels.items() if len(rows) >= _COMMON * len(found) and average[label] <= _SHORT]
    for label in common:
        yield from labels[label]
    yield from range(found[0].first)
    others = [row for label, rows in labels.items() if label not in common for row in rows]
    # In text order, so that related lines stay together.
    yield from sorted(row for row in others if len(pieces[row]) <= _SHORT)
    yield from sorted([*rest, *others])


def _head(pieces: Sequence[str], found: Sequence[RecordEntry], kept: set[int], room: Room) -> str:
    if room.tokens < _BRIEF:
        return f"{plural(len(found), 'record')} {room.mark('most lines') if room.handle else '[…]'}"
    number = sum(1 for line in pieces if line.strip())
    gone = number - sum(1 for row in kept if pieces[row].strip())
    hidden = sum(1 for one in found if one.first not in kept)
    said = plural(gone, "line") + (f", {plural(hidden, 'record')} not shown" if hidden else "")
    return f"{plural(len(found), 'record')}, {plural(number, 'line')} {room.mark(said)}"
