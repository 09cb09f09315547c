"""Build and lint output: every error with its place first, then warnings, then the steps of the build.

Errors of one file stand together, and those that say the same share a line, so that all of them fit:

    src/main.rs
      error[E0308]: mismatched types: 5:24, 14:24, 23:24
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from brim.content import line_groups
from brim.content.detect.command_patterns import STEP, SUMMARY
from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.selection import fits, least, plural
from brim.content.types import Room

dense = line_groups.dense
decode = line_groups.decode

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_PATH = r"(?:[A-Za-z]:)?[^\s:()\[\]]{1,300}"
# path:line[:column] or path(line,column) before what is wrong there.
_PLACED = re.compile(
    rf"(?:\[\w+\] )?(?P<path>{_PATH})(?::\[?|\()(?P<at>\d+(?:[:,]\d+)?)[\])]?:? ?-? ?(?P<said>\S.*)$"
    r"|(?P<path2>[^\s:]{1,300}): line (?P<at2>\d+, col \d+), (?P<said2>\S.*)$"
)
# What is wrong, with its place on a line below (rustc, ruff, webpack) or its path above (eslint).
_TITLE = re.compile(
    r"(?P<said>(?:fatal )?(?:error|warning)(?:\[\w+\])?: .+|(?:ERROR|WARNING) in .+"
    r"|[A-Z]{1,7}\d{2,5} (?:\[\*\] )?\S.+|CMake (?:Error|Warning).+)$"
)
_ARROW = re.compile(r"\s*(?:-->|╭─\[?|┌─|@) ?(?P<path>[^\s:]+)(?::| )(?P<at>\d+(?::\d+)?)")
_BELOW_PATH = re.compile(r"\s+(?P<at>\d+:\d+):?\s{1,4}(?P<said>(?:error|warning|[A-Z]{1,7}\d{2,5})\b.*)$")
_PATH_LINE = re.compile(r"(?P<path>(?:/|\./|[A-Za-z]:\\)?[\w@./\\+-]+\.\w{1,6}):?$")
_SEVERITY = re.compile(r"(?:fatal |internal )?(error|warning|note|info|remark|hint)\b", re.I)
# Linters that name no severity: these letters are style, the others are errors.
_STYLE = re.compile(r"(?!E9|F|E0\d{3}\b)[A-Z]{1,7}\d{2,5}\b")
_PLAIN = re.compile(
    r"(?:.*: undefined reference to .+|collect2: error.*|ld: .+|npm (?:ERR!|error) .+|ERROR: .+|make.*: \*\*\* .+)$"
)
_QUOTED = re.compile(r"'[^'\n]{1,80}'|`[^`\n]{1,80}`|‘[^’\n]{1,80}’|\"[^\"\n]{1,80}\"")
_PLACES = 8  # places on one line: a longer line would be cut in small rooms
_FAR = 4  # lines below a title in which its place is looked for
_MOST = 50_000


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong, how badly, and where."""

    severity: str  # error, warning or note
    said: str
    path: str
    at: str


def extract(text: str, room: Room) -> str:
    """Errors, the verdict, warnings, then steps and what stands at both ends.

    Example: 400 lines of cargo -> "[build output, 24 errors and 31 warnings]\\nsrc/main.rs\\n  error[E0308]: …: 5:24"
    """
    if fits(text, room):
        return text
    lines = (_ANSI.sub("", text) if "\x1b[" in text else text).split("\n")
    if room.tokens < 8:
        return least(room, plural(len(lines), "line"))
    found = list(dict.fromkeys(diagnostics(lines[:_MOST])))
    errors = [one for one in found if one.severity == "error"]
    others = [one for one in found if one.severity == "warning"]
    first, second = list(_by_file(errors)), list(_by_file(others))
    made = [*first, *second, *lines]
    start = len(first) + len(second)
    summary = [start + index for index, line in enumerate(lines) if SUMMARY.match(line) or _PLAIN.match(line)]
    steps = [start + index for index, line in enumerate(lines) if STEP.match(line)]
    query = matching(lines, room)
    tiers = [
        Tier(range(len(first))),
        Tier(summary[-20:], 0.3),
        Tier([start + index for index in query.order], query.share),
        Tier(range(len(first), start)),
        Tier(_ends(steps), 0.6),
        Tier(start + index for index in head_and_tail(lines)),
    ]
    counts = " and ".join((plural(len(errors), "error"), plural(len(others), "warning")))
    sizes = [0] * start + [1] * len(lines)
    return pack(made, tiers, room, head=f"[build output, {counts}]", gap="", sizes=sizes, head_share=0.4, longest=0.5)


def diagnostics(lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Every diagnostic of the lines, in order."""
    above = ""
    for index, line in enumerate(lines):
        short = line[:600].rstrip()
        if found := _PLACED.match(short):
            path, at, said = (found.group(name) or found.group(f"{name}2") for name in ("path", "at", "said"))
            if severity := _severity(said, short):
                yield Diagnostic(severity, said, path, at.replace(",", ":").replace(" col ", ""))
        elif found := _BELOW_PATH.match(short):
            yield Diagnostic(
                _severity(found["said"], "") or "error", " ".join(found["said"].split()), above, found["at"]
            )
        elif found := _TITLE.match(short):
            yield _titled(found["said"], lines[index + 1 : index + 1 + _FAR])
        elif found := _PATH_LINE.match(short):
            above = found["path"]


def _titled(said: str, below: Iterable[str]) -> Diagnostic:
    severity = _severity(said, said) or "error"
    for line in below:
        if found := _ARROW.match(line):
            return Diagnostic(severity, said, found["path"], found["at"])
        if line.strip() and said.startswith(("ERROR in", "WARNING in", "CMake")) and ": " not in said:
            said = f"{said}: {line.strip()[:200]}"
    return Diagnostic(severity, said, "", "")


def _severity(said: str, line: str) -> str:
    """error, warning or note; empty for a line that only looks like a diagnostic."""
    if found := _SEVERITY.match(said):
        word = found.group(1).lower()
        return word if word in ("error", "warning") else "note"
    if line.startswith(("[ERROR]", "CMake Error")) or said.startswith("undefined reference"):
        return "error"
    if _STYLE.match(said):
        return "warning"
    return "error" if re.match(r"[A-Z]{1,7}\d{2,5}\b", said) else ""


def _by_file(found: Sequence[Diagnostic]) -> Iterator[str]:
    """Lines for diagnostics: a path, and below it what is wrong with the places where it is.

    Messages that differ only in the names that they quote share a line: "Cannot find name 'a': 5:3; 'b' 9:3".
    """
    files: dict[str, dict[str, list[Diagnostic]]] = {}
    for one in found:
        files.setdefault(one.path, {}).setdefault(_QUOTED.sub("'", one.said), []).append(one)
    for path, said in files.items():
        rows = [
            _row(group[start : start + _PLACES]) for group in said.values() for start in range(0, len(group), _PLACES)
        ]
        if not path:
            yield from rows
        elif len(rows) == 1:
            yield f"{path} {rows[0]}"
        else:
            yield from (path, *(f"  {row}" for row in rows))


def _row(group: Sequence[Diagnostic]) -> str:
    first = group[0]
    names = _QUOTED.findall(first.said)
    places = [first.at]
    for one in group[1:]:
        other = [name for name, old in zip(_QUOTED.findall(one.said), names, strict=True) if name != old]
        places.append(" ".join((*other, one.at)))
    told = ", ".join(filter(None, places))
    return f"{first.said}: {told}" if told else first.said


def _ends(steps: Sequence[int]) -> Iterator[int]:
    """Steps from the last backwards: how far a build got says more than how it began."""
    yield from reversed(steps)
