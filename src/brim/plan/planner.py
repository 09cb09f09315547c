"""The default planner: what must stay is fixed first, then the rest is bought, the most valuable first.

Every item is cut into pieces with a worth (weights, pieces). Pieces are taken in order of worth until the
limit is reached; each item is then rendered in the tokens that it was given, what that left over is spent
again, and what will really be sent is counted. Only that last count decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from operator import itemgetter

from brim.conversation import Message, encode, leaf
from brim.errors import BudgetTooSmall
from brim.ladders.selection import shares
from brim.plan.candidates import LOOKED_AT, LOOKED_AT_TALK, candidates
from brim.plan.folding import Fold
from brim.plan.gleaning import Gleanings
from brim.plan.items import SYSTEM, WHOLE, Group, Item, Itemizer, last_exchange
from brim.plan.pieces import Piece, pieces
from brim.plan.rebuild import rebuilt
from brim.plan.relevance.share import Column
from brim.plan.renditions import STUB, TINY, Renditions
from brim.plan.rules import bridged, last_thoughts, notice_before
from brim.plan.task import Outcome, Task
from brim.plan.weights import NEWEST, weigh

# About what the notice of folded messages takes beside its record.
FOLDED_TOKENS = 24
ROUNDS = 6
TOP_UPS = 12
# So often what stepping down left over is spent again.
REFILLS = 2
# What is so small that nothing of it can be left out costs next to nothing, and often answers a later call.
SMALL_WORTH = 1.0
# The newest are looked at up to this share of the limit, whatever they say.
RECENT_SEEN = 0.25
# What was said is enough to choose from if it is so many times the limit.
ENOUGH_SEEN = 1.05
# The exchange before the current message may take this share of the room; less beside tool results.
EXCHANGE = 0.25
EXCHANGE_AMONG_TOOLS = 0.1
# What stands for folded messages where there is no room to say more.
SIGN = "[…]"
# A plan that uses this share of the limit is full.
FULL = 0.985


class Planner:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.counter = task.counter
        self.count = task.counter.text
        self.head = task.counter.head(task.conversation)
        self._relevance: Column | None = None
        self.groups = self._itemized()
        system = next((group for group in self.groups if group.members[0] == SYSTEM), None)
        if system is not None:
            self.head -= sum(item.tokens for item in system.items)
        self._record: str | None = None
        self._fold: Fold | None = None
        self._record_tokens = 0
        self._notice_tokens = 0
        self.gleaned = Gleanings(task.conversation.messages)
        self._bridges: list[Group] = []
        self._silent = False  # whether there is no room to say what is folded
        self.shown = Renditions(
            self.count, task.counter.model.family, task.limit, self._original, task.recall, task.query, task.fill
        )

    def _itemized(self) -> list[Group]:
        """The conversation in groups; of a history many times the limit, what is worth looking at."""
        task, limit, guess = self.task, self.task.limit, self.task.guessed
        messages, seen = task.conversation.messages, None
        if guess is not None:
            self._relevance = task.relevance(limit) if task.relevance else None
        recent = int(max(RECENT_SEEN, 2 * task.recent) * limit)
        # Results are shown in short, so more of them find a place; what was said is kept or not.
        results = guess is None or any(messages[number].answers for number in guess.columns.others)
        for times in (LOOKED_AT,) if results else (LOOKED_AT_TALK, LOOKED_AT):
            if guess is not None:
                seen = candidates(messages, guess, self._relevance, recent, times * limit, task.stay)
                task.counter.measure([messages[number] for number in seen.chosen])
            sized = task.counter.sizes
            groups = Itemizer(task.conversation, sized, self.count, task.layers, task.frozen, seen, task.held).groups()
            # Sizes are guessed: what is looked at may be less than there is room for.
            if sum([group.tokens for group in groups if group.items]) >= ENOUGH_SEEN * limit:
                break
        return groups

    def surely_over(self) -> bool:
        """Whether what was looked at is too much by itself."""
        seen = sum([group.tokens for group in self.groups if group.items])
        return self.task.size(self.head + seen) > self.task.limit

    def run(self) -> Outcome:
        """Plan, or raise BudgetTooSmall."""
        fixed = self._fix()
        if fixed > self.task.limit and self.task.spare:
            fixed = self._spare()
        if fixed > self.task.limit:
            raise BudgetTooSmall(fixed, self.task.limit, self.must_stay())
        room = self.task.limit - fixed - FOLDED_TOKENS - int(self.task.ledger * self.task.limit)
        self._weigh(room)
        self._keep_exchange(room)
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
        weigh(self.groups, self.task.conversation.messages, self.task.limit, self.task.recent, relevance)

    def _keep_exchange(self, room: int) -> None:
        """Keep the exchange before the current message, whole or as extracts, before anything that is older."""
        tools = any(item.kind == "result" for group in self.groups for item in group.items)
        if tools and not self.task.fill:
            return  # a session has sent it, and plans anew for what later calls need
        room = int((EXCHANGE_AMONG_TOOLS if tools else EXCHANGE) * room)
        groups = last_exchange(self.groups, self.task.conversation.messages)
        items = [item for group in groups for item in group.items]
        given = shares([item.tokens for item in items], room - sum([group.frame for group in groups]))
        if any(tokens < min(item.tokens, 2 * STUB) for item, tokens in zip(items, given, strict=True)):
            return  # too little to say anything
        for group in groups:
            group.kept = True
        for item, tokens in zip(items, given, strict=True):
            item.given = tokens
            item.weight += NEWEST
            self.shown.show(item)

    def _fix(self) -> int:
        """Keep what must stay, in the smallest form that it may have; return what all of it takes."""
        for group in self.groups:
            if not group.must:
                continue
            group.kept = True
            for item in group.items:
                item.given = item.tokens if item.must else self.shown.floor(item)
        self._render()
        return self._total()

    def _spare(self) -> int:
        """Keep only what makes a valid request: of results a sign, of calls what fits, nothing of what was said beside.

        Returns what all of it takes.
        """
        self.shown.least = True
        calls = [item for group in self.groups if group.must for item in group.items if item.kind == "call"]
        calling = {item.message for item in calls}
        for group in self.groups:
            for item in group.items:
                if item.kind == "text" and item.message in calling and not item.fixed:
                    item.must = False
        fixed = self._fix()
        # What was found says more than what was asked for.
        results = [item for group in self.groups if group.must for item in group.items if item.kind == "result"]
        results = [item for item in results if not item.fixed]
        wanted = sum([max(0, min(item.tokens, STUB) - item.shown_tokens) for item in results])
        for item in sorted(calls, key=lambda item: -item.shown_tokens):
            over = fixed + wanted - self.task.limit
            if over > 0 and not item.fixed:
                item.given = max(self.shown.bottom(item), item.shown_tokens - over)
                self.shown.show(item)
                fixed = self._total()
        for item in results:
            if fixed < self.task.limit:
                item.given = min(item.tokens, STUB, item.shown_tokens + self.task.limit - fixed)
                self.shown.show(item)
                fixed = self._total()
        return fixed

    def _pieces(self) -> list[Piece]:
        """What there is to buy, the most valuable first, and of equals the newest."""
        found: list[Piece] = []
        for number in range(len(self.groups) - 1, -1, -1):
            group = self.groups[number]
            if group.short and not group.kept:
                item = group.items[0]
                found.append(Piece(item.weight, item.tokens, item, number))
                continue
            before = len(found)
            for item in group.items:
                if not (group.must and item.must):
                    # How a result divides decides what its floor is.
                    steps = self._steps(group, item) if item.kind == "result" else None
                    found += pieces(item, number, max(item.given, self.shown.floor(item)), steps)
            if len(found) == before and group.items and not group.must:
                # Nothing of it can be left out: it costs its frame and its floors.
                best = max(group.items, key=lambda item: item.weight)
                found.append(Piece(best.weight + SMALL_WORTH, 0, best, number))
        found.sort(key=itemgetter(0), reverse=True)
        return found

    def _steps(self, group: Group, item: Item) -> Sequence[tuple[float, int]] | None:
        """How a result divides by its values. The newest is read as it is, so it keeps its shape."""
        return None if group is self.groups[-1] else self.shown.steps(item)

    def _original(self, item: Item) -> str:
        """What an item without a text of its own is, as JSON: an image, a signed thought."""
        message = self._message(item.message)
        return encode(leaf(message.value, message.parts[item.part].at)).decode("utf-8", "surrogatepass")

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
            if group.short and not group.kept and cost + group.frame <= room:
                room -= cost + group.frame
                group.kept, piece.item.given = True, cost
                continue
            floors = [] if group.kept else [self.shown.floor(item) for item in group.items]
            if not group.kept:
                cost += group.frame + sum(floors)
            if cost > room:
                gleaned = None if group.kept else self.gleaned.cost(piece)
                if gleaned is not None and gleaned <= room:
                    room -= gleaned
                    self.gleaned.take(piece)
                    continue
                if not group.kept:
                    if cost - piece.tokens + STUB > room:  # not even the least of the step would fit
                        room -= self.gleaned.take_some(piece, room, self.count)
                    room -= self.gleaned.take_small(group.items, room, self.shown.small)
                left.append(piece)
                passed.add(id(piece.item))
                continue
            room -= cost
            if not group.kept:
                group.kept = True
                for item, floor in zip(group.items, floors, strict=True):
                    item.given = floor
            piece.item.given += piece.tokens
            if piece.threshold is not None:
                piece.item.threshold = piece.threshold
        return left

    def _render(self) -> None:
        self.shown.start()
        for group in reversed(self.groups):
            if group.kept:
                for item in reversed(group.items):
                    self.shown.show(item)

    def _total(self) -> int:
        kept = [group for group in self.groups if group.kept]
        frames = sum([group.frame for group in kept])
        shown = sum([item.shown_tokens for group in kept for item in group.items])
        return self.task.size(self.head + frames + shown + self._notice_tokens)

    def _folded(self) -> list[int]:
        return [member for group in self.groups if not group.kept for member in group.members]

    def _make_notice(self) -> None:
        """Say what is folded, in a message of its own; its size is part of the plan.

        What the folded messages were about is recorded once: a few messages more or less do not change it.
        """
        folded = sum([len(group.members) for group in self.groups if not group.kept])
        if not folded or self._silent:
            self._notice_tokens = 0
            return
        if self._record is None:
            messages = [self.task.conversation.messages[index] for index in self._folded()]
            room = int(self.task.ledger * self.task.limit) - FOLDED_TOKENS
            self._record = self.task.record(messages, room) if self.task.record else ""
            self._record_tokens = self.count(self._record)
        self._notice_tokens = self._folded_tokens(folded) + self._record_tokens
        if self.gleaned:
            self._notice_tokens += self.count(self.gleaned.text(set(self._folded())))

    def _folded_tokens(self, messages: int) -> int:
        text = self._folded_text(messages, "brim:00000000")
        return self.counter.message(self.counter.text_message(self.task.conversation.api, "user", text)) + 2

    def _folded_text(self, messages: int, handle: str) -> str:
        if self._silent:
            return SIGN
        if self.task.recall:
            return f"[{messages:,} earlier messages folded, recall {handle}]"
        # In a tiny budget a handle that the reader cannot use costs more than it says.
        where = f", {handle}" if self.task.limit >= TINY else ""
        return f"[{messages:,} earlier messages folded{where}]"

    def _notice(self, folded: Sequence[int]) -> Message:
        """The message that stands for the folded ones, and names the original of all of them."""
        messages = self.task.conversation.messages
        self._fold = Fold.of([messages[index] for index in folded])
        head = self._folded_text(len(folded), self._fold.handle)
        text = f"{head}\n{self._record}" if self._record and not self._silent else head
        if not self._silent:
            text += self.gleaned.text(set(folded))
        return self.counter.text_message(self.task.conversation.api, "user", text)

    def _top_up(self) -> bool:
        """Give what is left to the most valuable item that was shortened or left out: full to the brim.

        Says whether anything grew.
        """
        tried: set[int] = set()
        before = self._total()
        for _ in range(TOP_UPS):
            self._make_notice()
            left = self.task.limit - self._total()
            if left < 8:
                break
            short = [
                (item, group)
                for group in self.groups
                if (group.kept or (group.items and self._least(group) + STUB <= left))
                for item in group.items
                if item.kind in ("text", "block", "result", "call") and not item.fixed and id(item) not in tried
                if (item.shown is not None if group.kept else item.kind == "result" or item.tokens > WHOLE)
            ]
            if not short:
                break
            # What was asked for says less than what was found or said.
            item, group = max(
                short, key=lambda pair: (pair[0].kind != "call", pair[0].weight, -pair[0].message, -pair[0].start)
            )
            tried.add(id(item))
            if not group.kept:
                left -= self._least(group)
                group.kept = True
                for each in group.items:
                    each.given = self.shown.floor(each)
                    self.shown.show(each)
            self.shown.stretch(item, left)
        return self._total() > before

    def _least(self, group: Group) -> int:
        return group.frame + sum([self.shown.floor(item) for item in group.items])

    def _enforce(self) -> Outcome:
        """Count what will really be sent; step down until it is within the limit, and use what that left over."""
        refills = REFILLS if self.task.fill else 0
        for _ in range(12):
            self._drop_hollow()
            outcome = self._outcome()
            over = outcome.total - self.task.limit
            if over > 0:
                if not self._step_down(over + 2):
                    if self._silent or not (outcome.folded and self.task.spare):
                        break
                    self._silent = True  # a request that does not say what it lacks is better than none
            elif self._starved() and not self._silent and outcome.folded:
                self._silent = True  # what was found last says more than that something was before it
                self._make_notice()
                self._top_up()
            elif refills and outcome.total < FULL * self.task.limit and self._top_up():
                refills -= 1
            else:
                return outcome
        raise BudgetTooSmall(outcome.total, self.task.limit, self.must_stay())

    def _starved(self) -> bool:
        """Whether there is room for no more than a sign of what was found last."""
        results = [item for item in self.groups[-1].items if item.kind == "result" and not item.fixed]
        return self.shown.least and any(item.shown is not None and item.shown_tokens <= STUB for item in results)

    def _drop_hollow(self) -> None:
        """Let go of thoughts whose answer is gone: a message of nothing else is none."""
        for group in self.groups:
            if group.kept and not group.must and len(group.items) > 1:
                said = [item for item in group.items if item.kind != "thinking"]
                if said and len(said) < len(group.items):
                    group.kept = any(item.shown_tokens for item in said)
        if self.task.conversation.api == "gemini":
            self._bridge()
        elif self.task.conversation.api == "anthropic":
            for item in last_thoughts(self.groups, self.task.conversation.messages):
                item.must, item.given = True, item.tokens
                self.shown.show(item)
        self._make_notice()

    def _bridge(self) -> None:
        """Keep a sign of what the user said where the API wants it before calls; those not needed any more go."""
        before = self._bridges
        for group in before:
            group.kept = False
        self._bridges = bridged(self.groups, self.task.conversation.messages, self.task.frozen)
        for group in self._bridges:
            if not any(group is known for known in before):
                for item in group.items:
                    item.given = 0
                    self.shown.show(item)

    def _step_down(self, over: int) -> bool:
        """Free at least `over` tokens from what is worth the least; False if nothing can go."""
        freed = self._glean_less(over)
        loose = [(item, group) for group in self.groups if group.kept for item in group.items if not item.must]
        # Of a result the values that are worth the least go first; what each next one is worth is asked anew.
        waiting = [(_last_worth(item), item.message, item.start, at) for at, (item, _) in enumerate(loose)]
        heapify(waiting)
        while waiting and freed < over:
            at = heappop(waiting)[-1]
            item, group = loose[at]
            if not group.kept or item.shown_tokens <= self.shown.bottom(item):
                continue
            if item.skeleton is not None and item.threshold is not None and item.shown is not None:
                freed += self.shown.lower(item)
                heappush(waiting, (_last_worth(item), item.message, item.start, at))
                continue
            freed += self.shown.shrink(item, over - freed)
            if not group.must and not any(each.shown_tokens for each in group.items):
                group.kept = False
                freed += group.frame
        bridges = set(map(id, self._bridges))
        optional = [group for group in self.groups if group.kept and not group.must and id(group) not in bridges]
        optional.sort(key=lambda group: (max((item.weight for item in group.items), default=0.0), group.members[0]))
        for group in optional:
            if freed >= over:
                break
            group.kept = False
            freed += group.frame + sum(item.shown_tokens for item in group.items)
        self._make_notice()
        return freed > 0

    def _glean_less(self, over: int) -> int:
        """Let values of folded results go until `over` tokens are free, or all of them; return how many that freed."""
        before = self._notice_tokens
        while self.gleaned and before - self._notice_tokens < over:
            self.gleaned.lower(over - (before - self._notice_tokens), self.count)
            self._make_notice()
        return before - self._notice_tokens

    def _outcome(self) -> Outcome:
        conversation = self.task.conversation
        shown = {
            index: rebuilt(conversation.api, self._message(index), items) for index, items in self._by_message().items()
        }
        messages: list[Message] = []
        places: list[int] = []
        folded, self._fold = self._folded(), None
        kept = sorted(shown.keys() - {SYSTEM})
        before = notice_before(self.task, kept, folded, silent=self._silent) if folded else None
        for index in kept:
            if index == before:
                notice = self._notice(folded)
                # The first to speak is the user.
                if not self._silent or conversation.messages[index].role == "assistant":
                    messages.append(notice)
                    places.append(-1)
            messages.append(shown[index])
            places.append(index)
        new = replace(conversation, messages=tuple(messages), system=shown.get(SYSTEM, conversation.system))
        total = self.task.size(self.counter.total(new))
        stash, fold = self.shown.stash, self._fold
        return Outcome(new, total, self.groups, stash, fold, folded, planned=conversation, places=places)

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
        """What cannot go, with its tokens and those of its frame, largest first."""
        found = [("tools and framing", self.head)]
        for group in self.groups:
            for member in group.members if group.must else ():
                if member == SYSTEM:
                    name, frame = "system", 0
                else:
                    message = self._message(member)
                    name = f"{message.role} {self.task.name(member)}"
                    frame = self.counter.message(message) - sum(self.counter.parts(message))
                shown = sum(item.shown_tokens for item in group.items if item.message == member)
                found.append((name, shown + frame))
        return sorted(found, key=lambda entry: -entry[1])


def _last_worth(item: Item) -> float:
    """What the least valuable of what is shown of an item is worth."""
    return item.weight + (item.threshold or 0.0)
