"""Parses what the current message asks for, before any text is searched."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from brim.count_text import CountText
from brim.relevance.dates import Date, dates_in
from brim.relevance.terms import split, words

# Words people use to ask, as opposed to what they ask about. They count a tenth.
_ASKING = frozenset(
    term
    for word in """summarize summary describe explain tell discuss discussion discussed mention mentioned say
    think opinion talk according regarding related kind type many much long might may give name list know
    question answer thing things""".split()
    for term in words(word)
)
_ASKING_WEIGHT = 0.1
_ASKING_CHARACTERS = 300
_MOST_PASTED = 20_000
_MOST_DATES = 4
_PASTED_WEIGHT = 0.1
# A question about a summary, a discussion or opinions needs a passage rather than a line. "I think I'll stay" is none.
_BROAD = re.compile(
    r"(?<!\bi )(?<!\bi'm )(?<!\bbeen )\b"
    r"(?:summar|discuss|overview|recap|opinion|think|thought|talk|conclu|debat|attitude|view)\w*",
    re.IGNORECASE,
)
_WHEN = re.compile(r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:date|day|week|month|year|time)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question: terms with their weights, speakers and dates that it names, and its kind."""

    terms: dict[str, float]
    named: tuple[str, ...]
    dates: tuple[Date, ...]
    broad: bool
    asks_when: bool

    def within(self, reach: int, occurrences: CountText) -> Question:
        """The question with only as many terms as occur `reach` times in total: asked terms before pasted ones, then
        the rarest.
        """
        known = sorted((-weight, times, term) for term, weight in self.terms.items() if (times := occurrences(term)))
        reached = accumulate(times for _, times, _ in known)
        kept = {term for total, (_, _, term) in zip(reached, known, strict=True) if total <= reach}
        if not kept and known:
            kept = {known[0][2]}
        return replace(self, terms={term: weight for term, weight in self.terms.items() if term in kept})


def parse_question(text: str, speakers: Collection[str] = ()) -> Question:
    """Parse `text` as a question about a conversation between `speakers` (in lower case).

    Example: parse_question("When did Ann adopt a dog?", ["ann"])
             -> Question(terms={"ann": 0.2, "adopt": 1.0, "dog": 1.0}, named=("ann",), …, asks_when=True)
    """
    return _parsed(text, tuple(speakers))


@lru_cache(4)  # the same message is a question about every part of a conversation
def _parsed(text: str, speakers: tuple[str, ...]) -> Question:
    asked, pasted = _parted(text)
    named = _named(asked, speakers)
    # A name in the question is far more often the speaker than the subject: people are addressed by name in
    # others' turns.
    of_names = {term for name in named for term in words(name)}
    weights: dict[str, float] = {}
    for term in words(asked):
        weights[term] = 0.2 if term in of_names else _ASKING_WEIGHT if term in _ASKING else 1.0
    for term in words(pasted):
        weights.setdefault(term, _PASTED_WEIGHT)
    if max(weights.values(), default=1.0) < 1.0:
        # If there are only such words, they are the subject.
        weights = {term: 1.0 for term in weights if term not in of_names} or weights
    return Question(
        terms=weights,
        named=named,
        dates=tuple(dict.fromkeys(dates_in(asked)))[:_MOST_DATES],
        broad=bool(_BROAD.search(asked)),
        asks_when=bool(_WHEN.search(asked)),
    )


def _parted(text: str) -> tuple[str, str]:
    """Split a message into question and paste: a long message asks at its beginning or its end."""
    if len(text) <= 4 * _ASKING_CHARACTERS:
        return text, ""
    asked = f"{text[:_ASKING_CHARACTERS]}\n{text[-_ASKING_CHARACTERS:]}"
    return asked, text[_ASKING_CHARACTERS : min(_MOST_PASTED, len(text) - _ASKING_CHARACTERS)]


def _named(text: str, speakers: Collection[str]) -> tuple[str, ...]:
    spoken = " " + " ".join(word.lower() for word in split(text)) + " "
    return tuple(name for name in speakers if f" {' '.join(split(name))} " in spoken)
