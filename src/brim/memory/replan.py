"""Re-plans: how a view comes back under its limit, with as much of its start as possible left as it was sent.

A view has two parts. What is settled stands at its start in a lean form that is meant to last; the newest step stands
after it, as rich as the limit allows. A light re-plan leaves all that was sent alone and cuts only the newest step.
Where little would be left of that, a shallow one leaves the settled part alone and settles what came after it. When
that would be too much, a deep one settles everything anew, and less of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import median

from brim.catalog.caching import caching_of
from brim.conversation import Message
from brim.errors import BudgetTooSmall
from brim.memory.view import Entry, EntryKind, View
from brim.memory.waterline import falling
from brim.plan import agent
from brim.plan.draft import Draft
from brim.plan.items import current, grouped
from brim.plan.task import Outcome
from brim.plan.work import Work

# How much of the free budget may be settled before a deep re-plan.
SETTLED = 0.95
# What a deep re-plan settles of a large budget; of a small one it is the policy's low waterline.
LARGE = 0.2
# Less room than this share of a usual step is none.
ROOM = 0.5
# What a shallow re-plan leaves of a message that it settles: so many tokens, and this share of it.
FLOOR, LEAN = 44, 0.1
# What the newest step may take of the free budget before anything is settled, and of what is then left. The rest is for
# what comes: a step that fills the window makes the next one plan anew.
NEWEST, RICH = 0.35, 0.4
# All before the newest step stays as it was sent where this share of what is left beside it is enough for the step: for
# all of it, or for this share of the free budget and so many tokens, in which a result can be read.
OF_LEFT, ENOUGH, READABLE = 0.7, 0.2, 200
# What was found last is what is spoken of for as many groups: it may keep this share of the free budget.
SINCE, FOUND = 3, 0.2
# The tokens of a usual answer: what a turn costs beside its input. So many turns are expected to go into asking again
# for what a deep re-plan lets go.
ANSWER, ASKED = 400, 2
# So many bytes of the last messages, or four for each token of the limit, are planned from what they were; what is
# older from what is still shown of it.
WHOLE_LOG = 100_000


@dataclass(frozen=True, slots=True)
class Unit:
    """What is planned: a message of the log, or one that stands between two of them."""

    start: int
    end: int
    message: Message
    entry: Entry | None = None

    @property
    def attached(self) -> bool:
        """Whether it is context of the message that follows it."""
        return self.entry is not None and self.entry.kind == "context"


@dataclass(slots=True)
class Replan:
    """One re-plan of a view of a log. `carried` are messages to stand before the newest step."""

    work: Work
    log: list[Message]
    view: View
    carried: Sequence[Entry] = ()
    context: Callable[[int], Sequence[Entry]] = lambda number: ()  # what is attached to a message of the log

    def run(self) -> Outcome:
        """Bring the view under the limit, or raise BudgetTooSmall and leave it as it was."""
        for attempt in (self._light, self._shallow, self._deep):
            try:
                outcome = attempt()
            except BudgetTooSmall:
                continue  # what was to stay is too much for this attempt: the next one lets more go
            if outcome is not None:
                return outcome
        units = self._units(0)
        outcome = self._planned([], units, self.work.limit, spare=True)
        self.view.replace(0, self._entries(outcome, 0, units), 0)
        return outcome

    def _light(self) -> Outcome | None:
        if not self._cached:
            return None
        units = self._units(0)
        groups = grouped(tuple(unit.message for unit in units))
        newest = units[groups[-1][0] :] if groups else []
        kept = [entry for entry in self.view.entries if newest and entry.start < newest[0].start]
        # What stands between them belongs to the newest step, and is made anew with it.
        alone = len(kept) + len(newest) == len(self.view.entries)
        if not kept or not alone:
            return None
        counter = self.work.counter
        stands = self.work.size(counter.head(self.work.conversation) + sum(entry.tokens for entry in kept))
        given = int(OF_LEFT * (self.work.limit - stands))
        size = sum(counter.message(unit.message) for unit in newest)
        if given < min(size, max(READABLE, int(ENOUGH * self._free))):
            return None
        last = [*(unit_of(entry) for entry in self.carried), *newest]
        rich = self._planned(kept, last, stands + given)
        self.view.replace(len(kept), self._entries(rich, len(kept), last), len(kept))
        return rich

    def _shallow(self) -> Outcome | None:
        settled = self.view.entries[: self.view.settled]
        if not settled or not self._cached:
            return None
        taken = sum(entry.tokens for entry in settled)
        most = int(SETTLED * self._free) + self._instructions - taken

        def room(sizes: list[int], share: int, found: int) -> int:
            return min(most, sum(min(size, FLOOR + int(LEAN * size)) for size in sizes) + found)

        return self._generations(settled, room)

    def _deep(self) -> Outcome | None:
        def room(sizes: list[int], share: int, found: int) -> int:
            return int(self._low * (1 - share / max(1, self._free))) + self._instructions

        return self._generations([], room)

    @property
    def _cached(self) -> bool:
        """Whether there is a prefix to save: where cached input costs as much as fresh, all is better weighed anew."""
        return caching_of(self.work.model).lost(1) > 0

    @property
    def _instructions(self) -> int:
        """System messages at the start of the log: they stand before everything and never change."""
        return sum(self.work.counter.message(message) for message in self.log[:4] if message.role == "system")

    @property
    def _low(self) -> int:
        """What a deep re-plan settles: most of a small window, less of a large one, where the newest needs more.

        All of a tiny one: what it would leave is too little for the next step, which plans anew all the same.
        """
        low = falling(self.work.policy.low, LARGE, self._free)
        step = 2 * median([entry.tokens for entry in self.view.entries] or [0])  # a call and its answer
        return low if self._free - low >= ROOM * step else self._free

    @property
    def _free(self) -> int:
        return self.work.limit - self.work.size(self.work.counter.head(self.work.conversation) + self._instructions)

    def _generations(self, settled: list[Entry], room_for: Callable[[list[int], int, int], int]) -> Outcome | None:
        """Settle all but the newest step after what is settled, then plan that; None if there is no room for it."""
        units = self._units(max((entry.end for entry in settled), default=0))
        groups = grouped(tuple(unit.message for unit in units))
        first = groups[-1][0] if groups else 0
        while first and units[first - 1].attached:
            first -= 1  # what is attached to the newest step stays with it
        older, newest = units[:first], units[first:]
        sizes = {entry.start: entry.tokens for entry in self.view.entries if entry.end > entry.start}
        counter = self.work.counter
        share = min(sum(counter.message(unit.message) for unit in newest), int(NEWEST * self._free))
        found = self._found(units, groups[-SINCE:], sizes)
        room = room_for([sizes.get(unit.start, 0) for unit in older], share, found)
        if not older or room <= 0:
            return None
        taken = counter.head(self.work.conversation) + sum(entry.tokens for entry in settled)
        cut = self._cut(newest, share)
        beside = sum(counter.message(unit.message) for unit in cut)
        target = min(self.work.size(taken + room + beside), self.work.limit)
        lean = self._planned(settled, [*older, *cut], target)
        entries = self._entries(lean, len(settled), units)
        border = newest[0].start
        aged = [replace(entry, end=min(entry.end, border)) for entry in entries if entry.start < border]
        last = [*(unit_of(entry) for entry in self.carried), *newest]
        kept = [*settled, *aged]
        # A step of which even the least is more than its share leaves no room for another: it takes all there is.
        least = sum(entry.tokens for entry in entries if entry.start >= border)
        rich = self._enriched(kept, last, share if least <= share else self.work.limit)
        lost = any(last[place - len(kept)].attached for place in rich.folded)  # of this turn's context nothing is left
        if settled and (lost or not self._pays(taken, rich.total, share)):
            return None
        self.view.replace(len(settled), [*aged, *self._entries(rich, len(kept), last)], len(kept))
        rich.stash.update(lean.originals())
        return rich

    def _found(self, units: list[Unit], groups: list[list[int]], sizes: dict[int, int]) -> int:
        """What is left beside its lean form to what was found last, if little was said since."""
        for group in reversed(groups):
            found = [sizes.get(units[at].start, 0) for at in group if units[at].message.answers]
            if found and group is groups[-1]:
                return 0
            if found:
                size = sum(found)
                return max(0, min(size, int(FOUND * self._free)) - FLOOR * len(found) - int(LEAN * size))
        return 0

    def _cut(self, newest: list[Unit], most: int) -> list[Unit]:
        """The newest step in its share: what is settled beside it is not to starve for all that it says."""
        head = self.work.size(self.work.counter.head(self.work.conversation))
        try:
            outcome = self._planned([], newest, head + most)
        except BudgetTooSmall:
            return newest
        messages = outcome.conversation.messages
        if len(messages) != len(newest):
            return newest
        return [replace(unit, message=message) for unit, message in zip(newest, messages, strict=True)]

    def _enriched(self, kept: Sequence[Entry], last: Sequence[Unit], share: int) -> Outcome:
        """The newest step after what is settled: its share, some of what is left beside that, or all if it must."""
        head = self.work.counter.head(self.work.conversation)
        stands = self.work.size(head + sum(entry.tokens for entry in kept))
        left = self.work.limit - stands
        given = share + int(RICH * (left - share))
        if 0 < given < left:
            try:
                return self._planned(kept, last, stands + given)
            except BudgetTooSmall:
                pass  # what must stay of it is more than its share
        return self._planned(kept, last, self.work.limit)

    def _pays(self, settled: int, total: int, newest: int) -> bool:
        """Whether a shallow re-plan is expected to cost less than a deep one, at the prices of the model's cache.

        Either is paid for once and then lasts until its room has filled: so much of what it sends anew falls on a step,
        beside reading from the cache what stands. A deep one also lets values go that may have to be asked for again,
        which takes turns.
        """
        caching = caching_of(self.work.model)
        step = 2 * self.view.tokens / max(1, len(self.view.entries))  # a call and its answer
        turn = caching.reading * self.work.limit + ANSWER * caching.answering

        def cost(anew: int, stands: int, extra: float) -> float:
            room = self.work.limit - stands
            return (caching.lost(anew) + extra) * step / room + caching.reading * stands if room > 0 else inf

        low = self._low
        head = self.work.limit - self._free
        return cost(total - self.work.size(settled), total, 0.0) <= cost(
            low + newest, head + low + newest, ASKED * turn
        )

    def _units(self, start: int) -> list[Unit]:
        """What stands from message `start` of the log on, and the context that was attached there, folded or not.

        A turn must not cost more because the conversation is old: of a long log what is old is taken as it is shown.
        """
        recent = max(start, self._recent())
        found: list[Unit] = []
        for entry in self.view.entries:
            if start <= entry.start < recent and entry.kind not in ("recall", "summary"):
                found.append(unit_of(entry))
        for number in range(recent, len(self.log)):
            found += map(unit_of, self.context(number))
            found.append(Unit(number, number + 1, self.log[number]))
        return found

    def _recent(self) -> int:
        """Where the messages begin that are planned from what they were: with one of the user, so no step is torn."""
        left = max(WHOLE_LOG, 4 * self.work.limit)
        number = len(self.log)
        while number and left > 0:
            number -= 1
            left -= len(self.log[number].raw)
        if not number:
            return 0
        asks = (at for at in range(number, len(self.log)) if _asks(self.log[at]))
        return next(asks, len(self.log) - len(grouped(tuple(self.log[number:]))[-1]))

    def _planned(self, frozen: Sequence[Entry], units: Sequence[Unit], target: int, spare: bool = False) -> Outcome:
        """Plan messages after entries that stay as they are."""
        messages = (*(entry.message for entry in frozen), *(unit.message for unit in units))
        conversation = replace(self.work.conversation, messages=messages)
        now = current(messages)
        layers = {place: 3 if place + 1 >= now else 2 for place, unit in enumerate(units, len(frozen)) if unit.attached}
        work = replace(self.work, limit=target)
        return agent.enforce(work, Draft(conversation, layers=layers), frozen=len(frozen), fill=False, spare=spare)

    def _entries(self, outcome: Outcome, frozen: int, units: Sequence[Unit]) -> list[Entry]:
        """What was planned after the frozen entries, as entries; folded messages stand in a ledger block."""
        found: list[Entry] = []
        folded = max((units[place - frozen].end for place in outcome.folded), default=0)
        places = outcome.places or list(range(len(outcome.conversation.messages)))
        for message, place in zip(outcome.conversation.messages, places, strict=True):
            if 0 <= place < frozen:
                continue
            size = self.work.counter.message(message)
            if place < 0:
                start = min((units[place - frozen].start for place in outcome.folded), default=units[0].start)
                found.append(Entry(start, max(folded, start), message, size, "ledger"))
                continue
            unit = units[place - frozen]
            if unit.entry is not None:
                altered = unit.entry.kind == "as is" and message is not unit.message
                kind: EntryKind = "compacted" if altered else unit.entry.kind
                found.append(replace(unit.entry, message=message, tokens=size, kind=kind))
            else:
                kind = "as is" if message is unit.message else "compacted"
                found.append(Entry(unit.start, unit.end, message, size, kind))
        return found


def _asks(message: Message) -> bool:
    return message.role == "user" and not message.answers


def unit_of(entry: Entry) -> Unit:
    """An entry that is planned as it stands in the view."""
    return Unit(entry.start, entry.end, entry.message, entry)
