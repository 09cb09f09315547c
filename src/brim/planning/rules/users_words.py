"""Rule 2. The user's words, verbatim while they take at most USER_SHARE of the room."""

from __future__ import annotations

from collections.abc import Sequence

from brim.content.selection import shares
from brim.planning.items import Group
from brim.planning.state import PlanState
from brim.planning.user_words import asks, by_program, machine_heads, standing

# Share of the room for the user's words.
USER_SHARE = 0.4
# The first request stays whole up to this share of the room, regardless of the others.
FIRST_SHARE = 0.5
# The same in a chat whose user messages exceed their share: for the first request and standing instructions.
STANDING_SHARE = 0.1


def keep_users_words(state: PlanState, room: int) -> None:
    """Keep the user's words; if that is too much, the first request, standing instructions and the newest messages."""
    messages = state.conversation.messages
    heads = machine_heads(messages)
    groups = [group for group in state.groups if _by_user(state, group, heads)]
    words = {id(group): _words(state, group) for group in groups}
    left = int(USER_SHARE * room)
    if sum(words.values()) > left:
        first, rest = groups[:1], groups[1:]
        lasting = [group for group in rest if state.answered and standing(messages[group.members[0]])]
        left = max(left, min(int(FIRST_SHARE * room), sum(words[id(group)] for group in first)))
        _shorten_first(state, first, left)
        if state.chat:
            needed = sum(words[id(group)] for group in first if not group.kept)
            groups, left = [*first, *reversed(lasting)], min(left, max(needed, int(STANDING_SHARE * room)))
        else:
            groups = [*first, *reversed(lasting), *reversed(rest)]
    for group in groups:
        size = words[id(group)]
        if not group.kept and size <= left:
            left -= size
            group.kept = True
            for item in group.items:
                item.given = item.tokens if item.kind == "text" else state.forms.floor(item)
                state.forms.show(item)


def _by_user(state: PlanState, group: Group, heads: frozenset[str]) -> bool:
    first = group.members[0]
    if group.must or group.layer != 4 or not group.items or first < 0:
        return False
    message = state.conversation.messages[first]
    return asks(message) and not by_program(message, heads)


def _words(state: PlanState, group: Group) -> int:
    """The size of a user message with its words whole and its pasted blocks at their minimum."""
    return group.frame + sum(item.tokens if item.kind == "text" else state.forms.floor(item) for item in group.items)


def _shorten_first(state: PlanState, first: Sequence[Group], left: int) -> None:
    """Shorten a first request that is too long by itself, rather than archive it."""
    for group in first:
        if _words(state, group) > left:
            group.kept = True
            given = shares([item.tokens for item in group.items], left // 2)
            for item, tokens in zip(group.items, given, strict=True):
                item.given = max(tokens, state.forms.floor(item))
                state.forms.show(item)
            # If nothing is left of a very short message, archive it, because no API accepts an empty one.
            group.kept = any(item.shown is None or item.shown for item in group.items)
