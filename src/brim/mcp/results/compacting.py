"""Compacts the text of one result at a level, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from brim import incidents
from brim.content import Compactor, Hint, module_of, plain_text
from brim.content.detect import detect
from brim.content.reshape import SHAPES, Shape, apply, shape_for
from brim.content.types import Room
from brim.docsearch.sizes import count_tokens
from brim.errors import MissingExtra
from brim.head_tail import head_and_tail
from brim.mcp.options import Level
from brim.mcp.transport.json_rpc import dump, parse

__all__ = ["Compact", "compact_text", "count_tokens"]

# A changed text must save at least this share of its tokens, and this many.
_WORTH_SHARE = 0.12
_WORTH_TOKENS = 40
# A text with more characters than this per token of budget is extracted without being counted.
_FAR_OVER = 40
_SHAPED_CHARS = 4 << 20
# Levels from longest to shortest, in the order that a budget steps down.
_STEPS: tuple[Level, ...] = ("full", "standard", "compact", "minimal")
# Larger texts are treated as lines, because parsing them would take gigabytes and most of a minute.
_STRUCTURED_CHARS = 16 << 20


@dataclass(frozen=True, slots=True)
class Compact:
    """A text for the model. `same` means it is unchanged."""

    text: str
    tokens: int
    fidelity: Literal["same", "lossless", "recoverable"]
    handle: str = ""


def compact_text(
    text: str,
    level: Level,
    budget: int,
    *,
    tool: str,
    keep: Callable[[str], str],
    recall: bool,
    query: str = "",
    shapes: Sequence[Shape] = SHAPES,
) -> Compact:
    """Return the text at `level` in at most `budget` tokens; `keep` archives it when something is left out.

    full      as it is, when it fits; search hits in their short form at every level
    standard  losslessly smaller where that is worth it; known shapes in their short form
    compact, minimal   known shapes with what is acted on, then the same
    """
    hint = Hint(tool=tool)
    far = len(text) > budget * _FAR_OVER
    size = len(text) // 4 if far else count_tokens(text)
    shaped = _shaped(text, size, level, budget, tool, keep, recall, shapes)
    if shaped is not None:
        return shaped
    if far:
        return _extract(text, budget, hint, keep, recall, query)
    if level == "full" and size <= budget:
        return Compact(text, size, "same")
    compactor = Compactor(text, count_tokens, None, hint)
    dense = compactor.dense()
    if dense is not None and _worth(size, less := count_tokens(dense.text)) and less <= budget:
        return Compact(dense.text, less, "lossless")
    if size <= budget:
        return Compact(text, size, "same")
    return _extract(text, budget, hint, keep, recall, query)


def _worth(before: int, after: int) -> bool:
    return before - after >= max(_WORTH_TOKENS, before * _WORTH_SHARE)


def _shaped(
    text: str,
    size: int,
    level: Level,
    budget: int,
    tool: str,
    keep: Callable[[str], str],
    recall: bool,
    shapes: Sequence[Shape],
) -> Compact | None:
    """A known JSON shape at the first level from `level` on that fits; None if there is none or it doesn't help.

    If not even the smallest fits, it shows fewer rows, each with its place, kind and name.
    """
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _SHAPED_CHARS:
        return None
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        return None
    shape = shape_for(value, tool, shapes)
    if shape is None or (level == "full" and size <= budget and not shape.always):
        return None
    try:
        for step in _STEPS[_STEPS.index(level) :]:
            made = apply(value, shape, step)
            found = _told(dump(made).decode(), size, step == level, budget, text, keep, recall)
            if found is not None:
                return found
            if step == level and size <= budget:
                return None  # it fits unchanged, and the short form isn't shorter
        return _rows(made, text, budget, keep, recall)
    except Exception as problem:  # compacted like any other JSON
        incidents.note("compactor", problem)
        return None


def _told(
    short: str, size: int, asked: bool, budget: int, text: str, keep: Callable[[str], str], recall: bool
) -> Compact | None:
    """A short form with its mark, if it is worthwhile and within the budget."""
    dense = Compactor(short, count_tokens, "json").dense()
    short = dense.text if dense is not None else short
    mark_room = Room(0, count_tokens, "brim:" + "0" * 32, recall)
    least = count_tokens(short) + count_tokens(mark_room.mark("some fields"))
    if (asked and not _worth(size, least)) or least > budget + 8:
        return None
    handle = keep(text)
    marked = f"{short}\n{Room(budget, count_tokens, handle, recall and bool(handle)).mark('some fields')}"
    taken = count_tokens(marked)
    return Compact(marked, taken, "recoverable", handle) if taken <= budget else None


def _rows(made: object, text: str, budget: int, keep: Callable[[str], str], recall: bool) -> Compact | None:
    """The first rows of the longest list of a value, as many as fit, each whole."""
    rows = _longest(made)
    if len(rows) < 2:
        return None
    lines = [dump(row).decode() for row in rows]
    handle = keep(text)
    room = Room(budget, count_tokens, handle, recall and bool(handle))

    def shown(number: int) -> str:
        left = len(rows) - number
        return "\n".join([*lines[:number], room.mark(f"{left:,} more of {len(rows):,}")])

    low, high = 0, len(rows)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(shown(middle)) <= budget else (low, middle - 1)
    if not low:
        return None
    return Compact(shown(low), count_tokens(shown(low)), "recoverable", handle)


def _longest(value: object, depth: int = 0) -> list[object]:
    """The list with the most objects inside a value."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return value
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [_longest(one, depth + 1) for one in inside] if depth < 4 else []
    return max(found, key=len, default=[])


def _extract(text: str, budget: int, hint: Hint, keep: Callable[[str], str], recall: bool, query: str) -> Compact:
    handle = keep(text)
    room = Room(budget, count_tokens, handle, recall and bool(handle), query)
    short = _short(text, room, hint)
    return Compact(short, count_tokens(short), "recoverable", handle)


def _short(text: str, room: Room, hint: Hint) -> str:
    """A text shortened by its kind's compactor; its beginning and end if that fails."""
    try:
        kind = detect(text, hint) if len(text) <= _STRUCTURED_CHARS else "text"
        extract = getattr(module_of(kind), "extract", plain_text.extract)
        try:
            return str(extract(text, room))
        except MissingExtra:
            return plain_text.extract(text, room)
    except Exception as problem:
        incidents.note("compactor", problem)
        return head_and_tail(text, room.tokens, room.count, room.handle)
