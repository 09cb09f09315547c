"""Lossless traces: consecutive repetitions of a block of lines are written once with their count.

Example: "a\\nb\\na\\nb\\na\\nb" -> "#brim trace: …\\na\\nb\\n¶2×3"
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from brim.errors import NotDecodable

_SIGNS = ("¶", "§", "‡", "⁂")
_TITLE = "#brim trace: {0}2×3 means that the 2 lines above it stand there 3 times in all"
_HEAD = re.compile(r"#brim trace: (\S)2×3 means ")
_REPEAT = re.compile(r"(\d{1,9})×(\d{1,9})")
_LONGEST = 12  # lines of a block
_LARGEST = 20_000_000
_MOST_LINES = 200_000


def dense(text: str) -> str | None:
    """The text with repeated blocks of lines written once; None if little repeats."""
    if len(text) > _LARGEST or not 4 <= text.count("\n") <= _MOST_LINES:
        return None
    sign = next((sign for sign in _SIGNS if sign not in text), None)
    if sign is None:
        return None
    lines = text.split("\n")
    out = [_TITLE.format(sign)]
    at = 0
    while at < len(lines):
        size, times = _repeat_at(lines, at)
        out.extend(lines[at : at + size])
        if times > 1:
            out.append(f"{sign}{size}×{times}")
        at += size * times
    result = "\n".join(out)
    return result if len(result) < 0.9 * len(text) else None


def _repeat_at(lines: Sequence[str], at: int) -> tuple[int, int]:
    """The repeated block from here on that covers most lines: its size and its number of repetitions."""
    line = lines[at]
    for size in range(1, _LONGEST + 1):
        if at + size >= len(lines):
            break
        if lines[at + size] != line or lines[at : at + size] != lines[at + size : at + 2 * size]:
            continue
        end = at + 2 * size
        while lines[end : end + size] == lines[at : at + size] and end + size <= len(lines):
            end += size
        times = (end - at) // size
        saved = sum(len(row) + 1 for row in lines[at : at + size]) * (times - 1)
        if saved > 16:
            return size, times
    return 1, 1


def decode(text: str) -> str:
    """The text that `dense` was given. Raises NotDecodable for a text it didn't produce."""
    rows = text.split("\n")
    head = _HEAD.match(rows[0])
    if head is None:
        raise NotDecodable("not a trace in brim's dense form: the first line is another")
    sign = head.group(1)
    lines: list[str] = []
    for row in rows[1:]:
        if not row.startswith(sign):
            lines.append(row)
            continue
        repeat = _REPEAT.fullmatch(row, 1)
        size, times = (int(repeat.group(1)), int(repeat.group(2))) if repeat else (0, 0)
        if not 0 < size <= len(lines) or not 1 < times <= _LARGEST // size:
            raise NotDecodable(f"not a repeat: {row[:60]!r}")
        lines.extend(lines[len(lines) - size :] * (times - 1))
    return "\n".join(lines)
