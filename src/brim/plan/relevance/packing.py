"""Which entries to keep within a budget, given their scores."""

from __future__ import annotations

from collections.abc import Sequence

_RECENT = 0.05
_PASSAGE_TOKENS = 130


def pack(
    scores: Sequence[float], tokens: Sequence[int], budget: int, decay: Sequence[float] | None = None
) -> list[int]:
    """The entries to keep, in order: the newest for a twentieth of `budget`, then the best first.

    By score, not by score per token: short entries say little. With `decay` (0 where a session begins)
    an entry brings its neighbours, 130 tokens to each side.

    Example: pack([3.0, 1.0, 2.0], [10, 10, 10], 20) -> [0, 2]
    """
    kept: set[int] = set()
    left = budget - _keep_recent(kept, tokens, int(budget * _RECENT))
    least = min(tokens, default=0)
    # From the newest on, so that of equal scores the newer stands first.
    for number in sorted(range(len(scores) - 1, -1, -1), key=scores.__getitem__, reverse=True):
        if left < least:
            break
        for member in _passage(number, tokens, decay) if decay is not None else (number,):
            if member not in kept and tokens[member] <= left:
                kept.add(member)
                left -= tokens[member]
    return sorted(kept)


def _keep_recent(kept: set[int], tokens: Sequence[int], room: int) -> int:
    used = 0
    for number in range(len(tokens) - 1, -1, -1):
        if used + tokens[number] > room:
            break
        kept.add(number)
        used += tokens[number]
    return used


def _passage(number: int, tokens: Sequence[int], decay: Sequence[float]) -> list[int]:
    """The entry and its neighbours within the same session, nearest first."""
    first, room = number, _PASSAGE_TOKENS
    while first > 0 and decay[first] > 0 and tokens[first - 1] <= room:
        first -= 1
        room -= tokens[first]
    last, room = number, _PASSAGE_TOKENS
    while last + 1 < len(tokens) and decay[last + 1] > 0 and tokens[last + 1] <= room:
        last += 1
        room -= tokens[last]
    return sorted(range(first, last + 1), key=lambda member: (abs(member - number), -member))
