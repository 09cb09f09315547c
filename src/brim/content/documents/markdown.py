"""Markdown: every heading with a preview of its section, code fences and lists shortened.

Lines are kept whole. Headings come first, then the opening of each section, starting with sections that match the
query, then whatever else fits.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from brim.content import mixed, plain_text
from brim.content.selection import Bundle, by_lines, fits, keep, paragraphed
from brim.content.types import Room
from brim.relevance import query_match

PREVIEW = 500
_LONGEST = 4_000_000
_HEADING = re.compile(r"(#{1,6})[ \t]+\S")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,})\s*$")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+\S")
_ROW = re.compile(r"\s*\|")
_RULE = re.compile(r"\s*\|[ :|-]+\|?\s*$")


@dataclass(slots=True)
class MarkdownSection:
    """A heading and the lines until the next one; the lines before the first heading have level 0."""

    first: int
    level: int
    end: int = 0
    body: list[int] = field(default_factory=list)


def extract(text: str, room: Room) -> str:
    """Headings and previews of the sections within the room.

    Example: "# A\\nlong…\\n## B\\nlong…" -> "# A\\n<first lines>\\n## B\\n<first lines>\\n[… 42 of 60 lines]"
    """
    if room.tokens <= 0:
        return ""
    if fits(text, room):
        return text
    if len(text) <= _LONGEST and (made := mixed.by_parts(text, room)) is not None:
        return made
    pieces = paragraphed(text) if len(text) <= _LONGEST else []
    if len(pieces) < 3 or max(map(len, pieces)) > room.tokens * 3:
        return plain_text.extract(text, room)
    fences = fenced(pieces)
    found = sections(pieces, fences)
    fences.update(tables(pieces, fences))
    plan = _order(pieces, found, fences, room)
    whole = by_lines(pieces)(0, len(pieces))

    def missing(gaps: list[tuple[int, int]]) -> str:
        return f"{sum(piece.count(chr(10)) for first, end in gaps for piece in pieces[first:end]):,} of {whole}"

    return keep(pieces, lambda: iter(plan), room, by_lines(pieces), small="", total=missing)


def fenced(pieces: Sequence[str]) -> dict[int, tuple[int, int]]:
    """For each line inside a code fence, the lines of the fence around it."""
    found: dict[int, tuple[int, int]] = {}
    opened, sign = -1, ""
    for index, line in enumerate(pieces):
        fence = _FENCE.match(line)
        if not fence:
            continue
        if opened < 0:
            opened, sign = index, fence[1]
        elif fence[1].startswith(sign) and not line.strip().strip(sign[0]):
            for inside in range(opened, index + 1):
                found[inside] = (opened, index)
            opened = -1
    return found


def tables(pieces: Sequence[str], fences: Container[int]) -> dict[int, tuple[int, int]]:
    """For each row of a table, the two lines of its head."""
    found: dict[int, tuple[int, int]] = {}
    head: tuple[int, int] | None = None
    for index, line in enumerate(pieces):
        if index in fences or not _ROW.match(line):
            head = None
            continue
        if index and _RULE.match(line) and _ROW.match(pieces[index - 1]):
            head = (index - 1, index)
        if head:
            found[index] = head
    return found


def sections(pieces: Sequence[str], fences: dict[int, tuple[int, int]] | None = None) -> list[MarkdownSection]:
    """The sections of a Markdown text, in order."""
    around = fenced(pieces) if fences is None else fences
    found = [MarkdownSection(0, 0)]
    for index, line in enumerate(pieces):
        heading = None if index in around else _HEADING.match(line)
        if heading:
            found.append(MarkdownSection(index, len(heading[1])))
        elif (
            index
            and index not in around
            and _UNDERLINE.match(line)
            and pieces[index - 1].strip()
            and found[-1].first < index - 1
            and not _ROW.match(pieces[index - 1])
        ):
            if index - 1 in found[-1].body:
                found[-1].body.remove(index - 1)
            found.append(MarkdownSection(index - 1, 1 if line[0] == "=" else 2))
            found[-1].body.append(index)
            continue
        if not heading and line.strip():
            found[-1].body.append(index)
    for here, after in zip(found, [*found[1:], None], strict=True):
        here.end = after.first if after else len(pieces)
    return [one for one in found if one.level or one.body]


def _order(
    pieces: Sequence[str], found: Sequence[MarkdownSection], fences: dict[int, tuple[int, int]], room: Room
) -> list[Bundle]:
    scores = query_match.scores(pieces, room.query)
    best = sorted(found, key=lambda one: (-sum(scores.get(i, 0.0) for i in (one.first, *one.body)), one.first))
    asked = [one for one in best if any(i in scores for i in (one.first, *one.body))][: max(3, len(found) // 4)]

    def bundle(section: MarkdownSection, index: int) -> Bundle:
        held = (section.first,) if section.level else ()
        fence = fences.get(index, ())
        return tuple(dict.fromkeys((*held, *fence, index)))

    order: list[Bundle] = []
    matching = sorted(scores, key=lambda index: (-scores[index], index))
    of_line = {index: one for one in found for index in (one.first, *one.body)}
    order.extend(bundle(of_line[i], i) for i in matching[: max(4, room.tokens // 60)] if i in of_line)
    order.extend((one.first,) for one in sorted(found, key=lambda one: one.level) if one.level)
    previews = [(one, list(preview_lines(pieces, one, fences))) for one in found]
    # A line of every section before the second of any, so that a short room shows all of them.
    for depth in range(3):
        order.extend(bundle(one, shown[depth]) for one, shown in previews if depth < len(shown))
    for one in asked:
        order.extend(bundle(one, index) for index in one.body)
    for one, shown in previews:
        order.extend(bundle(one, index) for index in shown[3:])
    for one in found:
        order.extend(bundle(one, index) for index in one.body)
    order.extend((index,) for index in range(len(pieces)))
    return order


def preview_lines(
    pieces: Sequence[str], section: MarkdownSection, fences: dict[int, tuple[int, int]], preview: int = PREVIEW
) -> Iterator[int]:
    """The lines that represent a section: its opening, with at most three items of a list and three lines of code."""
    used = items = code = 0
    for index in section.body:
        line = pieces[index]
        in_code = index in fences and not _ROW.match(line)
        items = items + 1 if _ITEM.match(line) or _ROW.match(line) else 0
        code = code + 1 if in_code else 0
        if items > 3 or code > 4:
            continue
        used += len(line)
        if used > preview:
            return
        yield index
