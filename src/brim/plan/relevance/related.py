"""Everyday English words that mean nearly the same, or go together: kid and child, purchase and buy.

The table was computed once from the word vectors of a small sentence model (see NOTICE beside it); it is
plain data, and nothing of the model is needed to use it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


def related(term: str) -> tuple[tuple[str, float], ...]:
    """Terms related to a stemmed `term`, each with its likeness between 0 and 1.

    Example: "kid" -> (("child", 0.9), ("boy", 0.7), …)
    """
    return _table().get(term, ())


@cache
def _table() -> dict[str, tuple[tuple[str, float], ...]]:
    """Lines of `term other9 other7`: the digit is the likeness in tenths."""
    text = files("brim.plan").joinpath("data", "related.txt").read_text("ascii")
    table = {}
    for line in text.splitlines():
        term, *others = line.split()
        table[term] = tuple((other[:-1], int(other[-1]) / 10) for other in others)
    return table
