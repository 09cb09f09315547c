"""The types of every compactor: a form is one rendition of a content, a room is the space it may use.

A content kind is one file in this package with up to three functions:

    dense(text) -> str | None           a smaller text that decode() turns back; None if there is none
    decode(text) -> object              the inverse of dense
    extract(text, room) -> str          at most room.tokens tokens, with room.mark for what is left out
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brim.count_text import CountText

Fidelity = Literal["lossless", "recoverable"]


@dataclass(frozen=True, slots=True)
class Room:
    """The tokens an extract may use, and how it marks omissions.

    `handle` is where to find the original ("brim:3f2a…"), empty if nobody keeps it. `recall` says whether the
    reader really has a tool to fetch it; only then do marks suggest that. `query` is what the reader is looking
    for; relevant parts are kept first. `name` is the name of the content, if known. `rounds` is how often an
    extract may be remade to fill its room; nested content gets fewer rounds, or the work would double with every
    level.

    Example: Room(200, count, "brim:3f2a", recall=True).mark("74 more rows")
             -> "[… 74 more rows, recall brim:3f2a]"
    """

    tokens: int
    count: CountText
    handle: str = ""
    recall: bool = False
    query: str = ""
    name: str = ""
    rounds: int = 6

    def inside(self, tokens: int) -> Room:
        """Room for a part of the content, whose omissions the mark of the whole covers."""
        return Room(tokens, self.count, query=self.query, rounds=max(1, self.rounds // 3))

    def mark(self, left_out: str) -> str:
        if not self.handle:
            return f"[… {left_out}]"
        return f"[… {left_out}, {'recall ' if self.recall else ''}{self.handle}]"

    def fits(self, text: str) -> bool:
        # A token is at least one byte, so a text with no more bytes than tokens fits without being counted.
        return len(text) * 4 <= self.tokens or self.count(text) <= self.tokens


@dataclass(frozen=True, slots=True)
class ContentForm:
    """One rendition of a content."""

    text: str
    fidelity: Fidelity
    note: str
