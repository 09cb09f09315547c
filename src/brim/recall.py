"""Reads archived content: a page of it, or the lines that match a query.

Sessions, the gateway and the MCP wrapper each answer a recall tool. They store different content, but a model reads it
the same way. Each defines its own handles: eight hex digits within a session, 128 bits if anyone may ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import NamedTuple

from brim.count_text import CountText
from brim.relevance.terms import spellings, words

SCHEME = "brim:"
_AROUND = 2
_LONGEST_LINE = 400
_MOST_LINES = 200_000
# Tokens for what isn't counted exactly: the seam between a note and the text, and the lines between matches.
_SEAM, _NOTES = 4, 40
_EXACT = 100.0


class Asked(NamedTuple):
    """The parsed arguments of a recall tool; fields are empty if they can't be read."""

    handle: str
    query: str
    offset: int
    expression: str = ""


def asked(arguments: object) -> Asked:
    """Parse the arguments of a call as far as possible; models write handles with and without their scheme.

    Example: {"handle": "[3f2a9c01]", "offset": 400} -> Asked("brim:3f2a9c01", "", 400)
    """
    given = arguments if isinstance(arguments, Mapping) else {}
    handle, query, offset = given.get("handle") or given.get("id"), given.get("query"), given.get("offset")
    expression = given.get("expression")
    named = handle.strip().strip("[]").strip() if isinstance(handle, str) else ""
    if named and not named.startswith(SCHEME):
        named = SCHEME + named
    start = offset if isinstance(offset, int) and not isinstance(offset, bool) and offset > 0 else 0
    said, program = (one.strip() if isinstance(one, str) else "" for one in (query, expression))
    return Asked(named, said, start, program)


def read(text: str, what: Asked, budget: int, count: CountText) -> str:
    """The part of a content that a call asks for: the lines that match its query, or the page at its offset."""
    if what.query:
        return matching({"": text}, what.query, budget, count)
    return page(text, what.offset, budget, count)


def page(text: str, offset: int, budget: int, count: CountText) -> str:
    """The text from `offset` on, as much as fits the budget, with the offset of the rest.

    Example: page("abc…", 0, 4000, count) -> "abc…\\n[… characters 0-16000 of 90000; next offset 16000]"
    """
    offset = max(offset, 0)
    if offset >= len(text) > 0:
        return f"[the text ends at character {len(text)}]"
    part = text[offset : offset + budget * 8]
    most = len(text)
    room = budget - count(f"\n[… characters {most}-{most} of {most}; next offset {most}]") - _SEAM
    if offset == 0 and len(part) == len(text) and count(part) <= budget:
        return part
    while part and (size := count(part)) > room:
        part = part[: max(int(len(part) * room / size * 0.97), 1)] if len(part) > 1 else ""
    end = offset + len(part)
    if end < len(text) and (line := part.rfind("\n")) > len(part) // 2:
        part = part[: line + 1]
        end = offset + len(part)
    more = f"; next offset {end}" if end < len(text) else ""
    return f"{part}\n[… characters {offset}-{end} of {len(text)}{more}]"


def matching(texts: Mapping[str, str], query: str, budget: int, count: CountText) -> str:
    """The lines that match, with their surroundings, best first until the budget is full.

    Each text is under its label, and each jump gives the offset to continue reading from.
    """
    lines = _lines(texts)
    scores = _scores([line for _, _, line in lines], query)
    if not scores:
        size = sum(map(len, texts.values()))
        where = f" in {size} characters; offset reads it page by page" if len(texts) == 1 else ""
        return f"[nothing matches {query[:80]!r}{where}]"
    left = budget - _NOTES
    taken: dict[int, None] = {}
    for best in sorted(scores, key=lambda place: (-scores[place], place)):
        around = range(max(best - _AROUND, 0), min(best + _AROUND + 1, len(lines)))
        fresh = [place for place in around if place not in taken and lines[place][0] == lines[best][0]]
        cost = count("\n".join(lines[place][2] for place in fresh)) + 8
        if cost > left:
            if taken:
                break
            fresh = [best]
        taken.update(dict.fromkeys(fresh))
        left -= cost
        if left <= 0:
            break
    found = _shown(lines, sorted(taken), len(scores))
    return found if count(found) <= budget else page(found, 0, budget, count)


def _lines(texts: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """Lines with their text's label and offset; very long lines are split, because minified JSON is a single line."""
    found: list[tuple[str, int, str]] = []
    for label, text in texts.items():
        start = 0
        for line in text.split("\n"):
            for at in range(0, max(len(line), 1), _LONGEST_LINE):
                found.append((label, start + at, line[at : at + _LONGEST_LINE]))
            start += len(line) + 1
            if len(found) > _MOST_LINES:
                return found
    return found


def _scores(lines: list[str], query: str) -> dict[int, float]:
    exact = query.lower()
    low = [line.lower() for line in lines]
    scores = {place: _EXACT for place, line in enumerate(low) if exact in line}
    for word in dict.fromkeys(words(query)):
        forms = spellings(word)
        hits = [place for place, line in enumerate(low) if any(form in line for form in forms)]
        worth = log(1 + len(lines) / (1 + len(hits)))
        for place in hits:
            scores[place] = scores.get(place, 0.0) + worth
    return scores


def _shown(lines: list[tuple[str, int, str]], places: list[int], matches: int) -> str:
    parts: list[str] = []
    before, under = -2, ""
    for place in places:
        label, offset, line = lines[place]
        if label != under:
            parts.append(f"[{label}]")
        if offset and place != before + 1:
            parts.append(f"[… offset {offset}]")
        parts.append(line)
        before, under = place, label
    return "\n".join([*parts, f"[{matches} matching line{'s' if matches != 1 else ''}]"])
