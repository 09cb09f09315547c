"""Lists errors in as few tokens as necessary: verbatim, by file, by message, or with letters for messages.

src/main.rs
  error[E0308]: mismatched types: 5:24, 14:24, 23:24
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from brim.content.commands.diagnostics import Diagnostic
from brim.content.listings import root_of
from brim.content.selection import ranges
from brim.content.types import Room

_QUOTED = re.compile(r"(?<!\w)'[^'\n]{1,300}'(?!\w)|`[^`\n]{1,300}`|‘[^’\n]{1,300}’|\"[^\"\n]{1,300}\"")
# A word that is a name or a number: it has a sign or a digit in it, unless it is a code such as TS2345 or E0308.
_NAME = re.compile(r"(?<!\S)(?![A-Z]{1,8}\d+:?(?!\S))(?:[\w.:]*\w[._:\d]\w[\w.:]*?|\d+)(?=[,;:.]?(?!\S))")
_ERROR = re.compile(r"^(?:fatal )?error(?:\[(\w+)\])?:? ")
_ADVICE = re.compile(r"\s*(?:\(.*\)|\[.*\])$|[;:.] (?:did you mean|perhaps|try|see|consider)\b.*$", re.I)
# Words of a message: the most if there is room, else the fewest and the most that distinguish it from others.
_WORDS, _FEWEST, _FEW = 14, 3, 6


class Listed(NamedTuple):
    """Rows that list errors, how many they cover, and whether they are the verbatim reports."""

    rows: list[str]
    number: int
    whole: bool


def listed(errors: Sequence[Diagnostic], lines: Sequence[str], tokens: int, room: Room) -> Listed:
    """Every error in the fullest way that fits; if none fits, as many errors as possible in the shortest way."""
    if not errors:
        return Listed([], 0, True)
    for share, way in WAYS:
        rows = list(way(errors, lines))
        if room.count("\n".join(rows)) <= share * tokens:
            return Listed(rows, len(errors), way is _as_reported)
    said = _told_apart(errors)
    root = root_of([one.path for one in errors])
    head = [f"{root}:"] if root else []
    errors = [replace(one, path=one.path.removeprefix(root)) for one in errors]
    groups: dict[str, list[Diagnostic]] = {}
    for one in errors:
        groups.setdefault(said[one.said], []).append(one)
    # Errors with the most common messages cost least.
    order = [one for group in sorted(groups.values(), key=len, reverse=True) for one in group]
    best = Listed([], 0, False)
    low, high = 0, len(order)
    while low < high:
        number = (low + high + 1) // 2
        shown = order[:number]
        rows = min(([*head, *way(shown, said)] for way in _TERSE), key=lambda rows: room.count("\n".join(rows)))
        if room.count("\n".join(rows)) <= tokens:
            low, best = number, Listed(rows, number, False)
        else:
            high = number - 1
    return best


def _as_reported(errors: Sequence[Diagnostic], lines: Sequence[str]) -> Iterator[str]:
    path = ""
    for one in errors:
        if (
            one.path not in lines[one.first]
            and one.path != path
            and not any(one.path in line for line in lines[one.first : one.end])
        ):
            yield one.path
        path = one.path
        yield from lines[one.first : one.end]


def by_file(errors: Sequence[Diagnostic], _lines: Sequence[str]) -> Iterator[str]:
    """The messages below each path, with their places; messages that differ only in quoted names share a line."""
    for path, said in _grouped(errors, lambda one: one.path, lambda one: _QUOTED.sub("'", one.said)).items():
        rows = [_with_names(group) for group in said.values()]
        if not path:
            yield from rows
        elif len(rows) == 1:
            yield f"{path} {rows[0]}"
        else:
            yield from (path, *(f"  {row}" for row in rows))


def _with_names(group: Sequence[Diagnostic]) -> str:
    """Example: "cannot find 'a': 5:3, 'b' 9:3" """
    first = group[0]
    names = _QUOTED.findall(first.said)
    places = [first.at]
    for one in group[1:]:
        other = [name for name, old in zip(_QUOTED.findall(one.said), names, strict=True) if name != old]
        places.append(" ".join((*other, one.at)))
    told = ", ".join(filter(None, places))
    return f"{first.said}: {told}" if told else first.said


def _by_line(errors: Sequence[Diagnostic], said: Mapping[str, str]) -> Iterator[str]:
    """The messages below each path without quoted names, with line numbers."""
    for path, there in _grouped(errors, lambda one: one.path, lambda one: said[one.said]).items():
        if path:
            yield path
        for short, group in there.items():
            yield f"{' ' if path else ''}{short}: {_numbers(group)}"


def _by_message(errors: Sequence[Diagnostic], said: Mapping[str, str]) -> Iterator[str]:
    """Each message once for all files, with the lines where it occurs."""
    for short, files in _grouped(errors, lambda one: said[one.said], lambda one: one.path).items():
        yield " ".join((f"{short}:", *(f"{path} {_numbers(group)}".strip() for path, group in files.items())))


def _by_sign(errors: Sequence[Diagnostic], said: Mapping[str, str]) -> Iterator[str]:
    """Each message once with a letter for it, then each file with the letters and their lines.

    Example: "a no-undef", "b no-unused-vars", "src/", " one.js a3,9-12 b40", " two.js a7"
    """
    signs = {short: _sign(number) for number, short in enumerate(dict.fromkeys(said[one.said] for one in errors))}
    yield from (f"{sign} {short}" for short, sign in signs.items())
    folders: dict[str, list[tuple[str, str]]] = {}
    for path, there in _grouped(errors, lambda one: one.path, lambda one: said[one.said]).items():
        folder, slash, name = path.rpartition("/")
        places = " ".join(f"{signs[short]}{_numbers(group)}" for short, group in there.items())
        folders.setdefault(folder + slash, []).append((name, places))
    for folder, files in folders.items():
        if len(files) > 1:
            yield folder or "./"
            yield from (f" {name} {places}" for name, places in files)
        else:
            yield f"{folder}{files[0][0]} {files[0][1]}"


def _sign(number: int) -> str:
    """a, b, … z, aa, ab, …"""
    first, last = divmod(number, 26)
    return (_sign(first - 1) if first else "") + chr(ord("a") + last)


def _first_words(errors: Sequence[Diagnostic], most: int) -> dict[str, str]:
    """The first words of a message, without severity, names, advice and the rule's name."""
    bare = (_NAME.sub("*", _ADVICE.sub("", _QUOTED.sub("*", _ERROR.sub(r"\1 ", one.said)))) for one in errors)
    return {one.said: " ".join(text.split()[:most]) for one, text in zip(errors, bare, strict=True)}


def _told_apart(errors: Sequence[Diagnostic]) -> dict[str, str]:
    """The first words of each message, at least three, as many as it takes to be unique."""
    full = _first_words(errors, _WORDS)
    beginnings = {text: list(_beginnings(text)) for text in full.values()}
    times = Counter(begun for found in beginnings.values() for begun in found)
    short = {text: next((b for b in found if times[b] == 1), found[-1]) for text, found in beginnings.items()}
    return {said: short[text] for said, text in full.items()}


def _beginnings(text: str) -> Iterator[str]:
    """From its third word on. Example: "TS9: Type * is not a" -> "TS9: Type * is not", "TS9: Type * is not a" """
    words = text.split()
    said = 0
    for number, word in enumerate(words, 1):
        said += len(word) > 1 and word.strip(".,:;").isalpha()
        if _FEWEST <= said <= _FEW and (word != "*" or number == len(words)):
            yield " ".join(words[:number])
    if said < _FEWEST:
        yield text


def _in_few_words(errors: Sequence[Diagnostic], _lines: Sequence[str]) -> Iterator[str]:
    return _by_line(errors, _first_words(errors, _FEW))


def _in_words(errors: Sequence[Diagnostic], _lines: Sequence[str]) -> Iterator[str]:
    return _by_line(errors, _first_words(errors, _WORDS))


def once_each(errors: Sequence[Diagnostic], _lines: Sequence[str]) -> Iterator[str]:
    return _by_message(errors, _first_words(errors, _FEW))


def _numbers(group: Sequence[Diagnostic]) -> str:
    return ranges({int(at) for one in group if (at := one.at.partition(":")[0])})


def _grouped(
    errors: Sequence[Diagnostic], outer: Callable[[Diagnostic], str], inner: Callable[[Diagnostic], str]
) -> dict[str, dict[str, list[Diagnostic]]]:
    groups: dict[str, dict[str, list[Diagnostic]]] = {}
    for one in errors:
        groups.setdefault(outer(one), {}).setdefault(inner(one), []).append(one)
    return groups


# The ways to show errors, fullest first, with the share of the room each may take; verbatim reports leave room for
# warnings.
WAYS: tuple[tuple[float, Callable[[Sequence[Diagnostic], Sequence[str]], Iterator[str]]], ...] = (
    (0.7, _as_reported),
    (0.96, by_file),
    (0.96, _in_words),
    (0.96, _in_few_words),
    (0.96, once_each),
)
_TERSE = (_by_line, _by_message, _by_sign)
