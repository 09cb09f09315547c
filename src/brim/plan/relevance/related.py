"""Everyday English words that mean nearly the same, or go together: kid and child, purchase and buy.

The table was computed once from the word vectors of a small sentence model (see NOTICE beside it); it is
plain data, and nothing of the model is needed to use it.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache, lru_cache
from pkgutil import get_data


@lru_cache(1024)
def related(term: str) -> tuple[tuple[str, float], ...]:
    """Terms related to a stemmed `term`, each with its likeness between 0 and 1.

    Example: "kid" -> (("child", 0.9), ("boy", 0.7), …)
    """
    lines = _lines()
    at = bisect_left(lines, f"{term} ")
    if at == len(lines) or not lines[at].startswith(f"{term} "):
        return ()
    return tuple([(other[:-1], int(other[-1]) / 10) for other in lines[at].split()[1:]])


@cache
def _lines() -> list[str]:
    """A line a term, in order, `term other9 other7`: the digit is the likeness in tenths.

    A line is read when its term is asked for: most never are, and the first question should not wait for them.
    """
    return (get_data("brim.plan", "data/related.txt") or b"").decode("ascii").splitlines()
