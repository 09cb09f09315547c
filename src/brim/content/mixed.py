"""Content inside other content: each part gets its own compactor and a share of the room.

The words around a paste come first, because they say what it is about; small parts stay whole.
"""

from __future__ import annotations

from dataclasses import replace

from brim.content import module_of, plain_text, record_list
from brim.content.detect.blocks import blocks
from brim.content.detect.by_content import sniff
from brim.content.record_list import is_record_list
from brim.content.selection import shares
from brim.content.types import Room
from brim.errors import MissingExtra

# Kinds that contain others; parts of these kinds aren't split again, so that nesting ends.
HOLDERS = ("markdown", "xml", "text")
_WORDS_SHARE = 0.5
_SMALLEST = 400
_MOST = 40


def inner(text: str, room: Room, kind: str = "") -> str:
    """The extract of a part by the compactor of its kind, or a plain one if that is missing or has no extracts."""
    kind = kind or sniff(text)
    if kind in ("prose", "markdown", "text", "code") and is_record_list(text):
        return record_list.extract(text, room)
    if kind in HOLDERS:
        return plain_text.extract(text, room)
    try:
        made: str = module_of(kind).extract(text, room)
    except MissingExtra:
        return plain_text.extract(text, room)
    return made if room.count(made) <= room.tokens else plain_text.extract(text, room)


def by_parts(text: str, room: Room) -> str | None:
    """The words of a text that is mostly pastes, with an extract of each paste; None for other texts.

    Example: "Why?\\n```\\n…900 log lines…\\n```\\n" -> "Why?\\n```\\n…the log's extract…\\n```\\n"
    """
    spans = blocks(text, _SMALLEST)
    if not spans or len(spans) > _MOST or sum(one.end - one.start for one in spans) < 0.5 * len(text):
        return None
    parts: list[tuple[str, str]] = []  # a part and its kind; "" for the words around pastes
    at = 0
    for one in spans:
        parts += [(text[at : one.start], ""), (text[one.start : one.end], one.kind)]
        at = one.end
    parts.append((text[at:], ""))
    sizes = [room.count(part) for part, _ in parts]
    limit = room.tokens
    for _ in range(3):
        made = _shared(parts, sizes, replace(room, tokens=limit))
        over = room.count(made) - room.tokens
        if over <= 0:
            return made
        limit -= over + 2  # tokens can split differently where parts are joined
    return None


def _shared(parts: list[tuple[str, str]], sizes: list[int], room: Room) -> str:
    is_paste = [bool(kind) for _, kind in parts]
    words = [size for size, paste in zip(sizes, is_paste, strict=True) if not paste]
    pastes = [size for size, paste in zip(sizes, is_paste, strict=True) if paste]
    for_words = shares(words, min(sum(words), int(room.tokens * _WORDS_SHARE)))
    for_pastes = shares(pastes, room.tokens - sum(for_words))
    given = {True: iter(for_pastes), False: iter(for_words)}
    out: list[str] = []
    left = 0
    for (part, kind), size in zip(parts, sizes, strict=True):
        share = next(given[bool(kind)]) + left
        if size <= share:
            out.append(part)
            left = share - size
            continue
        end = "\n" if part.endswith("\n") else ""
        made = inner(part, replace(room, tokens=max(0, share - 1)), kind)
        out.append(made if made.endswith("\n") else made + end)
        left = max(0, share - room.count(out[-1]))
    return "".join(out)
