"""Scores for texts that nobody has indexed: look for the question's words, read only where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from brim.plan.relevance.entries import Entries, gains, kind_of
from brim.plan.relevance.find import holders
from brim.plan.relevance.matching import Counts, Matcher, apply_gains
from brim.plan.relevance.question import Question, parse_question
from brim.plan.relevance.related import related
from brim.plan.words import counted, spellings, split, terms_of_word

# Plain search reads some GB/s where nothing is found; tokenizing reads 10 MB/s. These two numbers keep
# a question to 4 MB of messages below a tenth of a second.
_MOST_SEARCHED = 60_000_000
_MOST_READ = 100_000
_MOST_ASKED = 2_000
_LONGEST_WORD = 64
_EVERYWHERE = 0.2


def quick_scores(texts: Sequence[str], query: str) -> list[float]:
    """One score a text, as `Index.score` would give without feedback from the best entries.

    Exact where it matters: the texts that hold most of the question are read in full, in the others a word
    counts once. Related words are looked for as long as that stays quick.

    Example: quick_scores(["I like tea", "The dogs ran off"], "Where is the dog?") -> [0.0…, 0.7…]
    """
    entries = Entries.unread(texts)
    question = parse_question(query, entries.speakers())
    finder = _Finder(texts, query)
    counts = finder.counts(question)
    matcher = Matcher(entries, lambda term: counts.get(term, {}), question, everywhere=_EVERYWHERE)
    totals = matcher.match()
    if question.broad:
        matcher.add_surroundings(totals)
    matcher.raise_named(totals)
    for number in finder.read:
        entries.kind[number] |= kind_of(texts[number], finder.read[number])
    return apply_gains(totals, entries.kind, gains(broad=question.broad, asks_when=question.asks_when))


def _counted(term: str, holders: list[int], exact: dict[int, dict[str, int]]) -> Counts:
    """How often each holder holds a term: once, where it was not read."""
    found = dict.fromkeys(holders, 1)
    for number, counts in exact.items():
        if number in found:
            if term in counts:
                found[number] = counts[term]
            else:
                del found[number]
    return found


def _merged(numbers: list[list[int]]) -> list[int]:
    return numbers[0] if len(numbers) == 1 else sorted({number for each in numbers for number in each})


class _Finder:
    """Finds which texts hold a term, by looking for its spellings in each."""

    def __init__(self, texts: Sequence[str], query: str) -> None:
        self.texts = list(texts)
        self.read: dict[int, list[str]] = {}
        # How the question itself writes a term, accents included. A word without end is no spelling.
        self.written: dict[str, tuple[str]] = {}
        for word in split(query[:_MOST_ASKED]):
            if len(word) <= _LONGEST_WORD:
                self.written |= dict.fromkeys(terms_of_word(word), (word.lower(),))

    def counts(self, question: Question) -> dict[str, Counts]:
        asked = list(question.terms)
        wanted = dict.fromkeys(asked) | dict.fromkeys(other for term in asked for other, _ in related(term))
        held = self._holders(wanted)
        self._read_the_fullest([held[term] for term in asked])
        exact = dict(zip(self.read, counted(self.read.values(), wanted), strict=True))
        return {term: _counted(term, holders, exact) for term, holders in held.items()}

    def _holders(self, terms: Iterable[str]) -> dict[str, list[int]]:
        """By term the texts in which a spelling of it stands, and perhaps a few in which it only seems to."""
        spelt = {term: dict.fromkeys((*spellings(term), *self.written.get(term, ()))) for term in terms}
        most = _MOST_SEARCHED // max(1, sum(map(len, self.texts)))
        wanted = list(dict.fromkeys(chain.from_iterable(spelt.values())))[:most]
        found = dict(zip(wanted, holders(self.texts, wanted), strict=True))
        return {term: _merged([found[one] for one in each if one in found]) for term, each in spelt.items()}

    def _read_the_fullest(self, held: Sequence[list[int]]) -> None:
        fullness: dict[int, float] = {}
        for numbers in held:
            weight = 1 / (1 + len(numbers))
            for number in numbers:
                fullness[number] = fullness.get(number, 0.0) + weight
        room = _MOST_READ
        # Of equally full ones the newest first.
        for number in sorted(sorted(fullness, reverse=True), key=fullness.__getitem__, reverse=True):
            room -= len(self.texts[number])
            if room < 0:
                break
            self.read[number] = split(self.texts[number])
