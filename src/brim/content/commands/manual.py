"""Manual pages and help texts: how the program is called, its sections, and the options that the query names.

Example: `man tar` in 500 tokens -> "[manual, 1,012 lines, 14 sections]\\nNAME\\n…\\n       -c, --create\\n…"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brim.content.detect.command_patterns import MANUAL_HEADING, OPTION, USAGE
from brim.content.line_packing import Tier, head_and_tail, pack
from brim.content.selection import fits, least, plural
from brim.content.types import Room
from brim.relevance import query_match

_AROUND = 4  # lines after one that speaks of the query: what an option does is said below it
_USAGE_LINES = 4


def extract(text: str, room: Room) -> str:
    """Usage, headings and what the query asks for; then every option's own line; then the rest from both ends."""
    if fits(text, room):
        return text
    lines = text.split("\n")
    if room.tokens < 8:
        return least(room, plural(len(lines), "line"))
    headings = [index for index, line in enumerate(lines) if MANUAL_HEADING.match(line)]
    options = [index for index, line in enumerate(lines) if OPTION.match(line)]
    usage = [index for index, line in enumerate(lines) if USAGE.match(line)][:3]
    tiers = [
        Tier(_below(lines, usage, _USAGE_LINES), 0.25),
        Tier(_asked(lines, room), 0.5),
        Tier(headings, 0.3),
        Tier(options, 0.7),
        Tier(head_and_tail(lines)),
    ]
    sections = f", {plural(len(headings), 'section')}" if headings else ""
    return pack(lines, tiers, room, head=f"[manual, {plural(len(lines), 'line')}{sections}]", gap="")


def _asked(lines: Sequence[str], room: Room) -> Iterator[int]:
    best = list(query_match.ranked(lines, room.query))[:20] if room.query else []
    yield from _below(lines, best, _AROUND)


def _below(lines: Sequence[str], firsts: Sequence[int], number: int) -> Iterator[int]:
    for first in firsts:
        yield from (index for index in range(first, min(len(lines), first + number)) if lines[index].strip())
