"""Stands in for a model that summarises, where a library wants one: no network, and the same each time."""

from __future__ import annotations

from collections.abc import Sequence

BEGINNING = 120
WHOLE = 2_000


def summary(texts: Sequence[str]) -> str:
    """The beginning of the first text, which says what it is about, then of the newest ones while there is room.

    Example: summary(["Order 12 is late.", "I shall look."]) -> "- Order 12 is late.\\n- I shall look."
    """
    lines = ["- " + " ".join(text[:BEGINNING].split()) for text in texts]
    kept: list[str] = []
    left = WHOLE - sum(map(len, lines[:1]))
    for line in reversed(lines[1:]):
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*lines[:1], *reversed(kept)])
