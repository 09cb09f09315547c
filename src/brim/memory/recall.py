"""Bringing folded content back: by itself when the current message is about it, or by a tool that the model calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from brim.conversation import Message
from brim.plan.relevance import Index, quick_scores

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
INDEXED = 1_500
HEADER = "[Brim recalls earlier messages that this is about]"


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


def recalled(log: Sequence[Message], query: str, among: Iterable[int], most: int) -> list[int]:
    """The numbers of the messages that are about a query, best first; only those that are well above the rest."""
    numbers = [number for number in among if log[number].text]
    if not numbers or not query.strip():
        return []
    texts = [log[number].text for number in numbers]
    if len(texts) > INDEXED:
        scores = quick_scores(texts, query)
    else:
        index = Index()
        for text in texts:
            index.add(text)
        scores = index.score(query)
    top = max(scores)
    if top <= 0:
        return []
    order = sorted(range(len(numbers)), key=lambda place: (-scores[place], -numbers[place]))
    return [numbers[place] for place in order[:most] if scores[place] >= LEAST * top]


def recall_text(log: Sequence[Message], numbers: Sequence[int], tokens: int, count: Callable[[str], int]) -> str:
    """The recalled messages as one text of at most so many tokens, in the order of the log; empty if none fits."""
    left = tokens - count(HEADER)
    chosen: list[tuple[int, str]] = []
    for number in numbers:
        line = f"{log[number].role}: {log[number].text}"
        size = count(line) + 1
        if size <= left:
            chosen.append((number, line))
            left -= size
    return "\n".join([HEADER, *(line for _, line in sorted(chosen))]) if chosen else ""
