"""Everyday English words that mean nearly the same, or go together: kid and child, purchase and buy.

The table was computed once from the word vectors of a small sentence model (see NOTICE beside it). It is plain data;
using it doesn't require the model.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache, lru_cache
from pkgutil import get_data


@lru_cache(1024)
def related(term: str) -> tuple[tuple[str, float], ...]:
    """Terms related to a stemmed `term`, each with a similarity between 0 and 1.

    Example: "kid" -> (("child", 0.9), ("boy", 0.7), …)
    """
    table, wanted = _table(), f"{term} ".encode("ascii", "replace")

    def line_at(place: int) -> bytes:
        start = table.rfind(b"\n", 0, place) + 1
        return table[start : start + len(wanted)]

    at = bisect_left(range(len(table)), wanted, key=line_at)
    if not table.startswith(wanted, at):
        return ()
    others = table[at : table.find(b"\n", at)].decode("ascii").split()[1:]
    return tuple([(other[:-1], int(other[-1]) / 10) for other in others])


@cache
def _table() -> bytes:
    """One line per term, sorted, as `term other9 other7`: the digit is the similarity in tenths.

    Lines are parsed on demand, because most are never needed and the first question shouldn't wait for them.
    """
    return get_data("brim.relevance", "data/related.txt") or b""
