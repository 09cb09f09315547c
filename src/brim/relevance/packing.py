"""Chooses which entries to keep within a budget, given their scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

_RECENT = 0.05
_PASSAGE_TOKENS = 130
# The reach of an entry's surroundings, and their share in its score.
_AROUND_TOKENS = 500
_AROUND = 0.6


def pack(
    scores: Sequence[float], tokens: Sequence[int], budget: int, decay: Sequence[float] | None = None
) -> list[int]:
    """The entries to keep, in order: the newest for a twentieth of `budget`, then the best first.

    By score rather than score per token, because short entries say little. With `decay` (0 where a session begins),
    an entry brings its neighbours, 130 tokens to each side, and its surroundings add to its score: questions about
    whole passages are answered where many entries are relevant.

    Example: pack([3.0, 1.0, 2.0], [10, 10, 10], 20) -> [0, 2]
    """
    return sorted(chosen(scores, tokens, budget, decay))


def chosen(
    scores: Sequence[float], tokens: Sequence[int], budget: int, decay: Sequence[float] | None = None
) -> list[int]:
    """The entries that `pack` keeps, in the order they are chosen: the newest, then best first.

    Example: chosen([1.0, 2.0, 3.0, 0.0], [10, 10, 10, 1], 21) -> [3, 2, 1]
    """
    if decay is not None:
        scores = _with_surroundings(scores, tokens, decay)
    kept: dict[int, None] = {}
    left = budget - _keep_recent(kept, tokens, int(budget * _RECENT))
    least = min(tokens, default=0)
    # Start from the newest, so that the newer entry comes first if scores are equal.
    for number in sorted(range(len(scores) - 1, -1, -1), key=scores.__getitem__, reverse=True):
        if left < least:
            break
        for member in _passage(number, tokens, decay) if decay is not None else (number,):
            if member not in kept and tokens[member] <= left:
                kept[member] = None
                left -= tokens[member]
    return list(kept)


def _keep_recent(kept: dict[int, None], tokens: Sequence[int], room: int) -> int:
    used = 0
    for number in range(len(tokens) - 1, -1, -1):
        if used + tokens[number] > room:
            break
        kept[number] = None
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


def _with_surroundings(scores: Sequence[float], tokens: Sequence[int], decay: Sequence[float]) -> list[float]:
    """Scores mixed with the mean, by tokens, of the scores within 500 tokens in the same session."""
    middles = [end - size / 2 for end, size in zip(accumulate(tokens), tokens, strict=True)]
    score_sums = [0.0, *accumulate(score * size for score, size in zip(scores, tokens, strict=True))]
    token_sums = [0, *accumulate(tokens)]
    begins = [0, *(number for number in range(1, len(scores)) if decay[number] <= 0), len(scores)]
    found: list[float] = []
    for begin, end in pairwise(begins):
        first = last = begin
        for number in range(begin, end):
            while middles[first] < middles[number] - _AROUND_TOKENS:
                first += 1
            while last < end and middles[last] <= middles[number] + _AROUND_TOKENS:
                last += 1
            around = (score_sums[last] - score_sums[first]) / max(1, token_sums[last] - token_sums[first])
            found.append((1 - _AROUND) * scores[number] + _AROUND * around)
    return found
