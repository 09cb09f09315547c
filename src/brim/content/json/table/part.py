"""Writing a part of a value: some columns, some rows, long texts cut; what is shown is as it is in the whole.

`…` stands for a cell, a row, or the rest of a text or list that is left out.
"""

from __future__ import annotations

from typing import Any

from brim.content.json.table.columns import ABSENT, Field, sole_class
from brim.content.json.table.derive import Names
from brim.content.json.table.emit import LEGEND, EmittedTable, TableWriter, key_text
from brim.content.json.table.scalars import cell
from brim.content.json.table.shape import Class

HEAD = "#brim part of json"
GAP = "…"


class PartWriter(TableWriter):
    """A document of which only `kept` columns are written.

    `cut` is the length that texts of `long` columns and lists are cut to; `partial` says how many cells a
    column shows; `chosen` says which rows a table shows.
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value, full=True)
        self.kept: set[Field] = set()
        self.long: set[Field] = set()
        self.cut = 0
        self._cutting = False
        self.partial: dict[Field, int] = {}
        self.chosen: dict[Class, list[int]] = {}
        self.root_items: list[int] | None = None

    def text(self) -> str:
        """Return the part without its mark."""
        self.used = {"$"} if self.aliases.texts else set()
        for table in self.tables.values():
            _forget(table)
        lines = self._root(self.shape.root)
        before: list[str] = []
        for cls, table in self.tables.items():
            if self._is_root_table(cls) or not self.alive(cls):
                continue
            self._render(table)
            if cls.form == "inline":
                if table.texts_used:
                    before.append(f"%{cls.name}({table.header})")
            else:
                lines.append(f"%{cls.name}({table.header})")
                lines.extend(table.lines)
        legend = "; ".join(text for sign, text in LEGEND if sign in self.used and sign != "$")
        body = "\n".join([*before, *lines])
        aliases = [f"${name}={text}" for name, text in self.aliases.texts.items() if f"${name}" in body]
        return "\n".join([f"{HEAD} {legend}".rstrip(), *aliases, body])

    def alive(self, cls: Class) -> bool:
        """Whether anything of a class is shown."""
        return any(one in self.kept for one in self.tables[cls].leaves)

    def _is_root_table(self, cls: Class) -> bool:
        return cls.form == "rows" and self._is_root(cls)

    def _root(self, root: Any) -> list[str]:
        if self.root_items is not None and type(root) is list:
            child = sole_class([root], self.shape)
            places = with_gaps(self.root_items, len(root))
            shown = [self.nested(root[at], child) if at >= 0 else GAP for at in places]
            return [f"%{'@' + child.name if child is not None else ''}=[{','.join(shown)}]"]
        return super()._root(root)

    def _render(self, table: EmittedTable) -> None:
        fresh = table.header is None
        super()._render(table)
        chosen = self.chosen.get(table.cls)
        if fresh and chosen is not None and table.lines:
            table.lines = [table.lines[at] if at >= 0 else GAP for at in with_gaps(chosen, len(table.cls.rows))]

    def _unhoist(self, table: EmittedTable) -> list[list[str]]:
        return []  # constants that are shown are enough; with no cells there are no rows to show

    def _shows(self, one: Field) -> bool:
        return one in self.kept

    def _cells(self, one: Field, nested: bool) -> list[str] | None:
        if one not in self.kept:
            return None
        whole = one.values
        if one in self.long:
            self._cutting = True
            one.values = [_shortened(value, self.cut) if type(value) is str else value for value in whole]
        texts = super()._cells(one, nested)
        self._cutting = False
        one.values = whole
        if texts is not None and one in self.partial:
            shown = self.partial[one]
            texts = texts[:shown] + [GAP] * (len(texts) - shown)
        return texts

    def nested(self, value: Any, child: Class | None) -> str:
        if self._cutting:
            if type(value) is list and len(value) > items_in(self.cut):
                shown = [self.nested(item, child) for item in value[: items_in(self.cut)]]
                return f"[{','.join(shown)},{GAP}]"
            if type(value) is str:
                value = _shortened(value, self.cut)
        return super().nested(value, child)

    def _object(self, value: dict[str, Any], child: Class | None) -> str:
        if value and id(value) not in self.shape.maps:
            cls = self.shape.of(value)
            if cls.form in ("keyed", "inline") and not self.alive(cls):
                return cell(value[cls.key], True, self.aliases) if cls.form == "keyed" else GAP
        return super()._object(value, child)

    def _header(self, fields: list[Field], cls: Class, names: Names, rows: int) -> str:
        texts = []
        for one in fields:
            if one.fields is not None:
                inner = self._header(one.fields, cls, names, rows)
                if inner:
                    texts.append(f"{key_text(one.key)}{'[]' if one.in_list else ''}({inner})")
            elif one in self.kept:
                if one in self.long and one.mark == ":" and type(one.values[0]) is str:
                    whole, one.values = one.values, [_shortened(one.values[0], self.cut)]
                    texts.append(self._head(one, cls) + self._note(one, names, rows))
                    one.values = whole
                else:
                    texts.append(self._head(one, cls) + self._note(one, names, rows))
        return ",".join(texts)


def with_gaps(chosen: list[int], total: int) -> list[int]:
    """Return row numbers with -1 where rows are left out. Example: [0, 1, 9] of 10 -> [0, 1, -1, 9]"""
    shown = []
    last = -1
    for at in chosen:
        if at != last + 1:
            shown.append(-1)
        shown.append(at)
        last = at
    if last + 1 < total:
        shown.append(-1)
    return shown


def items_in(cut: int) -> int:
    """How many items of a list are shown where texts are cut to a length."""
    return max(2, cut // 6)


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length].rstrip() + GAP


def _forget(table: EmittedTable) -> None:
    """Undo what writing a table left in it."""
    table.header = None
    table.texts, table.texts_used, table.lines = {}, False, []
    for one in table.leaves:
        if not one.scalar and one.mark == ":":
            one.mark, one.default = "", ABSENT
