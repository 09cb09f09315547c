"""Bringing folded content back: by itself when the current message is about it, or by a tool that the model calls."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import log
from typing import Any, Protocol

import msgspec

from brim.conversation import Message
from brim.errors import NotFound
from brim.plan.relevance import Index
from brim.plan.words import split, terms
from brim.recall import asked, page, read

TOOL = "brim_recall"
DESCRIPTION = "Fetch earlier content that was folded to save space: by its handle (brim:…), or by what it is about."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "a handle such as brim:3f2a9c01"},
        "query": {"type": "string", "description": "what to look for in all earlier messages, or inside the handle"},
        "offset": {"type": "integer", "description": "where to go on reading, in characters"},
    },
}
# What a recalled message must score, of the best that there is, to be worth its place.
LEAST = 0.45
# A search ranks so many messages at once.
SEGMENT = 2_000
# A word that stands in more than this share of the messages says little; so many of the others are looked up, each in
# the last so many messages that it stands in.
COMMON, TELLING, REACH = 0.08, 12, 48
# So many of the last messages of a log that was read back are looked at by itself.
CAUGHT_UP = 4_000
# How many characters of a message are indexed, and how many of a recalled content are read at once.
INDEXED = 20_000
PAGE = 16_000
HEADER = "[Brim recalls earlier messages that this is about]"
_WORD = re.compile(r"\w[\w-]{2,40}")


def definition(api: str) -> dict[str, Any]:
    """The recall tool as an API wants its tools."""
    if api == "anthropic":
        return {"name": TOOL, "description": DESCRIPTION, "input_schema": SCHEMA}
    if api == "openai_responses":
        return {"type": "function", "name": TOOL, "description": DESCRIPTION, "parameters": SCHEMA}
    function = {"name": TOOL, "description": DESCRIPTION, "parameters": SCHEMA}
    if api == "gemini":
        return {"functionDeclarations": [function]}
    return {"type": "function", "function": function}


class Recalls(Protocol):
    """What answers a recall: a session."""

    def recall(self, handle: str) -> str: ...

    def search(self, query: str, limit: int = 5) -> list[tuple[int, str]]: ...


def answer(session: Recalls, arguments: Mapping[str, Any]) -> str:
    """What the recall tool says: a page of the content of a handle, or the messages that a query is about."""
    what = asked(arguments)
    if what.handle:
        try:
            text = session.recall(what.handle)
        except NotFound as problem:
            return str(problem)
        return read(text, what, PAGE, len)
    if not what.query:
        return "give a handle (brim:…) or a query"
    found = [f"messages[{number}] {said}" for number, said in session.search(what.query)]
    return page("\n\n".join(found), what.offset, PAGE, len) if found else "nothing found"


def answers(session: Recalls, api: str, message: Message) -> list[dict[str, Any]]:
    """The result messages for the recalls that a model's message calls, in the form of its API; none if it calls none.

    Example: an assistant message that calls brim_recall -> [{"role": "tool", "tool_call_id": …, "content": …}]
    """
    found: list[tuple[str, str]] = []
    for part in message.parts:
        if part.kind == "call" and part.name == TOOL:
            found.append((part.call, answer(session, _arguments(part.text))))
    if not found:
        return []
    if api == "anthropic":
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in found]
        return [{"role": "user", "content": blocks}]
    if api == "gemini":
        parts = [{"functionResponse": {"name": TOOL, "response": {"result": text}}} for _, text in found]
        return [{"role": "user", "parts": parts}]
    if api == "openai_responses":
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, text in found]
    return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in found]


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}


class Recollection:
    """A log that can be asked what in it a text is about.

    `about` is for every new message: it looks up the few words that tell, so it costs the same however long the log
    is. `search` ranks all of it, in segments that are indexed when they are first asked.
    """

    def __init__(self, log: Sequence[Message]) -> None:
        self._log = log
        self._segments: dict[int, Index] = {}
        self._postings: dict[str, list[int]] = {}
        self._lengths: list[int] = []
        self._first = 0  # the first message that is looked at: of a log that was read back, one of the last

    def cut(self, length: int) -> None:
        """The log was cut: what was indexed of its end is forgotten."""
        for number in [number for number in self._segments if (number + 1) * SEGMENT > length]:
            del self._segments[number]
        if length < self._first + len(self._lengths):
            del self._lengths[max(0, length - self._first) :]
            for postings in self._postings.values():
                del postings[bisect_left(postings, length) :]

    def about(self, text: str, most: int, without: Collection[int] = ()) -> list[int]:
        """The numbers of the messages that a text is about, best first; only those that are well above the rest."""
        self._catch_up()
        size = max(1, len(self._lengths))
        mean = sum(self._lengths[-1000:]) / min(1000, size)
        scores: dict[int, float] = {}
        hits: Counter[int] = Counter()
        words = self._telling(text)
        for word in words:
            postings = self._postings[word]
            worth = log(1 + size / len(postings))
            for number in postings[-REACH:]:
                if number not in without:
                    scores[number] = scores.get(number, 0.0) + worth
                    hits[number] += 2 if any(map(str.isdigit, word)) else 1
        for number in scores:
            scores[number] /= 0.7 + 0.3 * self._lengths[number - self._first] / max(1.0, mean)
        found = [(-score, -number) for number, score in scores.items() if hits[number] >= min(2, len(words))]
        if not found:
            return []
        found.sort()
        return [-number for score, number in found[:most] if score <= LEAST * found[0][0]]

    def _telling(self, text: str) -> list[str]:
        """The words of a text that stand in few messages, the rarest first."""
        size = len(self._lengths)
        known = [
            (len(self._postings[word]), word)
            for word in dict.fromkeys(_WORD.findall(text.casefold()))
            if self._postings.get(word)
        ]
        return [word for stands, word in sorted(known) if stands <= max(COMMON * size, 4)][:TELLING]

    def _catch_up(self) -> None:
        """Look at the messages that are new."""
        if not self._lengths:
            self._first = max(0, len(self._log) - CAUGHT_UP)
        for number in range(self._first + len(self._lengths), len(self._log)):
            message = self._log[number]
            words = dict.fromkeys(_WORD.findall(message.text[:INDEXED].casefold())) if message.role != "system" else {}
            for word in words:
                self._postings.setdefault(word, []).append(number)
            self._lengths.append(len(words))

    def search(self, query: str, most: int) -> list[int]:
        """The numbers of the messages of the whole log that a query is about, best first."""
        scores: list[tuple[float, int]] = []
        for number in range((len(self._log) + SEGMENT - 1) // SEGMENT):
            for place, score in enumerate(self._segment(number).score(query)):
                if score > 0:
                    scores.append((-score, -(number * SEGMENT + place)))
        scores.sort()
        asked = set(terms(split(query)))
        best = [self._log[-at].text[:INDEXED] for _, at in scores[: max(most, 4)]]
        if not any(asked & set(terms(split(text))) for text in best):
            return []  # only the most recent, for want of anything better
        return [-at for score, at in scores[:most] if score <= LEAST * scores[0][0]]

    def ranked(self, query: str, most: int, without: Collection[int] = ()) -> list[int]:
        """The last messages in the order of how much a query is about them: for filling room that is left."""
        last = max(0, len(self._log) - 1) // SEGMENT
        found: list[tuple[float, int]] = []
        for place, score in enumerate(self._segment(last).score(query)):
            number = last * SEGMENT + place
            if score > 0 and number not in without:
                found.append((-score, -number))
        return [-number for _, number in sorted(found)[:most]]

    def _segment(self, number: int) -> Index:
        index = self._segments.setdefault(number, Index())
        start = number * SEGMENT
        for at in range(start + len(index), min(len(self._log), start + SEGMENT)):
            index.add(self._log[at].text[:INDEXED] if self._log[at].role != "system" else "")
        return index


def recall_text(log: Sequence[Message], numbers: Sequence[int], tokens: int, count: Callable[[str], int]) -> str:
    """The recalled messages as one text of at most so many tokens, in the order of the log; empty if none fits."""
    left = tokens - count(HEADER)
    chosen: list[tuple[int, str]] = []
    for number in numbers:
        line = f"{log[number].role}: {log[number].text}"
        if len(line) > left * 40:
            continue  # more characters than so few tokens can hold
        size = count(line) + 1
        if size <= left:
            chosen.append((number, line))
            left -= size
    return "\n".join([HEADER, *(line for _, line in sorted(chosen))]) if chosen else ""
