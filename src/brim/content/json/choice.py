"""Choosing the columns, rows and lengths of a part for a room."""

from __future__ import annotations

from dataclasses import dataclass

from brim.content.json.identifiers import is_error_key, is_status_key, names_something, speaks_of_error
from brim.content.json.table.columns import NONE, Field
from brim.content.json.table.part import PartWriter, items_in
from brim.content.json.table.shape import ENTRY
from brim.content.types import Room
from brim.relevance import query_match

# What goes first comes last: idle columns are derivable URLs, nulls and false flags.
_IDS, _ERRORS, _STATUS, _SHORT, _LONG, _DERIVED, _IDLE = range(7)
_LONG_TEXT = 60
_TRIES = 8
_BEGINNING = 60
_SAMPLE = 100_000


@dataclass(slots=True, eq=False)
class JsonItem:
    """A column that can be shown: how dispensable it is, and what it costs."""

    field: Field
    rank: int
    cost: int
    worth: float
    asked: bool


class Plan:
    """The columns and rows of a part, chosen for a room."""

    def __init__(self, part: PartWriter, room: Room, dropped: int = 0) -> None:
        self.part = part
        self.room = room
        self.dropped = dropped  # items of huge lists that the part does not even know of
        self.terms = query_match.terms(room.query)
        self.links: list[Field] = []
        self.items: list[JsonItem] = []
        self.rows = sum(len(cls.rows) for cls in part.tables if cls.form != "inline")
        part.kept = {one for table in part.tables.values() for one in table.leaves}
        part.text()  # so that every column knows how it is written
        for table in part.tables.values():
            for one in table.leaves:
                self._add(one, table.cls.form == "inline", len(table.cls.rows))
        self.items.sort(key=lambda item: (item.rank, not item.asked, -item.worth, item.cost))

    def _add(self, one: Field, nested: bool, rows: int) -> None:
        child = one.child
        if child is not None and child.form in ("inline", "rows"):
            self.links.append(one)
            return
        if one.tagged:
            self.links.append(one)
            return
        cells = self.part._cells(one, nested)
        head = self.room.count(one.key) + 2
        if cells is not None:
            body = self._tokens("\n".join(cells))
        else:
            body = self._tokens(str(one.values[0])) if one.mark == ":" else 12
        if one.template is not None and one.hole is None and names_something(one.key):
            different = len(set(one.values))
        else:
            different = len(set(cells)) if cells is not None else 1
        asked = bool(self.terms) and self._matches(one)
        rank = _IDS if asked else self._rank(one, child is not None)
        self.items.append(JsonItem(one, rank, head + body, different / (head + body), asked))

    def _tokens(self, text: str) -> int:
        if len(text) <= _SAMPLE:
            return self.room.count(text)
        return len(text) * self.room.count(text[:_SAMPLE]) // _SAMPLE

    def _rank(self, one: Field, is_link: bool) -> int:
        """Say how soon a column may go, the last to go first."""
        derived = one.mark == "=" and one.hole is None
        if one.kinds <= {NONE} or (one.mark == ":" and one.values[0] in (None, False, "")):
            return _IDLE
        if one.key is ENTRY or (derived and names_something(one.key)):
            return _IDS
        if derived:
            return _IDLE if "url" in one.key.lower() or "href" in one.key.lower() else _DERIVED
        if is_link:
            return _STATUS
        texts = [value for value in one.values[:200] if type(value) is str]
        if texts and sum(text.startswith(("http://", "https://")) for text in texts) * 2 > len(texts):
            return _DERIVED
        if names_something(one.key) and one.scalar:
            return _IDS
        if is_error_key(one.key) or any(map(speaks_of_error, texts[:50])):
            return _ERRORS
        if (texts and max(map(len, texts)) > _LONG_TEXT) or not one.scalar:
            return _LONG
        if is_status_key(one.key) or one.kinds == {bool}:
            return _STATUS
        return _SHORT

    def _matches(self, one: Field) -> bool:
        """Say whether a column, or one of its texts, speaks of what the reader is after."""
        if any(term in one.key.lower() for term in self.terms):
            return True
        texts = "\n".join([value for value in one.values if type(value) is str]).lower()
        return any(term in texts for term in self.terms)

    def fitted(self) -> str | None:
        """Return the fullest text that fits, or None if not even a few identifiers do."""
        budget = float(self.room.tokens)
        best: str | None = None
        low, high = 0.0, budget * 4
        for _ in range(_TRIES):
            text = self._written(int(budget))
            if text is None:
                return best or self._some_items()
            taken = self.room.count(text)
            if taken <= self.room.tokens:
                if best is None or taken > self.room.count(best):
                    best = text
                if taken >= 0.95 * self.room.tokens or self.whole:
                    break
                low = budget
            else:
                high = budget
            over = taken - self.room.tokens
            aim = budget - max(4, 1.3 * over) if over > 0 else budget * (0.985 * self.room.tokens / max(1, taken))
            budget = aim if low < aim < high else (low + high) / 2
        return best or self._some_items()

    def _some_items(self) -> str | None:
        """Return the head and tail of a list that is no table, as many items as fit."""
        root = self.part.shape.root
        if type(root) is not list or any(cls.form == "rows" for cls in self.part.tables):
            return None
        part = self.part
        part.kept = {item.field for item in self.items if item.rank <= _STATUS} or {item.field for item in self.items}
        part.long, part.partial, part.chosen = set(), {}, {}
        self._link()
        self._keep_keys()
        best = None
        low, high = 0, len(root)
        while low < high:
            number = (low + high + 1) // 2
            tail = number // 4
            part.root_items = [*range(number - tail), *range(len(root) - tail, len(root))]
            total = len(root) + self.dropped
            missing = f"{total - number:,} of {total:,} items"
            text = f"{part.text()}\n{self.room.mark(missing)}"
            if self.room.fits(text):
                best, low = text, number
            else:
                high = number - 1
        return best

    def _written(self, budget: int) -> str | None:
        part = self.part
        left = self._choose(budget)
        if left is None:
            return None
        text = part.text()
        return text + "\n" + self.room.mark(self._missing())

    def _choose(self, budget: int) -> int | None:
        """Take columns in their order while they fit; return what is left, or None if nothing fits."""
        part = self.part
        part.kept, part.long, part.partial, part.chosen = set(), set(), {}, {}
        part.root_items = None
        overhead = self.room.count(part.text()) + self.room.count(self.room.mark(self._missing())) + 8
        left = budget - overhead
        self.whole = True
        if left <= 0:
            return None
        shown = self._choose_rows(left)
        long: list[JsonItem] = []
        idle: list[JsonItem] = []
        waiting: list[JsonItem] = []
        for item in self.items:
            cost = self._cost(item, shown)
            if item.rank >= _LONG:
                (long if item.rank == _LONG else idle).append(item)
            elif not self._sources_kept(item.field):
                waiting.append(item)
            elif cost <= left:
                part.kept.add(item.field)
                left = self._take_derived(waiting, left - cost)
            else:
                self.whole = False
                if item.rank <= _STATUS:
                    left = self._take_partly(item, left, shown)
        left = self._take_texts(long, left)
        self._take_derived(idle, left)
        self._link()
        self._keep_keys()
        return left if part.kept else None

    def _take_derived(self, items: list[JsonItem], left: int) -> int:
        """Take the columns that only the header says, now that what they are made of is chosen."""
        for item in items:
            one = item.field
            if one not in self.part.kept and one.mark in (":", "=") and item.cost <= left and self._sources_kept(one):
                self.part.kept.add(one)
                left -= item.cost
        return left

    def _cost(self, item: JsonItem, shown: float) -> int:
        if item.field.mark == ":":
            return item.cost
        return int(item.cost * shown) + 1

    def _sources_kept(self, one: Field) -> bool:
        if one.template is None:
            return True
        fields = [part for part in one.template if isinstance(part, Field)]
        return all(source in self.part.kept for source in fields)

    def _take_partly(self, item: JsonItem, left: int, shown: float) -> int:
        """Show the first cells of a column that does not fit as a whole."""
        cells = len(item.field.values)
        if cells < 8 or item.field.mark == ":" or item.field.template is not None or shown < 1:
            return left
        each = item.cost / cells
        number = int((left - cells - 4) / each)
        if number < max(3, cells // 10):
            return left
        self.part.kept.add(item.field)
        self.part.partial[item.field] = number
        return left - int(number * each) - cells

    def _take_texts(self, long: list[JsonItem], left: int) -> int:
        """Show the long texts cut to one length, the longest that fits; return what is left for idle columns."""
        part = self.part
        full = sum(item.cost for item in long)
        if full <= left:
            part.kept.update(item.field for item in long)
            return left - full
        self.whole = False
        while long:
            length = max(_longest(item.field) for item in long)
            while (length := length * 9 // 10) > 24:
                if sum(_cut_cost(item, length) for item in long) <= left:
                    part.kept.update(item.field for item in long)
                    part.long.update(item.field for item in long)
                    part.cut = length
                    return 0
            if len(long) == 1:
                self._take_some_texts(long[0], left)
            long = sorted(long, key=lambda item: item.cost)[:-1]
        return 0

    def _take_some_texts(self, item: JsonItem, left: int) -> None:
        """Show the beginnings of the first texts of a column of which all do not fit."""
        cells = len(item.field.values)
        number = int((left - 1.5 * cells) / (_cut_cost(item, _BEGINNING) / cells))
        if number > 0 and item.field.mark == "" and not self.part.chosen:
            self.part.kept.add(item.field)
            self.part.long.add(item.field)
            self.part.cut = _BEGINNING
            self.part.partial[item.field] = number

    def _choose_rows(self, left: int) -> float:
        """Cut the rows of the tables if even the cheapest identifiers of all rows do not fit."""
        part = self.part
        tables = [table for table in part.tables.values() if table.cls.form != "inline" and len(table.cls.rows) > 4]
        least = [self._least(set(table.leaves)) for table in tables]
        if sum(cost for cost, _ in least) <= left * 0.9:
            return 1.0
        share = left * 0.9 / sum(cost + more for cost, more in least)
        self.whole = False
        for table in tables:
            total = len(table.cls.rows)
            part.chosen[table.cls] = self._rows_of(table.leaves, total, max(1, int(total * share)))
        return share

    def _least(self, leaves: set[Field]) -> tuple[int, int]:
        """Return the cost of a table's cheapest identifiers, and about that of telling how each row fared."""
        own = [item for item in self.items if item.field in leaves and item.field.mark != ":"]
        named = [item.cost for item in own if item.rank == _IDS] or [item.cost for item in own]
        fared = sum(item.cost for item in own if item.rank in (_ERRORS, _STATUS))
        asked = sum(item.cost for item in own if item.asked)
        least = min(named, default=0)
        return least, min(fared, least) + asked

    def _rows_of(self, leaves: list[Field], total: int, number: int) -> list[int]:
        """Head, tail, and of the rest the rows that match the query or stand out."""
        head, tail = (number + 1) // 2, number // 4
        chosen = set(range(min(head, total))) | set(range(max(0, total - tail), total))
        for at in self._telling(leaves, total):
            if len(chosen) >= number:
                break
            chosen.add(at)
        for at in range(total):
            if len(chosen) >= number:
                break
            chosen.add(at)
        return sorted(chosen)

    def _telling(self, leaves: list[Field], total: int) -> list[int]:
        scores = [0] * total
        for one in leaves:
            if not one.scalar:
                continue
            unusual = one.blank is not None and (is_status_key(one.key) or is_error_key(one.key))
            for at, value in enumerate(one.values):
                if type(value) is str:
                    if speaks_of_error(value):
                        scores[at] += 2
                    if self.terms and any(term in value.lower() for term in self.terms):
                        scores[at] += 4
                if unusual and one.blank is not None and not one.blank[at]:
                    scores[at] += 1
        return [at for at in sorted(range(total), key=lambda at: -scores[at]) if scores[at]]

    def _link(self) -> None:
        """Keep the columns that lead to classes of which something is shown."""
        part = self.part
        changed = True
        while changed:
            changed = False
            for one in self.links:
                if one in part.kept:
                    continue
                classes = [one.child] if one.child is not None else list(part.tables)
                if any(part.alive(cls) for cls in classes):
                    part.kept.add(one)
                    changed = True

    def _keep_keys(self) -> None:
        """A table whose rows are named elsewhere shows their names."""
        for cls, table in self.part.tables.items():
            if cls.form == "keyed" and self.part.alive(cls):
                self.part.kept.update(one for one in table.leaves if one.path == (cls.key,))

    def _missing(self) -> str:
        part = self.part
        fields = len(self.items)
        shown = sum(1 for item in self.items if item.field in part.kept and item.field not in part.partial)
        rows = sum(len(chosen) for chosen in part.chosen.values())
        total = sum(len(cls.rows) for cls in part.chosen)
        said = []
        if total:
            said.append(f"{total - rows:,} of {total:,} rows")
        if fields > shown:
            said.append(f"{fields - shown} of {fields} fields")
        if part.long:
            said.append("ends of long texts")
        if self.dropped:
            said.append(f"{self.dropped:,} more items")
        return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said) or "nothing more"


def _longest(one: Field) -> int:
    """The cut length at which a column would be whole."""
    lengths = [len(value) * (6 if type(value) is list else 1) for value in one.values if type(value) in (str, list)]
    return max(lengths, default=0)


def _cut_cost(item: JsonItem, length: int) -> int:
    """About what a column of long texts or lists costs when they are cut."""
    whole = cut = number = 0
    values = item.field.values
    step = len(values) // 500 + 1
    for value in values[::step]:
        kind = type(value)
        if kind is str or kind is list:
            size = len(value)
            whole += size
            cut += min(size, length if kind is str else items_in(length))
            number += 1
    return int(item.cost * cut / whole) + 2 * number * step if whole else item.cost
