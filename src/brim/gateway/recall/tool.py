"""The tool: what it says of itself, and what it answers from the stash of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any, Final

from brim.plan.words import spellings, words

NAME: Final = "brim_recall"
DESCRIPTION: Final = (
    "Earlier parts of this conversation that were shortened or folded to fit the context window: by the brim: handle "
    "in a mark, from `offset` on; or, with `query`, the lines that match in that part or in all of them."
)
PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "such as brim:3f2a9c01"},
        "query": {"type": "string", "description": "words or an exact string to look for"},
        "offset": {"type": "integer", "description": "character to start at"},
    },
}
_SCHEME = "brim:"
_AROUND = 2
_LONGEST_LINE = 400
_MOST_LINES = 200_000
Count = Callable[[str], int]


def answer(stash: Mapping[str, str], arguments: Any, budget: int, count: Count) -> str:
    """What a call is answered with, in at most `budget` tokens.

    Example: answer({"brim:3f2a9c01": "…"}, {"handle": "brim:3f2a9c01"}, 2_000, count) -> "…"
    """
    if budget < 64:
        return "[no room is left in the context window: answer with what is here]"
    given = arguments if isinstance(arguments, Mapping) else {}
    handle, query, offset = given.get("handle"), given.get("query"), given.get("offset")
    texts = dict(stash)
    if isinstance(handle, str) and handle.strip():
        named = handle.strip().strip("[]")
        named = named if named.startswith(_SCHEME) else _SCHEME + named
        if named not in stash:
            return f"[nothing is kept under {named[:80]}: {_listed(stash)}]"
        texts = {named: stash[named]}
    elif not isinstance(query, str) or not query.strip():
        return f"[give a handle or a query: {_listed(stash)}]"
    if isinstance(query, str) and query.strip():
        return matching(texts, query.strip(), budget, count)
    return page(next(iter(texts.values())), offset if isinstance(offset, int) else 0, budget, count)


def _listed(stash: Mapping[str, str]) -> str:
    if not stash:
        return "nothing of this conversation was shortened or folded"
    shown = ", ".join(list(stash)[-20:])
    return f"known are {shown}" + (f" and {len(stash) - 20} older ones" if len(stash) > 20 else "")


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
        return f"[nothing matches {query[:80]!r} in {len(texts)} folded parts]"
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
