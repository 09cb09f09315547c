"""What every compactor is made of: a form is one rendition of a content, a room is what it may take.

A content kind is one file in this package with up to three functions:

    dense(text) -> str | None           a smaller text that decode() turns back; None if there is none
    decode(text) -> object              the inverse of dense
    extract(text, room) -> str          at most room.tokens tokens; what is left out is marked by room.mark
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brim.count_text import CountText

Fidelity = Literal["lossless", "recoverable"]


@dataclass(frozen=True, slots=True)
class Room:
    """How much an extract may take, and how it names what it leaves out.

    `handle` is where the original can be found ("brim:3f2a…"), empty when nothing keeps it. `recall` says
    whether the reader really has a tool to fetch it: only then does a mark tell them to. `query` is what
    the reader is after; relevant parts stay first. `name` is what the content is called, where that is known.
    `rounds` is how often an extract may be made again to fill its room; what is inside another gets fewer, or the work
    would double with every level.

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
        """Room for a part of the content, which the mark of the whole stands for."""
        return Room(tokens, self.count, query=self.query, rounds=max(1, self.rounds // 3))

    def mark(self, left_out: str) -> str:
        if not self.handle:
            return f"[… {left_out}]"
        return f"[… {left_out}, {'recall ' if self.recall else ''}{self.handle}]"

    def fits(self, text: str) -> bool:
        # A token is at least one byte, so a text with no more bytes than tokens fits without counting it.
        return len(text) * 4 <= self.tokens or self.count(text) <= self.tokens


@dataclass(frozen=True, slots=True)
class ContentForm:
    """One rendition of a content."""

    text: str
    fidelity: Fidelity
    note: str
