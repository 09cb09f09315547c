"""What an item is worth: its layer, how recent it is, what it is about, and what only it says."""

from __future__ import annotations

from collections.abc import Sequence

from brim.conversation import Message
from brim.plan.items import Group, Item

# How far history that the current message is about, and the most recent one, stand above the rest.
RELEVANCE = 2.0
RECENCY = 5.0
# How far the oldest history stands below the newest, all else being equal: age alone says little.
AGE = 0.1
LAYER = {1: 1.5, 2: 1.0, 3: 3.0, 4: 0.0, 5: 3.5}
KIND = {"text": 0.0, "block": 0.0, "call": 0.0, "result": 0.0, "thinking": -4.0, "media": -0.5}
USER = 0.1
# Among tool calls what was found outweighs what was said about it: relevance counts for less, a user's words for
# more, and a model's for less than an identifier.
AMONG_TOOLS = 0.3
USER_AMONG_TOOLS = 1.5
ANSWER_AMONG_TOOLS = -0.5
# What should stay for what is asked stays whole, unless it would take more than this share of the limit; beside tool
# results less, since those are what later calls take their values from.
WHOLE_SHARE = 0.5
WHOLE_AMONG_TOOLS = 0.2
# By layer the share of the limit up to which a block of context costs little: it was put there for a reason.
SMALL_CONTEXT = {1: 0.05, 2: 0.05, 3: 0.05}
# The newest results are what the model is about to read.
NEWEST = 3.0
# What was found last is what is spoken of, also after an answer to it.
FOUND_LAST = 1.5


def weigh(
    groups: Sequence[Group], messages: Sequence[Message], limit: int, recent: float, relevance: Sequence[float] | None
) -> None:
    """Give every group its rank and every item its weight.

    `relevance` has one number for each message, from 0 to 2.
    """
    reach = max(1.0, recent * limit)
    sizes = [group.tokens for group in groups]
    history = sum([size for group, size in zip(groups, sizes, strict=True) if not group.must])
    picked = bool(relevance) and max(relevance or ()) > 1.0
    tools = any(item.kind == "result" for group in groups for item in group.items)
    after = 0
    found = not tools
    for group, size in zip(reversed(groups), reversed(sizes), strict=True):
        if not group.items and not group.must:
            after += group.frame
            continue
        rank = 0.0
        if not group.must:
            # What lies within the recent share stays first; beyond it recency says nothing. What should stay for
            # what is asked holds the newest already.
            if after + size <= reach and not (picked and not tools):
                rank += RECENCY
            rank -= AGE * after / max(1, history)
            after += size
        elif group.layer == 4:
            rank += NEWEST
        if not found and any(item.kind == "result" for item in group.items):
            found = True
            rank += 0.0 if group.must else FOUND_LAST
        if relevance:
            members = group.members
            about = (
                relevance[members[0]]
                if len(members) == 1 and members[0] >= 0
                else max([relevance[member] if member >= 0 else 0.0 for member in members])
            )
            rank += RELEVANCE * about * (AMONG_TOOLS if tools else 1.0)
            if about > 1.0 and size <= (WHOLE_AMONG_TOOLS if tools else WHOLE_SHARE) * limit:
                for item in group.items:
                    item.whole = True
        group.rank = rank
        for item in group.items:
            item.weight = rank + LAYER[item.layer] + KIND[item.kind] + _said(item, messages, tools)
            if item.tokens <= SMALL_CONTEXT.get(item.layer, 0.0) * limit:
                item.weight += NEWEST


def _said(item: Item, messages: Sequence[Message], tools: bool) -> float:
    """What it adds that a user, or a model, said it."""
    if item.message < 0 or item.kind not in ("text", "block"):
        return 0.0
    if messages[item.message].role == "user":
        return USER_AMONG_TOOLS if tools else USER
    return ANSWER_AMONG_TOOLS if tools else 0.0
