"""The last count: what will really be sent is counted, and steps down until it is within the limit.

What stands beside what where messages are archived is checked here too, by the rules of single APIs. Gemini refuses
calls that come right after another message of the model. Anthropic refuses a last answer with calls that lost the
thoughts it began with.
"""

from __future__ import annotations

from collections.abc import Sequence

from brim.apis import APIS
from brim.conversation import Message
from brim.errors import BudgetTooSmall
from brim.planning.items import SYSTEM, WHOLE, Group, Item
from brim.planning.plan import Plan
from brim.planning.render import rendered
from brim.planning.rules.rest import fill
from brim.planning.state import PlanState
from brim.planning.user_words import asks

# Attempts to bring what was counted too low within the limit.
COUNTS = 12


def counted(state: PlanState) -> Plan:
    """The plan by its real bytes, or BudgetTooSmall. What a step down frees too much is filled once."""
    freed = filled = False
    for attempt in range(COUNTS):
        _mend(state)
        plan = rendered(state)
        over = plan.total - state.limit
        if over <= 0:
            if filled or not freed or attempt > COUNTS // 2:
                return plan
            filled = True
            fill(state)
            continue
        freed = True
        if not _step_down(state, over + 2):
            if state.summary.silent or not plan.archived:
                break
            state.summary.silent = True  # a request that does not say what it lacks is better than none
    raise BudgetTooSmall(plan.total, state.request.limit, state.must_stay())


def _mend(state: PlanState) -> None:
    """Let go of thoughts whose answer is gone, and keep what single APIs want beside calls."""
    for group in state.groups:
        if group.kept and not group.must and len(group.items) > 1:
            said = [item for item in group.items if item.kind != "thinking"]
            if said and len(said) < len(group.items):
                group.kept = any(item.shown_tokens for item in said)
    api = APIS[state.conversation.api]
    if api.calls_after_user:
        _bridge(state)
    elif api.calls_keep_thoughts:
        for item in _last_thoughts(state.groups, state.conversation.messages):
            item.must, item.given = True, item.tokens
            state.forms.show(item)


def _bridge(state: PlanState) -> None:
    """Keep a sign of what the user said where the API wants it before calls; those not needed any more go."""
    before = state.bridges
    for group in before:
        group.kept = False
    state.bridges = _bridged(state.groups, state.conversation.messages)
    for group in state.bridges:
        if not any(group is known for known in before):
            for item in group.items:
                item.given = 0
                state.forms.show(item)


def _bridged(groups: Sequence[Group], messages: Sequence[Message]) -> list[Group]:
    """Keep what calls need before them, the last archived message of the user; return those that were kept.

    Calls for which there is none are archived too. The summary of what is archived speaks for the user as well.

    Example: answer, question (archived), calls -> answer, "[…]", calls
    """
    found: list[Group] = []
    told = all(group.kept for group in groups)  # whether the summary was passed; with nothing archived there is none
    before, asked = "user", None
    for group in groups:
        if group.members[0] == SYSTEM:
            continue
        if not group.kept:
            if group.items and messages[group.members[0]].role == "user":
                asked = group
            continue
        first = messages[group.members[0]]
        if not told and first.role != "system":
            told, before = True, "user"
        if before == "assistant" and first.role == "assistant" and first.calls:
            if asked is not None:
                asked.kept = True
                found.append(asked)
            elif not group.must:
                group.kept = False
                continue
        before, asked = messages[group.members[-1]].role, None
    return found


def _last_thoughts(groups: Sequence[Group], messages: Sequence[Message]) -> list[Item]:
    """The thoughts that have to stay: those of the last answer that is kept, where it calls tools."""
    for group in reversed(groups):
        answers = [member for member in group.members if member != SYSTEM and messages[member].role == "assistant"]
        if group.kept and answers:
            called = [member for member in answers if messages[member].calls]
            return [item for item in group.items if item.kind == "thinking" and item.message in called]
    return []


def _step_down(state: PlanState, over: int) -> bool:
    """Free at least `over` tokens: from rule 4's content, the least valuable first, then from the summary's lines,
    then from the newest steps and the user's words. False if nothing can go.
    """
    bridges = set(map(id, state.bridges))
    shared = sorted(state.rest, key=lambda candidate: (candidate.weight, candidate.group.members[0]))
    loose = [each.group for each in shared if not each.was_kept and id(each.group) not in bridges]
    freed = _free(state, loose, over)
    if freed < over:
        freed += state.summary.shorten(over - freed)
    if freed < over:
        known = {*map(id, loose), *bridges}
        kept = [group for group in state.groups if group.members[0] != SYSTEM and id(group) not in known]
        freed += _free(state, sorted(kept, key=lambda group: _last_to_go(state, group)), over - freed)
    return freed > 0


def _last_to_go(state: PlanState, group: Group) -> tuple[bool, bool, int]:
    """Where a group stands when all else is gone: the user's words after the rest, and the first request last."""
    asked = asks(state.conversation.messages[group.members[0]])
    return asked, group.must, -group.members[0] if asked else group.members[0]


def _free(state: PlanState, groups: Sequence[Group], over: int) -> int:
    """Shorten groups in this order until `over` tokens are free, then let whole ones go; return what that freed."""
    freed = 0
    for group in groups:
        if freed < over and group.kept:
            for item in sorted(group.items, key=lambda item: item.kind == "call"):
                if freed < over and not item.must and item.shown_tokens > state.forms.bottom(item):
                    short = item.kind == "text" and item.tokens <= WHOLE  # a mark would take as much
                    freed += state.forms.shrink(item, item.shown_tokens if short else over - freed)
            if not group.must and not any(item.shown_tokens for item in group.items):
                group.kept = False
                freed += group.frame
    for group in groups:
        if freed < over and group.kept and not group.must:
            group.kept = False
            freed += group.frame + sum(item.shown_tokens for item in group.items)
    return freed
