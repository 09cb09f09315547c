"""XML and context blocks: the elements stay, small ones whole, large ones with an extract of their content.

`prior_context` is the form for context of earlier turns: structure and previews.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape

from brim.content import mixed, plain_text
from brim.content.detect.blocks import Span, blocks, elements
from brim.content.documents import markdown
from brim.content.selection import Bundle, fits, keep, least, lines, plural, shares
from brim.content.types import Room
from brim.relevance import query_match

__all__ = ["Span", "blocks", "extract", "prior_context"]

_LONGEST = 4_000_000
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class _Element:
    """A child element: text[before:after] with its tags, text[start:end] without."""

    before: int
    start: int
    end: int
    after: int


def extract(text: str, room: Room) -> str:
    """The elements of an XML text within the room.

    Example: "<doc><a>short</a><b>very long…</b></doc>" -> "<doc><a>short</a><b>very[… 900 characters]</b></doc>"
    """
    return _extract(text, room, 0)


def _extract(text: str, room: Room, depth: int) -> str:
    if room.tokens <= 0:
        return ""
    if fits(text, room):
        return text
    if len(text) > _LONGEST or depth > _DEEPEST:
        return plain_text.extract(text, room)
    children = _children(text)
    if not children:
        return mixed.inner(text, room)
    if len(children) > 8:
        # If not even three of many elements would fit, plain text is as good.
        mean = sum(child.after - child.before for child in children) / len(children)
        made = _pick(text, children, room) if mean < room.tokens * 1.3 else None
    else:
        made = _share(text, children, room, depth)
    if made is not None and room.count(made) <= room.tokens:
        return made
    return plain_text.extract(text, room) if len(children) > 8 or depth else _tags(text, children, room)


def _tags(text: str, children: list[_Element], room: Room) -> str:
    """Elements in a room that barely fits their tags: the first ones with a mark inside, the others counted.

    Elements are never torn: an opening tag alone wouldn't show where the content ends.
    Example: '<prior_context source="a.md" type="note">\\n[… 1,500 characters, brim:3f2a]\\n</prior_context>'
    """
    best = least(room, plural(len(children), "element"))
    for kept in range(1, len(children) + 1):
        out = []
        for child in children[:kept]:
            inside = text[child.start : child.end]
            mark = room.mark(plural(len(inside), "character"))
            out.append(f"{text[child.before : child.start]}\n{mark}\n{text[child.end : child.after]}")
        left = len(children) - kept
        made = "\n".join([*out, *([room.mark(plural(left, "more element"))] if left else [])])
        if room.count(made) > room.tokens:
            break
        best = made
    return best


def _children(text: str) -> list[_Element]:
    """The outermost elements of a text, in order."""
    found: list[_Element] = []
    for start, end, name, _ in sorted(elements(text)):
        before = text.rfind("<" + name, 0, start)
        if not found or before >= found[-1].after:
            found.append(_Element(before, start, end, end + len(name) + 3))
    return found


def _pick(text: str, children: list[_Element], room: Room) -> str:
    """For many similar elements: those that match the query, then the first and last, whole."""
    pieces: list[str] = []
    places: list[int] = []
    at = 0
    for child in children:
        if child.before > at:
            pieces.extend(lines(text[at : child.before]))
        places.append(len(pieces))
        pieces.append(text[child.before : child.after])
        at = child.after
    pieces.extend(lines(text[at:]))
    elements_before = [0] * (len(pieces) + 1)
    for place in places:
        elements_before[place + 1] = 1
    for index in range(len(pieces)):
        elements_before[index + 1] += elements_before[index]

    def describe(first: int, end: int) -> str:
        number = elements_before[end] - elements_before[first]
        return plural(number, "element") if number else plural(end - first, "line")

    wanted: list[Bundle] = [(index,) for index in query_match.ranked(pieces, room.query)[:200]]
    wanted.extend(plain_text.head_and_tail([len(piece) for piece in pieces]))
    return keep(pieces, lambda: iter(wanted), room, describe)


def _share(text: str, children: list[_Element], room: Room, depth: int) -> str | None:
    """For few elements: each with its tags, and as much of its content as fits its share of the room."""
    parts: list[str] = []
    inner: list[bool] = []
    at = 0
    for child in children:
        parts += [text[at : child.start], text[child.start : child.end]]
        inner += [False, True]
        at = child.end
    parts.append(text[at:])
    inner.append(False)
    sizes = [room.count(part) for part in parts]
    frame = sum(size for size, inside in zip(sizes, inner, strict=True) if not inside)
    if frame > room.tokens * 0.8:
        return None
    weighed = [size for size, inside in zip(sizes, inner, strict=True) if inside]
    given = iter(shares(weighed, room.tokens - frame))
    out: list[str] = []
    left = 0
    for part, size, inside in zip(parts, sizes, inner, strict=True):
        if not inside:
            out.append(part)
            continue
        share = next(given) + left
        made = part if size <= share else _extract(part, replace(room, tokens=share), depth + 1)
        left = max(0, share - (size if made is part else room.count(made)))
        out.append(made)
    return "".join(out)


def prior_context(text: str, source: str, kind: str, preview: int = markdown.PREVIEW) -> str:
    """Context of an earlier turn in short: headings, and the opening of each section.

    Example: prior_context("# Plan\\n…2,000 characters…", "plan.md", "note")
             -> '<prior_context source="plan.md" type="note">\\n# Plan\\n… [… 1,500 characters]\\n</prior_context>'
    """
    body = text.strip("\n")
    if len(body) > preview:
        body = "\n".join(_previews(body, preview))
    return f'<prior_context source="{escape(source)}" type="{escape(kind)}">\n{body}\n</prior_context>'


def _previews(text: str, preview: int) -> list[str]:
    pieces = lines(text)
    out: list[str] = []
    for section in markdown.sections(pieces):
        if section.level:
            out.append(pieces[section.first].rstrip("\n"))
        start = section.first + bool(section.level)
        body = "".join(pieces[start : section.end]).strip("\n")
        if len(body) > preview:
            end = max(body.rfind("\n", preview // 2, preview), body.rfind(" ", preview // 2, preview))
            end = end if end > 0 else preview
            body = f"{body[:end]} [… {plural(len(body) - end, 'character')}]"
        if body:
            out.append(body)
    return out
