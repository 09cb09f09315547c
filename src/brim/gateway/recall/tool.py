"""The recall tool's answers: a page of archived content, or matching lines of earlier messages."""

from __future__ import annotations

from typing import Any, Protocol

from brim.apis.recall_tool import queried
from brim.count_text import CountText
from brim.recall import asked, matching, page


class ArchiveSource(Protocol):
    """The source of recalled content."""

    def get(self, handle: str) -> str | None: ...

    def search(self, query: str) -> dict[str, str]:
        """Earlier messages that match a query, each under a label."""

    def handles(self) -> list[str]: ...


def answer(source: ArchiveSource, arguments: Any, budget: int, count: CountText) -> str:
    """The answer to a call, in at most `budget` tokens.

    Example: answer(source, {"handle": "brim:3f2a9c01"}, 2_000, count) -> the content behind it, or its first page
    """
    if budget < 64:
        return "[no room is left in the context window: answer with what is here]"
    handle, query, offset, expression = asked(arguments)
    if handle:
        text = source.get(handle)
        if text is None:
            return f"[nothing is kept under {handle[:80]}: {_listed(source.handles())}]"
        if expression:
            return page(queried(text, expression), offset, budget, count)
        return matching({handle: text}, query, budget, count) if query else page(text, offset, budget, count)
    if expression:
        return f"[give the handle of what the expression is about: {_listed(source.handles())}]"
    if not query:
        return f"[give a handle or a query: {_listed(source.handles())}]"
    return matching(source.search(query), query, budget, count)


def _listed(handles: list[str]) -> str:
    if not handles:
        return "nothing of this conversation was shortened"
    shown = ", ".join(handles[-20:])
    return f"known are {shown}" + (f" and {len(handles) - 20} older ones" if len(handles) > 20 else "")
