"""Extracts of JSON: what a reader can least do without, in any room.

Given up in this order: derivable URLs, nulls and false flags; the ends of long texts; all but identifiers,
errors and status; then status, then errors; then identifiers by what they cost; then rows between head and tail.
An identifier keeps its column, and a row that is left out leaves a mark.
"""

from __future__ import annotations

from typing import Any

import msgspec

from brim.content import plain_text
from brim.content.json.choice import Plan
from brim.content.json.exact import NotExact, load
from brim.content.json.forms import dense
from brim.content.json.lines import load_lines
from brim.content.json.table.part import Part
from brim.content.json.table.shape import TooDeep
from brim.content.selection import fits
from brim.content.types import Room

_WORTH_DENSE = 40  # characters of JSON that a token of the dense form may stand for, at most
_LARGE = 4_000_000
_MOST_ITEMS = 20_000


def extract(text: str, room: Room) -> str:
    """Return at most room.tokens tokens of a JSON text.

    Example: 1,000 issues in 300 tokens -> their numbers and titles as rows, `[… 940 of 1,000 rows …]`
    """
    if fits(text, room):
        return text
    whole = dense(text) if room.tokens * _WORTH_DENSE > len(text) else None
    if whole is not None and room.fits(whole):
        return whole
    thin = Thinning()
    try:
        value = thin(_load(text))
        part = Part(value) if isinstance(value, dict | list) and value else None
        found = Plan(part, room, thin.dropped).fitted() if part is not None else None
    except (ValueError, TooDeep, RecursionError, msgspec.MsgspecError):
        found = None
    return plain_text.extract(text, room) if found is None else found


def _load(text: str) -> Any:
    if len(text) > _LARGE:
        return msgspec.json.decode(text)  # what is shown of that much need not keep the spelling of floats
    try:
        return load(text).value
    except NotExact:
        raise
    except ValueError:
        return load_lines(text).value


class Thinning:
    """Takes the middle out of huge lists and objects: more than their ends could not be shown in any room."""

    def __init__(self, most: int = _MOST_ITEMS) -> None:
        self.most = most
        self.dropped = 0

    def __call__(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self(item) for item in self._ends(value)]
        if isinstance(value, dict):
            return {key: self(item) for key, item in self._ends(list(value.items()))}
        return value

    def _ends(self, items: list[Any]) -> list[Any]:
        if len(items) <= self.most:
            return items
        half = self.most // 2
        self.dropped += len(items) - 2 * half
        return items[:half] + items[-half:]
