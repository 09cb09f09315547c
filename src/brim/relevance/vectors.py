"""Optional embeddings, which find entries that share no words with the question."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import sqrt
from operator import mul
from statistics import fmean, pstdev
from typing import Protocol

from brim.relevance.term_spread import Column

_WEIGHT = 0.6
# Smaller differences between scores come only from the kinds of utterance.
_NOTHING = 0.005


class Embedder(Protocol):
    """Turns texts into vectors of the same length; numpy arrays and lists of floats both work."""

    def __call__(self, texts: list[str], /) -> Sequence[Sequence[float]]: ...


class Vectors:
    """The entries' vectors, each computed once and normalized to length 1."""

    def __init__(self) -> None:
        self._units: list[array[float]] = []

    def cut(self, length: int) -> None:
        del self._units[length:]

    def blend(self, scores: Column, query: str, texts: list[str], embedder: Embedder) -> Column:
        """Scores plus the z-scored cosines, at 0.6 of the scores' own deviation, so that neither dominates.

        The vectors of one Vectors must all come from the same embedder.
        """
        missing = texts[len(self._units) :]
        asked, *made = embedder([query, *missing])
        self._units += [_unit(vector) for vector in made]
        target = _unit(asked)
        cosines = [sum(map(mul, unit, target)) for unit in self._units]
        spread = pstdev(cosines)
        if spread == 0.0:
            return scores
        # If no word matches, the scores say nothing, so use the cosines alone.
        apart = pstdev(scores)
        scale = _WEIGHT * (apart if apart > _NOTHING else 1.0) / spread
        mean = fmean(cosines)
        return array("d", [score + scale * (cosine - mean) for score, cosine in zip(scores, cosines, strict=True)])


def _unit(vector: Sequence[float]) -> array[float]:
    values = array("d", map(float, vector))
    length = sqrt(sum(map(mul, values, values))) or 1.0
    return array("d", (value / length for value in values))
