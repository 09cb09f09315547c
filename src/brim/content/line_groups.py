"""Lossless test output: common beginnings and ends of neighbouring lines are written once.

Example: "ok tests/a.py::one\\nok tests/a.py::two\\nok tests/a.py::six" ->
         "#brim test …\\n«ok tests/a.py::·»\\none\\ntwo\\nsix\\n«»"
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from brim.errors import NotDecodable

_SIGNS = ("«·»", "⟦·⟧", "‹·›", "❮·❯")
_TITLE = (
    "#brim test: {0}A{1}B{2} opens lines that start with A and end with B, "
    "of which only the middles follow, up to {0}{2}"
)
_HEAD = re.compile(r"#brim test: (.)A(.)B(.) opens ")
_SHORTEST = 10  # characters a group must share
_LARGEST = 8_000_000
_MOST_LINES = 200_000
_BORDERS = frozenset(" \t/:.,;=()[]{}<>|\"'-_")


def dense(text: str) -> str | None:
    """The text with shared beginnings and ends of neighbouring lines written once; None unless clearly shorter."""
    if len(text) > _LARGEST or not 4 <= text.count("\n") <= _MOST_LINES:
        return None
    signs = next((signs for signs in _SIGNS if not any(sign in text for sign in signs)), None)
    if signs is None:
        return None
    lines = text.split("\n")
    out = [_TITLE.format(*signs)]
    at = 0
    while at < len(lines):
        end, front, back = _group(lines, at)
        if (end - at - 1) * (front + back) > 12:
            first = lines[at]
            out.append(f"{signs[0]}{first[:front]}{signs[1]}{first[len(first) - back :]}{signs[2]}")
            out.extend(line[front : len(line) - back] for line in lines[at:end])
            out.append(signs[0] + signs[2])
        else:
            end = at + 1
            out.append(lines[at])
        at = end
    result = "\n".join(out)
    return result if len(result) < 0.9 * len(text) else None


def _group(lines: Sequence[str], start: int) -> tuple[int, int, int]:
    """The end of the group of lines from `start`, and the lengths of their common beginning and end."""
    model = lines[start]
    front, back = len(model), len(model)
    end = start + 1
    while end < len(lines):
        line = lines[end]
        new_front = _at_border(model, _same_front(model, line, front))
        new_back = _at_border_back(model, _same_back(model, line, back))
        # The common beginning and end must not overlap in the shortest line.
        new_back = max(0, min(new_back, back, len(model) - new_front, len(line) - new_front))
        if new_front + new_back < _SHORTEST:
            break
        if end > start + 1 and (new_front + new_back) * (end - start) < (front + back) * (end - start - 1):
            break
        front, back = new_front, new_back
        end += 1
    return end, front, back


def _same_front(one: str, two: str, most: int) -> int:
    most = min(most, len(one), len(two))
    if one[:most] == two[:most]:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if one[:middle] == two[:middle]:
            low = middle
        else:
            high = middle
    return low


def _same_back(one: str, two: str, most: int) -> int:
    most = min(most, len(one), len(two))
    if most == 0 or one[-most:] == two[-most:]:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if one[-middle:] == two[-middle:]:
            low = middle
        else:
            high = middle
    return low


def _at_border(line: str, size: int) -> int:
    """Shorten to the last word boundary, so that names stay whole."""
    while size > 0 and line[size - 1] not in _BORDERS:
        size -= 1
    return size


def _at_border_back(line: str, size: int) -> int:
    while size > 0 and line[len(line) - size] not in _BORDERS:
        size -= 1
    return size


def decode(text: str) -> str:
    """The text that `dense` was given. Raises NotDecodable for a text it didn't produce."""
    rows = text.split("\n")
    head = _HEAD.match(rows[0])
    if head is None:
        raise NotDecodable("not lines in brim's dense form: the first line is another")
    opening, between, closing = head.groups()
    lines: list[str] = []
    front = back = ""
    for row in rows[1:]:
        if row == opening + closing:
            front = back = ""
        elif row.startswith(opening):
            if not row.endswith(closing) or between not in row:
                raise NotDecodable(f"not the start of a group: {row[:60]!r}")
            front, _, back = row[1:-1].partition(between)
        else:
            lines.append(front + row + back)
    return "\n".join(lines)
