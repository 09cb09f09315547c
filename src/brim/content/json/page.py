"""Readable JSON for any room: rows with their names, then fields that match the query, then the rest.

    100 rows × 98 fields [… 41 more rows, recall brim:3f2a9c01]
    number, title, state, user.login:
    1347, Fix the race in the pool, open, octocat
    …

Fields outside of lists share one line (`key: value; key: value`). Envelopes are opened, JSON inside strings is parsed,
and long texts are shortened by the compactor of their kind. No rule depends on the name of a field.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from brim.content.json.records import (
    CODE,
    DATE,
    FLAG,
    HASH,
    LINK,
    LONG,
    NAME,
    NUMBER,
    TEXT,
    Column,
    KeyPath,
    Records,
    is_records,
    kind_of,
    named_rows,
    records,
    shown,
)  # fmt: skip
from brim.content.mixed import inner
from brim.content.selection import plural, shares
from brim.content.types import Room
from brim.relevance import query_match

# Characters of a long text to show before all other fields are shown.
SENTENCE = 160
# Unguessable codes before names, names before numbers, numbers before sentences and links.
_RANKS = {CODE: 0, TEXT: 1, DATE: 2, NUMBER: 2, HASH: 3, LONG: 3, FLAG: 4, LINK: 5}
_ASKED = -1
# In fewer tokens than this, a separate first line would take a third of the room, so the mark goes to the end.
BRIEF = 60
_FEW = 8
# A column that fits only partly is shown if it fills at least this share of the remaining room.
_WORTH = 0.5
_DEEPEST = 6
# Tokens that a row takes at least; in longer lists, only as many rows as could fit are read, from both ends.
_ROW = 3
_TAIL = 0.2
# Share of the rows' room for rows that match the query or stand out.
_PREFERRED = 0.5
# If a column has fewer distinct values than this share of its rows, a value that occurs once stands out.
_ALIKE = 0.2
# A field in fewer rows than this share would be a column with too many gaps.
_SPARSE = 0.2
_LOOKED_AT = 2_000
# After so many fields in a row that do not fit, the rest is not tried: 4,000 fields in 46 KB took 26 ms of the 60.
_MISSES = 200
# The most leaves outside of lists to read; no room fits more.
_MOST = 20_000


@dataclass(slots=True)
class Single:
    """A field outside of lists, or a list of plain values."""

    path: KeyPath
    order: float
    values: list[str]
    rank: int
    whole: list[str] = field(default_factory=list)
    total: int = 0  # the number of values, if only the first are read


@dataclass(slots=True)
class Shown:
    """A table as it will be shown: its rows, its columns in order, and how many cells of the last one."""

    table: Records
    rows: list[int]  # indexes into the columns' values
    naming: list[Column]
    columns: list[Column] = field(default_factory=list)
    constants: list[Column] = field(default_factory=list)
    sparse: list[Column] = field(default_factory=list)  # fields that few rows have, shown with their keys
    partial: int = -1
    cut: dict[tuple[int, int], str] = field(default_factory=dict)  # shortened cells by column order and row


def page(value: Any, room: Room, said: Container[str] = ()) -> str | None:
    """The page of a JSON value in at most room.tokens tokens; None if nothing fits."""
    value, before = opened(value)
    if isinstance(value, str):
        return _text(value, before, room)
    if not isinstance(value, (dict, list)) or not value:
        return None
    return _RowPage(value, before, room, said).fitted()


def opened(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    """The content of an envelope, and the informative fields beside it.

    Example: {"isError": true, "content": [{"type": "text", "text": "…"}]} -> "…", [("isError", "true")]
    """
    before: list[tuple[str, str]] = []
    for _ in range(_DEEPEST):
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
            continue
        if isinstance(value, str):
            inside = _json_in(value)
            if inside is None:
                return value, before
            value = inside
            continue
        found = _held(value) if isinstance(value, dict) else None
        if found is None:
            return value, before
        value, beside = found
        before += beside
    return value, before


def _json_in(text: str) -> Any:
    if len(text) < 2 or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) and value else None


def _held(value: dict[str, Any]) -> tuple[Any, list[tuple[str, str]]] | None:
    """The only content of an object, and the fields beside it; None if there are several contents."""
    large = [key for key, each in value.items() if _carries(each)]
    if len(large) != 1 or is_records(value[large[0]]):
        return None
    rest = [(key, each) for key, each in value.items() if key != large[0]]
    # The fields beside it are flags, or a word for its type.
    if any(isinstance(each, (dict, list)) and each for _, each in rest) or len(rest) > 4:
        return None
    inside = value[large[0]]
    if isinstance(inside, dict) and not rest and len(value) == 1:
        return inside, []
    if isinstance(inside, dict) and any(
        isinstance(each, (int, float)) and each is not True for _, each in rest if each
    ):
        return None
    # A word that only names the key with the content, as in `"type": "text"`, adds nothing.
    beside = [(key, shown(each)) for key, each in rest if shown(each) and not (isinstance(each, str) and each in value)]
    return inside, beside


def _carries(value: Any) -> bool:
    return (isinstance(value, (dict, list)) and bool(value)) or (isinstance(value, str) and len(value) > NAME)


def _text(text: str, before: Sequence[tuple[str, str]], room: Room) -> str:
    head = "; ".join(f"{key}: {said}" for key, said in before)
    if not head:
        return inner(text, room)
    left = room.tokens - room.count(head) - 2
    return f"{head}\n{inner(text, replace(room, tokens=left))}" if left > 0 else ""


class _RowPage:
    def __init__(self, value: Any, before: list[tuple[str, str]], room: Room, said: Container[str]) -> None:
        self.room = room
        self.said = said
        self.singles = [Single((key,), number - len(before), [text], 1) for number, (key, text) in enumerate(before)]
        self.tables: list[Records] = []
        self.brief = room.tokens < BRIEF
        self.terms = query_match.terms(room.query)
        self._walk(value)
        self._sizes: dict[str, int] = {}
        self._tables_named = Counter(table.path[-1:] for table in self.tables)
        self._open_small_tables()
        self.fields = len(self.singles) + sum(len(table.columns) for table in self.tables)

    # Reading

    def _walk(self, value: Any) -> None:
        waiting: list[tuple[KeyPath, Any]] = [((), value)]
        found: dict[KeyPath, Single] = {}
        totals: dict[KeyPath, int] = {}
        order = 0
        while waiting and order < _MOST:
            path, inside = waiting.pop()
            order += 1
            if isinstance(inside, str) and (read := _json_in(inside)) is not None and len(path) < _DEEPEST:
                inside = read
            if isinstance(inside, (dict, list)) and is_records(inside):
                rows = named_rows(inside)
                self.tables.append(records(rows, path, order, self._looked_at(rows)))
            elif isinstance(inside, dict):
                waiting += reversed([((*path, key), each) for key, each in inside.items()])
            elif isinstance(inside, list):
                waiting += reversed([(path, each) for each in inside[:_MOST]])
                totals[path] = totals.get(path, 0) + len(inside)
            elif text := shown(inside):
                kind = kind_of(inside, text)  # a single hash names its object; a column of hashes doesn't
                rank = self._rank(_last(path), CODE if kind == HASH else kind)
                one = found.setdefault(path, Single(path, order, [], rank))
                one.rank = max(one.rank, rank)
                one.values.append(text)
        self.singles += found.values()
        for one in self.singles:
            fresh = [value for value in one.values if value not in self.said]
            one.values = one.whole = fresh
            one.total = max(totals.get(one.path, 0), len(one.values))
        self.singles = [one for one in self.singles if one.values]

    def _open_small_tables(self) -> None:
        """Turn the columns of short tables inside an object into fields if the room is too small for all their rows."""
        small = [table for table in self.tables if table.path and table.columns and table.number <= _FEW]
        wanted = []
        for table in small:
            names = table.naming or table.columns[:1]
            cells = [f"{_start(value)}, " for column in names for value in column.values]
            head = self._table_head(Shown(table, list(range(table.number)), table.naming, names))
            wanted.append(self._size(head) + sum(map(self._size, cells)))
        beside = sum(map(self._least_cost, self.singles[:20]))
        for table, size, given in zip(small, wanted, shares(wanted, self.room.tokens - beside), strict=True):
            if given < size:
                self.tables.remove(table)
                self.singles += self._opened(table)

    def _opened(self, table: Records) -> Iterator[Single]:
        seen: list[list[str]] = []
        for column in table.columns:
            values = [value for value in column.values if value][: 1 if column.constant else None]
            if values and column.values not in seen:
                seen.append(column.values)
                place = table.order + (1 + column.order) / (1 + len(table.columns))
                path = (*table.path, column.key) if column.key else table.path
                yield Single(path, place, values, self._rank(column.key, column.kind), values, len(values))

    def _looked_at(self, rows: Sequence[tuple[str, Any]]) -> list[int] | None:
        """The rows of a long list that could be shown: those that match the query, the first and the last."""
        number, most = len(rows), max(_LOOKED_AT, self.room.tokens // _ROW)
        if number <= most:
            return None
        tail = int(most * _TAIL)
        texts = [f"{row}\n" for _, row in rows] if self.terms else []
        chosen = {
            *range(most - tail),
            *range(number - tail, number),
            *query_match.ranked(texts, self.room.query)[:tail],
        }
        return sorted(chosen)

    def _preferred(self, table: Shown) -> list[int]:
        """Rows that match the query, and those with a unique value where others agree."""
        rows = ["\n".join(column.values[row] for column in table.table.columns) for row in table.rows]
        found = query_match.ranked(rows, self.room.query)[: max(3, len(rows) // 10)] if self.terms else []
        for column in table.table.columns:
            if column.distinct < _ALIKE and len(rows) > 8:
                seen = Counter(column.values)
                found += [row for row in table.rows if seen[column.values[row]] == 1][:1]
        return list(dict.fromkeys(found))

    def _rank(self, key: str, kind: int) -> int:
        if self.terms:
            words = set(query_match.terms(key.rpartition(".")[2].replace("_", " ")))
            if not words.isdisjoint(self.terms):
                return _ASKED
        return _RANKS[kind]

    def _size(self, text: str) -> int:
        found = self._sizes.get(text)
        if found is None:
            found = self._sizes[text] = self.room.count(text)
        return found

    # Choosing

    def fitted(self) -> str | None:
        limit, best, best_size = self.room.tokens, None, 0
        steps = 1  # counting part by part can underestimate the total a lot, so each step down is twice the last
        fits, over = 0, 0  # the largest limit whose page fits, and the smallest whose page doesn't
        for _ in range(self.room.rounds):
            chosen = self._chosen(limit)
            text = self._written(*chosen)
            size = self.room.count(text)
            if best_size < size <= self.room.tokens and (chosen[0] or chosen[1]):
                best, best_size = text, size
            slack = self.room.tokens - size
            if 0 <= slack <= max(2, self.room.tokens // 50):
                break
            if slack < 0:
                over = min(over or limit, limit)
                steps *= 2
            else:
                fits = max(fits, limit)
            limit += steps * slack if slack < 0 else max(1, slack)
            if over and not fits < limit < over:
                limit = (fits + over) // 2
        return best

    def _chosen(self, limit: int) -> tuple[list[Single], list[Shown]]:
        left = limit - self._size(self._head([], []))
        tables = [
            Shown(table, list(range(len(table.columns[0].values))), table.naming)
            for table in self.tables
            if table.columns  # rows of empty lists and objects have none
        ]
        # If the room is too small for both, fields beside tables get a part of it.
        beside = min(left // 3, sum(map(self._least_cost, self.singles[:20])))
        left = self._name_rows(tables, left, beside)
        kept: list[Single] = []
        left -= self._take_names(beside if tables else 0, kept)
        taken = {one.order for one in kept}
        units: list[tuple[int, float, Single | Column, Shown | None]] = [
            (one.rank, one.order, one, None) for one in self.singles if one.order not in taken
        ]
        for table in tables:
            for column in table.table.columns:
                if column.filled and column not in table.columns:
                    rank = self._rank(column.key, column.kind) + (2 if column.constant and column.kind != TEXT else 0)
                    units.append((rank, table.table.order, column, table))
        open_tables = {id(table) for table in tables}
        missed = 0
        for _, _, one, held in sorted(units, key=lambda unit: unit[:2]):
            if left < 3 or missed > _MISSES:
                break
            if isinstance(one, Single):
                used = self._take_single(one, left, kept)
                missed = 0 if used else missed + 1
                left -= used
            elif held is not None and id(held) in open_tables and held.rows:
                left -= self._take_column(one, left, held)
                if held.partial >= 0:
                    open_tables.discard(id(held))
        left = self._extend(kept, left)
        if left > 8:
            self._lengthen(kept, tables, left)
        return sorted(kept, key=lambda each: each.order), [table for table in tables if table.rows]

    def _take_names(self, beside: int, kept: list[Single]) -> int:
        """Show codes and names beside tables before the tables' columns, outer ones first."""
        left = beside
        names = [one for one in self.singles if one.rank <= _RANKS[TEXT]]
        for one in sorted(names, key=lambda one: (one.rank, len(one.path), one.order)):
            if left < 3:
                break
            left -= self._take_single(one, left, kept)
        return beside - left

    def _name_rows(self, tables: list[Shown], left: int, beside: int) -> int:
        """Give every table the rows that fit with their naming columns, whose texts are cut to a sentence's length."""
        costs: list[list[int]] = []
        wanted = []
        for table in tables:
            table.columns = list(table.naming) or table.table.columns[:1]
            for column in table.columns:
                self._cut(table, column)
            rows = [self._size(", ".join(self._cells(table, row))) + 1 for row in table.rows]
            head = self._size(self._table_head(table)) + 2
            costs.append(rows)
            wanted.append(head + sum(rows))
        for table, rows, given in zip(tables, costs, shares(wanted, max(0, left - beside)), strict=True):
            room = given - self._size(self._table_head(table)) - 2
            if sum(rows) > room:
                table.rows = _ends(rows, room, self._preferred(table))
            if not table.rows:
                table.columns = []
                continue
            left -= sum(rows[row] for row in table.rows) + self._size(self._table_head(table)) + 2
        return left

    def _cut(self, table: Shown, column: Column) -> None:
        for row in table.rows:
            if len(column.values[row]) > NAME:
                table.cut[column.order, row] = _start(column.values[row])

    def _least_cost(self, one: Single) -> int:
        return self._size(f"; {_last(one.path)}:") + 1 + self._size(f", {_start(one.whole[0])}")

    def _take_single(self, one: Single, left: int, kept: list[Single]) -> int:
        used = self._size(f"; {_last(one.path)}:") + 1
        values: list[str] = []
        # A long list leaves half of the room to other fields, and gets whatever they don't use.
        most = left if len(one.whole) <= _FEW else left // 2
        for value in map(_start, one.whole):
            cost = self._size(f", {value}")
            if used + cost > most:
                break
            used += cost
            values.append(value)
        if not values:
            return 0
        kept.append(replace(one, values=values))
        return used

    def _extend(self, kept: list[Single], left: int) -> int:
        """Show more values of lists that are partly shown."""
        for one in kept:
            for value in one.whole[len(one.values) :]:
                left -= self._size(f", {_start(value)}")
                if left < 0:
                    return 0
                one.values.append(_start(value))
        return left

    def _take_column(self, one: Column, left: int, held: Shown) -> int:
        """Show a column, only of the first rows if not all fit; a constant is shown once, in the header."""
        if any(one.values == other.values for other in held.columns):
            return 0  # it repeats another column
        head = self._size(f", {one.key}")
        if one.constant:
            cost = head + self._size(f": {_start(one.values[0])}")
            if cost <= left:
                held.constants.append(one)
                return cost
            return 0
        if one.filled < _SPARSE * len(one.values):
            cost = sum(self._size(_keyed(one, row)) for row in held.rows if one.values[row])
            if 0 < cost <= left:
                held.sparse.append(one)
                return cost
            return 0
        self._cut(held, one)
        cells = [f", {held.cut.get((one.order, row), one.values[row])}" for row in held.rows]
        cost = head + self._size("\n".join(cells))
        if cost <= left:
            held.columns.append(one)
            return cost
        used, number = head, 0
        for cell in cells:
            used += self._size(cell)
            if used > left:
                break
            number += 1
        if used - self._size(cells[min(number, len(cells) - 1)]) < _WORTH * left:
            return 0  # a large cell ends it early; other columns fill the room better
        if number:
            held.columns.append(one)
            held.partial = number
        return min(used, left)

    def _lengthen(self, kept: list[Single], tables: list[Shown], left: int) -> None:
        """Divide the remaining room equally among the cut texts; short ones become whole."""
        places: list[tuple[str, Any]] = []
        for one in kept:
            places += [
                (one.whole[at], (one.values, at))
                for at, value in enumerate(one.values)
                if value.endswith("…") and at < len(one.whole) and value != one.whole[at]
            ]
        for table in tables:
            held = {column.order: column for column in table.columns}
            for order, row in table.cut:
                if order in held and row in table.rows and table.cut[order, row] != held[order].values[row]:
                    places.append((held[order].values[row], (table.cut, (order, row))))
        before = [self._size(where[0][where[1]]) for _, where in places]
        wanted = [self._size(whole) - size for (whole, _), size in zip(places, before, strict=True)]
        for (whole, (holder, at)), size, more in zip(places, before, shares(wanted, left), strict=True):
            if more > 0:
                made = inner(whole, self.room.inside(size + more))
                holder[at] = " ".join(made.split()) if isinstance(holder, dict) else made

    # Writing

    def _cells(self, table: Shown, row: int) -> list[str]:
        columns = table.columns
        if 0 <= table.partial < len(table.rows) and row >= table.rows[table.partial]:
            columns = columns[:-1]
        cells = [table.cut.get((one.order, row), one.values[row]) for one in columns]
        while cells and not cells[-1]:
            cells.pop()
        return cells

    def _table_head(self, table: Shown) -> str:
        one = table.table
        key = _name(one.path, self._tables_named[one.path[-1:]] > 1)
        size = f"{plural(one.number, 'row')} × {plural(len(one.columns), 'field')}"
        names = ", ".join(column.key or "key" for column in table.columns)
        same = "; ".join(f"{column.key}: {_start(column.values[0])}" for column in table.constants)
        missing = f", {one.number - len(table.rows):,} not shown" if len(table.rows) < one.number else ""
        whole = len(self.tables) == 1 and not self.singles and not self.brief
        head = "" if whole else f"{key + ': ' if key else ''}{size}{missing}; "
        return f"{head}{same + '; ' if same else ''}{names}:"

    def _head(self, kept: list[Single], tables: list[Shown]) -> str:
        if self.brief:
            return self.room.mark(f"of {plural(self.fields, 'field')}") if self.room.handle else "[…]"
        if len(self.tables) == 1 and not self.singles:
            number = self.tables[0].number
            left = number - sum(len(table.rows) for table in tables)
            size = f"{plural(number, 'row')} × {plural(self.fields, 'field')}"
        else:
            left, size = 0, plural(self.fields, "field")
        seen = len(kept) + sum(len(table.columns) + len(table.constants) + len(table.sparse) for table in tables)
        gone = [f"{plural(left, 'more row')}"] if left else []
        if seen < self.fields and (kept or tables or not left):
            gone.append(plural(self.fields - seen, "field"))
        return f"{size} {self.room.mark(', '.join(gone) or 'parts of texts')}"

    def _written(self, kept: list[Single], tables: list[Shown]) -> str:
        names = Counter(one.path[-1:] for one in kept)
        fields = "; ".join(
            f"{_name(one.path, names[one.path[-1:]] > 1)}: {_listed(one)}" if one.path else _listed(one) for one in kept
        )
        out = [fields] if fields else []
        for table in tables:
            out.append(self._table_head(table))
            last = -1
            places = table.rows
            for row in places:
                if row > last + 1:
                    out.append("…")
                keyed = "".join(_keyed(one, row) for one in table.sparse if one.values[row])
                out.append(", ".join(self._cells(table, row)) + keyed)
                last = row
        body, head = "\n".join(out), self._head(kept, tables)
        return f"{body} {head}" if self.brief else f"{head}\n{body}"


def _name(path: KeyPath, shared: bool) -> str:
    """The last key of a path, with the key above it if two paths share the last."""
    return ".".join(path[-2:] if shared else path[-1:])


def _last(path: KeyPath) -> str:
    return path[-1] if path else ""


def _keyed(one: Column, row: int) -> str:
    """A field that few rows have, written after the row's columns. Example: "; license: MIT" """
    return f"; {one.key}: {_start(one.values[row])}"


def _listed(one: Single) -> str:
    """The values of a field, with their number if some aren't shown."""
    more = one.total - len(one.values)
    return ", ".join(one.values) + (f", … {more:,} more" if more > 0 else "")


def _start(value: str) -> str:
    """The beginning of a long text. Example: a page -> its first words and …"""
    if len(value) <= NAME:
        return value
    line = " ".join(value[: 4 * SENTENCE].split())
    return line if len(line) <= SENTENCE else line[:SENTENCE].rsplit(" ", 1)[0] + "…"


def _ends(costs: Sequence[int], room: int, preferred: Sequence[int] = ()) -> list[int]:
    """The rows that fit the room: the preferred ones up to their share, the last ones, and the first."""
    left = room
    kept: set[int] = set()
    for rows, share in ((preferred, _PREFERRED), (list(reversed(range(len(costs)))), _TAIL), (range(len(costs)), 1.0)):
        until = left - share * room
        for row in rows:
            if row in kept:
                continue
            if costs[row] > left or left - costs[row] < until:
                break
            left -= costs[row]
            kept.add(row)
    return sorted(kept)
