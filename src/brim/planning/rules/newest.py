"""Rule 3. The newest step while it fits, the last answer, and the steps before them, without any loss."""

from __future__ import annotations

from brim.content.selection import shares
from brim.planning.forms import STUB
from brim.planning.items import SYSTEM, Group, last_exchange
from brim.planning.sharing import LINE
from brim.planning.state import PlanState, is_step
from brim.planning.user_words import asks

# Share of the room up to which the last answer stays, and up to which older steps join the newest step and that answer.
# Values kept by a fit / session of tau at 25%, tuned half: .861 / .834 so, .848 / .874 with .5 for both
# (bench/meaning.py).
NEWEST_SHARE, STEPS_SHARE = 0.5, 0.25
# In a newest step that is too large, parts up to this share of its room stay whole: tool names, paths.
SMALL_SHARE = 0.1
# Share of the room for the last exchange of a chat without tools, whose evidence is mostly older, and for one that the
# current message does not go on with. Evidence and all of a question kept of BEAM at 4,000 tokens, tuned half:
# .68 / .53 at .25, .70 / .55 at .12, .72 / .56 at .12 and .06 (bench/chats.py).
EXCHANGE_SHARE, OTHER_SUBJECT_SHARE = 0.12, 0.06
# A message goes on with the last exchange if that is so relevant to it, beside the best: of BEAM's turns (tuned half)
# .67 are, of its questions about the past .25.
GOES_ON = 0.35


def keep_picture(state: PlanState, room: int) -> None:
    """Keep the newest picture with its text; a question without a picture is usually about it.

    It comes before older text, but after the newest step.
    """
    group = next((one for one in reversed(state.groups) if any(item.kind == "media" for item in one.items)), None)
    if group is None or not state.lacks(group) or group.layer not in (4, 5):
        return
    newest = state.groups[-1]
    waiting = state.missing(newest) if newest is not group and is_step(newest) else 0
    before = [(item, item.state) for item in group.items]
    was_kept, group.kept = group.kept, True
    for item in group.items:
        item.given = item.tokens if item.kind in ("media", "text") else max(item.given, state.forms.floor(item))
        state.forms.show(item)
    if state.total() + waiting > (state.limit if group.must else state.target):
        group.kept = was_kept
        for item, shown in before:
            item.go_back(shown)


def keep_exchange(state: PlanState, room: int) -> None:
    """Keep the last exchange of a chat, whole or shortened, before anything that is older."""
    if not state.chat or not state.answered:
        return
    groups = [group for group in last_exchange(state.groups, state.conversation.messages) if not group.kept]
    items = [item for group in groups for item in group.items]
    share = EXCHANGE_SHARE if _goes_on(state, groups) else OTHER_SUBJECT_SHARE
    left = int(share * room) - sum(group.frame for group in groups)
    given = shares([item.tokens for item in items], left)
    if any(tokens < min(item.tokens, 2 * STUB) for item, tokens in zip(items, given, strict=True)):
        return  # too little room to say anything
    for group in groups:
        group.kept = True
    for item, tokens in zip(items, given, strict=True):
        item.given = tokens
        state.forms.show(item)


def _goes_on(state: PlanState, exchange: list[Group]) -> bool:
    """Whether the current message continues the last exchange, or has no recognisable subject ("yes, please")."""
    relevance = state.relevance
    if relevance is None:
        return True
    scores = [relevance[member] for group in exchange for member in group.members]
    return any(score >= 1.0 + GOES_ON or GOES_ON <= score < 1.0 for score in scores)


def keep_newest(state: PlanState, room: int) -> None:
    """Keep the newest steps and the last answer, the newest first; the very newest while it fits at all.

    The very newest stays as it came where every older step has room for a line of the summary beside it. Otherwise, and
    for the steps before it, results have their smallest lossless form; what room is left in the end restores them.
    Older answers are left to rule 4, because they shorten better than results.
    """
    if state.chat:
        return
    most = int(STEPS_SHARE * (room - state.limit + state.target))
    newest, answered, stepped, taken, before = True, False, False, 0, state.total()
    for group in reversed(state.groups):
        if not group.items or group.members[0] == SYSTEM or group.layer != 4 or not state.lacks(group):
            continue
        step = is_step(group)
        if not step and (answered or asks(state.conversation.messages[group.members[0]])):
            continue
        answered = answered or not step
        needed = state.missing(group)
        beside = _rest_frame(state, group)
        shown = group.frame + sum(item.shown_tokens for item in group.items) if group.kept else 0
        if newest and before + group.tokens - shown + beside + _lines(state, group) <= state.limit:
            state.keep_whole(group)
            needed = group.tokens - shown
        elif newest and before + needed + beside <= state.limit:
            state.keep_lossless(group)
        elif newest:
            needed = _squeeze(state, group, state.limit - before)
        elif step and taken + needed <= most and before + needed <= state.target:
            state.keep_lossless(group)
        elif not step and needed <= NEWEST_SHARE * room and before + needed + _rest_frame(state, group) <= state.limit:
            state.keep_whole(group)  # whatever the newest step takes: the user's newest words reply to it
        elif step and not stepped:
            needed = _keep_in_place(state, group, min(most - taken, state.target - before))
        elif step:
            break
        else:
            continue
        stepped = stepped or step
        before, taken, newest = before + needed, taken + needed, False


def _lines(state: PlanState, newest: Group) -> int:
    """What a line of the summary for every older step would take."""
    return LINE * sum(
        is_step(group) and not group.kept for group in state.groups if group.items and group is not newest
    )


def _keep_in_place(state: PlanState, group: Group, left: int) -> int:
    """Show the newest step in its place; rule 4 says how much of it. A model that sees no call at all calls badly."""
    floors = group.frame + sum(state.forms.floor(item) for item in group.items)
    if group.kept or floors > left:
        return 0
    group.kept = True
    for item in group.items:
        item.given = state.forms.floor(item)
        state.forms.show(item)
    return floors


def _rest_frame(state: PlanState, group: Group) -> int:
    """The size of a summary's head, if anything besides a group will be archived."""
    rest = any(each.items and not each.kept for each in state.groups if each is not group)
    return state.summary.head if rest else 0


def _squeeze(state: PlanState, group: Group, left: int) -> int:
    """Show as much of the newest step as fits beside a few lines of the rest."""
    if not group.kept:
        return 0
    left -= max(state.summary.most, state.summary.head)
    before = left
    short = [item for item in group.items if item.shown is not None and item.kind != "thinking"]
    small = [item for item in short if item.tokens - item.shown_tokens <= SMALL_SHARE * left]
    large = [item for item in short if item not in small]
    # Small parts say what the rest is about; of the rest, results say more than arguments.
    results, calls = [one for one in large if one.kind != "call"], [one for one in large if one.kind == "call"]
    for items in (small, results, calls):
        wanted = shares([item.tokens - item.shown_tokens for item in items], left)
        for item, more in zip(items, wanted, strict=True):
            if more > 0:
                shown = item.shown_tokens
                state.forms.stretch(item, more)
                left -= item.shown_tokens - shown
    return before - left
