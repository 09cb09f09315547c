"""Policy `agent`, the default; and the last step of every other policy: the planner that holds the ceiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from brim.conversation import Message
from brim.errors import BudgetTooSmall
from brim.plan.candidates import guessed
from brim.plan.context import attached, originals
from brim.plan.draft import Draft
from brim.planning.planner import Planner
from brim.plan.ranking import relevance
from brim.plan.task import Outcome, Task
from brim.plan.work import Work, query_of
from brim.summarize import deterministic

# A record shorter than this many tokens says nothing; one of more messages than this takes longer than a fit may.
LEAST_RECORD = 60
RECORDED = 120


def plan(work: Work) -> Outcome:
    """Fit the request with its context."""
    draft = attached(Draft(work.conversation), work.context, work.carried, work.policy.preview_chars)
    outcome = enforce(work, draft)
    outcome.folded = draft.given(outcome.folded)
    outcome.stash = originals(work.carried) | outcome.stash
    return outcome


def enforce(
    work: Work,
    draft: Draft,
    *,
    frozen: int = 0,
    fill: bool = True,
    spare: bool = True,
) -> Outcome:
    """The one enforcement point: a conversation that fits is left alone, any other is planned into its limit.

    What the outcome calls folded are indexes of the draft.
    """
    conversation = draft.conversation
    guess = guessed(conversation.messages, work.counter.message, work.limit)
    if guess is None and work.fits(conversation):
        return Outcome(conversation, work.total(conversation), planned=conversation, draft=draft)
    query, columns = query_of(conversation), None if guess is None else guess.columns
    task = Task(
        conversation=conversation,
        counter=work.counter,
        limit=max(1, work.limit),  # with less than nothing it refuses too, and says what would have to stay
        recent=work.policy.recent,
        query=query,
        relevance=lambda room: relevance(conversation, query, work.counter.message, room, columns),
        recall=work.recall,
        layers=draft.layers,
        held=draft.held,
        name=draft.name,
        frozen=frozen,
        fill=fill,
        spare=spare,
        record=lambda messages, tokens: record(messages, tokens, work.counter.text),
        ledger=work.policy.ledger,
        size=work.size,
        guessed=guess,
    )
    planner = Planner(task)
    if guess is not None and not planner.surely_over() and work.fits(conversation):
        return Outcome(conversation, work.total(conversation), planned=conversation, draft=draft)
    try:
        outcome = planner.run()
    except BudgetTooSmall as refusal:
        if work.limit > 0:
            raise
        raise BudgetTooSmall(refusal.needed, work.limit, refusal.must_stay) from None
    outcome.draft = draft
    return outcome


def record(messages: Sequence[Message], tokens: int, count: Callable[[str], int]) -> str:
    """What folded messages were about, in at most so many tokens; nothing where there is no room to say it."""
    if tokens < LEAST_RECORD:
        return ""
    text = deterministic.ledger(messages[-RECORDED:], tokens * 3)
    while text and count(text) > tokens:
        text = text[: int(len(text) * 0.8)].rpartition("\n")[0]
    return text
