"""The keys that later calls are likely to need: those used as arguments, and those that arguments were taken from.

The conversation shows what its tools need. A call with `{"order": "A-17"}` whose value stands in an earlier result
under `open_orders` makes both keys useful: other values under them come first when a result is shortened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from brim.content.keyed_values import folded
from brim.conversation import Message

# Newest calls, and newest characters of results, to examine; more would take long and add nothing.
CALLS, CHARACTERS = 60, 200_000
# Shorter values occur in many places by chance.
TELLING = 4
# The most characters between a key and its value, including earlier values of the same list.
BETWEEN = 400
_KEY = re.compile(r"([A-Za-z_][\w.-]*)[\"'\\]*\s*[:=](?!//)")


def used_keys(messages: Sequence[Message], tools: bytes | None = None) -> frozenset[str]:
    """The keys of arguments, of declared parameters, and of the earlier values that calls gave as arguments."""
    found = set(_declared(tools))
    results: list[tuple[int, str]] = []
    calls: list[tuple[int, str]] = []
    characters = 0
    for number in range(len(messages) - 1, -1, -1):
        for part in messages[number].parts:
            if part.kind == "call" and len(calls) < CALLS:
                calls.append((number, part.text))
            elif part.kind == "result" and part.text and characters < CHARACTERS:
                characters += len(part.text)
                results.append((number, part.text[:CHARACTERS]))
    for number, arguments in calls:
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            continue
        for key, text in _leaves(value):
            if key:
                found.add(folded(key))
            if len(text) >= TELLING and (source := _source(text, number, results)):
                found.add(source)
    return frozenset(found)


def _source(value: str, number: int, results: Sequence[tuple[int, str]]) -> str:
    """The key of a value in the newest result before a message."""
    for place, text in results:
        at = text.find(value) if place < number else -1
        if at >= 0:
            keys = _KEY.findall(text, max(0, at - BETWEEN), at)
            return folded(keys[-1]) if keys else ""
    return ""


def _leaves(value: Any) -> Iterator[tuple[str, str]]:
    """Every leaf of arguments with its key."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        key, inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += inner.items()
        elif isinstance(inner, list):
            waiting += [(key, each) for each in inner]
        elif inner is not None and not isinstance(inner, bool):
            yield key, inner if isinstance(inner, str) else json.dumps(inner)


def _declared(tools: bytes | None) -> Iterable[str]:
    """The names of declared tools' parameters."""
    if not tools:
        return
    try:
        waiting: list[Any] = [json.loads(tools)]
    except (ValueError, RecursionError):
        return
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            named = inner.get("properties")
            if isinstance(named, dict):
                yield from map(folded, named)
            waiting += inner.values()
        elif isinstance(inner, list):
            waiting += inner
