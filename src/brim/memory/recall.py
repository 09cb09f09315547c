"""Bringing folded content back: by itself when the current message is about it, or by a tool that the model calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from brim.conversation import Message
from brim.errors import NotFound
from brim.plan.relevance import Index

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
# Messages are indexed in segments of so many, so that a question costs the same however old a conversation is.
SEGMENT = 512
# So many of the last segments are always looked at, and so many older ones if they hold a code of the question.
NEAR, FAR = 2, 2
# How many characters of a message are indexed, and how many of a recalled content are read at once.
INDEXED = 20_000
PAGE = 16_000
HEADER = "[Brim recalls earlier messages that this is about]"
_CODE = re.compile(r"(?=[\w-]{0,40}\d)[\w-]{4,41}")


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
    handle, query = arguments.get("handle"), arguments.get("query")
    offset = arguments.get("offset")
    start = offset if type(offset) is int and offset > 0 else 0
    if isinstance(handle, str) and handle:
        try:
            text = session.recall(handle)
        except NotFound as problem:
            return str(problem)
        if isinstance(query, str) and query and not start:
            start = max(0, text.casefold().find(query.casefold()))
    elif isinstance(query, str) and query:
        text = "\n\n".join(f"messages[{number}] {said}" for number, said in session.search(query)) or "nothing found"
    else:
        return "give a handle (brim:…) or a query"
    page = text[start : start + PAGE]
    left = len(text) - start - len(page)
    return page + (f"\n[… {left:,} more characters: go on with offset {start + len(page)}]" if left > 0 else "")


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
    """A log that can be asked what in it a text is about. Its segments are indexed when they are first needed."""

    def __init__(self, log: Sequence[Message]) -> None:
        self._log = log
        self._segments: dict[int, Index] = {}
        self._codes: dict[str, int] = {}  # the last segment that a code stands in, of those that are indexed

    def cut(self, length: int) -> None:
        """The log was cut: what was indexed of its end is forgotten."""
        for number in [number for number in self._segments if (number + 1) * SEGMENT > length]:
            del self._segments[number]

    def about(self, query: str, most: int, without: Collection[int] = (), everywhere: bool = False) -> list[int]:
        """The numbers of the messages that are about a query, best first; only those that are well above the rest."""
        if not query.strip() or not self._log:
            return []
        last = (len(self._log) - 1) // SEGMENT
        chosen = range(last + 1) if everywhere else range(max(0, last + 1 - NEAR), last + 1)
        segments = {number: self._segment(number) for number in chosen}
        if not everywhere:
            far = [self._codes[code] for code in _codes(query) if code in self._codes]
            for number in list(dict.fromkeys(number for number in far if number not in segments))[:FAR]:
                segments[number] = self._segment(number)
        scores: list[tuple[float, int]] = []
        for number, index in sorted(segments.items()):
            for place, score in enumerate(index.score(query)):
                at = number * SEGMENT + place
                if score > 0 and at not in without and self._log[at].role != "system":
                    scores.append((-score, -at))
        if not scores:
            return []
        scores.sort()
        top = -scores[0][0]
        return [-at for score, at in scores[:most] if -score >= LEAST * top]

    def _segment(self, number: int) -> Index:
        index = self._segments.setdefault(number, Index())
        start = number * SEGMENT
        for at in range(start + len(index), min(len(self._log), start + SEGMENT)):
            text = self._log[at].text[:INDEXED]
            index.add(text)
            for code in _codes(text):
                self._codes[code] = number
        return index


def _codes(text: str) -> list[str]:
    """Words with a digit in them: what a later question names exactly. Example: "order A-1029 is late" -> ["A-1029"]"""
    return list(dict.fromkeys(_CODE.findall(text)))[:200]


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
