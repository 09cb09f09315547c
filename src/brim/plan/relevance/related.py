"""Everyday English words that mean nearly the same, or go together: kid and child, purchase and buy.

The table was computed once from the word vectors of a small sentence model (see NOTICE beside it); it is
plain data, and nothing of the model is needed to use it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files


@lru_cache(1024)
def related(term: str) -> tuple[tuple[str, float], ...]:
    """Terms related to a stemmed `term`, each with its likeness between 0 and 1.

    Example: "kid" -> (("child", 0.9), ("boy", 0.7), …)
    """
    return tuple([(other[:-1], int(other[-1]) / 10) for other in _table().get(term, "").split()])


@cache
def _table() -> dict[str, str]:
    """By term the rest of its line, `other9 other7`: the digit is the likeness in tenths.

    A line is read when its term is asked for: most never are, and the first question should not wait for them.
    """
    lines = files("brim.plan").joinpath("data", "related.txt").read_text("ascii").splitlines()
    return {term: others for term, _, others in (line.partition(" ") for line in lines)}
