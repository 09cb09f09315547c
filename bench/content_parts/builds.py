"""Build errors: every error of the compilers, type checkers and linters with its place, at a tenth of the tokens.

What is an error is told by the format of each program here, not by Brim: the compactor is one for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from content_parts.halves import Case, Row, count, halves

SHARE = 10
_FORMATS: dict[str, str] = {
    "gcc": r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<said>.+)$",
    "make": r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<said>.+)$",
    "cmake-build": r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<said>.+)$",
    "cargo-build": r"^error(?:\[E\d+\])?: (?P<said>.+)\n\s*--> (?P<path>[^:\n]+):(?P<line>\d+)",
    "tsc": r"^(?P<path>[^\s(:]+)[(:](?P<line>\d+)[,:]\d+\)?(?:: | - )error TS\d+: (?P<said>.+)$",
    "javac": r"^(?P<path>\S+\.java):(?P<line>\d+): error: (?P<said>.+)$",
    "maven": r"^\[ERROR\] (?P<path>\S+\.java):\[(?P<line>\d+),\d+\] (?P<said>.+)$",
    "mypy": r"^(?P<path>\S+\.py):(?P<line>\d+):(?:\d+:)? error: (?P<said>.+)$",
    "go-build": r"^(?:vet: )?(?P<path>\S+\.go):(?P<line>\d+):\d+: (?P<said>.+)$",
    "php-lint": r"(?:Parse|Fatal) error: (?P<said>.+) in (?P<path>\S+\.php) on line (?P<line>\d+)$",
    "webpack": r"^ERROR in (?P<path>\./\S+)(?: (?P<line>\d+):\d+)?.*\n(?P<said>.+)$",
}
_STYLISH = re.compile(r"^\s+(?P<line>\d+):\d+\s+error\s+(?P<said>.+?)\s{2,}\S+$")
_ESLINT = re.compile(
    r"^(?P<path>/[^:\s]+): line (?P<line>\d+), col \d+, Error - (?P<said>.+?) \(|"
    r"^(?P<path2>/[^:\s]+):(?P<line2>\d+):\d+: (?P<said2>.+) \[Error"
)
_WORD = re.compile(r"[\w-]{2,}")
_PATH = re.compile(r"[\w@./\\-]+\.(?:[cm]?[jt]sx?|py|c|cpp|h|rs|go|java|php)\b")


class Fault(NamedTuple):
    """An error: the file's name, its line, and the first words of what is wrong."""

    file: str
    line: str
    words: tuple[str, ...]


def rows(captured: Path, unseen: Path | None, told: bool = False) -> list[Row]:
    """The mean over the files, then all errors together."""
    found = [*cases(captured), *(cases(unseen) if unseen is not None else [])]
    metric = f"build errors with their place at {SHARE}%, {len(found)} files"
    return [halves(metric, found, ">= .97", told=told), halves(f"{metric}, pooled", found, ">= .97", pooled=True)]


def cases(captured: Path) -> list[Case]:
    """The files with several errors; an error that a file tells twice counts once."""
    found = []
    for form in [*_FORMATS, "eslint"]:
        for path in sorted(captured.glob(f"{form}*/*.txt")):
            text = path.read_text(errors="replace")
            wanted = sorted(set(faults(form, text)))
            room = count(text) * SHARE // 100
            if len(wanted) > 1 and room > 40:
                found.append(Case(text, room, lambda made, wanted=wanted: kept(made, wanted), f"{form}/{path.name}"))  # type: ignore[misc]
    return found


def faults(form: str, text: str) -> Iterator[Fault]:
    """The errors that a program of this format printed."""
    if form == "eslint":
        yield from _eslint(text)
        return
    for match in re.finditer(_FORMATS[form], text, re.M):
        yield _fault(match["path"], match["line"], match["said"])


def _eslint(text: str) -> Iterator[Fault]:
    path = ""
    for line in text.split("\n"):
        if line.startswith("/") and " " not in line and ":" not in line:
            path = line
        elif found := _STYLISH.match(line):
            yield _fault(path, found["line"], found["said"])
        elif found := _ESLINT.match(line):
            yield _fault(*(found[name] or found[f"{name}2"] for name in ("path", "line", "said")))


def _fault(path: str, line: str | None, said: str) -> Fault:
    bare = re.sub(r"'[^']*'|`[^`]*`|‘[^’]*’|\"[^\"]*\"", " ", said)
    return Fault(path.rsplit("/", 1)[-1], line or "", tuple(_WORD.findall(bare)[:3]))


def kept(made: str, wanted: list[Fault]) -> tuple[int, int]:
    """How many errors stand in the text: their words and their line on one row, under or beside their file."""
    have: set[Fault] = set()
    missing = set(wanted)
    file = ""
    for row in made.split("\n"):
        parts = _by_place(row, file)
        file = parts[-1][0]
        for where, said in parts:
            for one in [fault for fault in missing if fault.file == where and all(word in row for word in fault.words)]:
                if not one.line or re.search(rf"(?<!\d){one.line}(?!\d)", said):
                    have.add(one)
        missing -= have
    return len(have), len(wanted)


def _by_place(row: str, before: str) -> list[tuple[str, str]]:
    """The files that a row names, each with what follows it; a row that names none is of the file before it."""
    names = list(_PATH.finditer(row))
    ends = [*(name.start() for name in names[1:]), len(row)]
    found = [
        (name[0].replace("\\", "/").rsplit("/", 1)[-1], row[name.end() : end])
        for name, end in zip(names, ends, strict=False)
    ]
    return found or [(before, row)]
