"""Compaction: shortens a session's history, with the same planner as for one request and the log as input.

The view is brought down to `compact_to` of the budget and then grows by appending until the next compaction. What was
pasted beside a message stays with it; a summary that a model wrote stands before the newest step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from brim.conversation import Message
from brim.errors import BudgetTooSmall
from brim.planning.draft import Draft
from brim.planning.items import current, grouped
from brim.planning.plan import Plan
from brim.planning.policies import agent
from brim.planning.policies.rolling import SUMMARY
from brim.planning.request import PlanRequest
from brim.sessions.view import Entry, EntryKind, View

# Bytes of the log that a compaction plans from, or this many for each token of the limit: a turn must not cost more
# because the conversation is old. Of what is older the user's messages are planned too, and the rest stays archived.
PLANNED_BYTES, PLANNED_PER_TOKEN = 400_000, 32


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of planning: a message of the log, or one between two of them."""

    start: int
    end: int
    message: Message
    entry: Entry | None = None

    @property
    def attached(self) -> bool:
        """Whether it is context of the following message."""
        return self.entry is not None and self.entry.kind == "context"


def compact(
    work: PlanRequest,
    log: Sequence[Message],
    view: View,
    carried: Sequence[Entry] = (),
    context: Callable[[int], Sequence[Entry]] = lambda number: (),
    to: float = 0.0,
) -> Plan:
    """Bring a view down to `compact_to` of the budget, or raise BudgetTooSmall and leave it as it was.

    `to` may be a larger share. `carried` are messages to stand before the newest step,
    `context` tells what is attached to a message of the log.
    """
    units = _units(work, log, context)
    newest = grouped(tuple([unit.message for unit in units]))[-1][0] if units else 0
    while newest and units[newest - 1].attached:
        newest -= 1  # context attached to the newest step stays with it
    units[newest:newest] = [Unit(entry.start, entry.end, entry.message, entry) for entry in carried]
    conversation = replace(work.conversation, messages=tuple([unit.message for unit in units]))
    now = current(conversation.messages)
    layers = {place: 3 if place + 1 >= now else 2 for place, unit in enumerate(units) if unit.attached}
    target = target_of(work, log, to)
    pinned = work.pinned(log)
    held = frozenset(place for place, unit in enumerate(units) if unit.entry is None and unit.start in pinned)
    told = frozenset(range(newest, newest + len(carried)))
    if sum(entry.tokens for entry in carried) > SUMMARY * target:
        told = frozenset()
    try:
        draft = Draft(conversation, layers=layers, held=held | told)
        outcome = agent.enforce(work, draft, target=target, planned=True)
    except BudgetTooSmall:  # the summary yields in a small window
        draft = Draft(conversation, layers=layers, held=held)
        outcome = agent.enforce(work, draft, target=target, planned=True)
    entries = _entries(work, outcome, units, len(log))
    view.replace(0, entries, len(entries))
    return outcome


def target_of(work: PlanRequest, log: Sequence[Message], to: float = 0.0) -> int:
    """The target of a compaction: `compact_to`, or more, of what the budget leaves beside instructions and tools."""
    instructions = sum(work.counter.message(message) for message in log[:4] if message.role == "system")
    fixed = work.size(work.counter.head(work.conversation) + instructions)
    return fixed + int(max(to, work.policy.compact_to) * max(0, work.limit - fixed))


def _units(work: PlanRequest, log: Sequence[Message], context: Callable[[int], Sequence[Entry]]) -> list[Unit]:
    """The log, with the context attached to its messages."""
    first = _first_planned(work, log)
    pinned = work.pinned(log[:first])
    stays = {number for step in (grouped(tuple(log[:first])) if pinned else ()) if pinned & {*step} for number in step}
    found: list[Unit] = []
    for number, message in enumerate(log):
        if number >= first:
            found += [Unit(entry.start, entry.end, entry.message, entry) for entry in context(number)]
            found.append(Unit(number, number + 1, message))
        elif number in stays or message.role == "system" or (message.role == "user" and not message.answers):
            found.append(Unit(number, number + 1, message))
    return found


def _first_planned(work: PlanRequest, log: Sequence[Message]) -> int:
    """Where the messages begin that are planned whatever they are: where a step begins, so that none is torn."""
    left = max(PLANNED_BYTES, PLANNED_PER_TOKEN * work.limit)
    for number in range(len(log) - 1, -1, -1):
        left -= len(log[number].raw)
        if left < 0:
            starts = [number + group[0] for group in grouped(tuple(log[number:]))]
            return starts[1] if len(starts) > 1 else number
    return 0


def _entries(work: PlanRequest, outcome: Plan, units: Sequence[Unit], length: int) -> list[Entry]:
    """The plan as entries of the view; the summary represents everything archived before the entry that follows it."""
    found: list[Entry] = []
    gone = [units[place] for place in outcome.archived]
    places = outcome.places or list(range(len(outcome.conversation.messages)))
    for message, place in zip(outcome.conversation.messages, places, strict=True):
        size = work.counter.message(message)
        if place < 0:
            start = min((unit.start for unit in gone), default=0)
            end = min(length, max((unit.end for unit in gone), default=start))
            found.append(Entry(start, end, message, size, "summary"))
            continue
        unit = units[place]
        if unit.entry is not None:
            found.append(replace(unit.entry, message=message, tokens=size))
        else:
            kind: EntryKind = "as is" if message is unit.message else "compacted"
            found.append(Entry(unit.start, unit.end, message, size, kind))
    return found
