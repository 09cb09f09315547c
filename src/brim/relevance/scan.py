"""Finds which texts contain which terms without an index, in one pass over all texts for all terms.

Only words that begin like one of the terms are stemmed, each once. The pass is compiled code, except for texts beyond
ASCII and installations without a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from brim.relevance.entries import ASKS, ENDING, MARKED, kind_of
from brim.relevance.terms import could_give, split, starts, terms_given

try:
    from brim.relevance import _scan as _compiled
except ImportError:  # installed without a compiler
    _compiled = None  # type: ignore[assignment]

Given = Callable[[str], tuple[list[int], ...]]


class Scan:
    """The texts that contain each of some terms, and the kinds of each text.

    Example: Scan(["I like tea", "The dogs ran off"], ["dog"]).held -> {"dog": [1]}
    """

    def __init__(self, texts: Sequence[str], terms: Iterable[str]) -> None:
        self.texts = tuple(texts)
        # The texts that contain a term, once per occurrence.
        self.held: dict[str, list[int]] = {}
        self.kinds = self.add(terms)

    def add(self, terms: Iterable[str]) -> bytearray:
        """Search for more terms; returns the kinds of the texts."""
        new: dict[str, list[int]] = {term: [] for term in terms if term not in self.held}
        begin = tuple(dict.fromkeys(start for term in new for start in starts(term)))

        def given(word: str) -> tuple[list[int], ...]:
            return tuple([new[term] for term in terms_given(word) if term in new])

        if _compiled is None:
            kinds, others = bytearray(len(self.texts)), list(range(len(self.texts)))
        else:
            kinds, others = _compiled.scan(self.texts, begin, MARKED, ASKS, ENDING, given)
        _read(self.texts, others, begin, given, kinds)
        if others and len(others) < len(self.texts):  # separately read texts come after the rest
            for numbers in new.values():
                numbers.sort()
        self.held |= new
        return kinds


def _read(texts: Sequence[str], numbers: Iterable[int], begin: tuple[str, ...], given: Given, kinds: bytearray) -> None:
    """The pass over some of the texts in plain Python."""
    known: dict[str, tuple[list[int], ...]] = {}
    for number in numbers:
        found = split(texts[number])
        for word in found:
            lists = known.get(word)
            if lists is None:
                lists = known[word] = given(word) if could_give(word, begin) else ()
            for held in lists:
                held.append(number)
        kinds[number] = kind_of(texts[number], found)
