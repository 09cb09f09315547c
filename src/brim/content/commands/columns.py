"""Tables that programs print (ps, df, psql, pip list): header, rows of the query, then rows from both ends.

Example: 120 rows of `ps` -> "[table, 120 rows]\\n  PID  TTY  CMD\\n    1  ?  init\\n…\\n[… 80 of 121 rows left out]"
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.logs.lines import is_severe
from brim.content.selection import fits, least, plural
from brim.content.types import Room

_PADDING = re.compile(r"(?<=\S) {3,}(?=\S)")
_RULES = re.compile(r"[-─━═]{4,}")
_RULE = re.compile(r"[\s|+:=─━═│┃┼┌┬┐├┤└┴┘╭╮╰╯-]{5,}$")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
# Headers stand among the first lines: `top` has six lines before its header.
_HEADERS = 8


def extract(text: str, room: Room) -> str:
    """The header, then rows that speak of the query or of an error, then rows from both ends; padding is narrowed."""
    if fits(text, room):
        return text
    lines = [_narrowed(line) for line in text.split("\n")]
    if room.tokens < 8:
        return least(room, plural(len(lines), "row"))
    first = header(lines)
    rows = [line for line in lines if line.strip() and not _RULE.match(line)]
    severe = [index for index, line in enumerate(lines) if index > first and is_severe(line)]
    tiers = [
        Tier([first], 0.5),
        matching(lines, room, 0.5),
        Tier(severe, 0.3),
        Tier(index for index in head_and_tail(lines) if not _RULE.match(lines[index])),
    ]
    return pack(lines, tiers, room, head=f"[table, {plural(len(rows) - 1, 'row')}]", gap="", unit="rows")


def _narrowed(line: str) -> str:
    """Without most of its padding: two spaces still part its cells, and rules are short."""
    return _PADDING.sub("  ", _RULES.sub("---", line))


def header(lines: Sequence[str]) -> int:
    """The number of the line that names the columns: before a rule, or the one of the first with fewest numbers."""
    for index, line in enumerate(lines[:_HEADERS]):
        if index and _RULE.match(line) and lines[index - 1].strip() and not _RULE.match(lines[index - 1]):
            return index - 1
    told = [index for index, line in enumerate(lines[:_HEADERS]) if len(line.split()) > 1 and not _RULE.match(line)]
    return min(told, key=lambda index: (len(_NUMBER.findall(lines[index])), index), default=0)
