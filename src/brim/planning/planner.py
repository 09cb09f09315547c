"""The planner: four rules, in this order.

1. Fixed: instructions, tools, the current message, pinned content.
2. The user's words, verbatim while they take at most USER_SHARE of the room.
3. The newest step while it fits at all, the last answer up to NEWEST_SHARE of the room, and older steps up to
   STEPS_SHARE, without any loss: results may be written densely, the newest only where older ones would go unnamed.
4. The rest, each in a share of what is left that goes by its value: whole, shortened in place, or a line of the
   summary. Then what is left over is filled, and what will really be sent is counted. Only that last count decides.
"""

from __future__ import annotations

from brim.errors import BudgetTooSmall
from brim.planning.plan import Plan
from brim.planning.rules.fixed import keep_context, keep_fixed
from brim.planning.rules.last_count import counted
from brim.planning.rules.newest import keep_exchange, keep_newest, keep_picture
from brim.planning.rules.rest import fill, share_rest
from brim.planning.rules.users_words import keep_users_words
from brim.planning.state import PlanState


def plan_by_rules(state: PlanState) -> Plan:
    """Plan, or raise BudgetTooSmall."""
    fixed = keep_fixed(state)
    if fixed > state.limit:
        raise BudgetTooSmall(fixed, state.request.limit, state.must_stay())
    room = state.limit - fixed
    state.rank(room)
    for keep, rule in (
        (keep_context, "given for this turn"),
        (keep_users_words, "the user's own words"),
        (keep_picture, "the picture that is asked about"),
        (keep_exchange, "the last exchange"),
        (keep_newest, "the newest steps and the last answer"),
    ):
        keep(state, room)
        state.name_rule(rule)
    state.summary.begin(state.groups, room)
    share_rest(state)
    fill(state)
    state.name_rule("chosen by relevance and recency")
    return counted(state)
