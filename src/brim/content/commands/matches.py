"""What a search found: one match of every file first, those of the query before them, then the others in turn.

Example: 300 lines "path:line:text" -> "[search, 300 matches in 41 files]\\n<the first of each file>\\n…[… 259 …]"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brim.content import line_groups
from brim.content.detect.command_patterns import MATCH, MATCH_BELOW, PATH_ALONE
from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.selection import fits, least, plural
from brim.content.types import Room

dense = line_groups.dense
decode = line_groups.decode

# Matches of one file beyond this many wait until every other file has shown as many.
_ROUNDS = 12


def extract(text: str, room: Room) -> str:
    """Paths with their first matches, then more of each file in turn, until the room is full."""
    if fits(text, room):
        return text
    lines = text.split("\n")
    if room.tokens < 8:
        return least(room, plural(len(lines), "line"))
    files = by_file(lines)
    found = sum(map(len, files.values()))
    named = [index for index, line in enumerate(lines) if PATH_ALONE.match(line)]
    tiers = [
        matching(lines, room, 0.4),
        Tier(named, 0.4),
        Tier(_in_turn(list(files.values()))),
        Tier(head_and_tail(lines)),
    ]
    head = f"[search, {plural(found, 'match')} in {plural(max(1, len(files)), 'file')}]"
    return pack(lines, tiers, room, head=head, gap="")


def by_file(lines: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of the lines that match, by their path; context lines and separators are left out."""
    files: dict[str, list[int]] = {}
    path = ""
    for index, line in enumerate(lines):
        found = MATCH.match(line)
        if found is not None and found.group(1):
            files.setdefault(line[: found.start(1) - 1], []).append(index)
        elif MATCH_BELOW.match(line):
            files.setdefault(path, []).append(index)
        elif PATH_ALONE.match(line):
            path = line
    return files


def _in_turn(files: Sequence[Sequence[int]]) -> Iterator[int]:
    for round_ in range(_ROUNDS):
        for indices in files:
            if round_ < len(indices):
                yield indices[round_]
    for indices in files:
        yield from indices[_ROUNDS:]
