"""What the tool answers: a page of a stashed content, or the lines of earlier messages that match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any, Protocol

from brim.plan.words import spellings, words

_SCHEME = "brim:"
_AROUND = 2
_LONGEST_LINE = 400
_MOST_LINES = 200_000
Count = Callable[[str], int]


class Source(Protocol):
    """Where recalled content comes from."""

    def get(self, handle: str) -> str | None: ...

    def search(self, query: str) -> dict[str, str]:
        """Earlier messages about something, each under a label."""

    def handles(self) -> list[str]: ...


def answer(source: Source, arguments: Any, budget: int, count: Count) -> str:
    """What a call is answered with, in at most `budget` tokens.

    Example: answer(source, {"handle": "brim:3f2a9c01"}, 2_000, count) -> the content behind it, or its first page
    """
    if budget < 64:
        return "[no room is left in the context window: answer with what is here]"
    given = arguments if isinstance(arguments, Mapping) else {}
    handle, query, offset = given.get("handle"), given.get("query"), given.get("offset")
    asked = query.strip() if isinstance(query, str) else ""
    if isinstance(handle, str) and handle.strip():
        named = handle.strip().strip("[]")
        named = named if named.startswith(_SCHEME) else _SCHEME + named
        text = source.get(named)
        if text is None:
            return f"[nothing is kept under {named[:80]}: {_listed(source.handles())}]"
        if asked:
            return matching({named: text}, asked, budget, count)
        return page(text, offset if isinstance(offset, int) else 0, budget, count)
    if not asked:
        return f"[give a handle or a query: {_listed(source.handles())}]"
    return matching(source.search(asked), asked, budget, count)


def _listed(handles: list[str]) -> str:
    if not handles:
        return "nothing of this conversation was shortened"
    shown = ", ".join(handles[-20:])
    return f"known are {shown}" + (f" and {len(handles) - 20} older ones" if len(handles) > 20 else "")


def page(text: str, offset: int, budget: int, count: Count) -> str:
    """The text from `offset` on, as much as the budget holds, with the offset of what follows."""
    offset = max(0, offset)
    if offset >= len(text) > 0:
        return f"[the text ends at character {len(text)}]"
    part = text[offset : offset + budget * 8]
    room = budget - 24
    while part and (size := count(part)) > room:
        part = part[: max(1, int(len(part) * room / size * 0.97))] if len(part) > 1 else ""
    end = offset + len(part)
    if offset == 0 and end == len(text):
        return part
    more = f"; next offset {end}" if end < len(text) else ""
    return f"{part}\n[… characters {offset}-{end} of {len(text)}{more}]"


def matching(texts: Mapping[str, str], query: str, budget: int, count: Count) -> str:
    """The lines that match, with what stands around them, the best first until the budget is full."""
    lines = _lines(texts)
    scores = _scores([line for _, line in lines], query)
    if not scores:
        return f"[nothing earlier matches {query[:80]!r}]"
    left = budget - 40
    taken: dict[int, None] = {}
    for best in sorted(scores, key=lambda place: (-scores[place], place)):
        around = range(max(best - _AROUND, 0), min(best + _AROUND + 1, len(lines)))
        fresh = [place for place in around if place not in taken]
        cost = count("\n".join(lines[place][1] for place in fresh)) + 8
        if cost > left:
            if taken:
                break
            fresh = [best]
        taken.update(dict.fromkeys(fresh))
        left -= cost
    found = _shown(lines, sorted(taken), len(scores))
    return found if count(found) <= budget else page(found, 0, budget, count)


def _lines(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Lines with the handle that they stand under; a very long one in pieces."""
    found: list[tuple[str, str]] = []
    for handle, text in texts.items():
        for line in text.split("\n"):
            for at in range(0, max(len(line), 1), _LONGEST_LINE):
                found.append((handle, line[at : at + _LONGEST_LINE]))
            if len(found) > _MOST_LINES:
                return found
    return found


def _scores(lines: list[str], query: str) -> dict[int, float]:
    exact = query.lower()
    low = [line.lower() for line in lines]
    scores = {place: 100.0 for place, line in enumerate(low) if exact in line}
    for word in dict.fromkeys(words(query)):
        forms = spellings(word)
        hits = [place for place, line in enumerate(low) if any(form in line for form in forms)]
        worth = log(1 + len(lines) / (1 + len(hits)))
        for place in hits:
            scores[place] = scores.get(place, 0.0) + worth
    return scores


def _shown(lines: list[tuple[str, str]], places: list[int], matches: int) -> str:
    parts: list[str] = []
    before, under = -2, ""
    for place in places:
        handle, line = lines[place]
        if handle != under:
            parts.append(f"[{handle}]")
        elif place != before + 1:
            parts.append("[…]")
        parts.append(line)
        before, under = place, handle
    return "\n".join([*parts, f"[{matches} matching lines]"])
