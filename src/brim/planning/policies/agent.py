"""Policy `agent`, the default; and the last step of every other policy: the planner that holds the ceiling."""

from __future__ import annotations

from dataclasses import replace

from brim.errors import BudgetTooSmall
from brim.planning.attachments import attached, originals
from brim.planning.candidates import guessed
from brim.planning.draft import Draft
from brim.planning.planner import Planner
from brim.planning.project_context import shrunk, this_turn
from brim.planning.ranking import relevance
from brim.planning.reports.decisions import Decision
from brim.planning.rereads import without_rereads
from brim.planning.task import Outcome, Task
from brim.planning.work import Work, query_of


def plan(work: Work) -> Outcome:
    """Fit the request with its context."""
    held = work.pinned(work.conversation.messages)
    draft = attached(Draft(work.conversation, held=held), work.context, work.carried, work.policy.preview_chars)
    outcome = enforce(work, draft)
    outcome.archived = draft.given(outcome.archived)
    outcome.archive = originals(work.carried) | outcome.archive
    return outcome


def enforce(work: Work, draft: Draft, *, target: int | None = None, planned: bool = False) -> Outcome:
    """The one enforcement point: a conversation that fits is left alone, any other is planned into its limit.

    `target` is where a compaction ends, which is `planned` even if it fits. What the outcome calls archived are indexes
    of the draft.
    """
    conversation = draft.conversation
    guess = guessed(conversation.messages, work.counter.message, work.limit)
    if guess is None and not planned and work.fits(conversation):
        return Outcome(conversation, work.total(conversation), planned=conversation, draft=draft)
    steps: list[Decision] = []
    archive: dict[str, str] = {}
    current = without_rereads(work, draft, steps, archive)
    if current is not draft:
        outcome = enforce(work, current, target=target, planned=True)
        outcome.steps, outcome.archive = [*steps, *outcome.steps], archive | outcome.archive
        return outcome
    if guess is None:
        smaller = shrunk(work, draft, steps, archive, target)
        if smaller is not draft:
            last = this_turn(work, smaller) - smaller.held
            smaller = replace(smaller, held=smaller.held | last, last=last)
            try:
                outcome = enforce(work, smaller, target=target, planned=planned)
            except BudgetTooSmall:
                steps, archive = [], {}  # what the project context keeps is more than there is: it is planned too
            else:
                outcome.steps, outcome.archive = [*steps, *outcome.steps], archive | outcome.archive
                return outcome
    query, columns = query_of(conversation), None if guess is None else guess.columns
    task = Task(
        conversation=conversation,
        counter=work.counter,
        limit=max(1, work.limit),  # with less than nothing it refuses too, and says what would have to stay
        target=target,
        query=query,
        relevance=lambda room: relevance(conversation, query, work.counter.message, room, columns),
        recall=work.recall,
        layers=draft.layers,
        held=draft.held,
        name=draft.name,
        size=work.size,
        guessed=guess,
    )
    planner = Planner(task)
    if guess is not None and not planned and not planner.surely_over() and work.fits(conversation):
        return Outcome(conversation, work.total(conversation), planned=conversation, draft=draft)
    try:
        outcome = planner.run()
    except BudgetTooSmall as refusal:
        if work.limit > 0:
            raise
        raise BudgetTooSmall(refusal.needed, work.limit, refusal.must_stay) from None
    outcome.draft = draft
    return outcome
