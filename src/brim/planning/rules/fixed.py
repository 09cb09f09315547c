"""Rule 1. Fixed: instructions, tools, the current message, pinned content. Then what was given for this turn."""

from __future__ import annotations

from brim.content.selection import shares
from brim.planning.forms import STUB
from brim.planning.state import PlanState

# Share of the room for what was attached to this turn or pasted into its message.
CONTEXT_SHARE = 0.5


def keep_fixed(state: PlanState) -> int:
    """Keep what must stay; return what all of it takes, which may be more than the limit."""
    fixed = _keep(state)
    return _keep_less(state) if fixed > state.limit else fixed


def keep_context(state: PlanState, room: int) -> None:
    """Show what was given for this turn, attached or pasted, up to its share of the room."""
    items = [item for group in state.groups for item in group.items if item.layer == 3 and not item.must]
    groups = [group for group in state.groups if group.layer == 3 and not group.kept]
    left = int(CONTEXT_SHARE * room) - sum(group.frame for group in groups)
    if not items or left <= 0:
        return
    for group in groups:
        group.kept = True
    for item, tokens in zip(items, shares([item.tokens for item in items], left), strict=True):
        item.given = max(tokens, state.forms.floor(item))
        state.forms.show(item)


def _keep(state: PlanState) -> int:
    """Keep what must stay, its content in the smallest form that it may have."""
    for group in state.groups:
        if group.must:
            group.kept = True
            for item in group.items:
                item.given = item.tokens if item.must else state.forms.floor(item)
                state.forms.show(item)
    return state.total()


def _keep_less(state: PlanState) -> int:
    """Keep only what makes a valid request: of results a sign, of calls what fits."""
    forms = state.forms
    forms.least = True
    must = [item for group in state.groups if group.must for item in group.items]
    calls = [item for item in must if item.kind == "call"]
    calling = {item.message for item in calls}
    for item in must:
        if item.kind == "text" and item.message in calling and not item.fixed and not state.held(item):
            item.must = False
    fixed = _keep(state)
    # What was found says more than what was asked for.
    results = [item for item in must if item.kind == "result" and not item.fixed and not state.held(item)]
    wanted = sum([max(0, min(item.tokens, STUB) - item.shown_tokens) for item in results])
    for item in sorted(calls, key=lambda item: -item.shown_tokens):
        over = fixed + wanted - state.limit
        if over > 0 and not item.fixed and not state.held(item):
            item.given = max(forms.bottom(item), item.shown_tokens - over)
            forms.show(item)
            fixed = state.total()
    for item in results:
        if fixed < state.limit:
            item.given = min(item.tokens, STUB, item.shown_tokens + state.limit - fixed)
            forms.show(item)
            fixed = state.total()
    return fixed
