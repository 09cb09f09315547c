"""A result with only the values that are worth keeping, each beside its key.

    bones = Skeleton(text)
    bones.at(0.5)          the values that score at least 0.5, records whole, gaps marked
    bones.tokens_at(0.5)   about how many tokens that takes, without writing it

Built once for a result and asked many times: a plan finds one threshold for all results by bisection.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from brim.ladders.json.exact import NotExact, load
from brim.ladders.json.leaves import PROSE, Leaf, printed, score, text_leaves
from brim.ladders.json.wrapping import unwrap_json

Path = tuple[str | int, ...]
GAP = "…"
_WHOLE_LINE = 100  # a line of text up to this length is kept whole rather than in pieces
_MAX_DEPTH = 100
# So much less a value is worth where the same list, or the same text, says it again.
_AGAIN = 2.0
# From so many numbers on a list is read by its range.
_LONG_LIST = 9


@dataclass(slots=True, eq=False)
class Node:
    """A part of the value: the leaves from `first` up to `last`, and how it is put together.

    `kind` is "leaf", "object", "list" or "text"; `keys` are an object's keys, or a text's lines.
    """

    kind: str
    first: int
    last: int = 0
    keys: list[str] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)


class Skeleton:
    """The values of one result, ready to be shown at any threshold; `mark` says that others were left out.

    With `count` the estimates are scaled to what the whole really takes.
    """

    def __init__(self, text: str, mark: str = "[… fields left out]", count: Callable[[str], int] | None = None) -> None:
        self.mark = mark
        try:
            value = load(text).value
        except (ValueError, NotExact):
            value = text
        self.tree = Tree(value if isinstance(value, dict | list) else text)
        self.leaves = self.tree.leaves
        self._scores = [leaf.score for leaf in self.leaves]
        order = sorted(range(len(self._scores)), key=self._scores.__getitem__)
        self._ranked = [self._scores[at] for at in order]
        self._above = [*accumulate((self.tree.costs[at] for at in reversed(order)), initial=0.0)][::-1]
        self._mark_cost = cost_of(mark)
        self._scale = 1.0
        if count is not None and self._above[0]:
            self._mark_cost = count(mark)
            self._scale = count(self.tree.written([True] * len(self.leaves))) / self._above[0]

    @classmethod
    def of(cls, text: str, mark: str = "[… fields left out]", count: Callable[[str], int] | None = None) -> Skeleton:
        """The skeleton of a result, whatever it is: JSON by its fields, other text by its lines."""
        return cls(text, mark, count)

    def tokens_at(self, threshold: float) -> int:
        """About how many tokens `at(threshold)` takes."""
        return int(self._above[bisect_left(self._ranked, threshold)] * self._scale + self._mark_cost)

    def at(self, threshold: float, owned: Callable[[str], bool] | None = None) -> str:
        """Return the values that score at least `threshold`, with their keys.

        With `owned` a record of which no value is owned is left out as a whole; a record is never torn.
        """
        shown = [worth >= threshold for worth in self._scores]
        if owned is not None:
            records = self.tree.record_of
            own = {
                record
                for leaf, record, show in zip(self.leaves, records, shown, strict=True)
                if show and owned(leaf.text)
            }
            shown = [show and record in own for show, record in zip(shown, records, strict=True)]
        return _marked(self.tree.written(shown), self.tree.is_whole(shown), self.mark)


def skeleton(value: Any, keep: Callable[[Leaf], bool], room_mark: str) -> str:
    """Return a JSON value with only the leaves that `keep` wants, each beside its key.

    Example: skeleton({"id": 7, "note": "hi"}, lambda leaf: leaf.key == "id", "[… 1 field]") -> "id:7\n[… 1 field]"
    """
    tree = Tree(value)
    shown = [keep(leaf) for leaf in tree.leaves]
    return _marked(tree.written(shown), tree.is_whole(shown), room_mark)


def _marked(text: str, whole: bool, mark: str) -> str:
    if whole:
        return text
    return f"{text}\n{mark}" if text else mark


class Tree:
    """A value taken apart: its leaves in order, with the record that each belongs to and about its tokens."""

    def __init__(self, value: Any) -> None:
        self.leaves: list[Leaf] = []
        self.record_of: list[int] = []
        self.costs: list[float] = []
        self.ends: set[int] = set()  # leaves that are the least or the greatest of a long list of numbers
        self._records = 0
        self._has_prose = False
        self.root = self._node(value, (), "", 0, 0, 0.0)

    def written(self, shown: list[bool]) -> str:
        """Return the text of the leaves that are shown."""
        before = [0, *accumulate(shown)]
        return Rendering(self.leaves, shown, before).render(self.root, top=True) if before[-1] else ""

    def is_whole(self, shown: list[bool]) -> bool:
        """Whether nothing is left out; of prose, something always is."""
        return not self._has_prose and all(shown)

    def _node(self, value: Any, path: Path, key: str, place: int, record: int, key_cost: float) -> Node:
        node = Node("leaf", len(self.leaves))
        deep = len(path) < _MAX_DEPTH
        if isinstance(value, str) and (len(value) > PROSE or not path):
            inner = unwrap_json(value) if path and deep and value[0] in "{[" else None
            if inner is not None:
                return self._node(inner.value, path, key, place, record, key_cost)
            if " " in value or not path:
                return self._text(value, path, key, node)
        if isinstance(value, dict) and value and deep:
            self._object(value, path, place, node, key_cost)
        elif isinstance(value, list) and value and deep:
            node.kind = "list"
            rows = len(value) > 1 and isinstance(value[0], dict)
            for at, item in enumerate(value):
                if not isinstance(item, dict | list):
                    self._records += 1
                node.parts.append(self._node(item, (*path, at), key, at, self._records, -1.0 if rows and at else 0.0))
            if not isinstance(value[0], dict | list):
                self._lower_repeated(node.first)
                self._note_ends(value, node.first)
        else:
            self._leaf(Leaf(path, key, printed(value), score(key, value, place)), record, max(0.0, key_cost))
        node.last = len(self.leaves)
        return node

    def _object(self, value: dict[str, Any], path: Path, place: int, node: Node, key_cost: float) -> None:
        """A record; in the rows of a table only the first one pays for the keys."""
        self._records += 1
        record = self._records
        node.kind = "object"
        for name, item in value.items():
            node.keys.append(name)
            cost = key_cost if key_cost < 0 else cost_of(name) + 0.5
            node.parts.append(self._node(item, (*path, name), name, place, record, cost))

    def _leaf(self, leaf: Leaf, record: int, key_cost: float) -> None:
        self.leaves.append(leaf)
        self.record_of.append(record)
        self.costs.append(cost_of(leaf.text) + key_cost + 0.8)

    def _lower_repeated(self, first: int) -> None:
        """Of values that are said more than once from leaf `first` on, only the first counts in full."""
        said: set[tuple[str, str]] = set()
        for at in range(first, len(self.leaves)):
            leaf = self.leaves[at]
            if (leaf.key, leaf.text) in said:
                self.leaves[at] = replace(leaf, score=leaf.score - _AGAIN)
            said.add((leaf.key, leaf.text))

    def _note_ends(self, values: list[Any], first: int) -> None:
        """Of a long list of numbers the least and the greatest say most."""
        if len(values) >= _LONG_LIST and all(type(value) in (int, float) for value in values):
            self.ends |= {first + values.index(min(values)), first + values.index(max(values))}

    def _text(self, text: str, path: Path, key: str, node: Node) -> Node:
        """A text by its lines: a line is a record, and its identifiers are the values."""
        node.kind = "text"
        self._has_prose = True
        at = next_leaf = 0
        found = text_leaves(text, path, key)
        for line in text.split("\n"):
            self._records += 1
            piece = Node("line", len(self.leaves))
            end = at + len(line)
            while next_leaf < len(found) and int(found[next_leaf].path[-1]) <= end:
                leaf = found[next_leaf]
                self._leaf(leaf, self._records, cost_of(leaf.key))
                next_leaf += 1
            piece.last = len(self.leaves)
            node.keys.append(line)
            node.parts.append(piece)
            at = end + 1
        node.last = len(self.leaves)
        self._lower_repeated(node.first)
        return node


class Rendering:
    """One writing of a skeleton."""

    def __init__(self, leaves: list[Leaf], shown: list[bool], before: list[int]) -> None:
        self.leaves = leaves
        self.shown = shown
        self.before = before

    def count(self, node: Node) -> int:
        return self.before[node.last] - self.before[node.first]

    def render(self, node: Node, top: bool = False) -> str:
        """Return a node of which something is shown."""
        if node.kind == "leaf":
            return _quoted(self.leaves[node.first].text)
        if node.kind == "object":
            inner = ",".join(self._pairs(node))
            return inner if top else "{" + inner + "}"
        if node.kind == "text":
            return self._lines(node)
        return self._list(node)

    def _pairs(self, node: Node) -> list[str]:
        return [
            f"{key}:{self.render(part)}" for key, part in zip(node.keys, node.parts, strict=True) if self.count(part)
        ]

    def _list(self, node: Node) -> str:
        alive = [part for part in node.parts if self.count(part)]
        table = self._table(alive) if len(alive) > 1 else None
        missing = len(node.parts) - len(alive)
        if table is not None:
            more = f"\n{GAP}{missing} more" if missing else ""
            return f"[{table}{more}]"
        items = [self.render(part) for part in alive]
        if missing:
            items.append(f"{GAP}{missing} more")
        return f"[{','.join(items)}]"

    def _table(self, rows: list[Node]) -> str | None:
        """Write flat objects that show nearly the same keys as a header and rows; `…` is what a row leaves out."""
        keys: dict[str, int] = {}
        cells = []
        for row in rows:
            if row.kind != "object":
                return None
            found: dict[str, str] = {}
            for key, part in zip(row.keys, row.parts, strict=True):
                if self.count(part):
                    found[key] = self.render(part)
                    keys[key] = keys.get(key, 0) + 1
            cells.append(found)
        if len(keys) * len(rows) > 1.5 * sum(keys.values()):
            return None
        header = ",".join(keys)
        lines = [",".join([found.get(key, GAP) for key in keys]) for found in cells]
        return f"({header})\n" + "\n".join(lines)

    def _lines(self, node: Node) -> str:
        lines: list[str] = []
        missing = False
        for line, piece in zip(node.keys, node.parts, strict=True):
            number = self.count(piece)
            if not number:
                missing = missing or bool(line.strip())
                continue
            if missing and lines:
                lines.append(GAP)
            missing = False
            if len(line) <= _WHOLE_LINE:
                lines.append(line.strip())
            else:
                lines.append(self._pieces(piece))
        return "\n".join(lines)

    def _pieces(self, piece: Node) -> str:
        """The values of a long line, with their keys."""
        said: list[str] = []
        covered = -1
        for at in range(piece.first, piece.last):
            leaf = self.leaves[at]
            start = leaf.path[-1]
            if not self.shown[at] or not isinstance(start, int) or start < covered:
                continue
            covered = start + len(leaf.text)
            said.append(f"{leaf.key}: {leaf.text}" if leaf.key else leaf.text)
        return "; ".join(said)


def _quoted(text: str) -> str:
    """A text as it is; line breaks as one blank would tear rows, so they are written as JSON does."""
    return text.replace("\n", "\\n") if "\n" in text else text


def cost_of(text: str) -> float:
    """About how many tokens a text takes."""
    digits = sum(map(str.isdigit, text)) if len(text) < 64 else len(text) // 8
    return 0.6 + (len(text) - digits) / 4 + digits / 2.2
