"""Writes a shaped value as text: a legend of the syntax in use, a header line per class, rows of plain cells.

Example: [{"id": 1, "ok": true}, {"id": 2, "ok": true}] ->
    #brim json k:v in every row
    %[](id,ok:true)
    1
    2
"""

from __future__ import annotations

import re
from typing import Any

from brim.content.json.identifiers import names_something
from brim.content.json.table.alias import choose_aliases
from brim.content.json.table.columns import ABSENT, NONE, Absent, Field, columns, leaves, sole_class
from brim.content.json.table.derive import Names, derive, hoist
from brim.content.json.table.layout import choose_forms
from brim.content.json.table.scalars import (
    LITERALS,
    NUMBER,
    Aliases,
    cell,
    clean_column,
    clean_nested,
    quoted,
    text_cell,
)
from brim.content.json.table.shape import ENTRY, Class, RowShape

_BARE_KEY = re.compile(r"(?!\s)[^\x00-\x1f,()\[\]{}\":=~@'?!*%$#.]+(?<!\s)\Z")
_BARE_TEMPLATE = re.compile(r"(?![\s'$\"])(?:[^,()\[\]{}\"\x00-\x1f]|\{[^,(){}\"\x00-\x1f]*\})*(?<!\s)\Z")

LEGEND = (
    (":", "k:v in every row"),
    ("=", "k=…{c}… made of column c"),
    ("{}", "{} the cell"),
    ("*}", "{c*} c's cell"),
    ("~", "k~v if blank"),
    ("null", "blank null"),
    ("?", "k? absent if blank"),
    ("keyed", "k@c the %c row with that * key"),
    ("inline", "k@c (cells) of %c"),
    ("tagged", "k@ c(cells) of %c"),
    ("map", "* the entry's key"),
    ("$", "$A as above"),
    ("'", "'x text"),
    ("json", "!jsonN text of this JSON"),
    ("+json", "!+json texts around it too"),
    ("b64", "!b64 base64 of this"),
)


class TableWriter:
    """Builds the table form of a JSON value; `full` also uses templates, repeats and aliases."""

    def __init__(self, value: Any, full: bool) -> None:
        self.shape = shape = RowShape(value, unwrap=full)
        self.used: set[str] = set()
        choose_forms(shape, keyed=True)
        self.tables: dict[Class, EmittedTable] = {}
        for cls in shape.distinct():
            if cls.form in ("rows", "keyed", "inline"):
                table = self.tables[cls] = EmittedTable(cls, columns(cls, shape))
                hoist(table.leaves, len(cls.rows))
                if full:
                    derive(table.leaves, len(cls.rows), cls.key)
        self.aliases = choose_aliases([table.leaves for table in self.tables.values()]) if full else Aliases()
        if self.aliases.texts:
            self.used.add("$")

    @property
    def is_simple(self) -> bool:
        """Whether the output uses only the syntax of the plain form."""
        return not self.used & _FULL_ONLY

    def document(self, name: str = "#brim json") -> str:
        root = self.shape.root
        lines = self._root(root)
        done = {cls for cls in self.tables if cls.form == "rows" and self._is_root(cls)}
        before: list[str] = []
        for cls, table in self.tables.items():
            if cls in done:
                continue
            self._render(table)
            if cls.form == "inline":
                if table.texts_used:
                    before.append(f"%{cls.name}({table.header})")
            elif cls.form == "rows" or table.texts_used:
                lines.append(f"%{cls.name}({table.header})")
                lines.extend(table.lines)
        aliases = [f"${name}={text}" for name, text in self.aliases.texts.items()]
        legend = "; ".join(text for sign, text in LEGEND if sign in self.used)
        head = f"{name} {legend}" if legend else name
        return "\n".join([head, *aliases, *before, *lines])

    def _is_root(self, cls: Class) -> bool:
        return next(iter(cls.places))[0] is None

    def _root(self, root: Any) -> list[str]:
        for cls, table in self.tables.items():
            if cls.form == "rows" and self._is_root(cls):
                self._render(table)
                sign = "[]" if type(root) is list else "{}" if id(root) in self.shape.maps else ""
                return [f"%{sign}({table.header})", *table.lines]
        child = sole_class([root], self.shape)
        self.used.update([child.form] if child is not None else [])
        return [f"%{'@' + child.name if child is not None else ''}={self.nested(root, child)}"]

    def _render(self, table: EmittedTable) -> None:
        """Write a table's header and rows, once."""
        if table.header is not None:
            return
        table.header = ""
        nested = table.cls.form == "inline"
        names = Names(table.leaves)
        if table.cls.recursive:
            self._render_inside_out(table)
            table.header = self._header(table.fields, table.cls, names, len(table.cls.rows))
            return
        cells = [texts for one in table.leaves if (texts := self._cells(one, nested)) is not None]
        count = len(table.cls.rows)
        if not cells and count > 1 and table.cls.form != "inline":
            cells = self._unhoist(table)
        table.header = self._header(table.fields, table.cls, names, count)
        if not cells:
            rows = [""] * count
        elif len(cells) == 1:
            rows = [text or "," for text in cells[0]]  # a row on its own line is never empty
        else:
            rows = list(map(",".join, zip(*cells, strict=True)))
        if nested:
            table.texts = {id(row): text for row, text in zip(table.cls.rows, rows, strict=True)}
        else:
            table.lines = rows if cells else []

    def _render_inside_out(self, table: EmittedTable) -> None:
        """Write the rows of a recursive class: a row's text contains the texts of the rows inside it."""
        columns: list[list[str] | Field] = []
        for one in table.leaves:
            if not one.scalar:
                if self._shows(one):
                    columns.append(one)
            elif (texts := self._cells(one, True)) is not None:
                columns.append(texts)
        table.row_at = {id(row): at for at, row in enumerate(table.cls.rows)}
        table.columns = columns

    def _shows(self, one: Field) -> bool:
        return True

    def _row(self, table: EmittedTable, row: dict[str, Any]) -> str:
        text = table.texts.get(id(row))
        if text is None:
            at = table.row_at[id(row)]
            text = ",".join(
                [self._cell(column, at) if isinstance(column, Field) else column[at] for column in table.columns]
            )
            table.texts[id(row)] = text
        return text

    def _cell(self, one: Field, at: int) -> str:
        value = one.values[at]
        if value is None or value is ABSENT:
            self.used.add("null")
            return "null" if one.optional and value is None else ""
        return self.nested(value, one.child)

    def _unhoist(self, table: EmittedTable) -> list[list[str]]:
        """Write one constant column as cells again, so that rows can be counted."""
        count = len(table.cls.rows)
        one = next((one for one in table.leaves if one.scalar), table.leaves[0])
        one.mark = ""
        if not one.scalar:
            return [[str(one.default)] * count]
        if one.template is not None:
            one.template, one.wrap = None, ""
        return [self._cells(one, False) or []]

    def _cells(self, one: Field, nested: bool) -> list[str] | None:
        """Return the cells of a column, or None if the header is enough."""
        if not one.scalar:
            return self._nested_cells(one)
        aliases = self._aliases_for(one)
        if one.mark == ":" or (one.mark == "=" and one.hole is None):
            return None
        if one.hole is not None:
            return [text_cell(text or "", nested, aliases, True) if text else "" for text in one.hole.texts]
        values = one.values
        if one.kinds == {str}:
            clean = clean_nested(values) if nested else clean_column(values)
            one.as_text = not clean and _reads_otherwise(values)
            if clean and not aliases.texts:
                texts = values
            else:
                texts = [text_cell(value, nested, aliases, one.as_text) for value in values]
        elif one.kinds == {int}:
            texts = list(map(repr, values))
        else:
            plain = "null" if one.mark == "~" or one.optional else ""
            if one.kinds <= _NULLABLE_TEXT and not (plain and None in values):
                one.as_text = _reads_otherwise([value for value in values if type(value) is str])
            texts = [
                plain
                if value is None
                else ""
                if value is ABSENT
                else text_cell(value, nested, aliases, True)
                if one.as_text
                else cell(value, nested, aliases)
                for value in values
            ]
            if "" in texts and not one.optional:
                self.used.add("null")
        if one.blank is not None:
            texts = ["" if blank else text for blank, text in zip(one.blank, texts, strict=True)]
        return texts

    def _aliases_for(self, one: Field) -> Aliases:
        return NO_ALIASES if names_something(one.key) else self.aliases  # identifiers stay verbatim

    def _nested_cells(self, one: Field) -> list[str] | None:
        plain = "null" if one.optional else ""
        texts = [
            plain if value is None else "" if value is ABSENT else self.nested(value, one.child) for value in one.values
        ]
        if not one.optional and texts.count(texts[0]) == len(texts) and texts[0]:
            one.mark, one.default = ":", texts[0]
            return None
        if "" in texts and not one.optional:
            self.used.add("null")
        return texts

    def nested(self, value: Any, child: Class | None) -> str:
        """Return a value for use inside brackets or a header; objects of class `child` need no name."""
        kind = type(value)
        if kind is dict:
            return self._object(value, child)
        if kind is list:
            cls = child if child is not None and child.form == "rows" else None
            if cls is not None and value and type(value[0]) is dict:
                return f"%{cls.name}"
            return f"[{','.join(self._items(value, child))}]"
        return cell(value, True, self.aliases)

    def _items(self, values: list[Any], child: Class | None) -> list[str]:
        kinds = set(map(type, values))
        if kinds == {int}:
            return list(map(repr, values))
        if kinds == {str} and not self.aliases.texts and clean_nested(values):
            return values
        return [self.nested(item, child) for item in values]

    def _object(self, value: dict[str, Any], child: Class | None) -> str:
        entries = self.shape.maps.get(id(value))
        if entries is not None:
            if child is not None and child.form == "rows":
                return f"%{child.name}"
            return "{" + ",".join([self.nested(entry, child) for entry in entries]) + "}"
        if not value:
            return "{}"
        cls = self.shape.of(value)
        if cls.form not in ("keyed", "inline"):
            return "{" + ",".join([self._pair(value, key) for key in value]) + "}"
        table = self.tables[cls]
        table.texts_used = True
        if cls.form == "keyed":
            text = cell(value[cls.key], True, self.aliases)
            return text if child is cls else f"{cls.name}({text})"
        self._render(table)
        text = self._row(table, value)
        return f"({text})" if child is cls else f"{cls.name}({text})"

    def _pair(self, row: dict[str, Any], key: str) -> str:
        wrapped = self.shape.unwrapped.get((id(row), key))
        if wrapped is None:
            return f"{key_text(key)}:{self.nested(row[key], None)}"
        return f"{key_text(key)}{self._use_wrap(wrapped.style)}:{self.nested(wrapped.value, None)}"

    def _header(self, fields: list[Field], cls: Class, names: Names, rows: int) -> str:
        texts = []
        for one in fields:
            if one.fields is not None:
                brackets = self._use_wrap(one.wrap) if one.wrap else ""
                brackets += "[]" if one.in_list else ""
                texts.append(f"{key_text(one.key)}{brackets}({self._header(one.fields, cls, names, rows)})")
                continue
            texts.append(self._head(one, cls) + self._note(one, names, rows))
        return ",".join(texts)

    def _use_wrap(self, style: str) -> str:
        self.used.add("json" if "json" in style else "b64")
        if style[0] == "+":
            self.used.add("+json")
        return "!" + style

    def _head(self, one: Field, cls: Class) -> str:
        head = "*" if one.key is ENTRY else key_text(one.key)
        if one.key is ENTRY:
            self.used.add("map")
        if one.as_text:
            self.used.add("'")
            head = "'" + head
        if cls.key and one.path == (cls.key,):
            head += "*"
        if one.optional:
            self.used.add("?")
            head += "?"
        if one.wrap:
            head += self._use_wrap(one.wrap)
        if one.tagged:
            self.used.add("tagged")
            head += "@"
        elif one.child is not None and one.child.form != "rows":
            self.used.add(one.child.form)
            head += "@" + one.child.name
        return head

    def _note(self, one: Field, names: Names, rows: int) -> str:
        if one.mark == ":":
            if rows > 1:
                self.used.add(":")
            return ":" + (cell(one.values[0], True, self._aliases_for(one)) if one.scalar else one.default)
        if not one.mark:
            return ""
        self.used.add(one.mark)
        if one.template is None:
            return "~" + cell(one.default, True, self.aliases)
        self.used.add("=")
        if one.hole is not None:
            self.used.add("{}")
        text = "".join("{}" if part is one.hole else names.write(one, [part]) or "" for part in one.template)
        if "*}" in text:
            self.used.add("*}")
        cut = self.aliases.cut(text)
        if cut is not None and _BARE_TEMPLATE.match(cut[1]):
            return f"{one.mark}${cut[0]}{cut[1]}"
        return one.mark + (text if _BARE_TEMPLATE.match(text) else quoted(text))


class EmittedTable:
    """A class with its columns, and its output so far."""

    def __init__(self, cls: Class, fields: list[Field]) -> None:
        self.cls = cls
        self.fields = fields
        self.leaves = leaves(fields)
        self.header: str | None = None
        self.texts: dict[int, str] = {}
        self.row_at: dict[int, int] = {}
        self.columns: list[list[str] | Field] = []
        self.texts_used = False
        self.lines: list[str] = []


_FULL_ONLY = {"=", "~", "keyed", "$", "json", "b64"}
NO_ALIASES = Aliases()
_NULLABLE_TEXT = {str, NONE, Absent}


def _reads_otherwise(texts: list[str]) -> bool:
    """Whether several texts would be read as numbers, or as words like null."""
    found = 0
    for text in texts:
        found += text in LITERALS or NUMBER.match(text) is not None
        if found > 1:
            return True
    return False


def key_text(key: str) -> str:
    return key if _BARE_KEY.match(key) else quoted(key)
