"""Histories (git log): every commit's hash and subject first, then dates and authors, then bodies, files and patches.

Example: "commit 3f2a9c…\\nAuthor: …\\nDate: …\\n\\n    Keep calls\\n\\n a.py | 2 +-" ->
         "[git log, 50 commits, …]\\n3f2a9c01 Keep calls\\n…"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from brim.content.detect.command_patterns import COMMIT, GRAPH, SUBJECT
from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.selection import fits, least, plural
from brim.content.types import Room

_FIELD = re.compile(r"(?:[*|\\/_ ]{0,40})?(Author|AuthorDate|Commit|CommitDate|Date|Merge): +(.*)$")
_HASH = re.compile(r"\b[0-9a-f]{7,64}\b")
_SHORT = 8  # characters of a hash to keep
# A line of --stat or its total, which says more about a commit than a line of a patch.
_STAT = re.compile(r"\s\S.*\|\s+\d+|\s\d+ files? changed|\d+\t\d+\t|[AMDRC]\d*\t")


@dataclass(slots=True)
class Commit:
    """A commit: its first line, and the fields of its header."""

    first: int
    title: str
    date: str = ""
    subject: int = -1


def extract(text: str, room: Room) -> str:
    """As many subjects as fit, newest first, then stats and bodies of the newest commits."""
    if fits(text, room):
        return text
    lines = text.split("\n")
    found = list(entries(lines))
    if room.tokens < 8 or not found:
        return least(room, plural(len(lines), "line"))
    made = list(lines)
    for entry in found:
        made[entry.first] = titled(entry, lines)
    firsts = [entry.first for entry in found]
    said = {entry.subject for entry in found} | set(firsts)
    rest = [index for index in range(len(lines)) if index not in said and not is_dull(lines[index])]
    stats = [index for index in rest if _STAT.match(lines[index])]
    tiers = [matching(made, room, 0.3), Tier(firsts), Tier(stats, 0.5), Tier(rest), Tier(head_and_tail(made))]
    return pack(made, tiers, room, head=_head(found), gap="", head_share=0.4)


def entries(lines: Sequence[str]) -> Iterator[Commit]:
    entry: Commit | None = None
    for index, line in enumerate(lines):
        if COMMIT.match(line):
            if entry is not None:
                yield entry
            found = _HASH.search(line)
            entry = Commit(index, found.group()[:_SHORT] if found else line)
        elif SUBJECT.match(line) and (entry is None or entry.subject == entry.first):
            if entry is not None:
                yield entry
            entry = Commit(index, line, subject=index)
        elif entry is not None and (field := _FIELD.match(line)):
            if field.group(1).endswith("Date") and not entry.date:
                entry.date = field.group(2)
        elif entry is not None and entry.subject < 0 and line.strip(" *|\\/_"):
            entry.subject = index
    if entry is not None:
        yield entry


def titled(entry: Commit, lines: Sequence[str]) -> str:
    if entry.subject == entry.first:
        return entry.title
    return f"{entry.title} {lines[entry.subject].strip(' *|')}" if entry.subject >= 0 else entry.title


def is_dull(line: str) -> bool:
    return not line.strip() or GRAPH.match(line) is not None or _FIELD.match(line) is not None


def _head(entries: Sequence[Commit]) -> str:
    dates = [entry.date for entry in entries if entry.date]
    span = f", {dates[-1]} to {dates[0]}" if len(dates) > 1 else ""
    return f"[git log, {plural(len(entries), 'commit')}{span}]"
