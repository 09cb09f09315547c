"""Texts with a single query: they are searched for the terms of the question and never indexed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from brim.relevance.entries import Entries
from brim.relevance.index import Index
from brim.relevance.scan import Scan
from brim.relevance.term_spread import Column


class Unread(Index):
    """Gives the same scores as an `Index`, in a tenth of the time it takes to build one.

    Entries added after a question aren't found.
    """

    def __init__(self) -> None:
        super().__init__()
        self._scan: Scan | None = None

    def add(
        self, text: str, *, speaker: str = "", when: str = "", session: int | str = 0, tokens: int | None = None
    ) -> int:
        return self._entries.append(text, speaker, when, session, tokens, None)

    def _look_for(self, terms: Iterable[str]) -> None:
        if self._scan is None:
            self._scan = Scan(self._entries.texts, terms)
            self._entries.add_kinds(self._scan.kinds)
        else:
            self._scan.add(terms)
        self._postings = self._scan.held

    @classmethod
    def of(cls, texts: Sequence[str]) -> Unread:
        """Texts of one session, without further information."""
        self = cls()
        self._entries = Entries.unread(texts)
        return self


def quick_scores(texts: Sequence[str], query: str) -> Column:
    """One score per text, only by the words of the question and related words.

    Example: quick_scores(["I like tea", "The dogs ran off"], "Where is the dog?") -> [0.0…, 0.7…]
    """
    return Unread.of(texts).score(query, share=0.0)
