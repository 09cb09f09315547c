"""Policy `agent`, the default and the last step of every other policy: the planner that enforces the limit."""

from __future__ import annotations

from dataclasses import replace

from brim.errors import BudgetTooSmall
from brim.planning.attachments import attached, originals
from brim.planning.draft import Draft
from brim.planning.plan import Plan
from brim.planning.planner import plan_by_rules
from brim.planning.prefilter import guessed
from brim.planning.project_context import shrunk, this_turn
from brim.planning.reports.decisions import Decision
from brim.planning.request import PlanRequest
from brim.planning.rereads import without_rereads
from brim.planning.state import PlanState


def plan(request: PlanRequest) -> Plan:
    """Fit the request with its context."""
    held = request.pinned(request.conversation.messages)
    given = Draft(request.conversation, held=held)
    draft = attached(given, request.context, request.carried, request.policy.preview_chars)
    made = enforce(request, draft)
    return replace(made, archived=draft.given(made.archived), archive=originals(request.carried) | dict(made.archive))


def enforce(request: PlanRequest, draft: Draft, *, target: int | None = None, planned: bool = False) -> Plan:
    """The one enforcement point: a conversation that fits stays unchanged, any other is planned to its limit.

    `target` is where a compaction ends, which is `planned` even if it fits. What the plan calls archived are indexes
    of the draft.
    """
    conversation = draft.conversation
    guess = guessed(conversation.messages, request.counter.message, request.limit)
    if guess is None and not planned and request.fits(conversation):
        return as_it_is(request, draft)
    steps: list[Decision] = []
    archive: dict[str, str] = {}
    current = without_rereads(request, draft, steps, archive)
    if current is not draft:
        return enforce(request, current, target=target, planned=True).after(steps, archive)
    smaller = shrunk(request, draft, steps, archive, target) if guess is None else draft
    if smaller is not draft:
        last = this_turn(request, smaller) - smaller.held
        smaller = replace(smaller, held=smaller.held | last, last=last)
        try:
            return enforce(request, smaller, target=target, planned=planned).after(steps, archive)
        except BudgetTooSmall:
            pass  # the project context keeps more than there is room for, so plan it too
    state = PlanState(request, draft, guess, target)
    if guess is not None and not planned and not state.surely_over() and request.fits(conversation):
        return as_it_is(request, draft)
    return plan_by_rules(state)


def as_it_is(request: PlanRequest, draft: Draft) -> Plan:
    """The plan for a conversation that fits."""
    return Plan(draft.conversation, request.total(draft.conversation), draft=draft)
