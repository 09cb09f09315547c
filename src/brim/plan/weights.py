"""What an item is worth: its layer, how recent it is, what it is about, and what only it says."""

from __future__ import annotations

import math
from collections.abc import Sequence

from brim.plan.items import Group, Item

# How far the most relevant, and the most recent, history stands above the rest.
RELEVANCE = 3.0
RECENCY = 3.0
# How far the oldest history stands below the newest, all else being equal: age alone says little.
AGE = 0.3
LAYER = {1: 1.5, 2: 1.0, 3: 3.0, 4: 0.0, 5: 3.5}
KIND = {"text": 0.0, "block": 0.0, "call": 0.0, "result": 0.0, "thinking": -4.0, "media": -0.5}
USER = 0.4


def weigh(
    groups: Sequence[Group], roles: Sequence[str], limit: int, recent: float, relevance: Sequence[float] | None
) -> None:
    """Give every group its rank and every item its weight.

    `relevance` has one number for each message, 0 or more; the largest counts as RELEVANCE.
    """
    top = max(relevance, default=0.0) if relevance else 0.0
    reach = max(1.0, recent * limit)
    history = sum(group.tokens for group in groups if not group.must)
    after = 0
    for group in reversed(groups):
        rank = 0.0
        if not group.must:
            # What lies within the recent share stays first; beyond it recency fades quickly.
            rank += RECENCY * (1.0 if after < reach else math.exp(1 - after / reach))
            rank -= AGE * after / max(1, history)
            after += group.tokens
        if top > 0 and relevance:
            rank += RELEVANCE * max(relevance[member] if member >= 0 else 0.0 for member in group.members) / top
        group.rank = rank
        for item in group.items:
            item.weight = rank + LAYER[item.layer] + KIND[item.kind] + (USER if _is_user(item, roles) else 0.0)


def _is_user(item: Item, roles: Sequence[str]) -> bool:
    return item.message >= 0 and roles[item.message] == "user"
