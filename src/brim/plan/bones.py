"""Skeletons of results: what each threshold of worth would take of them, kept for as long as a content comes back."""

from __future__ import annotations

import re
from collections.abc import Callable

from brim.ladders.json.skeleton import Skeleton
from brim.ladders.selection import is_escaped
from brim.recent import Recent

# The worths at which a result is cut into pieces: from identifiers that always come back to plain words.
GRID = tuple(3.5 - 0.25 * step for step in range(27))
# Line breaks of a printed object, escaped once or more often.
_ESCAPED = re.compile(r"\\+n")
# Larger results are cut by their ladder: taking them apart leaf by leaf takes longer than a fit may.
LARGEST = 400_000

_bones: Recent[tuple[str, str], tuple[Skeleton, list[tuple[float, int]]]] = Recent(48 << 20)


def bones(text: str, family: str, count: Callable[[str], int]) -> tuple[Skeleton, list[tuple[float, int]]] | None:
    """A skeleton, and what each step down the grid adds in tokens; None for what has no leaves worth a name."""
    if len(text) > LARGEST:
        return None
    key = (text, family)
    found = _bones.get(key)
    if found is None:
        shown = _ESCAPED.sub("\n", text) if is_escaped(text) else text
        skeleton = Skeleton.of(shown, "[…]", count)
        steps: list[tuple[float, int]] = []
        taken = skeleton.tokens_at(10.0)
        for worth in GRID:
            size = skeleton.tokens_at(worth)
            if size > taken:
                steps.append((worth, size - taken))
                taken = size
        found = _bones.put(key, (skeleton, steps), len(text) * 4 + 1000)
    return found if found[1] else None
