"""Lossless logs: each line shape is written once, and every line as its code and its values.

Example: "12:01 GET /a 200\\n12:01 GET /a 404" ->
         "#brim log …\\na=<> GET /a <>\\na 12:01 200\\na \\" 404"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count as counting
from itertools import product

from brim.errors import NotDecodable

# A value starts at a digit, or at up to eight letters right before one, and ends at whitespace or at punctuation
# common in logs; a comma inside a number is part of it.
_VALUE = re.compile(r"((?<![0-9A-Za-z])[A-Za-z]{0,8}\d(?:[^\s,;=()\[\]{}<>\"'|×]|,(?=\d))*)")
_HOLES = ("<>", "{}", "◦", "¤", "§", "‡", "⌑")
_TITLE = "#brim log: "
_HEAD = re.compile(r"#brim log: a=… is a line shape with holes (\S+?); ")
_LEGEND = (
    'a=… is a line shape with holes {hole}; a row "a x y" is that shape with its holes filled in order; '
    '" is the value above it, "x the value above with its end replaced by x; ×n is the line above n times '
    "more; | is a line as it is"
)
_CODE = re.compile(r"([a-z]+)(=| |$)")
_LARGEST = 4_000_000  # characters; a larger log needs an extract, not a re-encoding
_MOST_LINES = 200_000
_SEPARATORS = frozenset(":-./_,T")


def dense(text: str) -> str | None:
    """The log with each line shape written once; None unless clearly shorter."""
    if len(text) > _LARGEST or not 4 <= text.count("\n") <= _MOST_LINES:
        return None
    hole = next((sign for sign in _HOLES if sign not in text), None)
    if hole is None:
        return None
    lines = text.split("\n")
    split = [_VALUE.split(line) for line in lines]
    shapes, masks = _shapes(split, hole)
    out = [_TITLE + _LEGEND.format(hole=hole)]
    named: dict[str, str] = {}
    names = _names()
    above: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        repeats = index
        while repeats + 1 < len(lines) and lines[repeats + 1] == line:
            repeats += 1
        key = shapes[index]
        if key is None:
            out.append("|" + line)
            above = []
        else:
            name = named.get(key)
            if name is None:
                name = named[key] = next(names)
                out.append(f"{name}={_pattern(split[index], masks[key], hole)}")
            values = [value for value, varies in zip(split[index][1::2], masks[key], strict=True) if varies]
            out.append(" ".join([name, *_shortened(values, above)]))
            above = values
        if repeats > index:
            out.append(f"×{repeats - index}")
        index = repeats + 1
    result = "\n".join(out)
    return result if len(result) < 0.85 * len(text) else None


def _shapes(split: Sequence[Sequence[str]], hole: str) -> tuple[list[str | None], dict[str, list[bool]]]:
    """The shape of each line (None if it occurs once), and which values of a shape vary."""
    keys = [hole.join(parts[0::2]) for parts in split]
    first: dict[str, Sequence[str]] = {}
    varies: dict[str, list[bool]] = {}
    uses: dict[str, int] = {}
    for key, parts in zip(keys, split, strict=True):
        model = first.get(key)
        uses[key] = uses.get(key, 0) + 1
        if model is None:
            first[key] = parts
            varies[key] = [False] * (len(parts) // 2)
            continue
        mask = varies[key]
        for column in range(len(mask)):
            if not mask[column] and parts[2 * column + 1] != model[2 * column + 1]:
                mask[column] = True
    return [key if uses[key] > 1 else None for key in keys], varies


def _names() -> Iterator[str]:
    """a … z, aa … zz, aaa …"""
    for length in counting(1):
        for letters in product("abcdefghijklmnopqrstuvwxyz", repeat=length):
            yield "".join(letters)


def _pattern(parts: Sequence[str], varies: Sequence[bool], hole: str) -> str:
    values = [hole if vary else value for value, vary in zip(parts[1::2], varies, strict=True)]
    return "".join(text for pair in zip(parts[0::2], [*values, ""], strict=True) for text in pair)


def _shortened(values: Sequence[str], above: Sequence[str]) -> Iterator[str]:
    for column, value in enumerate(values):
        over = above[column] if column < len(above) else ""
        if value == over:
            yield '"'
            continue
        cut = _shared(value, over) if len(value) == len(over) else 0
        yield f'"{value[cut:]}' if cut > 2 else value


def _shared(value: str, over: str) -> int:
    """The length of the shared beginning, up to a separator, so that times and addresses stay readable."""
    cut = 0
    for at, (one, two) in enumerate(zip(value, over, strict=True)):
        if one != two:
            break
        if one in _SEPARATORS:
            cut = at + 1
    return cut


def decode(text: str) -> str:
    """The log that `dense` was given. Raises NotDecodable for a text it didn't produce."""
    rows = text.split("\n")
    head = _HEAD.match(rows[0])
    if head is None:
        raise NotDecodable("not a log in brim's dense form: its first line is another")
    hole = head.group(1)
    patterns: dict[str, list[str]] = {}
    lines: list[str] = []
    above: list[str] = []
    for row in rows[1:]:
        if row.startswith("|"):
            lines.append(row[1:])
            above = []
        elif row.startswith("×"):
            lines.extend(lines[-1:] * _times(row[1:]))
        else:
            code = _CODE.match(row)
            if code is None:
                raise NotDecodable(f"not a row of a dense log: {row[:60]!r}")
            name = code.group(1)
            if code.group(2) == "=":
                patterns[name] = row[code.end() :].split(hole)
            else:
                above = _values(row[code.end() :], above)
                lines.append(_filled(name, patterns, above))
    return "\n".join(lines)


def _times(said: str) -> int:
    if not said.isdecimal() or len(said) > 7:
        raise NotDecodable(f"not a repeat count: {said[:60]!r}")
    return int(said)


def _values(said: str, above: Sequence[str]) -> list[str]:
    values: list[str] = []
    for column, cell in enumerate(said.split(" ") if said else ()):
        if not cell.startswith('"'):
            values.append(cell)
            continue
        if column >= len(above) or len(cell) - 1 > len(above[column]):
            raise NotDecodable(f"a value repeats one that is not there: {said[:60]!r}")
        over = above[column]
        values.append(over[: len(over) - len(cell) + 1] + cell[1:])
    return values


def _filled(name: str, patterns: dict[str, list[str]], values: Sequence[str]) -> str:
    parts = patterns.get(name)
    if parts is None or len(parts) != len(values) + 1:
        raise NotDecodable(f"row of shape {name!r} with {len(values)} values has no such shape")
    return "".join(text for pair in zip(parts, [*values, ""], strict=True) for text in pair)
