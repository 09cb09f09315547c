"""What an entry is found by reaches its neighbours: they speak of the same."""

from __future__ import annotations

from math import sqrt

from brim.plan.relevance.entries import ASKS, Entries

try:
    from brim.plan.relevance import _share as _compiled
except ImportError:  # installed without a compiler
    _compiled = None  # type: ignore[assignment]

# What follows a question gets so much more, and what is left below this share of a hit reaches no further.
_ANSWER, _FAINTEST = 1.2, 0.1


def share(hits: dict[int, float], totals: list[float], roots: list[float] | None, entries: Entries) -> None:
    """Add hits to the totals, and their roots to the roots, for neighbours too.

    A neighbour gets the best that reaches it, an answer a little more: not the sum, since a word that is said three
    times in a row is still one sign.
    """
    if _compiled is None:
        plain_share(hits, totals, roots, entries)
    else:
        _compiled.share(hits, totals, roots, entries.decay, entries.kind, ASKS, _ANSWER, _FAINTEST)


def plain_share(hits: dict[int, float], totals: list[float], roots: list[float] | None, entries: Entries) -> None:
    """The same in plain Python."""
    best = dict(hits)
    get, decay, kind, last = best.get, entries.decay, entries.kind, len(totals) - 1
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
    for number, value in best.items():
        totals[number] += value
        if roots is not None:
            roots[number] += sqrt(value)
