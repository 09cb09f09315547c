"""Repeated calls: the changes in the result since the last time, if they are smaller than the result.

JSON is compared value by value, matching list items by the field that names them; any other text is compared line by
line. Either way, the old result and the delta together contain everything in the new one.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from typing import Any

from brim.count_text import CountText

# Longer texts aren't compared: reading both again would take longer than the tokens are worth.
LONGEST = 4_000_000
_AROUND = 1  # unchanged lines shown on each side of a change
_DEEPEST = 40


def delta(before: str, after: str, tokens: CountText) -> str | None:
    """The changes from `before` to `after`; None if they aren't smaller than `after` itself.

    Its first line counts the changes and can follow "since message 41: ".

    Example: delta('[{"id":1,"ok":true},…]', '[{"id":1,"ok":false},…]', count) -> '1 changed\\n[id=1].ok: true → false'
    """
    if before == after:
        told = "unchanged"
    elif max(len(before), len(after)) > LONGEST:
        return None
    else:
        told = min(filter(None, (_of_json(before, after), _of_lines(before, after))), key=len)
    # Don't bother to count a delta far longer than the text.
    return told if len(told) < 2 * len(after) + 200 and tokens(told) < tokens(after) else None


def _of_json(before: str, after: str) -> str | None:
    """The changed values of two JSON texts; None if they are not JSON."""
    if not (before.lstrip()[:1] in ("{", "[") and after.lstrip()[:1] in ("{", "[")):
        return None
    try:
        lines = list(_changes("", json.loads(before), json.loads(after), 0))
    except (ValueError, RecursionError):
        return None
    if not lines:
        return "the same values, written differently"
    return "\n".join([_counted(lines), *lines])


def _counted(lines: Sequence[str]) -> str:
    """Example: ["+ [id=4]: …", "[id=1].ok: true → false"] -> "1 added, 1 changed" """
    signs = Tally(line[:2] if line[:2] in ("+ ", "- ") else "" for line in lines)
    named = (("", "changed"), ("+ ", "added"), ("- ", "removed"))
    return ", ".join(f"{signs[sign]:,} {word}" for sign, word in named if signs[sign])


def _changes(path: str, old: Any, new: Any, depth: int) -> Iterator[str]:
    """Lines for the differences below a path: `path: old → new`, `+ path: new`, `- path`."""
    if depth < _DEEPEST and isinstance(old, dict) and isinstance(new, dict):
        yield from _members(path, old, new, depth)
    elif depth < _DEEPEST and isinstance(old, list) and isinstance(new, list) and old and new:
        yield from _items(path, old, new, depth)
    elif (one := _written(old)) != (two := _written(new)):
        whole = isinstance(old, dict | list) or isinstance(new, dict | list)
        yield f"{path or '.'}: now {two}" if whole else f"{path or '.'}: {one} → {two}"


def _members(path: str, old: dict[str, Any], new: dict[str, Any], depth: int) -> Iterator[str]:
    for name, value in new.items():
        here = f"{path}.{name}" if name.isidentifier() else f"{path}[{_written(name)}]"
        if name in old:
            yield from _changes(here, old[name], value, depth + 1)
        else:
            yield f"+ {here}: {_written(value)}"
    for name in old:
        if name not in new:
            yield f"- {path}.{name}" if name.isidentifier() else f"- {path}[{_written(name)}]"


def _items(path: str, old: list[Any], new: list[Any], depth: int) -> Iterator[str]:
    """Changes between two lists. Items are matched by name, or by position if they have none."""
    key = _naming_field(old, new)
    if key is None:
        for place, (one, two) in enumerate(zip(old, new, strict=False)):
            yield from _changes(f"{path}[{place}]", one, two, depth + 1)
        yield from (f"+ {path}[{place}]: {_written(new[place])}" for place in range(len(old), len(new)))
        yield from (f"- {path}[{place}]" for place in range(len(new), len(old)))
        return
    known = {_written(item[key]): item for item in old}
    there = {_written(item[key]) for item in new}
    kept = [name for name in known if name in there]
    if kept != [_written(item[key]) for item in new if _written(item[key]) in known]:
        yield f"{path or '.'}: now in the order of {key} {_written([item[key] for item in new])}"
    for place, item in enumerate(new):
        name = _written(item[key])
        if name in known:
            yield from _changes(f"{path}[{key}={name}]", known[name], item, depth + 1)
        else:
            yield f"+ {path}[{place}]: {_written(item)}"
    yield from (f"- {path}[{key}={name}]" for name in known if name not in there)


def _naming_field(old: list[Any], new: list[Any]) -> str | None:
    """The first field that every item of both lists has, with distinct values that are texts or numbers."""
    if not all(isinstance(item, dict) for item in (*old, *new)):
        return None
    for name in old[0]:
        if all(_names_all(name, items) for items in (old, new)):
            return str(name)
    return None


def _names_all(name: str, items: list[Any]) -> bool:
    values = [item.get(name) for item in items]
    if any(not isinstance(value, str | int) or isinstance(value, bool) for value in values):
        return False
    return len(set(map(_written, values))) == len(values)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _of_lines(before: str, after: str) -> str:
    """Changed lines with one line around them, each block under its line numbers in `after`."""
    old, new = before.split("\n"), after.split("\n")
    blocks = [block for block in _blocks(old, new) if block[0] < block[1] or block[2] < block[3]]
    removed = sum(end - start for start, end, _, _ in blocks)
    added = sum(end - start for _, _, start, end in blocks)
    counts = ", ".join(f"{n:,} {word}" for n, word in ((added, "added"), (removed, "removed")) if n)
    shown = [f"{counts} of {len(old):,} lines"]
    done = 0
    for start, end, new_start, new_end in blocks:
        lead = max(start - _AROUND, done)
        shown.append(f"@@ line {new_start - (start - lead) + 1}")
        shown += [f" {line}" for line in old[lead:start]]
        shown += [f"-{line}" for line in old[start:end]]
        shown += [f"+{line}" for line in new[new_start:new_end]]
        done = min(end + _AROUND, len(old))
        shown += [f" {line}" for line in old[end:done]]
    return "\n".join(shown)


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """The changed ranges old[a:b] → new[c:d] between lines that occur exactly once in both texts, in n log n time."""
    anchors = [(-1, -1), *_anchors(old, new), (len(old), len(new))]
    begun, new_begun = 0, 0
    for place, new_place in anchors[1:]:
        start, new_start, end, new_end = begun, new_begun, place, new_place
        while start < end and new_start < new_end and old[start] == new[new_start]:
            start, new_start = start + 1, new_start + 1
        while end > start and new_end > new_start and old[end - 1] == new[new_end - 1]:
            end, new_end = end - 1, new_end - 1
        yield start, end, new_start, new_end
        begun, new_begun = place + 1, new_place + 1


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest common sequence of lines that occur once in each text (patience diff)."""
    times, new_times = Tally(old), Tally(new)
    places = {line: place for place, line in enumerate(new) if new_times[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(old) if times[line] == 1 and line in places]
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        before.append(ends[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [place]
        ends[pile : pile + 1] = [number]
    found: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]
