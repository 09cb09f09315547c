"""Unified diffs: every file with its counts, then hunks by relevance, changed lines before the context around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

from brim.content import listings, plain_text
from brim.content.commands import history
from brim.content.selection import Bundle, by_lines, fits, keep, lines, plural
from brim.content.types import Room
from brim.relevance import query_match

_LONGEST = 5_000_000
_AT_ONCE = 6
_TURNS = 3
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_GIT = re.compile(r"diff --git (?:\"?a/(.*?)\"? \"?b/(.*?)\"?)$")
# Generated files, whose changes follow from others.
_MADE = re.compile(
    r"(?:^|/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|go\.sum|[\w.-]+\.lock|[\w.-]+\.min\.(?:js|css)|[\w.-]+\.map"
    r"|[\w.-]+\.snap|[\w.-]+_pb2?\.(?:py|go|js|ts))$|(?:^|/)(?:dist|build|vendor|node_modules|__snapshots__)/"
)


@dataclass(slots=True)
class Hunk:
    """A hunk: its header line and the end of its lines."""

    first: int
    end: int


@dataclass(slots=True)
class File:
    """A file of a diff: its lines [first, end), its path and how many lines were added and removed."""

    first: int
    end: int = 0
    path: str = ""
    added: int = 0
    removed: int = 0
    note: str = ""
    hunks: list[Hunk] = field(default_factory=list)

    def summary(self) -> str:
        """Example: "src/app.py +10 -3", "logo.png (binary)" """
        note = f" ({self.note})" if self.note else ""
        return f"{self.path} +{self.added} -{self.removed}{note}"


def extract(text: str, room: Room) -> str:
    """Commits and changed files with their counts, each with the most informative lines of its hunks below.

    Example: -> "[2 files changed: +31 -4]\na.py +30 -4\n@@ -1,9 +1,35 @@\n-old\n+new\nb.md +1 -0\n[… 20 of 40 lines]"
    """
    if room.tokens <= 0:
        return ""
    if fits(text, room):
        return text
    written = lines(text) if len(text) <= _LONGEST else []
    found = files(written)
    if not found or max(map(len, written)) > room.tokens * 6:
        return plain_text.extract(text, room)
    listed = _list(found, room)
    taken = room.count(listed)
    if taken > room.tokens:
        return plain_text.extract(text, room)
    patch = _rewritten(written, found)
    first = [] if "\n" in listed[:-1] else [file.first for file in patch.files]
    left = replace(room, tokens=room.tokens - taken)
    order = [*((index,) for index in [*patch.titles, *first]), *_order(patch, room.query)]

    def missing(gaps: list[tuple[int, int]]) -> str:
        return f"{sum(end - first for first, end in gaps):,} of {plural(len(patch.pieces), 'line')}"

    body = keep(patch.pieces, lambda: iter(order), left, by_lines(patch.pieces), small="", total=missing)
    made = f"{listed}{body}"
    return made if body and room.count(made) <= room.tokens else listed.rstrip("\n")


@dataclass(frozen=True, slots=True)
class Patch:
    """A diff ready to display: each commit and each file has a one-line header."""

    pieces: list[str]
    files: list[File]
    titles: list[int]  # the lines that name commits


def _rewritten(written: Sequence[str], found: Sequence[File]) -> Patch:
    patch = Patch([], [], [])
    _add_around(written[: found[0].first], patch)
    for file in found:
        shown = replace(file, first=len(patch.pieces), hunks=[])
        patch.files.append(shown)
        patch.pieces.append(file.summary() + "\n")
        end = file.first
        for hunk in file.hunks:
            first = len(patch.pieces)
            patch.pieces.extend(written[hunk.first : hunk.end])
            shown.hunks.append(Hunk(first, len(patch.pieces)))
            end = hunk.end
        if end > file.first:
            _add_around(written[end : file.end], patch)
    return patch


def _add_around(between: Sequence[str], patch: Patch) -> None:
    """Add the lines before and between files: for a commit, one line with its hash and subject, then its message."""
    bare = [line.rstrip("\n") for line in between]
    commits = {commit.first: commit for commit in history.entries(bare)}
    subjects = {commit.subject for commit in commits.values()}
    for index, line in enumerate(bare):
        if index in commits:
            patch.titles.append(len(patch.pieces))
            patch.pieces.append(f"commit {history.titled(commits[index], bare)}\n")
        elif index not in subjects and not history.is_dull(line):
            patch.pieces.append(between[index])


def files(pieces: Sequence[str]) -> list[File]:
    """The files of a diff with their hunks. A hunk's header says how many lines it has, so no line is misread."""
    found: list[File] = []
    at, end = 0, len(pieces)
    while at < end:
        line = pieces[at]
        git = _GIT.match(line.rstrip())
        new = git or line.startswith("Index: ")
        if new or (line.startswith("--- ") and at + 1 < end and pieces[at + 1].startswith("+++ ") and _starts(found)):
            found.append(File(at, path=git[2] if git else line[4:].strip() if not new else line[7:].strip()))
        if not found:
            at += 1
            continue
        file = found[-1]
        hunk = _HUNK.match(line)
        if hunk:
            at = _read_hunk(pieces, at, file, hunk)
            continue
        _read_header(line, file)
        at += 1
    for here, after in pairwise(found):
        here.end = after.first
    if found:
        found[-1].end = end
    return found


def _starts(found: list[File]) -> bool:
    """Whether a "---" line starts a new file, rather than continuing a header that git began."""
    return not found or bool(found[-1].hunks)


def _read_header(line: str, file: File) -> None:
    if line.startswith("+++ ") and not line.startswith("+++ /dev/null"):
        file.path = line[4:].split("\t", 1)[0].strip().removeprefix("b/")
    elif line.startswith("--- ") and not line.startswith("--- /dev/null") and not file.hunks:
        file.path = file.path or line[4:].split("\t", 1)[0].strip().removeprefix("a/")
    elif line.startswith(("new file", "deleted file")):
        file.note = line.split(" ", 1)[0]
    elif line.startswith("rename from "):
        file.note = f"renamed from {line[12:].strip()}"
    elif line.startswith(("Binary files ", "GIT binary patch")):
        file.note = "binary"


def _read_hunk(pieces: Sequence[str], at: int, file: File, header: re.Match[str]) -> int:
    """Add the hunk at this line to its file; returns the line after it."""
    old, new = int(header[2] or 1), int(header[4] or 1)
    first = at
    at += 1
    while at < len(pieces) and (old > 0 or new > 0 or pieces[at].startswith("\\")):
        sign = pieces[at][:1]
        if sign == "+":
            new -= 1
            file.added += 1
        elif sign == "-":
            old -= 1
            file.removed += 1
        elif sign in (" ", "\n", "\r", "\t"):
            old, new = old - 1, new - 1
        elif sign != "\\":
            break
        at += 1
    file.hunks.append(Hunk(first, at))
    return at


def _list(found: Sequence[File], room: Room) -> str:
    """The total changes, with the folders of the files if a line per file takes too much of the room."""
    added, removed = sum(one.added for one in found), sum(one.removed for one in found)
    head = f"[{plural(len(found), 'file')} changed: +{added} -{removed}]\n"
    if room.count("".join(one.summary() + "\n" for one in found)) <= room.tokens * 0.6:
        return head
    share = replace(room, tokens=int(room.tokens * 0.5) - room.count(head))
    return f"{head}{listings.extract(''.join(one.path + chr(10) for one in found), share)}\n\n"


def _order(patch: Patch, query: str) -> Iterator[Bundle]:
    """Changed lines of all hunks, best hunks first, then the context nearest to them."""
    pieces, found = patch.pieces, patch.files
    scores = query_match.scores(pieces, query)
    hunks = [(file, hunk) for file in found for hunk in file.hunks]
    matched = [_score(scores, file, hunk) for file, hunk in hunks]
    top = max(matched, default=0.0)
    places = range(len(hunks))
    asked = [i for i in sorted(places, key=lambda i: (-matched[i], i)) if matched[i] > 0.6 * top > 0]
    # The first hunk of every file before the second of any.
    nth = [number for file in found for number in range(len(file.hunks))]
    made = [bool(_MADE.search(file.path)) for file in found for _ in file.hunks]
    usual = sorted(places, key=lambda i: (made[i], nth[i], i))
    ranking = [hunks[i] for i in usual]
    for changed in (True, False):
        for i in asked:
            yield from _lines(pieces, *hunks[i], changed=changed)
    # A few lines of every hunk before the rest of any.
    waiting = [_lines(pieces, file, hunk, changed=True) for file, hunk in ranking]
    for _ in range(_TURNS):
        for one in waiting:
            yield from islice(one, _AT_ONCE)
    for one in waiting:
        yield from one
    for file, hunk in ranking:
        yield from _lines(pieces, file, hunk, changed=False)
    for index in range(len(pieces)):
        yield (index,)


def _score(scores: Mapping[int, float], file: File, hunk: Hunk) -> float:
    """How well a hunk matches the query, by its best line and the name of its file."""
    best = max((scores.get(index, 0.0) for index in range(hunk.first, hunk.end)), default=0.0)
    return scores.get(file.first, 0.0) + best


def _lines(pieces: Sequence[str], file: File, hunk: Hunk, changed: bool) -> Iterator[Bundle]:
    """The lines of a hunk, each bundled with the headers that say where it belongs."""
    inside = range(hunk.first + 1, hunk.end)
    marked = [index for index in inside if pieces[index][:1] in ("+", "-")]
    if changed:
        wanted = marked
    else:
        near = {index: _distance(index, marked) for index in inside if pieces[index][:1] not in ("+", "-")}
        wanted = sorted(near, key=lambda index: (near[index], index))
    for index in wanted:
        yield (file.first, hunk.first, index)


def _distance(index: int, marked: Sequence[int]) -> int:
    return min((abs(index - one) for one in (marked[0], marked[-1])), default=0) if marked else 0
