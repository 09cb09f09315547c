"""Counting no more of a long text than an answer needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Count = Callable[[str], int]

# Of dense text so many characters, for each token that there is room for, are more than the room; of plain text so many.
PREFIXES: Final = (2, 5)


def up_to(count: Count, most: int) -> Count:
    """`count` that reads a long text only until it is surely more than `most`; what it says then is above `most`.

    Example: up_to(count, 100)("a megabyte of text") -> 127
    """

    def counted(text: str) -> int:
        for characters in PREFIXES:
            end = characters * most
            if len(text) > 2 * end and (found := count(text[:end])) > most:
                return found
        return count(text)

    return counted


def known(count: Count, text: str, tokens: int) -> Count:
    """`count` that need not read one text, whose size is known."""
    return lambda given: tokens if given is text else count(given)
