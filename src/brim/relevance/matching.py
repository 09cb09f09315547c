"""The score of each entry for a question: BM25 for each term, shared with the neighbours of a hit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from heapq import nlargest

from brim.count_text import CountText
from brim.relevance.dates import nearness
from brim.relevance.entries import Entries
from brim.relevance.question import Question
from brim.relevance.related import related
from brim.relevance.term_spread import Column, TermStatistics, counted, gather, meet, share, zeros
from brim.relevance.terms import words

_RELATED_WEIGHT = 0.4
_FEEDBACK_ENTRIES, _FEEDBACK_TERMS, _FEEDBACK_CHARACTERS = 8, 20, 4_000
_COMMON = 0.35
_BLOCK_K = 1.2
_SURROUNDINGS = 1.5
_MOST_TERMS = 48
_NAMED, _NAMED_GAIN = 1.0, 0.8


class Matcher:
    """Matches one question against the entries; `look_up` returns the entries with a term, once per occurrence.

    With `reach`, words of the best entries are only looked up until their occurrences add up to it. A term in more than
    the share `everywhere` of the entries isn't shared with neighbours, because most contain it themselves.
    """

    def __init__(
        self,
        entries: Entries,
        look_up: Callable[[str], list[int]],
        question: Question,
        reach: int | None = None,
        everywhere: float = 1.0,
    ) -> None:
        self.entries = entries
        self.look_up = look_up
        self.size = len(entries.texts)
        self.reach = reach
        self.everywhere = everywhere * self.size
        self.bm25 = TermStatistics.of(entries)
        self.terms = self._rarest(question.terms)
        self.question = question

    def match(self, together: float = 0.0) -> Column:
        """Score each entry by the terms of the question and related terms.

        Every two terms that meet in or near an entry add the share `together` of their geometric mean.
        """
        totals, roots = zeros(self.size), zeros(self.size)
        for term, weight in self.terms.items():
            kin = [(other, weight * _RELATED_WEIGHT * likeness) for other, likeness in related(term)]
            found = [(self.look_up(each), worth) for each, worth in [(term, weight), *kin]]
            gather(found, totals, roots, self.bm25, self.everywhere)
        if together:
            meet(totals, roots, together)
        return totals

    def telling(self, totals: Column) -> dict[str, float]:
        """Characteristic words of the best entries that aren't in the question, with weights."""
        best = [n for n in nlargest(_FEEDBACK_ENTRIES, range(self.size), key=totals.__getitem__) if totals[n] > 0]
        whole = sum(totals[number] for number in best)
        telling: dict[str, float] = {}
        for number in best:
            said = words(self.entries.texts[number][:_FEEDBACK_CHARACTERS])
            for term, times in Counter(said).items():
                if term not in self.terms:
                    telling[term] = telling.get(term, 0.0) + times * totals[number] / whole / len(said)
        return telling

    def feed_back(self, totals: Column, weight: float, telling: dict[str, float], occurrences: CountText) -> None:
        """Add matches elsewhere of the best entries' characteristic words.

        It weighs hundreds of words, so it uses the number of occurrences, which is cheaper than the number of entries.
        """
        scored = []
        for term, value in telling.items():
            times = occurrences(term)
            if times <= max(2, _COMMON * self.size):
                scored.append((value * self.bm25.rarity(times), term))
        top = sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:_FEEDBACK_TERMS]
        hits: dict[int, float] = {}
        looked_at = 0
        for value, term in top:
            looked_at += occurrences(term)
            if self.reach is not None and looked_at > self.reach:
                break
            for number, found in self.bm25.hits(self.look_up(term), weight * value / top[0][0]).items():
                hits[number] = hits.get(number, 0.0) + found
        share(hits, totals, self.entries)

    def add_surroundings(self, totals: Column) -> None:
        """Add the relevance of the passage around an entry, some 1,500 tokens."""
        block = self.entries.blocks()
        about: dict[int, float] = {}
        for term, weight in self.terms.items():
            held = counted(self.look_up(term))
            counts: dict[int, int] = {}
            for number, count in held.items():
                place = block[number]
                for near in (place - 1, place, place + 1):
                    counts[near] = counts.get(near, 0) + count
            rarity = _SURROUNDINGS * weight * self.bm25.rarity(len(held))
            for place, count in counts.items():
                about[place] = about.get(place, 0.0) + rarity * count / (count + _BLOCK_K)
        for number, place in enumerate(block):
            totals[number] += about.get(place, 0.0)

    def raise_named(self, totals: Column) -> None:
        """Raise the entries of speakers and days that the question names."""
        raised: dict[int, float] = {}
        speakers = self.entries.speakers()
        for name in self.question.named:
            for number in speakers[name]:
                totals[number] += _NAMED
                raised[number] = _NAMED_GAIN
        for asked in self.question.dates:
            for number, day in enumerate(self.entries.days):
                near = nearness(asked, day) if day else 0.0
                if near:
                    raised[number] = raised.get(number, 0.0) + near
        for number, gain in raised.items():
            totals[number] *= 1 + gain

    def _rarest(self, weights: dict[str, float]) -> dict[str, float]:
        """The most specific terms if the message is long, because a pasted log isn't a question."""
        if len(weights) <= _MOST_TERMS:
            return weights
        held = [(term, len(set(found))) for term in weights if (found := self.look_up(term))]
        kept = sorted(held, key=lambda pair: (-weights[pair[0]] * self.bm25.rarity(pair[1]), pair[0]))[:_MOST_TERMS]
        return {term: weights[term] for term, _ in kept}
