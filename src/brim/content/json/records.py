"""Lists of records as tables: finds the columns with the name, the id and the state of a row.

It looks at values, never at the names of fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

# A text up to this length without line breaks is a name, a code, a state or a date.
NAME = 48
# A column with a longer average is prose: in 2,300 columns of REST payloads, titles average 12-90 characters, bodies
# 300.
PROSE = 120
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d?[:/]\d\d[:/]\d\d")
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,9}://|www\.")
_HASH = re.compile(r"[0-9a-f]{16,}$|(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/_-]{14,}={0,2}$")
# Rows of one shape share at least this part of their keys.
_ALIKE = 0.5
# At least this share of names is distinct.
_DISTINCT = 0.9
# A table of n rows that all have different keys has n × n cells. Above this many cells, at least one in eight must be
# filled; rare fields share a column. 6,400 such rows, 240 KB, took 2.8 s and 380 MB.
_FEW_CELLS, _SPARSE = 40_000, 8
OTHERS = "other fields"
CODE, TEXT, NUMBER, DATE, LINK, LONG, FLAG, HASH = range(8)
# The keys that lead to a value; a key may contain any character.
KeyPath = tuple[str, ...]


@dataclass(slots=True)
class Column:
    """The values of one field in all rows, as shown; "" for rows without it."""

    key: str
    order: int
    depth: int = 1
    values: list[str] = field(default_factory=list)
    kind: int = TEXT
    constant: bool = False
    distinct: float = 0.0
    filled: int = 0


@dataclass(slots=True)
class Records:
    """A list of records: its path, its columns, and those that identify a row."""

    path: KeyPath
    order: int
    number: int
    columns: list[Column]
    naming: list[Column]


def shown(leaf: Any) -> str:
    """A leaf printed on one line; "" if it says nothing."""
    if leaf is None or leaf is False or leaf == "":
        return ""
    if isinstance(leaf, str):
        return leaf if len(leaf) > NAME and "\n" in leaf else " ".join(leaf.split())
    return json.dumps(leaf)


def kind_of(leaf: Any, text: str) -> int:
    """The type of a value."""
    if leaf is True:
        return FLAG
    if not isinstance(leaf, str):
        return NUMBER
    if len(text) > PROSE or "\n" in text:
        return LINK if _URL.match(text) and " " not in text else LONG
    if _URL.match(text):
        return LINK
    if _DATE.match(text):
        return DATE
    if " " in text or not any(map(str.isdigit, text)):
        return TEXT
    return HASH if _HASH.match(text) else CODE


def is_records(value: Any) -> bool:
    """Whether a value is a list of records of one shape, or a list or an object of such records or lists."""
    if not isinstance(value, (list, dict)) or len(value) < 2:
        return False
    inside = list(value.values()) if isinstance(value, dict) else value
    listed = all(isinstance(row, list) for row in inside)
    rows = [row for each in inside for row in each] if listed else inside
    if len(rows) < 2 or not all(isinstance(row, dict) and row for row in rows):
        return False
    if isinstance(value, list) and not listed:
        return True
    first = set(rows[0])
    shared = first.intersection(*rows[1:8])
    return len(shared) >= _ALIKE * len(first) and (len(rows) > 2 or len(shared) > 1) and (not listed or len(value) > 2)


def named_rows(value: Any) -> list[tuple[str, dict[str, Any]]]:
    """The records of a value that `is_records`, each with the name or number of what holds it; "" in a plain list.

    Example: {"1.0": [{"file": "a"}], "1.1": [{"file": "b"}]} -> [("1.0", {"file": "a"}), ("1.1", {"file": "b"})]
    """
    if isinstance(value, dict):
        return [(name, row) for name, each in value.items() for row in (each if isinstance(each, list) else (each,))]
    if isinstance(value[0], list):
        return [(f"#{number}", row) for number, each in enumerate(value, 1) for row in each]
    return [("", row) for row in value]


def records(
    rows: Sequence[tuple[str, dict[str, Any]]], path: KeyPath, order: int, chosen: Sequence[int] | None
) -> Records:
    """The table of a list of records, only of selected rows if there are too many to show."""
    places = range(len(rows)) if chosen is None else chosen
    columns: dict[str, Column] = {}
    kinds: dict[str, dict[int, int]] = {}
    cells = [[*([("", rows[at][0], 0)] if rows[at][0] else []), *_cells(rows[at][1])] for at in places]
    rare = _rare(cells)
    for at, row in enumerate(cells):
        for key, leaf, depth in row:
            text = shown(leaf)
            if key in rare:
                key, text = OTHERS, f"{key}: {text}" if text else ""
            one = columns.get(key)
            if one is None:
                one = columns[key] = Column(key, len(columns), depth)
                kinds[key] = {}
            if not text:
                continue
            one.values += [""] * (at - len(one.values))
            if len(one.values) > at:  # a list inside the row: its values share a cell
                one.values[at] += f" | {text}"
            else:
                one.values.append(text)
                one.filled += 1
            kind = kind_of(leaf, text)
            kinds[key][kind] = kinds[key].get(kind, 0) + 1
    for key, one in columns.items():
        one.values += [""] * (len(places) - len(one.values))
        if one.filled:
            one.kind = max(kinds[key], key=lambda kind: (kinds[key][kind], kind))
            one.constant = one.filled == len(places) > 1 and len(set(one.values)) == 1
            one.distinct = len({value for value in one.values if value}) / one.filled
    listed = list(columns.values())
    return Records(path, order, len(rows), listed, _naming(listed, len(rows)))


def _rare(rows: Sequence[Sequence[tuple[str, Any, int]]]) -> frozenset[str]:
    """The rarest keys, whose columns would be almost empty."""
    number: dict[str, int] = {}
    for row in rows:
        for key in dict.fromkeys(key for key, _, _ in row):
            number[key] = number.get(key, 0) + 1
    most = max(_FEW_CELLS, _SPARSE * sum(map(len, rows))) // max(1, len(rows))
    if len(number) <= most:
        return frozenset()
    return frozenset(sorted(number, key=number.__getitem__, reverse=True)[most:])


def _naming(columns: Sequence[Column], number: int) -> list[Column]:
    """The columns that identify a row: its id, name and state, if it has them."""
    kept = [one for one in columns if one.filled and not one.constant]
    first = _id_of(kept, number)
    name = _name_of([one for one in kept if one is not first], number)
    state = _state_of([one for one in kept if one not in (first, name)], number)
    return [one for one in (first, name, state) if one is not None]


def _cells(row: dict[str, Any]) -> Iterator[tuple[str, Any, int]]:
    """The leaves of a row with their dotted keys, without list indexes."""
    waiting: list[tuple[str, Any, int]] = [("", row, 0)]
    while waiting:
        path, inner, depth = waiting.pop()
        if isinstance(inner, dict):
            waiting += reversed([(f"{path}.{key}" if path else key, each, depth + 1) for key, each in inner.items()])
        elif isinstance(inner, list):
            waiting += reversed([(path, each, depth + 1) for each in inner])
        else:
            yield path, inner, depth


def _id_of(columns: list[Column], number: int) -> Column | None:
    """The column that tells rows apart in the fewest characters, else the key or number of what holds them."""
    whole = [
        one
        for one in columns
        if one.distinct == 1
        and one.filled == len(one.values)
        and one.depth <= 2
        and " | " not in "".join(one.values[:3])
    ]
    codes = [one for one in whole if one.kind in (CODE, HASH) or (one.kind == NUMBER and _counts(one.values))]
    # A number after a code is a measure of what the code names, such as its price.
    first = min((one.order for one in codes if one.kind == CODE), default=len(columns))
    codes = [one for one in codes if one.kind != NUMBER or one.order < first]
    codes += [one for one in whole if one.depth == 0] or ([] if codes else [one for one in columns if one.depth == 0])
    return min(codes, key=lambda one: (one.depth, sum(map(len, one.values)), one.order), default=None)


def _counts(values: list[str]) -> bool:
    return all(value.lstrip("-").isdigit() for value in values)


def _name_of(columns: list[Column], number: int) -> Column | None:
    """The column of words that differs from row to row; prefers words to codes, and outer fields to inner ones."""
    texts = [
        one
        for one in columns
        if one.kind in (TEXT, CODE, LONG) and one.distinct > 0.5 and 2 * one.filled >= len(one.values)
    ]
    texts = [one for one in texts if not _HASH.match(next(filter(None, one.values)))]

    def rank(one: Column) -> tuple[bool, int, bool, bool, int]:
        return one.kind == LONG, one.depth, one.distinct < _DISTINCT, one.kind == CODE, one.order

    return min(texts, key=rank, default=None)


def _state_of(columns: list[Column], number: int) -> Column | None:
    """The column with one of few values in every row."""
    few = [
        one
        for one in columns
        if one.kind in (TEXT, FLAG)
        and 1 < len(set(one.values)) <= max(2, len(one.values) // 3)
        and sum(map(len, one.values)) <= 20 * len(one.values)
    ]
    return min(few, key=lambda one: (one.depth, one.order), default=None)
