"""Skeletons of results: what each threshold of worth would take of them, kept for as long as a content comes back."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from math import inf

from brim import incidents
from brim.ladders.json.skeleton import Skeleton
from brim.ladders.selection import is_escaped
from brim.plan.words import words
from brim.recent import Recent

# The worths at which a result is cut into pieces: from identifiers that always come back to plain words.
GRID = tuple(3.5 - 0.25 * step for step in range(27))
# Line breaks and quotes of a printed object, escaped once or more often.
_ESCAPED = re.compile(r"\\+n")
_ESCAPED_QUOTE = re.compile(r"\\+(?=[\"'])")
# Larger results are cut by their ladder: taking them apart leaf by leaf takes longer than a fit may.
LARGEST = 400_000
# How often the values of a result are written to find how many fit, and when enough of the room is used.
WRITINGS = 6
ENOUGH = 0.98
# So much more the ends of a long list of numbers are worth where not all of it fits: what its place there took.
ENDS = 1.0
# So much more a value is worth whose key the current message names, but not more than this: an identifier is.
ASKED, ASKED_MOST = 0.5, 1.5

# What a skeleton takes in memory, measured: copies of the text, and for each leaf its node, its path and its costs.
TEXT_BYTES, LEAF_BYTES = 3, 560

_bones: Recent[tuple[str, str], tuple[Skeleton, list[tuple[float, int]]]] = Recent(64 << 20)


def bones(text: str, family: str, count: Callable[[str], int]) -> tuple[Skeleton, list[tuple[float, int]]] | None:
    """A skeleton, and what each step down the grid adds in tokens; None for what has no leaves worth a name."""
    if len(text) > LARGEST:
        return None
    try:
        return _of(text, family, count)
    except Exception as problem:  # then its compactor shows it, without its values
        incidents.note("compactor", problem)
        return None


def _of(text: str, family: str, count: Callable[[str], int]) -> tuple[Skeleton, list[tuple[float, int]]] | None:
    key = (text, family)
    found = _bones.get(key)
    if found is None:
        shown = _ESCAPED_QUOTE.sub("", _ESCAPED.sub("\n", text)) if is_escaped(text) else text
        skeleton = Skeleton.of(shown, "[…]", count)
        steps: list[tuple[float, int]] = []
        taken = skeleton.tokens_at(10.0)
        for worth in GRID:
            size = skeleton.tokens_at(worth)
            if size > taken:
                steps.append((worth, size - taken))
                taken = size
        size = len(text) * TEXT_BYTES + len(skeleton.leaves) * LEAF_BYTES + 1000
        found = _bones.put(key, (skeleton, steps), size)
    return found if found[1] else None


def filled(
    skeleton: Skeleton,
    tokens: int,
    count: Callable[[str], int],
    mark: str,
    least: float = -inf,
    query: str = "",
) -> str:
    """As many values as fit into `tokens` tokens: the best, and of those that are worth the same the first.

    A threshold takes all that are worth the same or none of them; this spends what a threshold leaves over. What is
    worth less than `least` is left out. Values whose keys `query` names count for more.
    """
    leaves, costs = skeleton.leaves, skeleton.tree.costs
    order = [at for at in range(len(leaves)) if leaves[at].score >= least]
    ends, asked = skeleton.tree.ends, _asked(skeleton, query) if query else frozenset()

    def worth(at: int) -> float:
        score = leaves[at].score + (ENDS if at in ends else 0.0)
        return max(score, min(ASKED_MOST, score + ASKED)) if leaves[at].key in asked else score

    order.sort(key=lambda at: (-worth(at), at))
    reach = list(accumulate(costs[at] for at in order))
    room = tokens - count(mark) - 1 if mark else tokens
    best, low, high, scale = "", 0, len(order), 1.0
    for _ in range(WRITINGS):
        number = min(high, max(low + 1, bisect_right(reach, room / scale)))
        if number <= low:
            break
        shown = [False] * len(leaves)
        for at in order[:number]:
            shown[at] = True
        text = skeleton.tree.written(shown)
        size = count(text)
        if size <= room:
            best, low = text, number
            if size >= room * ENOUGH:
                break
        else:
            high = number - 1
        scale = max(0.01, size / reach[number - 1])
    return f"{best}\n{mark}" if best and mark else best


def begun(skeleton: Skeleton, tokens: int, count: Callable[[str], int]) -> str:
    """The first words of the best value, where it is too long as a whole; none of one word, since its part misleads."""
    leaf = max(skeleton.leaves, key=lambda leaf: leaf.score)
    said, key = leaf.text.split(" "), f"{leaf.key}:" if leaf.key else ""
    for number in range(min(len(said) - 1, tokens), 1, -1):
        text = f"{key}{' '.join(said[:number])} […]"
        if count(text) <= tokens:
            return text
    return ""


def _asked(skeleton: Skeleton, query: str) -> frozenset[str]:
    """The keys that a question names. Example: "the mean of revenue and expense" -> {"Revenue", "Expenses"}"""
    named, keys = _named(query), {leaf.key for leaf in skeleton.leaves}
    return frozenset(key for key in keys if not named.isdisjoint(words(key)))


@lru_cache(4)  # one message is asked about many results
def _named(query: str) -> frozenset[str]:
    return frozenset(words(query))
