"""Attributes of each entry besides its words: speaker, date, length, kind of utterance."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from math import exp
from operator import add, or_

from brim.relevance.dates import day_number
from brim.relevance.terms import split

try:
    from brim.relevance import _share as _compiled
except ImportError:  # installed without a compiler
    _compiled = None  # type: ignore[assignment]

# Kinds of utterance, as bits.
TELLS_TIME = 1  # says when something happened or will happen
TELLS_OF_SELF = 2  # the speaker talks about themselves
ASKS = 4  # ends in a question, so the answer follows
OPENS = 8  # first of its session, where topics are introduced

_TIME_WORDS = frozenset(
    form
    for word in """yesterday today tonight tomorrow last next ago recently since week weekend weeks month months
    year years day days morning evening summer winter spring fall autumn monday tuesday wednesday thursday
    friday saturday sunday january february march april may june july august september october november
    december""".split()
    for form in (word, word.capitalize())
) | frozenset(str(year) for year in range(1900, 2100))
_SELF_WORDS = frozenset("I my My me we We our Our us".split())
# What a word says about the text that contains it.
MARKED = dict.fromkeys(sorted(_TIME_WORDS), TELLS_TIME) | dict.fromkeys(sorted(_SELF_WORDS), TELLS_OF_SELF)
# A question mark within this many characters of the end makes the text a question.
ENDING = 60

# "Ann: …", "Project Manager: …": the speaker, if a transcript has it in the text.
_LABEL = re.compile(r"\s*([^\W\d_][\w.'’-]{0,30}(?: [\w.'’-]{1,30}){0,3}):\s")
# The longest label, not counting whitespace before it, and the number of unread texts to check for labels.
_LABEL_LENGTH, _SAMPLE = 160, 128
_ROLES = frozenset("user assistant system tool human ai bot model developer function agent".split())

_DECAY_TOKENS = 90.0
_DECAY_LEAST, _DECAY_MOST = 0.5, 0.8
_BLOCK_TOKENS = 500
# The share of a score that reaches a neighbour, by the tokens between the middles of both: the nearer they are, the
# more likely they share a subject, and long entries are far apart. Beyond the last step it is the minimum.
_STEPS = tuple(min(_DECAY_MOST, max(_DECAY_LEAST, exp(-between / _DECAY_TOKENS))) for between in range(64))
# The same, by the tokens of both neighbours.
_BETWEEN = array("d", [step for step in _STEPS for _ in range(2)])


class Entries:
    """Parallel columns, one row per entry; rows are only appended."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.tokens = array("q")
        self.lengths = array("q")
        self.total_tokens = 0
        self.total_length = 0
        self.decay = array("d")  # the share of a score that passes from the previous entry, 0 across sessions
        self.kind = bytearray()
        self.days = array("q")
        self.sessions: list[int | str] = []
        self.spoken: dict[str, list[int]] = {}
        self.labels: dict[str, list[int]] = {}
        self.labelled = 0
        self._day_of: tuple[str, int] = ("", 0)

    @classmethod
    def unread(cls, texts: Sequence[str]) -> Entries:
        """Texts of one session that haven't been read yet; the columns are built all at once."""
        self = cls()
        self.texts = list(texts)
        if _compiled is None:
            self._measure()
        else:
            self.lengths, self.tokens = (array("q", [0]) * len(texts) for _ in range(2))
            self.decay = array("d", [0.0]) * len(texts)
            self.total_length, self.total_tokens = _compiled.columns(
                self.texts, _BETWEEN, _DECAY_LEAST, self.lengths, self.tokens, self.decay
            )
        self.kind = bytearray(len(texts))
        self.days = array("q", [0]) * len(texts)
        self.sessions = [0] * len(texts)
        sample = texts[:: max(1, len(texts) // _SAMPLE)]
        if sum([text.find(":", 0, _LABEL_LENGTH) > 0 for text in sample]) * 3 >= len(sample):
            for number, text in enumerate(texts):
                if text.find(":", 0, _LABEL_LENGTH) > 0:
                    self._note_speaker(number, text, "")
        return self

    def _measure(self) -> None:
        """The sizes of the texts and the decay between them, as the compiled version computes them."""
        self.lengths = array("q", map(len, self.texts))
        self.tokens = array("q", [length // 4 or 1 for length in self.lengths])
        self.total_length, self.total_tokens = sum(self.lengths), sum(self.tokens)
        steps, far, sizes = _BETWEEN, len(_BETWEEN), self.tokens
        self.decay = array("d", [0.0] * min(1, len(sizes)))
        self.decay.extend([steps[both] if both < far else _DECAY_LEAST for both in map(add, sizes, sizes[1:])])

    def blocks(self) -> array[int]:
        """The number of the stretch of about 500 tokens that each entry is in."""
        return array("q", [before // _BLOCK_TOKENS for before in accumulate(self.tokens[:-1], initial=0)])

    def append(
        self, text: str, speaker: str, when: str, session: int | str, tokens: int | None, found: list[str] | None
    ) -> int:
        number = len(self.texts)
        size = max(1, len(text) // 4) if tokens is None else tokens
        opens = number == 0 or session != self.sessions[-1]
        if opens and number:
            # The very first entry only opens a session if there are several.
            self.kind[0] |= OPENS
        self.decay.append(0.0 if opens else _step((size + self.tokens[-1]) // 2))
        self.kind.append((OPENS if opens and number else 0) | (kind_of(text, found) if found is not None else 0))
        self.texts.append(text)
        self.tokens.append(size)
        self.lengths.append(len(text))
        self.sessions.append(session)
        self.days.append(self._day(when))
        self.total_tokens += size
        self.total_length += len(text)
        self._note_speaker(number, text, speaker)
        return number

    def add_kinds(self, kinds: Iterable[int]) -> None:
        """Set the kinds of entries whose words weren't known when they were added."""
        self.kind = bytearray(map(or_, self.kind, kinds))

    def cut(self, length: int) -> None:
        """Remove the entries from a number on, as if they had never been added."""
        for number in range(length, len(self.texts)):
            self.total_tokens -= self.tokens[number]
            self.total_length -= self.lengths[number]
        for spoken in (self.spoken, self.labels):
            for name, numbers in list(spoken.items()):
                kept = bisect_left(numbers, length)
                self.labelled -= len(numbers) - kept if spoken is self.labels else 0
                del numbers[kept:]
                if not numbers:
                    del spoken[name]
        for column in (self.texts, self.tokens, self.lengths, self.decay, self.kind, self.days):
            del column[length:]
        del self.sessions[length:]
        if self.kind and not any(kind & OPENS for kind in self.kind[1:]):
            self.kind[0] &= ~OPENS

    def speakers(self) -> dict[str, list[int]]:
        """The entries of each speaker. Labels only count if most entries have one; otherwise they are text."""
        if self.labelled * 2 < len(self.texts):
            return self.spoken
        return {**self.labels, **self.spoken}

    def _day(self, when: str) -> int:
        if when != self._day_of[0]:
            self._day_of = (when, day_number(when))
        return self._day_of[1] if when else 0

    def _note_speaker(self, number: int, text: str, speaker: str) -> None:
        name = _name(speaker) if speaker else ""
        if name and name not in _ROLES:
            self.spoken.setdefault(name, []).append(number)
            return
        label = _LABEL.match(text)
        if label:
            name = _name(label.group(1))
            if name not in _ROLES:
                self.labels.setdefault(name, []).append(number)
                self.labelled += 1


@lru_cache(4096)
def _name(speaker: str) -> str:
    return " ".join(split(speaker)).lower()


def _step(between: int) -> float:
    return _STEPS[min(between, len(_STEPS) - 1)]


def kind_of(text: str, found: list[str]) -> int:
    """The kinds of utterance of `text`, whose words are `found`.

    Example: "I sold it last week." -> TELLS_TIME | TELLS_OF_SELF
    """
    kind = 0 if _TIME_WORDS.isdisjoint(found) else TELLS_TIME
    if not _SELF_WORDS.isdisjoint(found):
        kind |= TELLS_OF_SELF
    return kind | ASKS if "?" in text[-ENDING:] else kind


def gains(*, broad: bool, asks_when: bool) -> list[float]:
    """The gain of each combination of kinds: facts are in statements with a time.

    A question about a whole passage needs its questions and asides too.
    """
    out = []
    for kind in range(16):
        gain = 1.2 if kind & OPENS else 1.0
        if asks_when and kind & TELLS_TIME:
            gain *= 1.4
        if not broad:
            gain *= 1.15 if kind & TELLS_TIME else 1.0
            gain *= 1.1 if kind & TELLS_OF_SELF else 1.0
            gain *= 0.9 if kind & ASKS else 1.0
        out.append(gain)
    return out
