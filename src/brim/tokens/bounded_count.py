"""Counting no more of a long text than an answer needs."""

from __future__ import annotations

from typing import Final

from brim.count_text import CountText

# So many characters for each token that there is room for are mostly more than the room: of dense text, of plain text.
PREFIXES: Final = (3, 5)
# What is longer is looked at once, even where it is asked for again.
LONG: Final = 8_192


def up_to(count: CountText, most: int) -> CountText:
    """`count` that reads a long text only until it is surely more than `most`; what it says then is above `most`.

    Example: up_to(count, 100)("a megabyte of text") -> 127
    """
    seen: dict[str, int] = {}

    def counted(text: str) -> int:
        if len(text) <= LONG:
            return count(text)
        found = seen.get(text)
        if found is None:
            found = seen[text] = _counted(text, count, most)
        return found

    return counted


def _counted(text: str, count: CountText, most: int) -> int:
    for characters in PREFIXES:
        end = characters * most
        if 2 * len(text) > 3 * end and (found := count(text[:end])) > most:
            return found
    return count(text)


def known(count: CountText, text: str, tokens: int) -> CountText:
    """`count` that need not read one text, whose size is known."""
    return lambda given: tokens if given is text else count(given)
