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
# Several words in one place count for more than in several places.
_TOGETHER = 0.15
# Many words need no others to be found by.
_FEW = 12
# Where the work is bounded, a term that more than this share of the entries hold is not shared with neighbours.
_EVERYWHERE = 0.2


class Index:
    """Entries and the terms that they hold. What is added stays; scores are made at each question."""

    def __init__(self) -> None:
        self._entries = Entries()
        # The entries that hold a term, each as often as it does: to append is all that adding has to do.
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._vectors = Vectors()

    def __len__(self) -> int:
        return len(self._entries.texts)

    def add(
        self, text: str, *, speaker: str = "", when: str = "", session: int | str = 0, tokens: int | None = None
    ) -> int:
        """Append an entry and return its number.

        A speaker may also stand in the text ("Ann: hello"). `when` is any text with a date. Entries of
        different sessions are not neighbours. Without `tokens` a quarter of the characters is taken.
        """
        found = split(text)
        number = self._entries.append(text, speaker, when, session, tokens, found)
        postings = self._postings
        for term in terms(found):
            postings[term].append(number)
        return number

    def _look_for(self, terms: Iterable[str]) -> None:
        """Make sure that it is known which entries hold some terms: here that was read when they were added."""

    def cut(self, length: int) -> None:
        """Forget the entries from a number on, as if they had never been added."""
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

        `share` is the part of all entries that there is room for: with more room, words that only stand near the best
        entries count more, and with 0 nothing but the question does. `reach` bounds the work: so many occurrences of
        terms are looked at.
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
        """The entries that hold an identifier which a query names, once it has been scored."""
        found: dict[int, None] = {}
        for name in identifiers(query):
            held = [self._postings.get(term, []) for term in terms(split(name))]
            found |= dict.fromkeys(holders(name, self._entries.texts, min(held, key=len)) if held else ())
        return list(found)

    def holding(self, query: str) -> list[int]:
        """The entries that hold a word of a query, or one that means about the same, in the order of adding."""
        asked = words(query)
        kin = [other for term in asked for other, _ in related(term)]
        return sorted({number for term in (*asked, *kin) for number in self._postings.get(term, ())})

    def _raised(self, query: str, totals: Column) -> list[tuple[int, float]]:
        """What lifts the entries that hold an asked identifier above all others."""
        named = self.naming(query)
        top = max(totals) if named else 0.0
        return [(number, top) for number in named]

    def pack(self, query: str, budget_tokens: int, embeddings: Embedder | None = None) -> list[int]:
        """The numbers, in order, of the entries to keep for `query` within `budget_tokens`.

        A twentieth goes to the newest entries, the rest to the most relevant. A question that asks for a
        passage (a summary, a discussion) gets the neighbours of what it finds.
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
        """What each entry has to do with the one before, for a question that wants whole passages; None for others."""
        return self._entries.decay if parse_question(query).broad else None
