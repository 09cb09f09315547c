"""The default planner: what must stay is fixed first, then the rest is bought, the most valuable first.

Every item is cut into pieces with a worth (weights, pieces). Pieces are taken in order of worth until the
limit is reached; each item is then rendered in the tokens that it was given, what that left over is spent
again, and what will really be sent is counted. Only that last count decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from brim.conversation import Conversation, Message
from brim.errors import BudgetTooSmall
from brim.ladders import Hint, Ladder, handle_of
from brim.ladders import arguments as arguments_ladder
from brim.ladders.rung import Room
from brim.plan.bones import GRID, bones
from brim.plan.items import SYSTEM, Group, Item, Itemizer, current
from brim.plan.pieces import WHOLE, Piece, pieces
from brim.plan.rebuild import rebuilt
from brim.plan.report import Decision
from brim.plan.weights import weigh
from brim.tokens.counter import Counter

# The least that is left of a block or a result that may be shortened but not dropped.
STUB = 14
# A call with fewer tokens than this is worth its place as long as its results are.
SMALL_CALL = 48
# Results of at most so many tokens are kept whole or left to their mark.
SMALL_RESULT = 24
SHORT_STUB = 3
TINY = 2_000
# A result that would take this share of the limit is named, with its handle, where it was shortened.
NAMED = 0.2
# Kinds that are worth most by their values; the others by what their own ladder keeps.
BY_VALUES = frozenset({"code", "json", "jsonl", "csv", "text", "prose", "markdown", "xml"})
# About what the notice of folded messages takes beside its record.
FOLDED_TOKENS = 24
# Below this share of itself the newest result is shown by its values rather than by an extract.
READABLE = 0.5
ROUNDS = 6
TOP_UPS = 6
# What is so small that nothing of it can be left out costs next to nothing, and often answers a later call.
SMALL_WORTH = 1.0
# A conversation of more messages than this is looked at only as far as so many times its limit.
MANY = 1_500
LOOKED_AT = 2
# A plan that uses this share of the limit is full.
FULL = 0.985


@dataclass(slots=True)
class Task:
    """What one planning is given."""

    conversation: Conversation
    counter: Counter
    limit: int
    recent: float = 0.05
    query: str = ""
    relevance: Callable[[int], list[float] | None] | None = None  # given the room that the history has
    recall: bool = False
    layers: dict[int, int] = field(default_factory=dict)
    record: Callable[[list[Message], int], str] | None = None  # what folded messages were about, in so many tokens
    ledger: float = 0.05
    frozen: int = 0  # so many messages at the start were sent before and stay as they are
    size: Callable[[int], int] = lambda tokens: tokens  # the tokens that count against the limit


@dataclass(slots=True)
class Outcome:
    """What one planning gives: the conversation to send, and what became of the one that was given."""

    conversation: Conversation
    total: int
    groups: list[Group] = field(default_factory=list)
    stash: dict[str, str] = field(default_factory=dict)
    folded: list[int] = field(default_factory=list)
    # What a policy did before the planner saw the conversation, and what its users should know.
    steps: list[Decision] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    planned: Conversation | None = None
    # For every message of the conversation its index in the planned one; -1 for the notice.
    places: list[int] = field(default_factory=list)


class Planner:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.counter = task.counter
        self.count = task.counter.text
        self.stash: dict[str, str] = {}
        self.head = task.counter.head(task.conversation)
        self._relevance: list[float] | None = None
        itemizer = Itemizer(
            task.conversation,
            task.counter.parts,
            task.counter.message,
            self.count,
            task.layers,
            task.frozen,
            self._candidates(),
        )
        self.now = itemizer.now
        self.groups = itemizer.groups()
        system = next((group for group in self.groups if group.members == [SYSTEM]), None)
        if system is not None:
            self.head -= sum(item.tokens for item in system.items)
        self._record: str | None = None
        self._record_tokens = 0
        self._notice_tokens = 0
        self._floors: dict[int, int] = {}
        self._strict = False
        self._ladders: dict[int, Ladder] = {}
        self._owned: dict[str, int] = {}  # which item says a value: the newest that does

    def _candidates(self) -> set[int] | None:
        """Of a history many times the limit, the messages that are worth looking at; None: all of them.

        What is neither relevant nor recent enough to be among them would be folded in any case.
        """
        messages, limit = self.task.conversation.messages, self.task.limit
        if len(messages) < MANY:
            return None
        sizes = [self.counter.message(message) for message in messages]
        if sum(sizes) < LOOKED_AT * limit:
            return None
        self._relevance = self.task.relevance(limit) if self.task.relevance else None
        ranks = self._relevance or [0.0] * len(messages)
        chosen = {n for n, message in enumerate(messages) if message.role == "system"} | {current(messages)}
        left = LOOKED_AT * limit
        recent = limit
        for n in range(len(messages) - 1, -1, -1):
            recent -= sizes[n]
            if recent < 0:
                break
            chosen.add(n)
        for n in sorted(range(len(messages)), key=lambda n: (-ranks[n], -n)):
            left -= sizes[n]
            if left < 0:
                break
            chosen.add(n)
        return chosen

    def run(self) -> Outcome:
        """Plan, or raise BudgetTooSmall."""
        fixed = self._fix()
        if fixed > self.task.limit:
            raise BudgetTooSmall(fixed, self.task.limit, self.must_stay())
        self._weigh(self.task.limit - fixed - FOLDED_TOKENS - int(self.task.ledger * self.task.limit))
        waiting = self._pieces()
        for _ in range(ROUNDS):
            self._make_notice()
            before = len(waiting)
            waiting = self._buy(waiting, self.task.limit - self._total())
            self._render()
            if len(waiting) == before or self._total() >= self.task.limit * FULL:
                break
        self._top_up()
        return self._enforce()

    def _weigh(self, room: int) -> None:
        relevance = self._relevance
        if relevance is None and self.task.relevance:
            relevance = self.task.relevance(room)
        roles = [message.role for message in self.task.conversation.messages]
        weigh(self.groups, roles, self.task.limit, self.task.recent, relevance)

    def _fix(self) -> int:
        """Keep what must stay, in the smallest form that it may have; return what all of it takes."""
        for group in self.groups:
            if not group.must:
                continue
            group.kept = True
            for item in group.items:
                item.given = item.tokens if item.must else self._floor(item)
        self._render()
        return self._total()

    def _floor(self, item: Item) -> int:
        """The least that an item of a kept group may be given."""
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
        if item.kind == "text" and not item.must:
            return 0
        return min(item.tokens, STUB)

    def _pieces(self) -> list[Piece]:
        found: list[Piece] = []
        for number, group in enumerate(self.groups):
            before = len(found)
            for item in group.items:
                if not (group.must and item.must):
                    found += pieces(item, number, self._floor(item), self._steps(group, item))
            if len(found) == before and group.items and not group.must:
                # Nothing of it can be left out: it costs its frame and its floors.
                best = max(group.items, key=lambda item: item.weight)
                found.append(Piece(best.weight + SMALL_WORTH, 0, best, number))
        found.sort(key=lambda piece: (-piece.worth, -piece.group, piece.item.message, piece.item.start))
        return found

    def _steps(self, group: Group, item: Item) -> Sequence[tuple[float, int]] | None:
        """How an old result divides by its values. The newest is read as it is, so it keeps its shape."""
        if item.kind != "result" or item.fixed or item.tokens <= SMALL_RESULT or group is self.groups[-1]:
            return None
        if self._ladder(item).kind not in BY_VALUES:
            return None
        found = bones(item.text, self.counter.model.family, self.count)
        if found is None:
            return None
        item.skeleton = found[0]
        return found[1]

    def _buy(self, waiting: list[Piece], room: int) -> list[Piece]:
        """Take pieces in order of worth while there is room; return those that were not taken."""
        left: list[Piece] = []
        passed: set[int] = set()  # items of which a more valuable piece did not fit: the rest of them waits too
        for piece in waiting:
            if id(piece.item) in passed:
                left.append(piece)
                continue
            group = self.groups[piece.group]
            cost = piece.tokens
            if not group.kept:
                cost += group.frame + sum(self._floor(item) for item in group.items)
            if cost > room:
                left.append(piece)
                passed.add(id(piece.item))
                continue
            room -= cost
            if not group.kept:
                group.kept = True
                for item in group.items:
                    item.given = self._floor(item)
            piece.item.given += piece.tokens
            if piece.threshold is not None:
                piece.item.threshold = piece.threshold
        return left

    def _render(self) -> None:
        self._owned.clear()
        for group in reversed(self.groups):
            if group.kept:
                for item in reversed(group.items):
                    self._show(item)

    def _show(self, item: Item) -> None:
        """Make the text that an item has in the tokens that it was given."""
        if item.given >= item.tokens:
            item.shown, item.shown_tokens, item.fidelity = None, item.tokens, "lossless"
            return
        if item.shown is not None and item.shown_tokens <= item.given and item.given == self._floors.get(id(item)):
            return
        self._floors[id(item)] = item.given
        if item.given <= 0:
            item.shown, item.shown_tokens, item.fidelity = "", 0, "recoverable"
            self._keep(item)
            return
        item.shown, item.fidelity = self._rung(item)
        item.shown_tokens = self.count(item.shown)

    def _rung(self, item: Item) -> tuple[str, str]:
        handle = handle_of(item.text) if item.text else ""
        room = Room(item.given, self.count, handle, self.task.recall, self.task.query)
        if item.kind == "media":
            return room.mark(f"{item.name or 'media'}, about {item.tokens:,} tokens"), "recoverable"
        if item.skeleton is not None:
            return self._bones(item, room)
        small = item.kind == "result" and STUB < room.tokens < item.tokens * READABLE
        if small and self._ladder(item).kind in BY_VALUES:
            values = self._apart(item, room)
            if values is not None and self.count(values) >= READABLE * room.tokens:
                self._keep(item)
                return values, "recoverable"
        if item.kind == "call":
            text, fidelity = arguments_ladder.extract(item.text, room), "recoverable"
        else:
            rung = self._ladder(item).at(room)
            text, fidelity = rung.text, rung.fidelity
        if fidelity == "recoverable":
            self._keep(item)
        return text, fidelity

    def _bones(self, item: Item, room: Room) -> tuple[str, str]:
        """A result by its values: those above the threshold, or all of them where that is as short."""
        assert item.skeleton is not None
        self._keep(item)
        if self._named(item):
            mark = room.mark(f"of {item.tokens:,} tokens")
        else:
            mark = f"[… {room.handle}]" if self.task.recall else "[…]"
        thresholds = [worth for worth in GRID if item.threshold is not None and worth >= item.threshold]
        for threshold in reversed(thresholds):
            text = self._values(item, threshold, mark)
            size = self.count(text)
            # Pieces are estimates: what a threshold really takes is paid, unless the item was told to shrink.
            if size <= room.tokens or (not self._strict and size <= room.tokens * 2.0 + STUB):
                item.threshold, item.given = threshold, max(item.given, size)
                break
        else:
            if room.tokens <= STUB:
                return mark, "recoverable"
            rung = self._ladder(item).at(room)
            return rung.text, rung.fidelity
        if size > item.tokens * 0.25:
            dense = self._ladder(item).dense()
            if dense is not None and self.count(dense.text) <= max(size, room.tokens):
                return dense.text, "lossless"
        return text, "recoverable"

    def _apart(self, item: Item, room: Room) -> str | None:
        """The newest result in so little room that its values say more than its beginning."""
        found = bones(item.text, self.counter.model.family, self.count)
        if found is None:
            return None
        for worth in reversed([worth for worth in GRID if found[0].tokens_at(worth) <= room.tokens]):
            text = found[0].at(worth)
            if self.count(text) <= room.tokens:
                return text
        return None

    def _named(self, item: Item) -> bool:
        return item.tokens >= NAMED * self.task.limit

    def _values(self, item: Item, threshold: float, mark: str) -> str:
        """The values worth at least the threshold that no newer item says."""
        assert item.skeleton is not None
        me, owned = id(item), self._owned
        text = item.skeleton.at(threshold, lambda value: owned.get(value, me) == me)
        for leaf in item.skeleton.leaves:
            if leaf.score >= threshold:
                owned.setdefault(leaf.text, me)
        return text.removesuffix("[…]") + mark if text.endswith("[…]") else text

    def _ladder(self, item: Item) -> Ladder:
        found = self._ladders.get(id(item))
        if found is None:
            found = self._ladders[id(item)] = Ladder(item.text, self.count, hint=Hint(tool=item.name))
        return found

    def _keep(self, item: Item) -> None:
        if item.text:
            self.stash.setdefault(handle_of(item.text), item.text)

    def _total(self) -> int:
        kept = sum(group.frame + sum(item.shown_tokens for item in group.items) for group in self.groups if group.kept)
        return self.task.size(self.head + kept + self._notice_tokens)

    def _folded(self) -> list[int]:
        return [member for group in self.groups if not group.kept for member in group.members]

    def _make_notice(self) -> None:
        """Say what is folded, in a message of its own; its size is part of the plan.

        What the folded messages were about is recorded once: a few messages more or less do not change it.
        """
        folded = self._folded()
        if not folded:
            self._notice_tokens = 0
            return
        if self._record is None:
            messages = [self.task.conversation.messages[index] for index in folded]
            room = int(self.task.ledger * self.task.limit) - FOLDED_TOKENS
            self._record = self.task.record(messages, room) if self.task.record else ""
            self._record_tokens = self.count(self._record)
        self._notice_tokens = self._folded_tokens(len(folded)) + self._record_tokens

    def _folded_tokens(self, messages: int) -> int:
        text = self._folded_text(messages, "brim:00000000")
        return self.counter.message(self.counter.text_message(self.task.conversation.api, "user", text)) + 2

    def _folded_text(self, messages: int, handle: str) -> str:
        if self.task.recall:
            return f"[{messages:,} earlier messages folded, recall {handle}]"
        # In a tiny budget a handle that the reader cannot use costs more than it says.
        where = f", {handle}" if self.task.limit >= TINY else ""
        return f"[{messages:,} earlier messages folded{where}]"

    def _notice(self, folded: Sequence[int]) -> Message:
        """The message that stands for the folded ones; their originals go into the stash."""
        messages = self.task.conversation.messages
        raws = b"\n".join([messages[index].raw for index in folded]).decode("utf-8", "surrogatepass")
        handle = handle_of(raws)
        self.stash[handle] = raws
        head = self._folded_text(len(folded), handle)
        text = f"{head}\n{self._record}" if self._record else head
        return self.counter.text_message(self.task.conversation.api, "user", text)

    def _top_up(self) -> None:
        """Give what is left to the most valuable item that was shortened or left out: full to the brim."""
        tried: set[int] = set()
        for _ in range(TOP_UPS):
            self._make_notice()
            left = self.task.limit - self._total()
            if left < 8:
                return
            short = [
                (item, group)
                for group in self.groups
                if (group.kept or (group.items and self._least(group) + STUB <= left))
                for item in group.items
                if item.kind in ("text", "block", "result") and not item.fixed and id(item) not in tried
                if (item.shown is not None if group.kept else item.kind == "result" or item.tokens > WHOLE)
            ]
            if not short:
                return
            item, group = max(short, key=lambda pair: (pair[0].weight, -pair[0].message, -pair[0].start))
            tried.add(id(item))
            if not group.kept:
                left -= self._least(group)
                group.kept = True
                for each in group.items:
                    each.given = self._floor(each)
                    self._show(each)
            self._stretch(item, left)

    def _least(self, group: Group) -> int:
        return group.frame + sum(self._floor(item) for item in group.items)

    def _stretch(self, item: Item, left: int) -> None:
        """Show as much more of an item as `left` tokens allow."""
        item.given = min(item.tokens, item.shown_tokens + left - 2)
        if item.skeleton is not None and item.given < item.tokens:
            fitting = [worth for worth in GRID if item.skeleton.tokens_at(worth) <= item.given]
            item.threshold = fitting[-1] if fitting else item.threshold
        self._strict = True
        self._show(item)
        self._strict = False
        if item.skeleton is not None and item.shown is not None and item.shown_tokens < READABLE * item.given:
            # Its values come in lumps that do not fit: an extract fills the room.
            handle = handle_of(item.text)
            rung = self._ladder(item).at(Room(item.given, self.count, handle, self.task.recall, self.task.query))
            size = self.count(rung.text)
            if item.shown_tokens < size <= item.given:
                item.shown, item.shown_tokens, item.fidelity = rung.text, size, rung.fidelity

    def _enforce(self) -> Outcome:
        """Count what will really be sent; step down until it is within the limit."""
        for _ in range(12):
            outcome = self._outcome()
            over = outcome.total - self.task.limit
            if over <= 0:
                return outcome
            if not self._step_down(over + 2):
                raise BudgetTooSmall(outcome.total, self.task.limit, self.must_stay())
        raise BudgetTooSmall(outcome.total, self.task.limit, self.must_stay())

    def _step_down(self, over: int) -> bool:
        """Free at least `over` tokens from what is worth the least; False if nothing can go."""
        freed = 0
        loose = [(item, group) for group in self.groups if group.kept for item in group.items if not item.must]
        loose.sort(key=lambda pair: (pair[0].weight, pair[0].message, pair[0].start))
        for item, group in loose:
            if freed >= over:
                break
            if group.kept and item.shown_tokens > self._floor(item):
                freed += self._shrink(item, over - freed)
                if not group.must and not any(each.shown_tokens for each in group.items):
                    group.kept = False
                    freed += group.frame
        optional = [group for group in self.groups if group.kept and not group.must]
        optional.sort(key=lambda group: (max((item.weight for item in group.items), default=0.0), group.members))
        for group in optional:
            if freed >= over:
                break
            group.kept = False
            freed += group.frame + sum(item.shown_tokens for item in group.items)
        self._make_notice()
        return freed > 0

    def _shrink(self, item: Item, over: int) -> int:
        """Take about `over` tokens from an item; return how many it gave."""
        before = item.shown_tokens
        item.given = max(self._floor(item), before - over)
        self._strict = True
        self._show(item)
        self._strict = False
        return max(0, before - item.shown_tokens)

    def _outcome(self) -> Outcome:
        conversation = self.task.conversation
        shown = {
            index: rebuilt(conversation.api, self._message(index), items) for index, items in self._by_message().items()
        }
        messages: list[Message] = []
        places: list[int] = []
        folded = self._folded()
        placed = not folded
        for index, message in enumerate(conversation.messages):
            if index not in shown:
                continue
            if not placed and message.role != "system" and index >= self.task.frozen:
                notice = self._notice(folded)
                messages.append(notice)
                places.append(-1)
                placed = True
            messages.append(shown[index])
            places.append(index)
        new = replace(conversation, messages=tuple(messages), system=shown.get(SYSTEM, conversation.system))
        total = self.task.size(self.counter.total(new))
        return Outcome(new, total, self.groups, self.stash, folded, planned=conversation, places=places)

    def _by_message(self) -> dict[int, list[Item]]:
        found: dict[int, list[Item]] = {}
        for group in self.groups:
            if group.kept:
                for member in group.members:
                    found.setdefault(member, [])
                for item in group.items:
                    found[item.message].append(item)
        return found

    def _message(self, index: int) -> Message:
        conversation = self.task.conversation
        if index == SYSTEM:
            assert conversation.system is not None
            return conversation.system
        return conversation.messages[index]

    def must_stay(self) -> list[tuple[str, int]]:
        """What cannot go, with its tokens, largest first."""
        found = [("tools and framing", self.head)]
        for group in self.groups:
            if group.must:
                for member in group.members:
                    name = (
                        "system"
                        if member == SYSTEM
                        else f"{self.task.conversation.messages[member].role} messages[{member}]"
                    )
                    found.append((name, sum(item.shown_tokens for item in group.items if item.message == member)))
        return sorted(found, key=lambda entry: -entry[1])
