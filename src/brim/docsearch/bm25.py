"""BM25 over small collections: sections of documents, tools of a server."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

_K1 = 1.2
_B = 0.5
_WORD = re.compile(r"[^\W_]+")
# CJK is written without spaces: its words are found through pairs of characters.
_CJK = re.compile(r"[぀-ヿ㐀-䶿一-鿿가-힯]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_STOP_WORDS = """a about after all also an and any are as at be been but by can could did do does for from get
    had has have how i if in into is it its like me more my need not of on one only or other our out please
    should so some than that the their them then there these they this to up us use used using was we were
    what when where which who why will with would you your"""
_STOP = frozenset(_STOP_WORDS.split())
_ENDINGS = ("ations", "ation", "ingly", "ings", "ing", "edly", "ies", "ers", "ed", "es", "er", "s")


def words(text: str) -> list[str]:
    """The stems that a text is found by: words, parts of identifiers, pairs of CJK characters.

    Example: "Searches getUserName" -> ["search", "getusername", "get", "user", "name"]
    """
    found: list[str] = []
    for word in _WORD.findall(text):
        if not word.isascii() and (runs := _CJK.findall(word)):
            for run in runs:
                found += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
            continue
        low = word.lower()
        if low in _STOP:
            continue
        found.append(_stem(low))
        if low != word and word.isascii():
            parts = _HUMP.findall(word)
            if len(parts) > 1:
                found += [_stem(part.lower()) for part in parts if part.lower() not in _STOP]
    return found


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            root = word[: -len(ending)]
            if ending == "ies":
                return root + "y"
            # "stopping" and "stop", "tracking" and "track", "creates" and "creating"
            if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz":
                root = root[:-1]
            return root[:-1] if root.endswith("e") and len(root) > 3 else root
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


class Bm25:
    """An index over documents that are given as lists of words.

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
        """The score of each document that holds a word of the query."""
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
        """Documents and scores, best first; equal ones in their own order."""
        return sorted(self.scores(query).items(), key=lambda pair: (-pair[1], pair[0]))
