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
    "pyright": r"^\s*(?P<path>/\S+\.py):(?P<line>\d+):\d+ - error: (?P<said>.+)$",
    "clang": r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<said>.+)$",
    "ninja": r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<said>.+)$",
    "rustc": r"^(?:error(?:\[E\d+\])?: (?P<said>.+)\n\s*--> (?P<path>[^:\n]+):(?P<line>\d+)"
    r"|(?P<path2>[^\s:]+):(?P<line2>\d+):\d+: error(?:\[E\d+\])?: (?P<said2>.+))",
    "go-build": r"^(?:vet: )?(?P<path>\S+\.go):(?P<line>\d+):\d+: (?P<said>.+)$",
    "php-lint": r"(?:Parse|Fatal) error: (?P<said>.+) in (?P<path>\S+\.php) on line (?P<line>\d+)$",
    "webpack": r"^ERROR in (?P<path>\./\S+)(?: (?P<line>\d+):\d+)?.*\n(?P<said>.+)$",
}
_STYLISH = re.compile(r"^\s+(?P<line>\d+):\d+\s+error\s+(?P<said>.+?)\s{2,}\S+$")
_ESLINT = re.compile(
    r"^(?P<path>/[^:\s]+): line (?P<line>\d+), col \d+, Error - (?P<said>.+?) \(|"
    r"^(?P<path2>/[^:\s]+):(?P<line2>\d+):\d+: (?P<said2>.+) \[Error"
)
_SIGN = re.compile(r"([a-z]{1,2}) (\S.*)$")
_RANGE = re.compile(r"(?<![\d.:-])(\d+)-(\d+)(?![\d.:-])")
# Words that a message says of every name: not the names, nor what stands in brackets at its end.
_WORD = re.compile(r"(?<![\w.])[A-Za-z-]{2,}(?!\w)(?!\.\w)")
_ASIDE = re.compile(r"\s*[(\[].*[)\]]$")
_PATH = re.compile(r"[\w@./\\-]+\.(?:[cm]?[jt]sx?|py|c|cpp|h|rs|go|java|php)\b")


class Fault(NamedTuple):
    """An error: the file's name, its line, and the first words of what is wrong."""

    file: str
    line: str
    words: tuple[str, ...]


def rows(captured: Path, unseen: Path | None, told: bool = False) -> list[Row]:
    """The mean over the files, then all errors together: of what a tenth can hold at all."""
    found = [*cases(captured), *(cases(unseen) if unseen is not None else [])]
    tight = sum(case.crowded for case in found)
    metric = f"build errors with their place at {SHARE}%, {len(found)} files ({tight} have more than that can hold)"
    kept = [case.case for case in found]
    return [halves(metric, kept, ">= .97", told=told), halves(f"{metric}, pooled", kept, ">= .97", pooled=True)]


class Crowd(NamedTuple):
    """A case, and whether its errors are more than its room can hold however they are written."""

    case: Case
    crowded: bool


def cases(captured: Path) -> list[Crowd]:
    """The files with several errors; an error that a file tells twice counts once."""
    found = []
    for form in [*_FORMATS, "eslint"]:
        for path in sorted(captured.glob(f"{form}*/*.txt")):
            text = path.read_text(errors="replace")
            wanted = sorted(set(faults(form, text)))
            room = count(text) * SHARE // 100
            if len(wanted) > 1 and room > 40:
                most = holds(wanted, room)
                case = Case(text, room, lambda made, w=wanted, m=most: kept(made, w, m), f"{form}/{path.name}")  # type: ignore[misc]
                found.append(Crowd(case, most < len(wanted)))
    return found


def holds(wanted: list[Fault], room: int) -> int:
    """How many of the errors a room can hold in the tersest list: each file once, below it what is wrong in three
    words once, and the lines; the words that most errors share first. One line says of what, one what is missing.
    """
    room -= count(f"[{len(wanted)} errors]\n[… {len(wanted)} lines left out]\n")
    groups: dict[tuple[str, ...], list[Fault]] = {}
    for one in wanted:
        groups.setdefault(one.words, []).append(one)
    files: set[str] = set()
    held = 0
    for words, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        room -= count(" ".join(words))
        room -= len({one.file for one in group})  # a sign at least where another file or message begins
        for one in group:
            room -= 0 if one.file in files else count(one.file)
            room -= count(f"{one.line},")
            if room < 0:
                return held
            files.add(one.file)
            held += 1
    return held


def faults(form: str, text: str) -> Iterator[Fault]:
    """The errors that a program of this format printed."""
    if form == "eslint":
        yield from _eslint(text)
        return
    for match in re.finditer(_FORMATS[form], text, re.M):
        second = "2" if match["path"] is None else ""
        yield _fault(match[f"path{second}"], match[f"line{second}"], match[f"said{second}"])


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
    return Fault(path.rsplit("/", 1)[-1], line or "", tuple(_WORD.findall(_ASIDE.sub("", bare))[:3]))


def kept(made: str, wanted: list[Fault], most: int) -> tuple[int, int]:
    """How many errors stand in the text: their words and their line on one row, under or beside their file."""
    have: set[Fault] = set()
    missing = set(wanted)
    file = ""
    for row in _spelled(made):
        parts = _by_place(row, file)
        file = parts[-1][0]
        for where, said in parts:
            for one in [fault for fault in missing if fault.file == where and all(word in row for word in fault.words)]:
                if not one.line or re.search(rf"(?<!\d){one.line}(?!\d)", said):
                    have.add(one)
        missing -= have
    return min(len(have), most), most


def _spelled(made: str) -> Iterator[str]:
    """The rows as they are read: letters as what an earlier row says they stand for, ranges as all their lines."""
    signs: dict[str, str] = {}
    for row in made.split("\n"):
        full = _RANGE.sub(_every_line, row)
        if sign := _SIGN.match(row):
            signs[sign[1]] = sign[2]
        parts = re.split(r"(?<!\S)([a-z]{1,2})(?=\d)", full)
        if len(parts) < 3 or any(sign not in signs for sign in parts[1::2]):
            yield full
            continue
        for sign, lines in zip(parts[1::2], parts[2::2], strict=True):
            yield f"{parts[0]} {lines} {signs[sign]}"


def _every_line(found: re.Match[str]) -> str:
    first, last = int(found[1]), int(found[2])
    return ",".join(map(str, range(first, last + 1))) if 0 < last - first < 2_000 else found[0]


def _by_place(row: str, before: str) -> list[tuple[str, str]]:
    """The files that a row names, each with what follows it; a row that names none is of the file before it."""
    names = list(_PATH.finditer(row))
    ends = [*(name.start() for name in names[1:]), len(row)]
    found = [
        (name[0].replace("\\", "/").rsplit("/", 1)[-1], row[name.end() : end])
        for name, end in zip(names, ends, strict=False)
    ]
    return found or [(before, row)]
