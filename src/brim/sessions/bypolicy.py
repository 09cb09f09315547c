"""Policies other than `agent` in a session: what they plan each turn, and what carries over to the next.

`rolling` works on what it made before: its summary is a system message of the view, and goes into the next one.
`concise` and `layered` look at the whole log each time; the same log gives the same bytes. Under `layered` the tool
results of a turn are compacted when it is over, as they are saved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from brim.conversation import Message
from brim.planning.items import current
from brim.planning.plan import Plan
from brim.planning.policies import strategies
from brim.planning.policies.rolling import CONTEXT, PREFIX
from brim.planning.request import PlanRequest
from brim.sessions.view import Entry, EntryKind, View
from brim.summaries.deterministic import HEADER


def plan_by_policy(work: PlanRequest, log: list[Message], view: View, saved: Callable[[Message], Message]) -> Plan:
    """Plan this turn and bring the view to it; BudgetTooSmall leaves the view as it was.

    `saved` returns the form in which results of finished turns are kept.
    """
    incremental = not work.policy.plans_log
    # What was shown beside an earlier message was for that message only; it is neither kept nor summarised.
    said = [entry for entry in view.entries if entry.kind not in ("context", "recall")]
    source = said if incremental else _of_log(work, log, saved)
    shown = replace(work.conversation, messages=tuple([entry.message for entry in source]))
    outcome = strategies.run(replace(work, conversation=shown))
    if outcome.conversation is shown and shown.messages == view.messages():
        return outcome
    view.replace(0, _entries(work, outcome, source), 0)
    return outcome


def _of_log(work: PlanRequest, log: list[Message], saved: Callable[[Message], Message]) -> list[Entry]:
    size = work.counter.message
    now = current(tuple(log)) if work.policy.compacts_results else 0
    found: list[Entry] = []
    for number, message in enumerate(log):
        shown = saved(message) if number < now and (message.answers or message.role == "user") else message
        kind: EntryKind = "as is" if shown is message else "compacted"
        found.append(Entry(number, number + 1, shown, size(shown), kind))
    return found


def _entries(work: PlanRequest, outcome: Plan, source: list[Entry]) -> list[Entry]:
    """The planned messages as entries: those from the source keep their entries, the policy's own become new ones."""
    planned = outcome.draft.conversation if outcome.draft is not None else outcome.conversation
    known = _origins(planned.messages, source)
    places = outcome.places or list(range(len(outcome.conversation.messages)))
    found: list[Entry] = []
    for message, place in zip(outcome.conversation.messages, places, strict=True):
        origin = planned.messages[place] if place >= 0 else message
        entry, size = known.get(id(origin)), work.counter.message(message)
        if entry is not None:
            altered = message is not entry.message and entry.end > entry.start
            kind: EntryKind = "compacted" if altered else entry.kind
            found.append(replace(entry, message=message, tokens=size, kind=kind))
            continue
        summary = place < 0 or message.text.startswith(PREFIX) or work.policy.plans_log
        at = found[-1].end if found else 0
        found.append(Entry(at, at, message, size, "summary" if summary else "context"))
    return _spanned(found)


def _origins(planned: tuple[Message, ...], source: list[Entry]) -> dict[int, Entry]:
    """The entries that planned messages represent; those that a policy shortened keep their order before the last."""
    known = {id(entry.message): entry for entry in source}
    last = known.get(id(planned[-1])) if planned else None
    before = [entry for entry in source if entry.message.role != "system" and last and entry.start <= last.start]
    for message, entry in zip(reversed(planned), reversed(before), strict=False):
        same = (message.role, message.calls, message.answers) == _kind(entry.message)
        if same and not message.text.startswith((PREFIX, CONTEXT[:20], HEADER)):
            known.setdefault(id(message), entry)
    return known


def _kind(message: Message) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return message.role, message.calls, message.answers


def _spanned(entries: list[Entry]) -> list[Entry]:
    """Set which messages summaries represent: those of the log between their neighbours."""
    found: list[Entry] = []
    following = 0
    for entry in reversed(entries):
        if entry.kind == "summary" and following > entry.start:
            entry = replace(entry, end=following)
        following = entry.start
        found.append(entry)
    return found[::-1]
