"""An index of a conversation that grows by appending: add, score, pack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from brim.relevance.entries import Entries, gains
from brim.relevance.identifiers import holders, identifiers
from brim.relevance.matching import Matcher
from brim.relevance.packing import pack
from brim.relevance.question import parse_question
from brim.relevance.related import related
from brim.relevance.term_spread import Column, raise_kinds, zeros
from brim.relevance.terms import split, terms, words
from brim.relevance.vectors import Embedder, Vectors

_FEEDBACK = 0.12
# Extra weight if several words of a question occur in the same place.
_TOGETHER = 0.15
# Questions with more words than this need no related words.
_FEW = 12
# If the work is limited, terms in more than this share of the entries aren't shared with neighbours.
_EVERYWHERE = 0.2


class Index:
    """Entries and their terms. Entries stay once added; scores are computed for each question."""

    def __init__(self) -> None:
        self._entries = Entries()
        # The entries that contain a term, once per occurrence, so that adding only appends.
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._vectors = Vectors()

    def __len__(self) -> int:
        return len(self._entries.texts)

    def add(
        self, text: str, *, speaker: str = "", when: str = "", session: int | str = 0, tokens: int | None = None
    ) -> int:
        """Append an entry and return its number.

        The speaker may also be in the text ("Ann: hello"). `when` is any text with a date. Entries of
        different sessions aren't neighbours. `tokens` defaults to a quarter of the characters.
        """
        found = split(text)
        number = self._entries.append(text, speaker, when, session, tokens, found)
        postings = self._postings
        for term in terms(found):
            postings[term].append(number)
        return number

    def _look_for(self, terms: Iterable[str]) -> None:
        """Prepare to look up some terms; here they were already indexed when entries were added."""

    def cut(self, length: int) -> None:
        """Remove the entries from a number on, as if they had never been added."""
        for text in self._entries.texts[length:]:
            for term in terms(split(text)):
                held = self._postings[term]
                while held and held[-1] >= length:
                    held.pop()
                if not held:
                    del self._postings[term]
        self._entries.cut(length)
        self._vectors.cut(length)

    def score(
        self, query: str, share: float = 0.1, embeddings: Embedder | None = None, reach: int | None = None
    ) -> Column:
        """How relevant each entry is to `query`, in the order of adding; 0 or more unless embeddings are used.

        `share` is the part of all entries that fits: with more room, words that merely occur near the best entries
        count more, and with 0 only the question counts. `reach` limits the work: it is the number of occurrences of
        terms to look at.
        """
        if not len(self):
            return zeros(0)
        question = parse_question(query, self._entries.speakers())
        self._look_for([*question.terms, *(other for term in question.terms for other, _ in related(term))])
        postings = self._postings
        feeds_back = share > 0 and (reach is None or len(question.terms) <= _FEW)
        if reach is not None:
            question = question.within(reach, lambda term: len(postings.get(term, ())))
        everywhere = 1.0 if share > 0 else _EVERYWHERE
        matcher = Matcher(self._entries, lambda term: postings.get(term, []), question, reach, everywhere)
        totals = matcher.match(_TOGETHER)
        if feeds_back:
            telling = matcher.telling(totals)
            self._look_for(telling)
            weight = _FEEDBACK * min(2.0, max(0.5, share / 0.1))
            matcher.feed_back(totals, weight, telling, lambda term: len(postings.get(term, ())))
        if question.broad:
            matcher.add_surroundings(totals)
        matcher.raise_named(totals)
        gain = gains(broad=question.broad, asks_when=question.asks_when)
        raise_kinds(totals, self._entries.kind, gain)
        for number, top in self._raised(query, totals):
            totals[number] += top
        if embeddings is not None:
            return self._vectors.blend(totals, query, self._entries.texts, embeddings)
        return totals

    def naming(self, query: str) -> list[int]:
        """The entries with an identifier from a query that has been scored."""
        found: dict[int, None] = {}
        for name in identifiers(query):
            held = [self._postings.get(term, []) for term in terms(split(name))]
            found |= dict.fromkeys(holders(name, self._entries.texts, min(held, key=len)) if held else ())
        return list(found)

    def holding(self, query: str) -> list[int]:
        """The entries with a word of a query or a synonym, in the order they were added."""
        asked = words(query)
        kin = [other for term in asked for other, _ in related(term)]
        return sorted({number for term in (*asked, *kin) for number in self._postings.get(term, ())})

    def _raised(self, query: str, totals: Column) -> list[tuple[int, float]]:
        """The boost that lifts entries with a requested identifier above all others."""
        named = self.naming(query)
        top = max(totals) if named else 0.0
        return [(number, top) for number in named]

    def pack(self, query: str, budget_tokens: int, embeddings: Embedder | None = None) -> list[int]:
        """The numbers, in order, of the entries to keep for `query` within `budget_tokens`.

        A twentieth goes to the newest entries, the rest to the most relevant ones. A question about a passage (a
        summary, a discussion) also gets the neighbours of its matches.
        """
        if budget_tokens <= 0 or not len(self):
            return []
        share = budget_tokens / max(1, self._entries.total_tokens)
        scores = self.score(query, share, embeddings)
        return pack(scores, self._entries.tokens, budget_tokens, self.nearness(query))

    @property
    def tokens(self) -> Sequence[int]:
        """The size of each entry."""
        return self._entries.tokens

    @property
    def total_tokens(self) -> int:
        return self._entries.total_tokens

    def nearness(self, query: str) -> Sequence[float] | None:
        """How closely each entry is related to the one before, for questions about whole passages; None for others."""
        return self._entries.decay if parse_question(query).broad else None
