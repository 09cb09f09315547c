"""Spreads the weight of a term to the entries that contain it and to their neighbours, which share their subject."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import TypeAlias

from brim.relevance.entries import ASKS, Entries

try:
    from brim.relevance import _share as _compiled
except ImportError:  # installed without a compiler
    _compiled = None  # type: ignore[assignment]

# The entries that contain a term, once per occurrence, with the weight of the term.
TermHits = list[tuple[list[int], float]]
Column: TypeAlias = "array[float]"

_K1, _B = 1.2, 0.5
# The factor for entries that follow a question, and the share of a hit below which it isn't passed on.
_ANSWER, _FAINTEST = 1.2, 0.1
# A minimum, so that entries without matches still differ by their kind.
_LEAST = 1e-3


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Computes the weight of a term in an entry: the rarer the term and the shorter the entry, the higher."""

    entries: Entries
    flat: float
    slope: float

    @classmethod
    def of(cls, entries: Entries) -> TermStatistics:
        mean = max(1.0, entries.total_length / max(1, len(entries.texts)))
        return cls(entries, _K1 * (1 - _B), _K1 * _B / mean)

    def rarity(self, holders: int) -> float:
        return log(1 + (len(self.entries.texts) - holders + 0.5) / (holders + 0.5))

    def hits(self, held: Sequence[int], weight: float) -> dict[int, float]:
        """The weight of a term in each entry that contains it."""
        counts = counted(held)
        top = weight * self.rarity(len(counts)) * (_K1 + 1)
        lengths, flat, slope = self.entries.lengths, self.flat, self.slope
        return {n: top * count / (count + flat + slope * lengths[n]) for n, count in counts.items()}


def counted(held: Sequence[int]) -> Mapping[int, int]:
    """How often each number occurs in a list. Example: [1, 4, 4] -> {1: 1, 4: 2}"""
    once = dict.fromkeys(held, 1)  # most entries contain a term once, and this is far cheaper
    return once if len(once) == len(held) else Counter(held)


def zeros(size: int) -> Column:
    return array("d", [0.0]) * size


def gather(found: TermHits, totals: Column, roots: Column, bm25: TermStatistics, widest: float) -> None:
    """Add a term's weights to the totals, and their roots to the roots, for entries that contain it and neighbours.

    `found` has the hits of the term and of related words; the best of them counts. If there are more than `widest`
    hits, they aren't shared with neighbours.
    """
    if _compiled is None:
        plain_gather(found, totals, roots, bm25, widest)
        return
    entries = bm25.entries
    arrays = entries.lengths, entries.decay, entries.kind
    _compiled.gather(
        found, totals, roots, *arrays, bm25.flat, bm25.slope, _K1 + 1, widest, ASKS, _ANSWER, _FAINTEST
    )  # fmt: skip


def plain_gather(found: TermHits, totals: Column, roots: Column, bm25: TermStatistics, widest: float) -> None:
    """The same in plain Python."""
    hits: dict[int, float] = {}
    for held, weight in found:
        for number, value in bm25.hits(held, weight).items():
            if value > hits.get(number, 0.0):
                hits[number] = value
    for number, value in (_shared(hits, bm25.entries) if len(hits) <= widest else hits).items():
        totals[number] += value
        roots[number] += sqrt(value)


def share(hits: dict[int, float], totals: Column, entries: Entries) -> None:
    """Add hits to the totals, including neighbours.

    A neighbour gets the best weight that reaches it, and an answer a little more; not the sum, because a word said
    three times in a row is still a single sign.
    """
    if _compiled is None:
        plain_share(hits, totals, entries)
    else:
        _compiled.share(hits, totals, entries.decay, entries.kind, ASKS, _ANSWER, _FAINTEST)


def plain_share(hits: dict[int, float], totals: Column, entries: Entries) -> None:
    """The same in plain Python."""
    for number, value in _shared(hits, entries).items():
        totals[number] += value


def _shared(hits: dict[int, float], entries: Entries) -> dict[int, float]:
    """The weights of all entries that a hit reaches."""
    best = dict(hits)
    get, decay, kind, last = best.get, entries.decay, entries.kind, len(entries.decay) - 1
    for number, value in hits.items():
        faintest = value * _FAINTEST
        later, carried = number, value * _ANSWER if kind[number] & ASKS else value
        while later < last:
            later += 1
            carried *= decay[later]
            if carried < faintest or get(later, 0.0) >= carried:
                break
            best[later] = carried
        earlier, carried = number, value
        while earlier > 0:
            carried *= decay[earlier]
            earlier -= 1
            if carried < faintest or get(earlier, 0.0) >= carried:
                break
            best[earlier] = carried
    return best


def meet(totals: Column, roots: Column, together: float) -> None:
    """Add to each total the share `together` of the geometric means of its terms' weights, pair by pair.

    The square of a sum of roots is the sum plus twice the root of each product.
    """
    if _compiled is None:
        plain_meet(totals, roots, together)
    else:
        _compiled.meet(totals, roots, together)


def plain_meet(totals: Column, roots: Column, together: float) -> None:
    """The same in plain Python."""
    for number, (total, root) in enumerate(zip(totals, roots, strict=True)):
        totals[number] = total + together * (root * root - total) / 2


def raise_kinds(totals: Column, kinds: bytearray, gain: Sequence[float]) -> None:
    """Raise each total by the gain of its kind."""
    if _compiled is None:
        plain_raise_kinds(totals, kinds, gain)
    else:
        _compiled.raise_kinds(totals, kinds, array("d", gain), _LEAST)


def plain_raise_kinds(totals: Column, kinds: bytearray, gain: Sequence[float]) -> None:
    """The same in plain Python."""
    for number, (total, kind) in enumerate(zip(totals, kinds, strict=True)):
        totals[number] = (total + _LEAST) * gain[kind]


def scale(totals: Column) -> bool:
    """Divide all by the largest if it is above 0; returns whether it is."""
    return plain_scale(totals) if _compiled is None else _compiled.scale(totals)


def plain_scale(totals: Column) -> bool:
    """The same in plain Python."""
    top = max(totals, default=0.0)
    if top > 0:
        totals[:] = array("d", [total / top for total in totals])
    return top > 0


def choose_best(ranks: Column, lengths: list[int], left: float, chosen: set[int]) -> None:
    """Add the best entries to the chosen ones, best first, until one doesn't fit.

    Among equals, newer is better.
    """
    if _compiled is None:
        plain_choose_best(ranks, lengths, left, chosen)
    else:
        _compiled.choose_best(ranks, lengths, left, chosen)


def plain_choose_best(ranks: Column, lengths: list[int], left: float, chosen: set[int]) -> None:
    """The same in plain Python."""
    for number in sorted(range(len(ranks) - 1, -1, -1), key=ranks.__getitem__, reverse=True):
        if number not in chosen:
            left -= lengths[number]
            if left < 0:
                break
            chosen.add(number)
