"""`brim_recall`: give back the original of a compacted result, by page or by what is looked for."""

from __future__ import annotations

from collections.abc import Callable
from math import log

from brim.errors import NotFound
from brim.mcp.grouping import RECALL
from brim.mcp.jsonrpc import Json
from brim.mcp.stash import SCHEME, Stash
from brim.plan.words import spellings, words

Count = Callable[[str], int]
_CONTEXT = 2
_LONGEST_LINE = 400
_MOST_LINES = 200_000


def recall_tool() -> Json:
    return {
        "name": RECALL,
        "description": (
            "The original of a shortened result, by the brim: handle in its mark: from `offset` on, or the "
            "lines that match `query`."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": {"type": "string"},
                "offset": {"type": "integer", "description": "character to start at, default 0"},
                "query": {"type": "string", "description": "words or an exact string to look for inside it"},
            },
            "required": ["handle"],
        },
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    }


def recall(stash: Stash, arguments: Json, budget: int, count: Count) -> tuple[str, bool]:
    """The answer of the tool, and whether it is an error."""
    handle = arguments.get("handle")
    if not isinstance(handle, str) or not handle.strip():
        return "handle is missing: it stands in the mark of a shortened result, such as brim:3f2a…", True
    handle = handle.strip().strip("[]")
    if not handle.startswith(SCHEME):
        handle = SCHEME + handle
    try:
        text = stash.get(handle)
    except NotFound as error:
        return str(error), True
    query = arguments.get("query")
    if isinstance(query, str) and query.strip():
        return matching(text, query.strip(), budget, count), False
    offset = arguments.get("offset")
    return page(text, offset if isinstance(offset, int) and offset > 0 else 0, budget, count), False


def page(text: str, offset: int, budget: int, count: Count) -> str:
    """The text from `offset` on, as much as the budget holds, with the offset of what follows.

    Example: page("abc…", 0, 4000, count) -> "abc…\\n[… characters 0-16000 of 90000; next offset 16000]"
    """
    if offset >= len(text) > 0:
        return f"[the text ends at character {len(text)}]"
    part = text[offset : offset + budget * 8]
    room = budget - 24
    while part and (size := count(part)) > room:
        part = part[: max(int(len(part) * room / size * 0.97), 1)] if len(part) > 1 else ""
    end = offset + len(part)
    if end < len(text) and (line := part.rfind("\n")) > len(part) // 2:
        part = part[: line + 1]
        end = offset + len(part)
    if offset == 0 and end == len(text):
        return part
    more = f"; next offset {end}" if end < len(text) else ""
    return f"{part}\n[… characters {offset}-{end} of {len(text)}{more}]"


def matching(text: str, query: str, budget: int, count: Count) -> str:
    """The lines that match, with what stands around them, best first until the budget is full."""
    lines = _lines(text)
    scores = _scores([line for _, line in lines], query)
    if not scores:
        return f"[no line matches {query!r} in {len(text)} characters; offset reads it page by page]"
    left = budget - 40
    taken: dict[int, None] = {}
    for best in sorted(scores, key=lambda place: (-scores[place], place)):
        around = range(max(best - _CONTEXT, 0), min(best + _CONTEXT + 1, len(lines)))
        fresh = [place for place in around if place not in taken]
        cost = count("\n".join(lines[place][1] for place in fresh)) + 8
        if cost > left:
            if taken:
                break
            fresh = [best]
        taken.update(dict.fromkeys(fresh))
        left -= cost
        if left <= 0:
            break
    return _shown(lines, sorted(taken), len(scores))


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines with their offsets; a very long one in pieces, since a minified JSON is one line."""
    found: list[tuple[int, str]] = []
    start = 0
    for line in text.split("\n"):
        for at in range(0, max(len(line), 1), _LONGEST_LINE):
            found.append((start + at, line[at : at + _LONGEST_LINE]))
        start += len(line) + 1
        if len(found) > _MOST_LINES:
            break
    return found


def _scores(lines: list[str], query: str) -> dict[int, float]:
    exact = query.lower()
    asked = dict.fromkeys(words(query))
    low = [line.lower() for line in lines]
    scores: dict[int, float] = {}
    for place, line in enumerate(low):
        if exact in line:
            scores[place] = 100.0
    for word in asked:
        forms = spellings(word)
        hits = [place for place, line in enumerate(low) if any(form in line for form in forms)]
        worth = log(1 + len(lines) / (1 + len(hits)))
        for place in hits:
            scores[place] = scores.get(place, 0.0) + worth
    return scores


def _shown(lines: list[tuple[int, str]], places: list[int], matches: int) -> str:
    parts: list[str] = []
    before = -2
    for place in places:
        if place != before + 1:
            parts.append(f"[… offset {lines[place][0]}]")
        parts.append(lines[place][1])
        before = place
    parts.append(f"[{matches} matching lines]")
    return "\n".join(parts)
