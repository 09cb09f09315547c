"""Source code: imports and signatures as an outline, bodies folded, those that the query asks for kept first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from brim.content import plain_text
from brim.content.code.language import by_content, by_path
from brim.content.code.outline import Definition, Outline, outline
from brim.content.selection import Bundle, by_lines, fits, keep, paragraphed
from brim.content.types import Room
from brim.relevance import query_match

_LONGEST = 6_000_000
_NUMBERED = re.compile(r" {0,8}\d{1,7}(?:\t|→| ?\| ?|: |:)")
# Of the room, what bodies that match the query may take before the outline gets its share.
_QUERY_SHARE = 0.6
_MOST_ASKED = 8


def extract(text: str, room: Room, path: str = "") -> str:
    """The outline of a source text and the bodies that fit, within the room.

    Example: -> "import os\\nclass Store:\\n    def get(self, key):\\n        … 34 lines\\n    def put(self…"
    """
    if room.tokens <= 0:
        return ""
    if fits(text, room):
        return text
    pieces = paragraphed(text) if len(text) <= _LONGEST else []
    if len(pieces) < 4 or max(map(len, pieces)) > max(400, room.tokens * 3):
        return plain_text.extract(text, room)
    bare = unnumbered([piece.split("\n", 1)[0] for piece in pieces])
    found = outline(bare, by_path(path) or by_content(bare))
    if not found.definitions:
        return plain_text.extract(text, room)
    order = list(_Folding(pieces, found, room).order())

    def indent(first: int, end: int) -> str:
        line = bare[first]
        return line[: len(line) - len(line.lstrip())]

    return keep(pieces, lambda: iter(order), room, by_lines(pieces), indent, small="… {}")


def unnumbered(lines: Sequence[str]) -> list[str]:
    """The lines of a numbered listing (`cat -n`) without their numbers; others as they are."""
    matches = [_NUMBERED.match(line) for line in lines]
    if sum(1 for match in matches if match) < 0.9 * len(lines):
        return list(lines)
    return [line[match.end() :] if match else line for line, match in zip(lines, matches, strict=True)]


@dataclass(frozen=True, slots=True)
class _Folding:
    """The order in which the lines of a source text are worth keeping."""

    pieces: Sequence[str]
    found: Outline
    room: Room

    def order(self) -> Iterator[Bundle]:
        definitions = self.found.definitions
        above = _parents(definitions)
        heads = [self._head(index, above) for index in range(len(definitions))]
        asked, later = self._asked(heads)
        yield from asked
        for index in sorted(range(len(definitions)), key=lambda i: (definitions[i].depth, definitions[i].first)):
            yield heads[index]
        for index, one in enumerate(definitions):
            if one.doc[1] > one.doc[0]:
                yield (*heads[index], one.doc[0])
        yield from later
        inside = _covered(definitions, len(self.pieces))
        yield from ((line,) for line in self.found.imports if line < len(self.pieces))
        yield from ((line,) for line in range(len(self.pieces)) if not inside[line])
        for index, one in enumerate(definitions):
            yield from ((*heads[index], line) for line in range(*one.doc))
        # Short bodies first: more of them become complete.
        for index in sorted(range(len(definitions)), key=lambda i: (definitions[i].end - definitions[i].body, i)):
            one = definitions[index]
            yield from ((*heads[index], line) for line in range(one.body, one.end))
        yield from ((line,) for line in range(len(self.pieces)))

    def _head(self, index: int, above: Sequence[int]) -> Bundle:
        """The signature of a definition, under those of the ones around it."""
        chain: list[int] = []
        while index >= 0:
            one = self.found.definitions[index]
            # A signature of very many lines is shown by its first ones.
            chain[:0] = range(one.first, min(one.body, one.first + 6))
            index = above[index]
        return tuple(dict.fromkeys(chain))

    def _asked(self, heads: Sequence[Bundle]) -> tuple[list[Bundle], list[Bundle]]:
        """The bodies that speak of the query, best first: those that get their share now, and what is left of them."""
        scores = query_match.scores(self.pieces, self.room.query)
        if not scores:
            return [], []
        rated: list[tuple[float, int]] = []
        for index, one in enumerate(self.found.definitions):
            named = sum(scores.get(line, 0.0) for line in range(one.first, one.body))
            spoken = sum(scores.get(line, 0.0) for line in range(one.body, one.end))
            score = 3 * named + spoken / max(1.0, (one.end - one.body) ** 0.5)
            if score:
                rated.append((-score, index))
        rated.sort()
        now: list[Bundle] = []
        later: list[Bundle] = []
        left = self.room.tokens * 4 * _QUERY_SHARE
        for _, index in rated[:_MOST_ASKED]:
            one = self.found.definitions[index]
            for line in range(one.body, one.end):
                left -= len(self.pieces[line])
                (now if left > 0 else later).append((*heads[index], line))
        lines = sorted(scores, key=lambda line: (-scores[line], line))[: self.room.tokens // 40]
        return [*((line,) for line in lines[:4]), *now], [*((line,) for line in lines[4:]), *later]


def _parents(definitions: Sequence[Definition]) -> list[int]:
    """For each definition the index of the one around it, or -1. They are in order of their first lines."""
    found: list[int] = []
    stack: list[int] = []
    for index, one in enumerate(definitions):
        while stack and definitions[stack[-1]].end <= one.first:
            stack.pop()
        found.append(stack[-1] if stack else -1)
        stack.append(index)
    return found


def _covered(definitions: Sequence[Definition], number: int) -> bytearray:
    covered = bytearray(number)
    at = 0
    for one in definitions:
        first = max(at, one.first)
        if one.end > first:
            covered[first : one.end] = b"\x01" * (one.end - first)
            at = one.end
    return covered
