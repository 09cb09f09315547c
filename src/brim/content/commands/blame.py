"""Line authorship (git blame): every commit once with its author, date and lines, then the lines themselves.

Example: 119 lines -> "[git blame, 119 lines of 7 commits]\n6d739e07 Ana 2026-11-16: 3-5,7-20\n1) import re\n[…]"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, takewhile

from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.selection import fits, least, plural, ranges
from brim.content.types import Room

_LINE = re.compile(
    r"(?P<hash>\^?[0-9a-f]{7,40}) (?:[^\s(]\S* +)?\(?"
    r"(?:(?P<author>\S.*?) +(?P<date>\d{4}-\d\d-\d\d) \S+ \S+)? *(?P<line>\d+)\)(?P<text>.*)$"
)
_SHORT = 8  # characters of a hash to keep
_COMMITS_SHARE = 0.6


def extract(text: str, room: Room) -> str:
    """The commits with their lines, those with the most lines first, then the text of lines from both ends."""
    if fits(text, room):
        return text
    written = text.split("\n")
    found = [match for line in written if (match := _LINE.match(line))]
    if room.tokens < 8 or not found:
        return least(room, plural(len(written), "line"))
    commits: dict[str, list[int]] = {}
    for match in found:
        name = f"{match['hash'].lstrip('^')[:_SHORT]} {match['author'] or ''} {match['date'] or ''}".rstrip()
        commits.setdefault(name, []).append(int(match["line"]))
    lines = [f"{match['line']}){match['text']}" for match in found]
    head = f"[git blame, {plural(len(found), 'line')} of {plural(len(commits), 'commit')}]"
    told = "\n".join([head, *_told(commits, room)])
    tiers = [matching(lines, room, 0.5), Tier(head_and_tail(lines))]
    return pack(lines, tiers, room, head=told, gap="", head_share=0.9)


def _told(commits: Mapping[str, Sequence[int]], room: Room) -> Iterator[str]:
    """As many commits as fit, in the order of their first lines."""
    rows = {name: f"{name}: {ranges(lines)}" for name, lines in commits.items()}
    most = sorted(rows, key=lambda name: -len(commits[name]))
    costs = accumulate(room.count(rows[name]) + 1 for name in most)
    kept = set(most[: sum(1 for _ in takewhile(lambda cost: cost <= room.tokens * _COMMITS_SHARE, costs))])
    yield from (row for name, row in rows.items() if name in kept)
    if len(kept) < len(rows):
        yield f"and {plural(len(rows) - len(kept), 'commit')} of fewer lines"
