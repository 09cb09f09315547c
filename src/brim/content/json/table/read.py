"""Reads the table form back into the original JSON value."""

from __future__ import annotations

import re
from typing import Any

from brim.content.json.table.columns import ABSENT
from brim.content.json.table.scalars import ALIASED, ScalarReader, read_numbers, reads_as_texts, unquoted
from brim.content.json.table.syntax import SPECIAL, Spec, cell_end, read_fields, read_rows, split_cells
from brim.content.json.wrapping import wrap_base64, wrap_json
from brim.errors import NotDecodable

HEADED = re.compile(r"#brim jsonl?(?=[ \n]|\Z)")
_LOOSE_ROOT = re.compile(r"%(?:@([A-Za-z0-9_-]+))?=")
_NAME = re.compile(r"[A-Za-z0-9_-]*")
_REF = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*\*?|\*|)\}")
_BRACKETS = frozenset("([{")
_CONTAINERS = frozenset("([{%")
_ENTRY = object()  # temporary key for the entry's name, among the entry's own keys
_CYCLE: list[Any] = []
_OBJECT_KEY = re.compile(r"[^,()\[\]{}\":!\n]+(?=[:!])")
_STYLE = re.compile(r"!(\+?json[0-9]?a?)(?=:)")


def read(text: str) -> Any:
    """Return the JSON value of a table form. Raises NotDecodable if it isn't one."""
    return Document(text).value()


class Table:
    """A header with the rows under it; `pending` are the objects that are created but not yet filled."""

    def __init__(self, specs: list[Spec]) -> None:
        self.specs = specs
        self.leaves = _leaves(specs)
        self.with_cells = [spec for spec in self.leaves if _has_cell(spec)]
        self.is_map = bool(specs) and specs[0].entry
        self.by_path = {".".join(spec.path): spec for spec in self.leaves if spec.entry or spec.key != "*"}
        self.optional = any(spec.optional for spec in self.leaves)
        self.rows: list[dict[str, Any]] = []
        self.pending: list[tuple[dict[str, Any], list[str]]] = []
        self.by_key: dict[Any, dict[str, Any]] | None = None

    def add(self, cells: list[str]) -> dict[str, Any]:
        """Return a new object that the cells will be filled into."""
        row: dict[Any, Any] = {}
        missing = len(self.with_cells) - len(cells)
        if missing > 0 or any(cells[len(self.with_cells) :]):
            raise NotDecodable(f"a row has {len(cells)} cells for {len(self.with_cells)} columns: {cells[:3]}")
        self.pending.append((row, cells))
        return row


class Document:
    """A table form being read."""

    def __init__(self, text: str) -> None:
        self.aliases: dict[str, str] = {}
        self.tables: dict[str, Table] = {}
        self.reader = ScalarReader(self.aliases)
        self.text_reader = ScalarReader(self.aliases, as_text=True)
        self.wrapped: list[tuple[dict[str, Any], str, str]] = []
        self.maps: list[tuple[dict[str, Any], list[dict[Any, Any]]]] = []
        self.root: tuple[str, str] | None = None
        self.shared = False
        self.text = text

    def value(self) -> Any:
        """Return the value. Raises NotDecodable if `dense` wouldn't write the text like this."""
        try:
            return self._value()
        except RecursionError as error:
            raise NotDecodable("nested too deep") from error
        except (IndexError, KeyError, ValueError, TypeError) as error:
            if isinstance(error, NotDecodable):
                raise
            raise NotDecodable(f"not a table form of JSON: {error!r}") from error

    def _value(self) -> Any:
        self._sections(self.text)
        if self.root is None:
            raise NotDecodable("there is no root")
        for table in self.tables.values():
            key = next((spec for spec in table.leaves if spec.is_key), None)
            if key is not None:
                self._index(table, key)
        kind, body = self.root
        if kind[:1] == "=":
            value = self.nested(body, self.tables[kind[1:]] if kind != "=" else None)
        else:
            value = self._of_rows(self.tables["%" + kind], kind)
        self._fill_all()
        for built, entries in self.maps:
            built.update((entry.pop(_ENTRY), entry) for entry in entries)
        for row, key, style in reversed(self.wrapped):
            row[key] = wrap_json(style, row[key])
        return value

    def _of_rows(self, table: Table, kind: str) -> Any:
        if kind == "[]":
            return table.rows
        if kind == "{}":
            return self._map(table.rows)
        return table.rows[0]

    def _map(self, entries: list[dict[Any, Any]]) -> dict[str, Any]:
        """Return the object that the entries will be added to once they are filled."""
        built: dict[str, Any] = {}
        self.maps.append((built, entries))
        return built

    def _sections(self, text: str) -> None:
        if not HEADED.match(text):
            raise NotDecodable("the text does not start with #brim json")
        at = text.find("\n") + 1 or len(text)
        while at < len(text):
            if text.startswith("$", at):
                end = text.find("\n", at)
                name, _, alias = text[at + 1 : end if end >= 0 else len(text)].partition("=")
                self.aliases[name] = alias
                at = end + 1 if end >= 0 else len(text)
            elif (loose := _LOOSE_ROOT.match(text, at)) is not None:
                end = cell_end(text, loose.end(), inside=True, tagged=True)
                self.root = ("=" + (loose[1] or ""), text[loose.end() : end])
                at = end + 1
            elif text.startswith("%", at):
                at = self._section(text, at + 1)
            else:
                raise NotDecodable(f"a line starts with neither % nor $: {text[at : at + 40]}")

    def _section(self, text: str, at: int) -> int:
        sign = text[at : at + 2]
        if sign in ("[]", "{}"):
            name, at = sign, at + 2
        else:
            found = _NAME.match(text, at)
            name, at = (found[0], found.end()) if found else ("", at)
        if not text.startswith("(", at):
            raise NotDecodable(f"a header has no bracket: {text[at : at + 40]}")
        specs, at = read_fields(text, at + 1)
        table = Table(specs)
        is_root = name in ("", "[]", "{}")
        if is_root:
            self.root = (name, "")
        self.tables["%" + name if is_root else name] = table
        rows, at = read_rows(text, at + 1, table.with_cells)
        if not rows and not table.with_cells:
            rows = [[]]  # a table with only a header is one row
        table.rows = [table.add(cells) for cells in rows]
        return at

    def _index(self, table: Table, key: Spec) -> None:
        if _has_cell(key):
            at = table.with_cells.index(key)
            reader = self.text_reader if key.as_text else self.reader
            keys = [reader[cells[at]] for _, cells in table.pending]
        else:
            keys = [self.nested(key.body, None)]
        table.by_key = dict(zip(keys, table.rows, strict=True))

    def _fill_all(self) -> None:
        while True:
            waiting = [table for table in self.tables.values() if table.pending]
            if not waiting:
                return
            for table in waiting:
                self._fill(table)

    def _fill(self, table: Table) -> None:
        pending, table.pending = table.pending, []
        count = len(pending)
        columns = list(zip(*[cells for _, cells in pending], strict=False)) if table.with_cells else []
        for spec, cells in zip(table.with_cells, columns, strict=False):
            spec.cells = list(cells)
        for spec in table.leaves:
            spec.values = None
        for spec in table.leaves:
            self._values(spec, table, count)
        rows = [row for row, _ in pending]
        self._assemble(table.specs, rows, table.optional)

    def _assemble(self, specs: list[Spec], rows: list[dict[str, Any]], optional: bool) -> None:
        keys: list[Any] = [_ENTRY if spec.entry else spec.key for spec in specs]
        columns: list[list[Any]] = []
        for spec in specs:
            if spec.fields is None:
                columns.append(spec.values or [])
                if "json" in spec.wrap:
                    self._note_wrapped(spec, rows, spec.values or [])
            else:
                inner: list[dict[str, Any]] = [{} for _ in rows]
                columns.append([[one] for one in inner] if spec.in_list else inner)
                if spec.wrap:
                    self._note_wrapped(spec, rows, columns[-1])
                self._assemble(spec.fields, inner, optional)
        for row, values in zip(rows, zip(*columns, strict=True), strict=True):
            if optional:
                row.update((key, value) for key, value in zip(keys, values, strict=True) if value is not ABSENT)
            else:
                row.update(zip(keys, values, strict=True))

    def _note_wrapped(self, spec: Spec, rows: list[dict[str, Any]], values: list[Any]) -> None:
        for row, value in zip(rows, values, strict=True):
            if isinstance(value, dict | list):
                self.wrapped.append((row, spec.key, spec.wrap))

    def _values(self, spec: Spec, table: Table, count: int) -> list[Any]:
        """Return a column's values, which are read or built only once."""
        if spec.values is not None:
            return spec.values
        spec.values = _CYCLE
        if spec.mark == ":":
            if spec.nested or spec.body[:1] in _CONTAINERS:
                child = self._child(spec)
                values = [self.nested(spec.body, child) for _ in range(count)]
            else:
                values = [self.reader[spec.body]] * count
        elif spec.mark == "=":
            values = self._made(spec, table, count)
        else:
            values = self._from_cells(spec, table, count)
        if spec.wrap.startswith("b64"):
            values = [wrap_base64(spec.wrap, value) if isinstance(value, str) else value for value in values]
        spec.values = values
        return values

    def _child(self, spec: Spec) -> Table | None:
        return self.tables[spec.child] if spec.child else None

    def _from_cells(self, spec: Spec, table: Table, count: int) -> list[Any]:
        cells: list[Any] = spec.cells or []
        values: list[Any]
        reader = self.text_reader if spec.as_text else self.reader
        if spec.nested:
            child = self._child(spec)
            values = [self.nested(cell, child) if cell else None for cell in cells]
        elif reads_as_texts(cells):
            values = cells
        else:
            values = (None if spec.as_text else read_numbers(cells)) or [
                self.nested(cell, None) if cell[:1] in _BRACKETS else reader[cell] for cell in cells
            ]
        if spec.mark == "~":
            usual = self._made(spec, table, count)
            values = [value if cell else other for cell, value, other in zip(cells, values, usual, strict=True)]
        elif spec.optional:
            values = [value if cell else ABSENT for cell, value in zip(cells, values, strict=True)]
        return values

    def _made(self, spec: Spec, table: Table, count: int) -> list[Any]:
        """Return a template's value for each row; a lone {c} copies, and a missing source gives null."""
        parts = self._parts(spec, table, count)
        sources = [part for part in parts if not isinstance(part, str)]
        if not sources:
            return [self.reader[spec.body]] * count
        if len(parts) == 1:
            return sources[0]
        columns = [[part] * count if isinstance(part, str) else [_as_text(value) for value in part] for part in parts]
        return [None if None in row else "".join(row) for row in zip(*columns, strict=True)]

    def _parts(self, spec: Spec, table: Table, count: int) -> list[str | list[Any]]:
        body = spec.body
        parts: list[str | list[Any]] = []
        if spec.quoted:
            body = unquoted(body)
        elif body.startswith("$"):
            found = ALIASED.match(body)
            if found and found[1] in self.aliases:
                parts.append(self.aliases[found[1]])
                body = found[2]
        start = 0
        for found in _REF.finditer(body):
            source = self._source(spec, found[1], table, count)
            if source is None:
                continue
            if found.start() > start:
                parts.append(body[start : found.start()])
            parts.append(source)
            start = found.end()
        if start < len(body):
            parts.append(body[start:])
        return parts

    def _source(self, spec: Spec, name: str, table: Table, count: int) -> list[Any] | None:
        if not name:
            return self._hole(spec) if spec.mark == "=" else None
        prefix = ".".join(spec.path[:-1])
        plain = name.rstrip("*") or name
        source = table.by_path.get(f"{prefix}.{plain}" if prefix else plain) or table.by_path.get(plain)
        if source is None:
            return None
        if name.endswith("*") and name != "*":
            return self._hole(source)
        values = self._values(source, table, count)
        if values is _CYCLE:
            raise NotDecodable(f"{name} is made of itself")
        return values

    def _hole(self, spec: Spec) -> list[Any]:
        return [self.text_reader[cell] if cell else "" for cell in spec.cells or ()]

    def nested(self, raw: str, child: Table | None) -> Any:
        """Return the value of a cell that may hold brackets."""
        start = raw[:1]
        if start == "[":
            inner = raw[1:-1]
            if not inner:
                return []
            items = split_cells(inner)
            if child is None and not SPECIAL.search(inner):
                return [self.reader[item] for item in items]
            return [self.nested(item, child) for item in items]
        if start == "{":
            return self._object(raw[1:-1], child)
        if start == "(":
            if child is None:
                raise NotDecodable(f"no class for {raw[:40]}")
            return child.add(split_cells(raw[1:-1]))
        if start == "%":
            return self._section_rows(raw[1:])
        if start != '"' and raw.endswith(")"):
            name, _, inner = raw[:-1].partition("(")
            table = self.tables[name]
            return self._by_key(table, inner) if table.by_key is not None else table.add(split_cells(inner))
        if child is not None and child.by_key is not None and raw != "null":
            return self._by_key(child, raw)
        return self.reader[raw]

    def _by_key(self, table: Table, raw: str) -> dict[str, Any]:
        self.shared = True
        key = self.reader[raw]
        if table.by_key is None or key not in table.by_key:
            raise NotDecodable(f"no row with the key {raw[:40]}")
        return table.by_key[key]

    def _section_rows(self, name: str) -> Any:
        table = self.tables[name]
        return self._map(table.rows) if table.is_map else table.rows

    def _object(self, inner: str, child: Table | None) -> dict[str, Any]:
        built: dict[str, Any] = {}
        if not inner:
            return built
        if inner[0] == "(" or not (inner[0] == '"' or _OBJECT_KEY.match(inner)):
            entries = [self.nested(item, child) for item in split_cells(inner)]
            if not all(isinstance(entry, dict) for entry in entries):
                raise NotDecodable(f"a map holds something else than entries: {inner[:40]}")
            return self._map(entries)
        at = 0
        while True:
            if inner[at] == '"':
                end = cell_end(inner, at, inside=True, tagged=False)
                key = unquoted(inner[at:end])
            else:
                found = _OBJECT_KEY.match(inner, at)
                if found is None:
                    raise NotDecodable(f"an object has no key at: {inner[at : at + 40]}")
                key, end = found[0], found.end()
            style = _STYLE.match(inner, end)
            if style is not None:
                end = style.end()
                self.wrapped.append((built, key, style[1]))
            stop = cell_end(inner, end + 1, inside=True, tagged=True)
            built[key] = self.nested(inner[end + 1 : stop], None)
            if stop == len(inner):
                return built
            at = stop + 1


def _leaves(specs: list[Spec]) -> list[Spec]:
    found = []
    for spec in specs:
        found.extend([spec] if spec.fields is None else _leaves(spec.fields))
    return found


def _has_cell(spec: Spec) -> bool:
    return spec.mark != ":" and (spec.mark != "=" or "{}" in spec.body)


def _as_text(value: Any) -> str | None:
    if type(value) is str:
        return value
    return str(value) if type(value) is int else None
