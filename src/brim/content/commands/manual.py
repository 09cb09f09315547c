"""Manual pages and help texts: the usage, the sections, and every option and command by name.

Example: `docker --help` in 100 tokens -> "[manual, 93 lines, 5 sections]\nUsage: docker …\nCommands:\n  run, exec, …"
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, groupby

from brim.content.detect.command_patterns import MANUAL_HEADING, OPTION, USAGE
from brim.content.line_packing import Tier, head_and_tail, pack
from brim.content.selection import fits, least, plural
from brim.content.types import Room
from brim.relevance import query_match

_AROUND = 4  # lines to show after a match, because an option's description is below it
_USAGE_LINES = 4
# A command and its description, in two columns.
_COMMAND = re.compile(r"\s{1,8}(?=\S{1,40}(?:\s{2,}|\*\s+)[A-Z(a-z])(?P<name>[\w@][\w.:@/-]*)")
_LONG_OPTION = re.compile(r"--[\w\[\]-]+|-{1,2}[\w?#@]+")
# If the lines of options and commands take more than this share of the room, only their names are shown.
_ENTRIES = 0.6
_NAMES = 8  # names per line
# How much deeper than most an option may be indented; a description can begin with another option's name.
_DEEPER = 4


def extract(text: str, room: Room) -> str:
    """Usage, headings and lines that match the query, then every option and command, then the rest from both ends."""
    if fits(text, room):
        return text
    lines = text.split("\n")
    if room.tokens < 8:
        return least(room, plural(len(lines), "line"))
    headings = [index for index, line in enumerate(lines) if MANUAL_HEADING.match(line)]
    entries = _entries(lines)
    usage = [index for index, line in enumerate(lines) if USAGE.match(line)][:3]
    asked = list(_asked(lines, room))
    sections = f", {plural(len(headings), 'section')}" if headings else ""
    head = f"[manual, {plural(len(lines), 'line')}{sections}]"
    shown = list(entries)
    if room.count("\n".join(lines[index] for index in entries)) > room.tokens * _ENTRIES:
        lines, shown = _by_name(lines, entries, {*asked, *headings})
    tiers = [
        Tier(_below(lines, usage, _USAGE_LINES), 0.25),
        Tier(asked, 0.5),
        Tier(headings, 0.4),
        Tier(shown, 0.8),
        Tier(_explained(lines, shown, entries)),
        Tier(index for index in head_and_tail(lines) if index not in entries),
    ]
    return pack(lines, tiers, room, head=head, gap="")


def _entries(lines: Sequence[str]) -> dict[int, str]:
    """The lines that begin with an option or a command, each with its name, the longest of several."""
    found: dict[int, str] = {}
    indents = Counter(_indent(line) for line in lines if OPTION.match(line))
    most = indents.most_common(1)[0][0] + _DEEPER if indents else 0
    for index, line in enumerate(lines):
        if OPTION.match(line) and _indent(line) < most:
            found[index] = max(_LONG_OPTION.findall(line.strip().split("  ", 1)[0]), key=len, default="")
        elif command := _COMMAND.match(line):
            found[index] = command["name"]
    return {index: name for index, name in found.items() if name}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _by_name(lines: Sequence[str], entries: dict[int, str], kept: set[int]) -> tuple[list[str], list[int]]:
    """The lines with each section's names in place of its first entries, and the numbers of those lines."""
    made = list(lines)
    shown: list[int] = []
    section = list(accumulate(bool(MANUAL_HEADING.match(line)) for line in lines))
    for _, together in groupby((index for index in entries if index not in kept), key=section.__getitem__):
        group = list(together)
        names = list(dict.fromkeys(entries[index] for index in group))
        for at in range(0, len(names), _NAMES):
            line = group[at // _NAMES]
            made[line] = f"  {', '.join(names[at : at + _NAMES])}"
            shown.append(line)
    return made, shown


def _explained(lines: Sequence[str], shown: Sequence[int], entries: Collection[int]) -> Iterator[int]:
    """The first line of each option's description."""
    below = (index + 1 for index in shown)
    yield from (index for index in below if index < len(lines) and index not in entries and lines[index].strip())


def _asked(lines: Sequence[str], room: Room) -> Iterator[int]:
    best = list(query_match.ranked(lines, room.query))[:20] if room.query else []
    yield from _below(lines, best, _AROUND)


def _below(lines: Sequence[str], firsts: Sequence[int], number: int) -> Iterator[int]:
    for first in firsts:
        yield from (index for index in range(first, min(len(lines), first + number)) if lines[index].strip())
