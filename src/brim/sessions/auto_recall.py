"""Automatic recall: finds the archived content that a message is about."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from math import log

from brim.content import Compactor
from brim.content.types import Room
from brim.conversation import Message
from brim.count_text import CountText
from brim.planning.ranking import Chat, weigh
from brim.relevance import Embedder, Index
from brim.relevance.entries import ENDING
from brim.relevance.identifiers import identifiers, is_identifier
from brim.relevance.packing import chosen
from brim.relevance.related import related
from brim.relevance.terms import split, terms
from brim.sessions.view import View

# What a recalled message must score, of the best that there is, to be worth its place.
LEAST = 0.45
# What ranking finds for a new message must score this share of the best to be worth its place.
GOOD = 0.25
# Weight of a question relative to an equally relevant answer or result.
ASKED = 0.5
# Messages per segment of a search.
SEGMENT = 1_000
# A word that stands in more than this share of the messages says little; so many of the others are looked up, each in
# the last so many messages that it stands in.
COMMON, TELLING, REACH = 0.08, 12, 48
# Messages at the end of a loaded log that are examined automatically.
CAUGHT_UP = 4_000
# Characters of a message to index.
INDEXED = 20_000
# So many characters of a message say what it is about, and so many messages come back at most by a quick look. Less
# room than so many tokens holds nothing.
QUERY, RECALLED, LEAST_ROOM = 4_000, 8, 40
# A long message gets at most one part in this many of the room while others wait.
SHARED = 3
# A recalled message takes a line, which is less than a message, so this many times the room is offered.
OFFERED = 1.25
HEADER = "[Brim recalls earlier messages that this is about]"
_WORD = re.compile(r"\w[\w-]{2,40}")
# A message asks for what is archived if most of so many best ones are, the very best among them. In BEAM's chats at
# 8,000 tokens, tuned half, that is so for .72 of the questions about the past and .09 of the ordinary turns.
BEST = 5
# The most that a message without any word of the question scores, and the occurrences to look up per segment.
NOTHING = 0.005
LOOKED_UP = 400


def names_something(text: str) -> bool:
    """Whether a text names an identifier. Example: "what was wrong with ORD-02407?" -> True"""
    return bool(identifiers(text))


def _asks_something(text: str) -> bool:
    """Whether a text ends in a question, in any language."""
    return any(mark in text[-ENDING:] for mark in "?？؟")


def _about(message: Message) -> int:
    return len(message.raw) // 4


@dataclass(slots=True)
class Ranking:
    """Messages from number `first` on, with their scores and sizes."""

    first: int
    scores: list[float] = field(default_factory=list)
    sizes: array[int] = field(default_factory=lambda: array("q"))
    near: array[float] = field(default_factory=lambda: array("d"))
    broad: bool = False

    def pack(self, room: int, least: float, without: Collection[int] = ()) -> list[int]:
        """The numbers, best first, of those to show in so many tokens that score this share of the best.

        There may be a few more than fit; the size of their lines decides.
        """
        room = int(room * OFFERED)
        bar = max(least * max(self.scores, default=0.0), NOTHING)
        first, sizes = self.first, self.sizes
        good = [at for at, score in enumerate(self.scores) if score >= bar and first + at not in without]
        if self.broad:  # their surroundings count too
            fit = [room + 1] * len(self.scores)  # too large to fit
            for at in good:
                fit[at] = sizes[at]
            return [first + place for place in chosen(self.scores, fit, room, self.near)]
        # The newest are those that nothing else parts from the end: one that cannot be taken stands before them.
        end, newest = len(self.scores), len(good)
        while newest and good[newest - 1] == end - 1:
            newest, end = newest - 1, end - 1
        good.insert(newest, -1)
        scores = [self.scores[at] if at >= 0 else 0.0 for at in good]
        fit = [sizes[at] if at >= 0 else room + 1 for at in good]
        return [first + good[place] for place in chosen(scores, fit, room)]

    def best(self, most: int) -> list[int]:
        """The numbers of the best messages."""
        found = nlargest(most, ((score, at) for at, score in enumerate(self.scores) if score > NOTHING))
        return [self.first + at for _, at in found]


class Recollection:
    """Finds the messages of a log that a text is about.

    `about` is for every new message: it looks up the few words that tell, so it costs the same however long the log
    is. `ranked` ranks what was said last, `search` all of it, in segments that are indexed when they are asked.
    """

    def __init__(
        self, log: Sequence[Message], size: Callable[[Message], int] = _about, embed: Embedder | None = None
    ) -> None:
        self._log = log
        self.size = size
        self.embed = embed
        self._segments: dict[int, Chat] = {}
        self._postings: dict[str, list[int]] = {}
        self._lengths: list[int] = []
        self._first = 0  # the first message to examine; for a loaded log, one of the last

    def cut(self, length: int) -> None:
        """The log was cut: forget the index of its end."""
        for number, chat in self._segments.items():
            chat.cut(max(0, length - number * SEGMENT))
        if length < self._first + len(self._lengths):
            del self._lengths[max(0, length - self._first) :]
            for postings in self._postings.values():
                del postings[bisect_left(postings, length) :]

    def rest(self) -> None:
        """Drop the index; it is rebuilt on the next question."""
        self._segments.clear()
        self._postings.clear()
        self._lengths.clear()

    def about(self, text: str, most: int, without: Collection[int] = ()) -> list[int]:
        """The numbers of the messages that a text is about, best first; only those well above the rest.

        A message with an identifier that the text names precedes those that merely resemble it, and answers and results
        precede questions.
        """
        self._catch_up()
        size = max(1, len(self._lengths))
        mean = sum(self._lengths[-1000:]) / min(1000, size)
        words = self._telling(text)
        named = [word for word in words if is_identifier(word)]
        scores: dict[int, float] = {}
        hits: Counter[int] = Counter()
        for word in words:
            postings = self._postings[word]
            worth = log(1 + size / len(postings))
            for number in postings[-REACH:]:
                if number not in without:
                    scores[number] = scores.get(number, 0.0) + worth
                    hits[number] += 2 if word in named else 1
        for number in scores:
            scores[number] /= 0.7 + 0.3 * self._lengths[number - self._first] / max(1.0, mean)
            if self._asks(number):
                scores[number] *= ASKED
        exact = {number for word in named for number in self._postings[word][-REACH:]}
        found = [
            (number not in exact, -score, -number)
            for number, score in scores.items()
            if hits[number] >= min(2, len(words)) and (number in exact or not exact)
        ]
        found.sort()
        return [-number for _, score, number in found[:most] if exact or score <= LEAST * found[0][1]]

    def _telling(self, text: str) -> list[str]:
        """The words of a text that occur in few messages, rarest first."""
        size = len(self._lengths)
        known = [
            (len(self._postings[word]), word)
            for word in dict.fromkeys(_WORD.findall(text.casefold()))
            if self._postings.get(word)
        ]
        return [word for stands, word in sorted(known) if stands <= max(COMMON * size, 4)][:TELLING]

    def _catch_up(self) -> None:
        """Index the new messages."""
        if not self._lengths:
            self._first = max(0, len(self._log) - CAUGHT_UP)
        for number in range(self._first + len(self._lengths), len(self._log)):
            message = self._log[number]
            words = dict.fromkeys(_WORD.findall(message.text[:INDEXED].casefold())) if message.role != "system" else {}
            for word in words:
                self._postings.setdefault(word, []).append(number)
            self._lengths.append(len(words))

    def search(self, query: str, most: int) -> list[int]:
        """The numbers of the messages in the whole log that match a query, best first; never the query itself.

        What holds an identifier that the query names is before the rest, and of that answers and results before what
        was asked.
        """
        found: list[tuple[bool, float, int]] = []
        for segment in range((len(self._log) + SEGMENT - 1) // SEGMENT):
            index = self._segment(segment, len(self._log))
            scores = index.score(query)
            named = set(index.naming(query))
            for place, score in enumerate(scores):
                if score > NOTHING:
                    number = segment * SEGMENT + place
                    exact = place in named
                    worth = score * ASKED if exact and self._asks(number) else score
                    found.append((not exact, -worth, -number))
        found.sort()
        said = query.strip().casefold()
        others = [-number for _, _, number in found if self._log[-number].text.strip().casefold() != said]
        asked = set(terms(split(query)))
        if not any(asked & set(terms(split(self._log[number].text[:INDEXED]))) for number in others[: max(most, 4)]):
            return []  # only neighbours and related words
        return others[:most]

    def _asks(self, number: int) -> bool:
        """Whether a message asks the assistant something."""
        message = self._log[number]
        return message.role == "user" and not message.answers

    def ranked(self, query: str, room: int, end: int) -> Ranking:
        """The messages before `end` by how much they say about a question, if so many tokens of them have room.

        Examines the last one or two segments, and a bounded number of words in them.
        """
        last = max(0, end - 1) // SEGMENT
        found = Ranking(max(0, last - 1) * SEGMENT)
        for number in range(max(0, last - 1), last + 1):
            index = self._segment(number, end)
            share = room / max(1, index.total_tokens)
            scores = index.score(query, share, self.embed, reach=LOOKED_UP)
            near = index.nearness(query)
            if near is None:
                said = [self._asks(number * SEGMENT + place) for place in range(len(scores))]
                weigh(scores, index.tokens, said, index.naming(query))
            found.scores += scores
            found.sizes.extend(index.tokens)
            if near is not None:
                found.broad = True
                found.near.extend(near)
        return found

    def misses(self, message: Message, end: int, room: int, shown: Collection[int]) -> bool:
        """Whether a message mostly asks for what was said before message `end` and is not shown any more."""
        query = message.text[:QUERY]
        if not _asks_something(query):
            return False
        best = self.ranked(query, room, end).best(BEST)
        gone = [number not in shown for number in best]
        return bool(gone) and gone[0] and 2 * sum(gone) > len(gone)

    def quickly(self, message: Message, room: int, shown: Collection[int], count: CountText) -> str:
        """What a new message is surely about and isn't shown, within this many tokens; empty if there is nothing."""
        found = self.about(message.text[:QUERY], RECALLED, shown) if room >= LEAST_ROOM else []
        return recall_text(self._log, found, room, count, message.text[:QUERY])

    def thoroughly(
        self, message: Message, end: int, room: int, shown: Collection[int], count: CountText, least: float
    ) -> str:
        """The same by ranking the latest messages before `end`: those that score this share of the best."""
        if room < LEAST_ROOM:
            return ""
        query = message.text[:QUERY]
        ranking = self.ranked(query, room, end)
        return recall_text(self._log, ranking.pack(room, least, shown), room, count)

    def after(self, view: View, room: int, count: CountText) -> str:
        """The same for the user's message at the end of a view; empty if it ends with something else."""
        last = view.entries[-1] if view.entries else None
        message = self._log[last.start] if last is not None and last.end > last.start else None
        if message is None or message.role != "user" or message.answers:
            return ""
        return self.thoroughly(message, len(self._log) - 1, room, view.whole(), count, 0.0)

    def read(self, end: int, most: int) -> None:
        """Index some more of the messages before `end`, so that the first question needn't wait for all of them."""
        if not self._segments:
            related("")  # loads its table, which takes a while
            self._segments[0] = Chat()
            return
        last = max(0, end - 1) // SEGMENT
        known = last * SEGMENT + len(self._segments.get(last, Chat()).index)
        self._segment(last, min(end, known + most) if known < end else end)

    def _segment(self, number: int, end: int) -> Index:
        """The index of a segment, with the messages before `end` and no others."""
        chat = self._segments.setdefault(number, Chat())
        start = number * SEGMENT
        chat.cut(max(0, end - start))
        for at in range(start + len(chat.index), min(end, start + SEGMENT)):
            message = self._log[at]
            chat.add(message.text[:INDEXED] if message.role != "system" else "", self.size(message))
        return chat.index


def recall_text(log: Sequence[Message], numbers: Sequence[int], tokens: int, count: CountText, query: str = "") -> str:
    """The recalled messages as one text of at most this many tokens, in the order of the log; empty if none fits.

    A message that is too long for its share is shortened to what the query is about.
    """
    left = tokens - count(f"{HEADER}\n")
    chosen: list[tuple[int, str]] = []
    for at, number in enumerate(numbers):
        share = max(LEAST_ROOM, left // min(SHARED, len(numbers) - at))
        line = _recalled(log[number], min(left, share) if query else left, count, query)
        size = count(f"{line}\n") if line else 0  # with the line break, which most tokenizers join to a full stop
        if line and size <= left:
            chosen.append((number, line))
            left -= size
    return "\n".join([HEADER, *(line for _, line in sorted(chosen))]) if chosen else ""


def _recalled(message: Message, tokens: int, count: CountText, query: str) -> str:
    """A message with its role within this many tokens; empty if it doesn't fit and there is no query."""
    head, text = f"{message.role}: ", _said(message)
    room = tokens - count(head) - 1
    if not text:
        return ""
    if len(text) <= tokens * 40 and count(f"{head}{text}\n") <= tokens:
        return head + text
    if not query or room < LEAST_ROOM // 2:
        return ""
    named = [word for word in _WORD.findall(query) if is_identifier(word.casefold())]
    lines = [line for line in text.splitlines() if any(word in line for word in named)]
    told = "\n".join(lines)
    if lines and count(told) <= room:
        return f"{head}…\n{told}\n…"
    return head + Compactor(text, count).at(Room(room, count, query=query)).text


def _said(message: Message) -> str:
    """The readable text of a message, including its calls with tool names; empty if there is none.

    Example: a call of "search" with {"to": "LAS"} -> 'search({"to": "LAS"})'
    """
    texts = [f"{part.name}({part.text})" if part.kind == "call" else part.text for part in message.parts]
    return "\n".join(text for text in texts if text.strip())
