"""Items in the tokens that they were given: the best rendition of each that fits, with its original kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from brim import incidents
from brim.head_tail import head_and_tail
from brim.ladders import Hint, Ladder, handle_of
from brim.ladders import arguments as arguments_ladder
from brim.ladders.json.skeleton import Skeleton
from brim.ladders.rung import Room
from brim.ladders.selection import fits
from brim.plan.bones import GRID, begun, bones, filled
from brim.plan.items import Item

# The least that is left of a block or a result that may be shortened but not dropped.
STUB = 14
# The fewest tokens that the arguments of a call take.
LEAST_CALL = 1
# A call with fewer tokens than this is worth its place as long as its results are.
SMALL_CALL = 48
# Results of at most so many tokens are kept whole or left to their mark.
SMALL_RESULT = 24
SHORT_STUB = 3
# A result that would take this share of the limit is named, with its handle, where it was shortened.
NAMED = 0.2
# Below so many tokens a budget is tiny.
TINY = 2_000
# Kinds that are worth most by their values; the others by what their own ladder keeps.
BY_VALUES = frozenset({"code", "json", "jsonl", "csv", "text", "prose", "markdown", "xml"})
# Below this share of itself the newest result is shown by its values rather than by an extract.
READABLE = 0.5
# In less room than this a mark names no handle: it would take the place of values.
NAMED_FROM = 120
# In so little room an extract is hardly more than its mark, while a field or two still say what they are.
LITTLE = 32
OF_FIELDS = frozenset({"json", "jsonl", "csv"})
# A result of so many times its room is not re-encoded to see whether that fits.
DENSE_FROM = 40
# What the JSON around shortened arguments takes.
ARGUMENTS = 8
# What uses this share of its room needs no more.
NEARLY = 0.95


class Renditions:
    """Shows items. `stash` gets the original of everything that is not shown whole."""

    def __init__(
        self,
        count: Callable[[str], int],
        family: str,
        limit: int,
        original: Callable[[Item], str],
        recall: bool = False,
        query: str = "",
        fill: bool = True,
    ) -> None:
        self.count = count
        self.family = family
        self.limit = limit
        self.recall = recall
        self.query = query
        self.fill = fill
        self.least = False  # whether what must stay is too much at its usual floors
        self.stash: dict[str, str] = {}
        self._original = original
        self._strict = False
        self._made: dict[int, int] = {}  # for how many tokens an item was last shown
        self._ladders: dict[int, Ladder] = {}
        self._owned: dict[str, int] = {}  # which item says a value: the newest that does

    def start(self) -> None:
        """Before all items are shown anew, the newest first."""
        self._owned.clear()

    def shrink(self, item: Item, over: int) -> int:
        """Take about `over` tokens from an item; return how many it gave."""
        before = item.shown_tokens
        item.given = max(self.bottom(item), before - over)
        self._strict = True
        self.show(item)
        self._strict = False
        return max(0, before - item.shown_tokens)

    def lower(self, item: Item) -> int:
        """Let go of the least valuable values of a result; return how many tokens that gave."""
        assert item.threshold is not None
        before, mark = item.shown_tokens, self._mark(item, Room(0, self.count, handle_of(item.text), self.recall))
        for threshold in reversed([worth for worth in GRID if worth > item.threshold]):
            text = self._values(item, threshold, mark)
            size = self.count(text)
            if size < before:
                break
        else:
            threshold, text, size = None, mark, self.count(mark)
        item.threshold, item.shown, item.shown_tokens, item.fidelity = threshold, text, size, "recoverable"
        item.given = self._made[id(item)] = max(size, self.floor(item))
        self._keep(item)
        return max(0, before - size)

    def show(self, item: Item) -> None:
        """Make the text that an item has in the tokens that it was given."""
        if item.given >= item.tokens:
            item.shown, item.shown_tokens, item.fidelity = None, item.tokens, "lossless"
            return
        if item.kind == "thinking":
            item.given = 0  # a thought is signed: it is kept whole or goes
        if item.shown is not None and item.shown_tokens <= item.given and item.given == self._made.get(id(item)):
            return
        self._made[id(item)] = item.given
        if item.given <= 0:
            item.shown, item.shown_tokens, item.fidelity = "", 0, "recoverable"
            self._keep(item)
            return
        item.shown, item.fidelity = self._rung(item)
        item.shown_tokens = self.count(item.shown)

    def _rung(self, item: Item) -> tuple[str, str]:
        """The form of an item; its beginning and end where what knows its content fails."""
        handle = handle_of(item.text or self._original(item))
        room = Room(item.given, self.count, handle, self.recall, self.query)
        try:
            return self._form(item, room)
        except Exception as problem:
            incidents.note("compactor", problem)
            item.skeleton = item.threshold = None
            self._keep(item)
            return _ends(item, room), "recoverable"

    def _form(self, item: Item, room: Room) -> tuple[str, str]:
        if item.kind == "media":
            self._keep(item)
            return room.mark(f"{item.name or 'media'}, about {item.tokens:,} tokens"), "recoverable"
        if item.skeleton is not None:
            return self._bones(item, room)
        if item.kind == "result":
            values = in_short(self.ladder(item), room, self.family)
            if values:
                self._keep(item)
                return values, "recoverable"
        if item.kind == "call":
            text, fidelity = self._call(item, room), "recoverable"
        else:
            rung = self.ladder(item).at(room)
            text, fidelity = rung.text, rung.fidelity
        if fidelity == "recoverable":
            self._keep(item)
        return text, fidelity

    def _call(self, item: Item, room: Room) -> str:
        """A call's arguments: a little more than the room where that leaves short values whole, if it need not fit."""
        if not self._strict and not self.least and room.tokens >= SMALL_CALL:
            text = arguments_ladder.gentle(item.text, room)
            if fits(text, replace(room, tokens=room.tokens + SMALL_CALL)):
                return text
        return arguments_ladder.extract(item.text, room)

    def _bones(self, item: Item, room: Room) -> tuple[str, str]:
        """A result by its values: those above the threshold, or all of them where that is as short."""
        assert item.skeleton is not None
        self._keep(item)
        mark = self._mark(item, room)
        thresholds = [worth for worth in GRID if item.threshold is not None and worth >= item.threshold]
        for threshold in reversed(thresholds):
            text = self._values(item, threshold, mark)
            size = self.count(text)
            # Pieces are estimates: what a threshold really takes is paid, unless the item was told to shrink.
            if size <= room.tokens or (not self._strict and size <= room.tokens * 2.0 + STUB):
                item.threshold, item.given = threshold, max(item.given, size)
                self._own(item, threshold)
                break
        else:
            # Its values come in lumps that do not fit: the best of them do, unless there is room for next to nothing.
            text = filled(item.skeleton, room.tokens, self.count, mark, query=self.query)
            return text or mark, "recoverable"
        if size > item.tokens * 0.25:
            dense = self.ladder(item).dense()
            if dense is not None and self.count(dense.text) <= max(size, room.tokens):
                return dense.text, "lossless"
        return text, "recoverable"

    def _mark(self, item: Item, room: Room) -> str:
        """What stands for the values of a result that are left out."""
        if self._named(item):
            return room.mark(f"of {item.tokens:,} tokens")
        return f"[… {room.handle}]" if self.recall else "[…]"

    def _more(self, skeleton: Skeleton, text: str, tokens: int, mark: str) -> str:
        """A result's values with some of the next worth, where a threshold left room for them."""
        size = self.count(text)
        if not self.fill or not READABLE * tokens <= size < NEARLY * tokens:
            return text
        more = filled(skeleton, tokens, self.count, mark, query=self.query)
        return more if size < self.count(more) <= tokens else text

    def _named(self, item: Item) -> bool:
        # In a tiny budget a handle that the reader cannot use would take the place of values.
        return item.tokens >= NAMED * self.limit and (self.recall or self.limit >= TINY)

    def _values(self, item: Item, threshold: float, mark: str) -> str:
        """The values worth at least the threshold that no newer item says."""
        assert item.skeleton is not None
        me, owned = id(item), self._owned
        text = item.skeleton.at(threshold, lambda value: owned.get(value, me) == me)
        return text.removesuffix("[…]") + mark if text.endswith("[…]") else text

    def _own(self, item: Item, threshold: float) -> None:
        """From now on older items leave to this one what it says: what is shown of it, not what was only tried."""
        assert item.skeleton is not None
        for leaf in item.skeleton.leaves:
            if leaf.score >= threshold:
                self._owned.setdefault(leaf.text, id(item))

    def ladder(self, item: Item) -> Ladder:
        found = self._ladders.get(id(item))
        if found is None:
            found = self._ladders[id(item)] = Ladder(item.text, self.count, hint=Hint(tool=item.name))
        return found

    def _keep(self, item: Item) -> str:
        """Put the original of an item into the stash; return its handle."""
        text = item.text or self._original(item)
        handle = handle_of(text)
        self.stash.setdefault(handle, text)
        return handle

    def stretch(self, item: Item, left: int) -> None:
        """Show as much more of an item as `left` tokens allow."""
        item.given = min(item.tokens, item.shown_tokens + left - 2)
        if item.skeleton is not None and item.given < item.tokens:
            fitting = [worth for worth in GRID if item.skeleton.tokens_at(worth) <= item.given]
            item.threshold = fitting[-1] if fitting else item.threshold
        self._strict = True
        self.show(item)
        self._strict = False
        if item.skeleton is None or item.shown is None or item.shown_tokens >= NEARLY * item.given:
            return
        # Its values come in lumps that do not fit: some of the next ones fill the room, or an extract does.
        room = Room(item.given, self.count, handle_of(item.text), self.recall, self.query)
        mark, fidelity = self._mark(item, room), item.fidelity
        if item.shown_tokens >= READABLE * item.given:
            text = self._more(item.skeleton, item.shown, item.given, mark)
        else:
            text, fidelity = filled(item.skeleton, item.given, self.count, mark, query=self.query), "recoverable"
            if self.count(text) < READABLE * item.given:
                rung = self.ladder(item).at(room)
                text, fidelity = rung.text, rung.fidelity
        size = self.count(text)
        if item.shown_tokens < size <= item.given:
            item.shown, item.shown_tokens, item.fidelity = text, size, fidelity

    def floor(self, item: Item) -> int:
        """The least that an item of a kept group may be given."""
        if item.kind == "text" and not item.must and not item.fixed:
            return 0
        if item.kind == "thinking":
            return 0 if item.droppable else item.tokens
        if item.kind == "media":
            return min(item.tokens, STUB)
        if item.kind == "call":
            return item.tokens if item.tokens <= SMALL_CALL or item.fixed else SMALL_CALL
        if item.fixed:
            return item.tokens
        if item.skeleton is not None and not self._named(item):
            return min(item.tokens, SHORT_STUB)
        return min(item.tokens, SHORT_STUB if self.least else STUB)

    def bottom(self, item: Item) -> int:
        """The least that it may be cut to: where what must stay is too much, a call to less than its floor."""
        return LEAST_CALL if self.least and item.kind == "call" and not item.fixed else self.floor(item)

    def steps(self, item: Item) -> Sequence[tuple[float, int]] | None:
        """How a result divides by its values; None where its own ladder knows better."""
        if item.kind != "result" or item.fixed or item.tokens <= SMALL_RESULT:
            return None
        if self.ladder(item).kind not in BY_VALUES:
            return None
        found = bones(item.text, self.family, self.count)
        if found is None:
            return None
        item.skeleton = found[0]
        return found[1]

    def small(self, item: Item) -> Skeleton | None:
        """What a result says that is kept whole or left to its mark; None for any other."""
        if item.kind != "result" or item.fixed or item.tokens > SMALL_RESULT:
            return None
        found = bones(item.text, self.family, self.count)
        return found[0] if found else None


def _ends(item: Item, room: Room) -> str:
    """The beginning and end of an item; of arguments as a JSON object, or nothing of them."""
    if item.kind != "call" or not item.text.lstrip().startswith("{"):
        return head_and_tail(item.text, room.tokens, room.count, room.handle) or "…"
    text = head_and_tail(item.text, max(0, room.tokens - ARGUMENTS), room.count, room.handle)
    made = json.dumps({"shortened": text}, ensure_ascii=False)
    return made if text and room.count(made) <= room.tokens else "{}"


def in_short(ladder: Ladder, room: Room, family: str) -> str:
    """A result in so little room that its values say more than its beginning; empty where its ladder says it better."""
    try:
        return _by_values(ladder, room, family)
    except Exception as problem:
        incidents.note("compactor", problem)
        return ""


def _by_values(ladder: Ladder, room: Room, family: str) -> str:
    little = ladder.kind in OF_FIELDS and room.tokens <= LITTLE
    short = room.tokens > STUB and room.tokens < ladder.tokens * READABLE
    if ladder.kind not in BY_VALUES or not (little or short):
        return ""
    dense = ladder.dense() if ladder.tokens < DENSE_FROM * room.tokens else None
    found = None if dense is not None and room.fits(dense.text) else bones(ladder.text, family, room.count)
    if found is None:
        return ""
    named = room.recall or room.tokens >= NAMED_FROM
    mark = room.mark(f"of {ladder.tokens:,} tokens") if named else "[…]"
    text = filled(found[0], room.tokens, room.count, mark, query=room.query)
    if little and not text and not room.recall:
        text = begun(found[0], room.tokens, room.count)
    return text if little or room.count(text) >= READABLE * room.tokens else ""
