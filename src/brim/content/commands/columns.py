"""Tables that programs print (ps, df, psql, pip list): header, rows of the query, unusual rows, rows from both ends.

Example: 120 rows of `ps` -> "[table, 120 rows]\n  PID  TTY  CMD\n    1  ?  init\n[… 80 of 120 rows left out]"
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.logs.lines import is_severe
from brim.content.selection import fits, least, plural
from brim.content.types import Room

_PADDING = re.compile(r"(?<=\S) {3,}(?=\S)")
_RULES = re.compile(r"[-─━═]{4,}")
_RULE = re.compile(r"[\s|+:=─━═│┃┼┌┬┐├┤└┴┘╭╮╰╯-]{5,}$")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
# Lines to search for the header: `top` has six lines before its header.
_HEADERS = 8
# If a column has one value in at least this share of the rows, any other value is unusual.
_USUAL = 0.5
_UNUSUAL_SHARE = 0.6
_MOST_ROWS = 20_000


def extract(text: str, room: Room) -> str:
    """The header, rows that match the query or report an error, unusual rows, then rows from both ends."""
    if fits(text, room):
        return text
    lines = [_narrowed(line) for line in text.split("\n") if line.strip()]
    if room.tokens < 8:
        return least(room, plural(len(lines), "row"))
    first = header(lines)
    rows = [index for index, line in enumerate(lines) if index > first and not _RULE.match(line)]
    tiers = [
        Tier(range(min(first + 1, len(lines))), 0.5),
        matching(lines, room, 0.5),
        Tier([index for index in rows if is_severe(lines[index])], 0.3),
        Tier(_unusual(lines, rows), _UNUSUAL_SHARE),
        Tier(index for index in head_and_tail(lines) if not _RULE.match(lines[index])),
    ]
    sizes = [0] * len(lines)
    for index in rows:
        sizes[index] = 1
    head = f"[table, {plural(len(rows), 'row')}]"
    return pack(lines, tiers, room, head=head, gap="", unit="rows", sizes=sizes)


def _narrowed(line: str) -> str:
    """The table with little padding: two spaces still separate the cells, and rules are short."""
    return _PADDING.sub("  ", _RULES.sub("---", line)).rstrip()


def _unusual(lines: Sequence[str], rows: Sequence[int]) -> list[int]:
    """Rows with values that are unusual for their columns, most unusual values first.

    Example: of 100 rows of `ps` with 90 kernel threads that use no memory, the 10 processes that do
    """
    cells = {index: lines[index].split() for index in rows[:_MOST_ROWS]}
    columns = min(Counter(map(len, cells.values())).most_common(1)[0][0] if cells else 0, 40)
    odd = dict.fromkeys(cells, 0)
    for column in range(columns):
        values = Counter(row[column] for row in cells.values() if len(row) > column)
        value, times = values.most_common(1)[0]
        if times < _USUAL * len(cells):
            continue
        for index, row in cells.items():
            odd[index] += len(row) > column and row[column] != value
    return [index for index in sorted(odd, key=lambda index: (-odd[index], index)) if odd[index]]


def header(lines: Sequence[str]) -> int:
    """The number of the header line: the one before a rule, or of the first lines, the one with the fewest numbers."""
    for index, line in enumerate(lines[:_HEADERS]):
        if index and _RULE.match(line) and lines[index - 1].strip() and not _RULE.match(lines[index - 1]):
            return index - 1
    told = [index for index, line in enumerate(lines[:_HEADERS]) if len(line.split()) > 1 and not _RULE.match(line)]
    return min(told, key=lambda index: (len(_NUMBER.findall(lines[index])), index), default=0)
