"""Source code as an outline: the definitions with their line numbers, and the bodies of those that the query names.

    store.py, 210 lines [… 188 lines, recall brim:3f2a9c01]
    1 imports os, typing
    12 class Store
      15 get(self, key), 31 put(self, key, value)
    60 def main(argv: list[str]) -> int  # Run it.

Every line has its number, so gaps need no marks; the first line says how many lines are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from brim.content import plain_text
from brim.content.code import signature
from brim.content.code.language import by_content, by_path, spelled
from brim.content.code.outline import Definition, Outline, outline
from brim.content.selection import fits, plural
from brim.content.types import Room
from brim.relevance import query_match
from brim.sized_lru import SizedLru

_LONGEST = 6_000_000
# An outline of 8% of a text's tokens names everything, at 50 characters of text per token of room. The grammar reads
# only the beginning of a longer text, but never less than _LEAST_READ.
_READ, _LEAST_READ = 50, 50_000
_SEEN = 400  # lines to check for numbers
_NUMBERED = re.compile(r" {0,8}\d{1,7}(?:\t|→| ?\| ?|: |:)")
# After names, the share of the remaining room for bodies that the query names, before signatures.
_QUERY_SHARE = 0.5
# Rounds of correcting the estimate: filling what it left over, or giving back what it overspent.
_ROUNDS = 5
NAME, SHORT, WHOLE, DESCRIBED = 1, 2, 3, 4
# Give up after this many definitions in a row that didn't fit.
_MISSES = 100
# Tokens by which counting pieces separately exceeds counting the joined text.
_JOINT = 1
_ALIKE = 3  # fewer definitions in a row with the same parameters take less room written out
_WORDS = re.compile(r"[A-Za-z_$][\w$]*")


def extract(text: str, room: Room, path: str = "") -> str:
    """The outline of a source text within the room, with as many bodies as fit."""
    if room.tokens <= 0:
        return ""
    if fits(text, room):
        return text
    known = by_path(path or room.name)
    key = text, known, min(len(text), max(_LEAST_READ, _READ * room.tokens))
    read = _sources.get(key)
    if read is None:
        read = _read(*key)
        if len(text) <= _REMEMBERED:
            _sources.put(key, read, len(text))
    if not read.found.definitions:
        return plain_text.extract(text, room)
    made = _Page(read.lines, read.bare, read.found, read.language, room).fitted()
    return plain_text.extract(text, room) if made is None else made


class _SourceText(NamedTuple):
    """A text by lines, with and without their numbers, its language and its outline."""

    lines: list[str]
    bare: list[str]
    language: str
    found: Outline


def _read(text: str, language: str, most: int) -> _SourceText:
    """Parse a text, up to this many characters with a grammar. A text without lines has no outline."""
    lines = text.split("\n") if len(text) <= _LONGEST else []
    if len(lines) < 4 or max(map(len, lines)) > max(400, len(text) // 4):
        return _SourceText([], [], "", Outline([], []))
    bare = unnumbered(lines)
    language = language or by_content(bare)
    return _SourceText(lines, bare, language, outline(bare, language, most))


# The same texts are shortened again and again to different rooms, so cache the parse.
_REMEMBERED = 1_000_000
_sources: SizedLru[tuple[str, str, int], _SourceText] = SizedLru(4 * _REMEMBERED)


def unnumbered(lines: Sequence[str]) -> list[str]:
    """The lines of a numbered listing (`cat -n`) without their numbers; other lines unchanged."""
    filled = [line for line in lines[:_SEEN] if line]
    if sum(1 for line in filled if _NUMBERED.match(line)) < 0.9 * len(filled):
        return list(lines)
    return [line[match.end() :] if (match := _NUMBERED.match(line)) else line for line in lines]


class _Page:
    """An outline that is filled step by step: how each definition is shown, and which lines."""

    def __init__(self, lines: Sequence[str], bare: Sequence[str], found: Outline, language: str, room: Room) -> None:
        self.lines = lines
        self.bare = bare
        self.found = found
        self.language = language
        self.room = room
        self.number = len(lines) - (not lines[-1])
        self._first = _first_number(lines, bare)
        self._texts: dict[tuple[int, int], str] = {}
        self._sizes: dict[str, int] = {}
        self._order = sorted(
            range(len(found.definitions)), key=lambda i: (found.definitions[i].depth, found.definitions[i].at)
        )
        self._inside = _covered(found.definitions, len(lines))
        self._starts = frozenset(one.at for one in found.definitions)
        self._asked = self._named_by_query()
        self._modules = signature.imported(bare, found.imports)
        self._clear()

    def _clear(self) -> None:
        self.levels = [0] * len(self.found.definitions)
        self.shown = bytearray(len(self.lines))
        self.modules = 0
        self.left = 0
        self.full = False

    def fitted(self) -> str | None:
        """The fullest page found in all rounds; None if not even the head and one name fit."""
        limit, best, best_size = self.room.tokens, None, 0
        for _ in range(_ROUNDS):
            self._clear()
            self._fill(limit)
            text = self.render()
            size = self.room.count(text)
            if size <= self.room.tokens and size > best_size and any(self.levels):
                best, best_size = text, size
            slack = self.room.tokens - size
            if 0 <= slack <= max(2, self.room.tokens // 50):
                break
            limit += slack if slack > 0 else 2 * slack - 2  # counting line by line underestimates an excess
        return best

    def _size(self, text: str) -> int:
        found = self._sizes.get(text)
        if found is None:
            found = self._sizes[text] = self.room.count(text)
        return found

    def _fill(self, limit: int) -> None:
        self.left = limit - self._size(self._head(self.number)) - 1
        self._raise_all(NAME)
        for_query = self.left * (1 - _QUERY_SHARE)
        for index in self._asked:
            self._body(index, for_query)
        self._raise_all(SHORT)
        self._raise_all(WHOLE)
        self._import()
        self._raise_all(DESCRIBED)
        for row in self._mentions():
            self._line(row)
        self._rest()

    def _rest(self) -> None:
        """Lines outside of definitions, then bodies, short ones first so that more of them are complete."""
        if self.left <= _JOINT:
            return
        imports = set(self.found.imports)
        for row in range(self.number):
            if not self._inside[row] and row not in imports and not self._line(row):
                break
        sizes = [one.end - one.first for one in self.found.definitions]
        before, missed = self.left, 0
        for index in sorted(range(len(sizes)), key=lambda i: (sizes[i], i)):
            self._body(index, 0)
            missed = missed + 1 if self.left == before else 0
            if self.left <= _JOINT or missed > _MISSES:
                return
            before = self.left
        for row in range(self.number):
            if not self._line(row):
                return

    def _raise_all(self, level: int) -> None:
        missed = 0
        for index in self._order:
            if self.levels[index] == level - 1:
                missed = 0 if self._raise(index, level) else missed + 1
            if missed > _MISSES or self.left <= _JOINT:
                return

    def _raise(self, index: int, level: int) -> bool:
        """Show a definition at the next level if there is room; returns whether there was."""
        cost = self._cost(index, level) - (self._cost(index, level - 1) if level > NAME else 0)
        # An entry on its own line begins with its indentation.
        cost += level == WHOLE
        if cost > self.left:
            return False
        self.left -= cost
        self.levels[index] = level
        return True

    def _cost(self, index: int, level: int) -> int:
        """The tokens an entry takes; parameters it shares with the previous entry are written once."""
        given = self._entry(index, SHORT).partition("(")[2] if level == SHORT else ""
        shared = given and index and given == self._entry(index - 1, SHORT).partition("(")[2]
        return self._size(self._entry(index, NAME if shared else level)) + _JOINT

    def _line(self, row: int) -> bool:
        """Show a line verbatim; returns whether there was room."""
        if self.shown[row] or not self.bare[row].strip():
            self.shown[row] = 1
            return True
        cost = self._size(self.lines[row]) + _JOINT + (not (row and self.shown[row - 1]))
        if cost > self.left:
            return False
        self.left -= cost
        self.shown[row] = 1
        return True

    def _body(self, index: int, until: float) -> None:
        """Show a definition verbatim, as far as the room above `until` allows."""
        one = self.found.definitions[index]
        for row in range(one.first, one.end):
            if self.left <= until or not self._line(row):
                return

    def _import(self) -> None:
        cost = self._size("0 imports") + _JOINT
        for number, name in enumerate(self._modules, 1):
            cost += self._size(f", {name}")
            if cost > self.left:
                break
            self.modules = number
        if self.modules:
            self.left -= min(cost, self.left)

    def _named_by_query(self) -> list[int]:
        """Definitions that the query names, as one word or word by word."""
        if not self.room.query:
            return []
        said = {word.lower() for word in _WORDS.findall(self.room.query[:20_000])}
        spoken = set(query_match.terms(self.room.query))
        found = []
        for index, one in enumerate(self.found.definitions):
            name = one.name.split(".")[-1]
            parts = query_match.terms(name)[1:]
            if len(name) > 2 and (name.lower() in said or (len(parts) > 1 and spoken.issuperset(parts))):
                found.append(index)
        # Definitions inside a named one come with it, and a plain word is a weaker match than a compound name.
        return sorted(found, key=lambda i: -len(self.found.definitions[i].name))

    def _mentions(self) -> list[int]:
        """Lines with a name from the query, except plain words. Example: "who calls fit_all?" -> lines with fit_all"""
        names = {
            word for word in _WORDS.findall(self.room.query[:20_000]) if not (word.isalpha() and word[1:].islower())
        }
        names = {word for word in names if len(word) > 2 and not word.isupper()}
        if not names:
            return []
        return [row for row, line in enumerate(self.bare) if any(name in line for name in names)][: self.number // 10]

    def _entry(self, index: int, level: int) -> str:
        found = self._texts.get((index, level))
        if found is None:
            found = self._texts[index, level] = self._entered(self.found.definitions[index], level)
        return found

    def _entered(self, one: Definition, level: int) -> str:
        text = one.name
        if level == SHORT:
            text = signature.short(self.bare, one)
        elif level > SHORT:
            text = signature.whole(self.bare, one)
        if level == DESCRIBED:
            text += signature.described(self.bare, one, self.language)
        return f"{one.at + self._first} {text}"

    def _head(self, left_out: int) -> str:
        name = self.room.name.replace("\\", "/").rsplit("/", 1)[-1] or spelled(
            self.language if self.found.parsed else ""
        )
        head = f"{name}, {plural(self.number, 'line')}"
        unnamed = self.levels.count(0)
        said = plural(left_out, "line") + (f", {plural(unnamed, 'definition')} not named" if unnamed else "")
        return f"{head} {self.room.mark(said)}" if left_out else head

    def render(self) -> str:
        """The page: bare names share a line, signatures and lines of code have their own."""
        out: list[str] = []
        if self.modules:
            more = ", …" if self.modules < len(self._modules) else ""
            out.append(
                f"{self.found.imports[0] + self._first} imports {', '.join(self._modules[: self.modules])}{more}"
            )
        together: list[str] = []
        depth, last = 0, -2
        for row, index in self._rows():
            one = self.found.definitions[index] if index >= 0 else None
            level = self.levels[index] if one else 0
            joins = one is not None and level <= SHORT and not self._holds(index)
            if together and (not joins or (one and one.depth != depth)):
                out.append("  " * depth + _joined(together))
                together = []
            if one is None:
                out.append(self._as_is(row, last))
            elif joins:
                depth = one.depth
                together.append(self._entry(index, level))
            else:
                out.append("  " * one.depth + self._entry(index, level))
            last = row if one is None else -2
        if together:
            out.append("  " * depth + _joined(together))
        return "\n".join([self._head(self.number - self._seen()), *out])

    def _seen(self) -> int:
        rows = set(self._lines_shown())
        for level, one in zip(self.levels, self.found.definitions, strict=True):
            if level >= WHOLE:
                rows.update(range(one.first, one.body))
        return len(rows)

    def _lines_shown(self) -> list[int]:
        rows = []
        row = self.shown.find(1)
        while 0 <= row < self.number:
            rows.append(row)
            row = self.shown.find(1, row + 1)
        return rows

    def _rows(self) -> Iterator[tuple[int, int]]:
        """Verbatim lines (-1) and entries (by definition) in order; a line that is shown needs no entry."""
        entries = [
            (one.at, index)
            for index, one in enumerate(self.found.definitions)
            if self.levels[index] and not self.shown[one.at]
        ]
        told = [row for row in self._lines_shown() if self.bare[row].strip()]
        rows = list(told)
        for before, after in pairwise(told):  # blank lines between two lines that are shown
            if all(not self.bare[row].strip() for row in range(before + 1, after)):
                rows += range(before + 1, after)
        return iter(sorted([*((row, -1) for row in rows), *entries]))

    def _holds(self, index: int) -> bool:
        """Whether other definitions are shown below this one."""
        one = self.found.definitions[index]
        following = index + 1
        return (
            following < len(self.levels)
            and self.found.definitions[following].depth > one.depth
            and bool(self.levels[following])
        )

    def _as_is(self, row: int, last: int) -> str:
        """A verbatim line, numbered if it doesn't follow the last one or names a definition."""
        follows = row == last + 1 and row not in self._starts
        if follows or self.lines[row] != self.bare[row] or not self.lines[row]:
            return self.lines[row]
        return f"{row + self._first} {self.lines[row]}"


def _joined(entries: Sequence[str]) -> str:
    """Definitions on one line, with parameters that several in a row share written once.

    Example: ["4 a(self, n)", "9 b(self, n)", "12 c(self, n)", "15 d(x)"] -> "4 a, 9 b, 12 c: each (self, n); 15 d(x)"
    """
    out: list[str] = []
    for given, run in groupby(entries, key=lambda entry: entry.partition("(")[2]):
        alike = list(run)
        if given and len(alike) >= _ALIKE:
            names = ", ".join(entry.partition("(")[0] for entry in alike)
            alike = [f"{names}: each ({given};"]
        out += alike
    return ", ".join(out).replace(";, ", "; ").removesuffix(";")


def _first_number(lines: Sequence[str], bare: Sequence[str]) -> int:
    """The number of the first line, from a numbered listing if it is one, else 1."""
    head = lines[0][: len(lines[0]) - len(bare[0])] if lines[0] != bare[0] else ""
    found = re.search(r"\d+", head)
    return int(found[0]) if found else 1


def _covered(definitions: Sequence[Definition], number: int) -> bytearray:
    covered = bytearray(number)
    at = 0
    for one in definitions:
        first = max(at, one.first)
        if one.end > first:
            covered[first : one.end] = b"\x01" * (one.end - first)
            at = one.end
    return covered
