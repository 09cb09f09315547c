"""Stands in for a model that summarises, where a library wants one: no network, and the same each time."""

from __future__ import annotations

from collections.abc import Sequence

BEGINNING = 120
WHOLE = 2_000


def summary(texts: Sequence[str]) -> str:
    """The beginning of every text, newest first, while there is room; a real model may keep more or less.

    Example: summary(["Order 12 is late.", "I shall look."]) -> "- Order 12 is late.\\n- I shall look."
    """
    lines: list[str] = []
    left = WHOLE
    for text in reversed(texts):
        line = "- " + " ".join(text[:BEGINNING].split())
        if len(line) > left:
            break
        lines.append(line)
        left -= len(line) + 1
    return "\n".join(reversed(lines))
