"""Tool-call arguments: shortens long texts inside the JSON, which stays valid and keeps the shape its schema requires.

Removed in this order: the middle of long texts; items from the end of lists; short texts, longest first, which are
replaced by a sign; fields from the end. Keys and numbers stay unchanged as long as their field stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from brim.content import plain_text
from brim.content.selection import fits, shares
from brim.content.types import Room
from brim.conversation import Path, changed, encode

# Texts shorter than this are likely names, ids or paths, which are shortened last.
SHORT = 80
# Replaces a text that doesn't fit at all.
SIGN = "…"
# Tokens to leave of each long text, roughly, before list items are removed.
LEAST_TEXT = 40
# How many cuts to try when fitting long texts, and the share of the room that is good enough.
ATTEMPTS = 6
ENOUGH = 0.98
# If the JSON is nested too deeply to parse, a sign replaces everything below this depth.
DEEPEST = 100
# The most values that one token can hold.
_ITEMS = 4
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.S)


def extract(text: str, room: Room) -> str:
    """At most room.tokens tokens of JSON; if the room is too small for anything, an empty object or list.

    Example: {"path": "a.py", "content": <10,000 characters>} -> {"path": "a.py", "content": "head [… 120 lines] tail"}
    Example: {"from": "a.txt", "to": "notes/archive/b.txt"} in 9 tokens -> {"from":"a.txt","to":"…"}
    """
    if fits(text, room):
        return text
    value = _read(text)
    if value is None:
        return plain_text.extract(text, room)
    return _filled(_reduced(value, room), room)


def dump(value: Any) -> str:
    return encode(value).decode("utf-8", "surrogatepass")


def _read(text: str) -> Any:
    """The value of a JSON text, without parts that are nested too deeply; None if it isn't JSON."""
    try:
        return json.loads(text)
    except RecursionError:
        pass
    except ValueError:
        return None
    try:
        return json.loads(_shallow(text))
    except (ValueError, RecursionError):
        return None


def _shallow(text: str) -> str:
    """JSON with a sign in place of too deeply nested parts. Example: {"a": {…100 levels…}} -> {"a": … "…" …}"""
    out: list[str] = []
    depth = at = 0
    for found in _BRACKETS.finditer(text):
        if found[0] in "[{":
            depth += 1
            if depth == DEEPEST + 1:
                out += [text[at : found.start()], json.dumps(SIGN)]
        elif found[0] in "]}":
            depth -= 1
            if depth == DEEPEST:
                at = found.end()
    return "".join([*out, text[at:]])


def _filled(value: Any, room: Room) -> str:
    """The value with long texts cut to the room that the rest leaves: small ones whole, large ones in equal shares."""
    long = [(at, leaf) for at, leaf in _leaves(value) if isinstance(leaf, str) and len(leaf) > SHORT]
    if not long:
        return dump(value)
    sizes = [room.count(leaf) for _, leaf in long]
    least = dump(changed(_copy(value), dict.fromkeys([at for at, _ in long], SIGN)))
    if not fits(least, room):
        return least
    rest = room.count(least)
    left = room.tokens - rest
    best, best_size, total, most = least, rest, float(left), float("inf")
    for _ in range(ATTEMPTS):
        given = shares(sizes, int(total))
        edits = {at: _short(leaf, room, tokens) for (at, leaf), tokens in zip(long, given, strict=True)}
        text = dump(changed(_copy(value), edits))
        size = room.count(text)
        if size > room.tokens:
            # JSON escapes make a text larger inside JSON than outside.
            most = min(most, total)
            total = min(total * left / max(1, size - rest), total - (size - room.tokens))
        else:
            if size > best_size:
                best, best_size = text, size
            if size >= ENOUGH * room.tokens or total >= sum(sizes):
                break
            total += (most - total) / 2 if most < float("inf") else room.tokens - size
        if total < 1:
            break
    return best


def _short(text: str, room: Room, tokens: int) -> str:
    return plain_text.extract(text, Room(tokens, room.count, room.handle, room.recall, room.query)) or SIGN


def _reduced(value: Any, room: Room) -> Any:
    """The value reduced until it fits with signs in place of its long texts."""
    if not isinstance(value, (dict, list)):
        return value if (isinstance(value, str) and len(value) > SHORT) or fits(dump(value), room) else SIGN
    if not value:
        return value
    long = [at for at, leaf in _leaves(value) if isinstance(leaf, str) and len(leaf) > SHORT]
    bare = changed(_copy(value), dict.fromkeys(long, SIGN))
    longest = max(map(len, _lists(bare)), default=0)
    for least in (LEAST_TEXT, 0):
        if _fits_cut(bare, longest, least, room):
            return value
        kept = _most(min(longest, _ITEMS * room.tokens), partial(_fits_cut, bare, least=least, room=room))
        if kept:
            return _cut(value, kept)
    bare = _cut(bare, 1)
    leaves = _leaves(bare)
    if len(leaves) <= _ITEMS * room.tokens:
        texts = sorted([(at, leaf) for at, leaf in leaves if isinstance(leaf, str)], key=lambda found: -len(found[1]))

        def signed(whole: int) -> Any:
            return changed(_copy(bare), dict.fromkeys([at for at, _ in texts[: len(texts) - whole]], SIGN))

        if fits(dump(signed(0)), room):
            return signed(_most(len(texts), lambda whole: fits(dump(signed(whole)), room)))
    return _first(bare, leaves, room)


def _fits_cut(bare: Any, length: int, least: int, room: Room) -> bool:
    """Whether it fits with at most this many items in each list and this many tokens for each long text."""
    value = _cut(bare, length)
    signs = sum(leaf == SIGN for _, leaf in _leaves(value))
    return fits(dump(value), Room(max(1, room.tokens - least * signs), room.count))


def _first(value: Any, leaves: list[tuple[Path, Any]], room: Room) -> Any:
    """The first fields, as many as fit; if not even one fits, their values become signs."""
    signs = [(at, SIGN if isinstance(leaf, str) else leaf) for at, leaf in leaves]
    for shown in (leaves, signs):
        kept = _most(min(len(shown), _ITEMS * room.tokens), partial(_fits_first, value, shown, room=room))
        if kept:
            return _made(value, shown[:kept])
    return type(value)()


def _fits_first(value: Any, leaves: list[tuple[Path, Any]], number: int, room: Room) -> bool:
    return fits(dump(_made(value, leaves[:number])), room)


def _made(value: Any, leaves: list[tuple[Path, Any]]) -> Any:
    """A value rebuilt from some leaves; lists have no gaps, because the leaves are the first ones."""
    made = type(value)()
    for at, leaf in leaves:
        holder, source = made, value
        for step in at[:-1]:
            source = source[step]
            if isinstance(holder, list):
                if step == len(holder):
                    holder.append(type(source)())
                holder = holder[-1]
            else:
                holder = holder.setdefault(step, type(source)())
        if isinstance(holder, list):
            holder.append(leaf)
        else:
            holder[at[-1]] = leaf
    return made


def _most(high: int, works: Callable[[int], bool]) -> int:
    """The largest number up to `high` that works, given that smaller ones work too; 0 if none does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if works(middle) else (low, middle - 1)
    return low


def _cut(value: Any, length: int) -> Any:
    """The value with at most this many items in each list."""
    made = _copy(value)
    for found in _lists(made):
        del found[length:]
    return made


def _copy(value: Any) -> Any:
    """A deep copy. Recursion is safe because deeper values were never parsed."""
    return json.loads(json.dumps(value))


def _leaves(value: Any) -> list[tuple[Path, Any]]:
    """The scalars and empty containers with their paths, in the order of the JSON."""
    found: list[tuple[Path, Any]] = []
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting:
        at, inner = waiting.pop()
        if inner and isinstance(inner, (dict, list)):
            pairs: Any = inner.items() if isinstance(inner, dict) else enumerate(inner)
            waiting += reversed([((*at, key), each) for key, each in pairs])
        else:
            found.append((at, inner))
    return found


def _lists(value: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, list):
            found.append(inner)
            waiting += inner
        elif isinstance(inner, Mapping):
            waiting += inner.values()
    return found
