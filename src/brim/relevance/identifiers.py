"""Identifiers: words that name one thing. A text with the requested one ranks above texts with merely similar ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Letters or signs combined with digits, or many digits.
_WORD = re.compile(r"\w[\w-]{2,40}")
# "15th", "100k", "30pm": amounts and times, which don't identify anything.
_AMOUNT = re.compile(r"\d+[a-z]{1,2}")
# An identifier in more texts than this, or in more than this share of them, doesn't identify any of them.
FEW, COMMON = 4, 0.08
# Characters of a message to search for identifiers.
ASKED = 4_000


def is_identifier(word: str) -> bool:
    """Whether a lower-case word is a code that names one thing. Example: ord-02407 -> True, 15th -> False"""
    if word.isdigit():
        return len(word) >= 5
    return len(word) >= 4 and any(map(str.isdigit, word)) and not _AMOUNT.fullmatch(word)


def identifiers(text: str) -> list[str]:
    """The identifiers of a text in lower case. Example: "what was wrong with ORD-02407?" -> ["ord-02407"]"""
    return [word for word in dict.fromkeys(_WORD.findall(text[:ASKED].casefold())) if is_identifier(word)]


def holders(name: str, texts: Sequence[str], numbers: Sequence[int]) -> list[int]:
    """The given texts that contain an identifier as a separate word; none if there are too many.

    Example: holders("ord-1", ["see ORD-1.", "see ORD-12"], [0, 1]) -> [0]
    """
    whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w]|-\w)")
    found = [number for number in dict.fromkeys(numbers) if whole.search(texts[number].casefold())]
    return found if len(found) <= max(FEW, COMMON * len(texts)) else []
