"""Search results: each file once with its matches below; a text that many lines share is shown once.

Example: 300 lines "path:line:text" ->
         "[search, 300 matches in 41 files under src/]\na.py (12)\n 8: import re (×40)\n…[… 259 of 300 matches]"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from brim.content import line_groups
from brim.content.detect.command_patterns import MATCH, MATCH_BELOW, MATCH_COUNT, PATH_ALONE
from brim.content.line_packing import Tier, matching, pack
from brim.content.listings import root_of
from brim.content.selection import Bundle, by_lines, fits, keep, least, plural
from brim.content.types import Room
from brim.relevance import query_match

dense = line_groups.dense
decode = line_groups.decode

# All file names come before the matches if they take at most this share of the room.
_NAMES = 0.5
_WIDEST = 0.25  # largest share of the room for one line
_LONGEST = 4_000_000


@dataclass(slots=True)
class SearchedFile:
    """The lines found in one file: the prefix of each, its text, and whether it is a match."""

    path: str
    found: list[tuple[str, str, bool]] = field(default_factory=list)


def extract(text: str, room: Room) -> str:
    """Files with their match counts, then matches from each file in turn, unique ones first."""
    if fits(text, room):
        return text
    lines = text[:_LONGEST].split("\n")
    counts = [line for line in lines if MATCH_COUNT.match(line)]
    if len(counts) > 0.9 * len(lines):
        return _counted(counts, room)
    files = by_file(lines)
    number = sum(is_match for file in files for *_, is_match in file.found)
    if room.tokens < 8 or not number:
        return least(room, plural(text.count("\n") + 1, "line"))
    paths = [file.path for file in files if file.path]
    root = root_of(paths) if len(paths) > 1 else ""
    alike = Counter(said.strip() for file in files for _, said, is_match in file.found if is_match)
    pieces: list[str] = []
    matches: list[list[Bundle]] = []
    context: list[Bundle] = []
    longest = max(80, int(room.tokens * _WIDEST * 4))
    shown: set[str] = set()
    for file in files:
        header: Bundle = ()
        if file.path:
            header = (len(pieces),)
            pieces.append(f"{file.path[len(root) :]}{f' ({n})' if (n := sum(m for *_, m in file.found)) > 1 else ''}\n")
        own: list[tuple[int, Bundle]] = []
        for place, said, is_match in file.found:
            times = alike[said.strip()]
            again = f" (×{times})" if is_match and times > 2 else ""
            bundle = (*header, len(pieces))
            pieces.append(f"{' ' if header else ''}{place}{_clipped(said, longest)}{again}\n")
            if not is_match:
                context.append(bundle)
            elif not again or said.strip() not in shown:
                own.append((times, bundle))
            shown.add(said.strip())
        matches.append([bundle for _, bundle in sorted(own, key=lambda one: one[0])])
    names = [(index,) for index, piece in enumerate(pieces) if piece[0] != " "] if paths else []
    under = f" under {root}" if root else ""
    head = f"[search, {plural(number, 'match')} in {plural(max(1, len(files)), 'file')}{under}]\n"
    left = Room(room.tokens - room.count(head), room.count, room.handle, room.recall, room.query)

    def missing(gaps: list[tuple[int, int]]) -> str:
        lines = sum(pieces[at][0] == " " or not paths for first, end in gaps for at in range(first, end))
        return f"{lines:,} of {plural(sum(len(file.found) for file in files), 'line')}"

    if room.count("".join(pieces[index] for (index,) in names)) > room.tokens * _NAMES:
        names = []
    order = [*_asked(pieces, matches, room.query), *names, *_in_turn(matches), *context]
    return head + keep(pieces, lambda: iter(order), left, by_lines(pieces), small="", total=missing)


def _counted(counts: Sequence[str], room: Room) -> str:
    """Files with their match counts (`grep -c`), highest counts first if not all fit."""
    numbers = [int(line.rpartition(":")[2]) for line in counts]
    root = root_of([line.rpartition(":")[0] for line in counts])
    order = sorted(range(len(counts)), key=lambda at: (-numbers[at], at))
    under = f" under {root}" if root else ""
    head = f"[search, {plural(sum(numbers), 'match')} in {plural(len(counts), 'file')}{under}]"
    return pack([line[len(root) :] for line in counts], [matching(counts, room), Tier(order)], room, head=head, gap="")


def _clipped(said: str, longest: int) -> str:
    said = said.rstrip()
    return said if len(said) <= longest else said[:longest] + "…"


def by_file(lines: Sequence[str]) -> list[SearchedFile]:
    """The files of a search, from `path:3:text`, numbered lines below paths, or numbered lines of one file."""
    files: dict[str, SearchedFile] = {}
    path = ""
    for line in lines:
        if found := MATCH.match(line):
            sign, number = (":", found[1]) if found[1] else ("-", found[2])
            path = line[: found.start(1 if found[1] else 2) - 1]
            one = (f"{number}{sign} ", line[found.end() :], bool(found[1]))
        elif found := MATCH_BELOW.match(line):
            sign = line[found.end(1)]
            one = (f"{found[1]}{sign} ", line[found.end() :], sign == ":")
        elif PATH_ALONE.match(line):
            path = line
            continue
        else:
            continue
        files.setdefault(path, SearchedFile(path)).found.append(one)
    return list(files.values())


def _asked(pieces: Sequence[str], matches: Sequence[Sequence[Bundle]], query: str) -> Iterator[Bundle]:
    bundles = {bundle[-1]: bundle for own in matches for bundle in own}
    yield from (bundles[index] for index in list(query_match.ranked(pieces, query))[:40] if index in bundles)


def _in_turn(matches: Sequence[Sequence[Bundle]]) -> Iterator[Bundle]:
    """The first match of every file, the second of every file, and so on."""
    waiting = [iter(own) for own in matches]
    while waiting:
        going = []
        for one in waiting:
            if (bundle := next(one, None)) is not None:
                yield bundle
                going.append(one)
        waiting = going
