"""A session's turn by the plain planner, after planning failed."""

from __future__ import annotations

from dataclasses import replace

from brim.fallback import plain_plan_of
from brim.planning.plan import Plan
from brim.planning.request import PlanRequest
from brim.sessions.view import Entry, EntryKind, View


def plan_plainly(work: PlanRequest, entries: list[Entry], view: View) -> Plan:
    """Plan the entries of the whole log by size alone, and set the view. Raises BudgetTooSmall."""
    shown = replace(work.conversation, messages=tuple(entry.message for entry in entries))
    outcome = plain_plan_of(replace(work, conversation=shown))
    gone = [entries[place] for place in outcome.archived]
    size = work.counter.message
    found: list[Entry] = []
    for message, place in zip(outcome.conversation.messages, outcome.places, strict=True):
        if place >= 0:
            entry = entries[place]
            altered = message is not entry.message and entry.end > entry.start
            kind: EntryKind = "compacted" if altered else entry.kind
            found.append(replace(entry, message=message, tokens=size(message), kind=kind))
        elif gone:  # the first note covers everything archived
            found.append(Entry(gone[0].start, gone[-1].end, message, size(message), "summary"))
            gone = []
        else:
            at = found[-1].end if found else 0
            found.append(Entry(at, at, message, size(message), "summary"))
    view.replace(0, found, 0)
    return outcome
