"""The seam to the ladders: one result's text, at a level, within a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from brim.docsearch.sizes import count_tokens
from brim.ladders import plain
from brim.ladders.rung import Room
from brim.mcp.options import Level

__all__ = ["Compact", "compact_text", "count_tokens"]


@dataclass(frozen=True, slots=True)
class Compact:
    """A text for the model. `same` means that nothing was changed."""

    text: str
    tokens: int
    fidelity: Literal["same", "lossless", "recoverable"]
    handle: str = ""


def compact_text(
    text: str, level: Level, budget: int, *, tool: str, keep: Callable[[str], str], recall: bool, query: str = ""
) -> Compact:
    """Return the text at `level` in at most `budget` tokens; `keep` stashes it when something is left out."""
    if len(text) <= budget * 12 and (size := count_tokens(text)) <= budget:
        return Compact(text, size, "same")
    handle = keep(text)
    room = Room(budget, count_tokens, handle, recall and bool(handle), query)
    short = plain.extract(text, room)
    return Compact(short, count_tokens(short), "recoverable", handle)
