"""Build and lint output: every error with its place first, then warnings, then the steps of the build.

Errors are shown as they were reported while there is room. Otherwise they are grouped by file, and equal messages share
a line, so that all errors fit:

    src/main.rs
      error[E0308]: mismatched types: 5:24, 14:24, 23:24
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from brim.content import line_groups
from brim.content.commands import error_lists
from brim.content.commands.diagnostics import Diagnostic, diagnostics
from brim.content.detect.command_patterns import STEP, SUMMARY
from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.selection import fits, least, plural
from brim.content.types import Room

dense = line_groups.dense
decode = line_groups.decode

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_PLAIN = re.compile(
    r"(?:.*: undefined reference to .+|collect2: error.*|ld: .+|npm (?:ERR!|error) .+|ERROR: .+|make.*: \*\*\* .+)$"
)
_MOST = 50_000
_SPARES = (1, 3, 6, 12)
_WARNINGS = 0.6  # share of what errors leave of the room
_WORDLESS = re.compile(r"[\W_]*$")


def extract(text: str, room: Room) -> str:
    """Errors, the verdict, warnings, then steps and lines from both ends.

    Example: 400 lines of cargo -> "[build output, 24 errors and 31 warnings]\\nsrc/main.rs\\n  error[E0308]: …: 5:24"
    """
    if fits(text, room):
        return text
    lines = (_ANSI.sub("", text) if "\x1b[" in text else text).split("\n")
    if room.tokens < 8:
        return least(room, plural(len(lines), "line"))
    found = diagnostics(lines[:_MOST])
    errors = [one for one in found if one.severity == "error" and (one.path or one.at)]
    others = [one for one in found if one.severity == "warning"]
    failed = plural(sum(one.severity == "error" for one in found), "error")
    warned = [plural(len(others), "warning")] if others else []
    counts = " and ".join([failed, *warned]) if found else plural(len(lines), "line")
    title = f"[build output, {counts}]"
    left = room.tokens - room.count(room.mark(f"{len(lines):,} of {len(lines):,} lines left out")) - 1
    part = title.replace("output, ", f"output, {len(errors):,} of ")
    listed, head = error_lists.Listed([], 0, False), title
    for spare in _SPARES:  # rows counted separately can add up to less than the joined text
        listed = error_lists.listed(errors, lines, left - room.count(part) - spare, room)
        shown = (
            title if listed.number in (0, len(errors)) else title.replace("output, ", f"output, {listed.number:,} of ")
        )
        head = "\n".join([shown, *listed.rows])
        if room.count(head) < left:
            break
    left -= room.count(head)
    # Where not one error fits even in few words, a line that reports one does before any warning.
    first = [] if listed.rows else [one.first for one in errors]
    rest = _rest(lines, [] if first else others, errors if listed.whole else [], first, left, room)
    return pack(*rest, room, head=head, gap="", head_share=1.0, longest=0.5)


def _rest(
    lines: Sequence[str],
    warnings: Sequence[Diagnostic],
    reported: Sequence[Diagnostic],
    first: Sequence[int],
    left: int,
    room: Room,
) -> tuple[list[str], list[Tier]]:
    """The lines to show first, the verdict, warnings by file, and lines of the build other than errors."""
    ways = ([*way(warnings, lines)] for _, way in error_lists.WAYS[1:4])
    said = next((rows for rows in ways if room.count("\n".join(rows)) <= _WARNINGS * left), [])
    said = said or list(error_lists.once_each(warnings, lines))
    start = len(said)
    covered = {row for one in reported for row in range(one.first, one.end)}
    made = [*said, *("" if row in covered else line for row, line in enumerate(lines))]
    free = [row for row in range(len(lines)) if row not in covered]
    summary = [start + row for row in free if SUMMARY.match(lines[row]) or _PLAIN.match(lines[row])]
    summary = sorted(summary[-20:], key=lambda row: "error" not in made[row].lower())
    steps = [start + row for row in free if STEP.match(lines[row])]
    query = matching(lines, room)
    return made, [
        Tier(start + row for row in first),
        Tier(summary, 0.4),
        Tier([start + row for row in query.order if row not in covered], query.share),
        Tier(range(start), 0.6),
        Tier(reversed(steps), 0.6),  # how far a build got matters more than how it began
        Tier(start + row for row in head_and_tail(lines) if row not in covered and not _WORDLESS.match(lines[row])),
    ]
