"""Tool-call arguments: the JSON stays valid and shaped as its schema wants; long texts inside it shrink.

Only text leaves are shortened; lists lose items from their end when that is not enough. Keys, numbers and
short values stay as they are.
"""

from __future__ import annotations

import json
from typing import Any

from brim.conversation import DROP, Path, changed, encode
from brim.ladders import plain
from brim.ladders.rung import Room

# A text leaf shorter than this is a name, an id or a path: never worth shortening.
SHORT = 80
# What stands for a text of which nothing fits.
SIGN = "…"


def extract(text: str, room: Room) -> str:
    """At most room.tokens tokens of JSON, or as near as the fixed part of it allows.

    Example: {"path": "a.py", "content": <10,000 characters>} -> {"path": "a.py", "content": "head [… 120 lines] tail"}
    """
    if room.fits(text):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return plain.extract(text, room)
    if not isinstance(value, (dict, list)):
        short = plain.extract(value, room) if isinstance(value, str) else value
        return dump(short)
    shorter = _shorten_texts(value, room)
    if not room.fits(shorter):
        shorter = _shorten_lists(json.loads(shorter), room)
    return shorter


def least(text: str, room: Room) -> str:
    """At most room.tokens tokens of JSON where not even short values fit: texts become a sign, then fields go.

    Example: {"from": "a.txt", "to": "notes/archive/b.txt"} in 9 tokens -> {"from":"a.txt","to":"…"}
    """
    shorter = extract(text, room)
    if room.fits(shorter):
        return shorter
    try:
        value = json.loads(shorter)
    except (ValueError, RecursionError):
        return shorter
    for at, _ in sorted(_texts(value), key=lambda entry: -len(entry[1])):
        value = changed(value, {at: SIGN}) if at else SIGN
        if room.fits(dump(value)):
            return dump(value)
    while isinstance(value, (dict, list)) and value and not room.fits(dump(value)):
        value = dict([*value.items()][:-1]) if isinstance(value, dict) else value[:-1]
    return dump(value)


def dump(value: Any) -> str:
    return encode(value).decode("utf-8", "surrogatepass")


def _shorten_texts(value: Any, room: Room) -> str:
    """Give the long texts what the rest leaves, the same share of each."""
    long = [(at, leaf) for at, leaf in _texts(value) if len(leaf) > SHORT]
    sizes = [room.count(leaf) for _, leaf in long]
    whole = dump(value)
    for attempt in range(4):
        left = room.tokens - (room.count(whole) - sum(sizes))
        # JSON escapes make a text larger inside than outside, so each attempt asks for less.
        share = max(0.0, left * (0.97 - 0.12 * attempt) / max(1, sum(sizes)))
        edits: dict[Path, Any] = {
            at: plain.extract(leaf, Room(max(4, int(size * share)), room.count, room.handle, room.recall, room.query))
            for (at, leaf), size in zip(long, sizes, strict=True)
        }
        text = dump(changed(json.loads(whole), edits))
        if room.fits(text):
            return text
    return text


def _shorten_lists(value: Any, room: Room) -> str:
    """Halve the longest list until it fits or no list is left to halve."""
    text = dump(value)
    while not room.fits(text):
        lists = [(len(found), at, found) for at, found in _lists(value) if len(found) > 1]
        if not lists:
            return text
        length, at, found = max(lists, key=lambda entry: entry[0])
        if at:
            value = changed(value, {(*at, n): DROP for n in range((length + 1) // 2, length)})
        else:
            value = found[: (length + 1) // 2]
        text = dump(value)
    return text


def _texts(value: Any, at: Path = ()) -> list[tuple[Path, str]]:
    if isinstance(value, str):
        return [(at, value)]
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in pairs for found in _texts(inner, (*at, key))]


def _lists(value: Any, at: Path = ()) -> list[tuple[Path, list[Any]]]:
    found = [(at, value)] if isinstance(value, list) else []
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found += _lists(inner, (*at, key))
    return found
