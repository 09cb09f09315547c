"""Text of unknown kind: its ends, lines that match the query, and lines that say something new.

Example: 240 lines -> "[240 lines]\\n<the first>\\n<one of each shape>\\n<the last>\\n[… 180 of 240 lines left out]"
"""

from __future__ import annotations

from brim.content import plain_text
from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.logs.lines import by_news, find_shapes
from brim.content.selection import fits, plural
from brim.content.types import Room

# Texts with fewer or longer lines than these keep only both ends.
_FEWEST, _WIDEST = 20, 300
# Share of the room for the beginning and end, which show what a text is; the rest is for lines that occur once.
_ENDS = 0.4


def extract(text: str, room: Room) -> str:
    """Lines from both ends, then lines by how much each adds to those before it."""
    if fits(text, room):
        return text
    number = text.count("\n") + 1
    if number < _FEWEST or len(text) > _WIDEST * number or room.tokens < 8:
        return plain_text.extract(text, room)
    lines = text.split("\n")
    order = by_news(find_shapes(text, lines), lines, room.count, room.tokens)
    ends = [index for index in head_and_tail(lines) if lines[index].strip()]
    tiers = [matching(lines, room), Tier(ends, _ENDS), Tier([shape.shortest for shape in order]), Tier(ends)]
    return pack(lines, tiers, room, head=f"[{plural(number, 'line')}]", gap="")
