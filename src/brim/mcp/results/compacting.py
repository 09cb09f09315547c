"""The seam to the compactors: one result's text, at a level, within a budget."""

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

# A changed text has to be worth the change: this share of its tokens, and this many.
_WORTH_SHARE = 0.12
_WORTH_TOKENS = 40
# A text with more characters than this for each token of its budget is extracted without being counted.
_FAR_OVER = 40
_SHAPED_CHARS = 4 << 20
# Beyond this only lines are looked at: a parsed value would take gigabytes and most of a minute.
_STRUCTURED_CHARS = 16 << 20


@dataclass(frozen=True, slots=True)
class Compact:
    """A text for the model. `same` means that nothing was changed."""

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

    full      as it is, when it fits
    standard  losslessly smaller where that is worth it; known shapes in their short form
    compact, minimal   known shapes with what is acted on, then the same
    """
    hint = Hint(tool=tool)
    if len(text) > budget * _FAR_OVER:
        return _extract(text, budget, hint, keep, recall, query)
    size = count_tokens(text)
    if level == "full" and size <= budget:
        return Compact(text, size, "same")
    if level != "full":
        shaped = _shaped(text, size, level, budget, tool, keep, recall, shapes)
        if shaped is not None:
            return shaped
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
    """The short form of a known JSON shape, None when the text has none or it does not help."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _SHAPED_CHARS:
        return None
    try:
        value = parse(text)
    except ValueError:
        return None
    shape = shape_for(value, tool, shapes)
    if shape is None:
        return None
    try:
        short = dump(apply(value, shape, level)).decode()
    except Exception as problem:  # then it is compacted as any other JSON
        incidents.note("compactor", problem)
        return None
    dense = Compactor(short, count_tokens, "json").dense()
    short = dense.text if dense is not None else short
    mark_room = Room(0, count_tokens, "brim:" + "0" * 32, recall)
    if not _worth(size, count_tokens(short) + count_tokens(mark_room.mark("some fields"))):
        return None
    handle = keep(text)
    room = Room(budget, count_tokens, handle, recall and bool(handle))
    marked = f"{short}\n{room.mark('some fields')}"
    taken = count_tokens(marked)
    return Compact(marked, taken, "recoverable", handle) if taken <= budget else None


def _extract(text: str, budget: int, hint: Hint, keep: Callable[[str], str], recall: bool, query: str) -> Compact:
    handle = keep(text)
    room = Room(budget, count_tokens, handle, recall and bool(handle), query)
    short = _short(text, room, hint)
    return Compact(short, count_tokens(short), "recoverable", handle)


def _short(text: str, room: Room, hint: Hint) -> str:
    """What the compactor of its kind makes of a text; its beginning and end where that fails."""
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
