"""BM25 for small collections: sections of documents, tools of a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from brim.relevance.terms import words

__all__ = ["Bm25", "words"]

_K1 = 1.2
_B = 0.5


class Bm25:
    """An index over documents, which are lists of words.

    Example: Bm25([["read", "file"], ["send", "mail"]]).rank(["mail"]) -> [(1, 0.69…)]
    """

    def __init__(self, documents: Iterable[Sequence[str]], *, b: float = _B) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = {}
        lengths: list[int] = []
        for number, document in enumerate(documents):
            lengths.append(len(document))
            for word, times in Counter(document).items():
                self._postings.setdefault(word, []).append((number, times))
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._norms = [_K1 * (1 - b + b * length / (mean or 1.0)) for length in lengths]

    def scores(self, query: Iterable[str]) -> dict[int, float]:
        """The scores of documents that contain a word of the query."""
        total = len(self._norms)
        scores: dict[int, float] = {}
        for word, weight in Counter(query).items():
            postings = self._postings.get(word)
            if not postings:
                continue
            idf = log(1 + (total - len(postings) + 0.5) / (len(postings) + 0.5)) * min(weight, 3)
            for number, times in postings:
                gain = idf * times * (_K1 + 1) / (times + self._norms[number])
                scores[number] = scores.get(number, 0.0) + gain
        return scores

    def rank(self, query: Iterable[str]) -> list[tuple[int, float]]:
        """Documents and scores, best first; ties in their own order."""
        return sorted(self.scores(query).items(), key=lambda pair: (-pair[1], pair[0]))
