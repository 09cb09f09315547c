"""Identifiers: words that name one thing. A text that holds the asked one is before all that merely resemble it."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Letters or signs with digits, or many digits.
_WORD = re.compile(r"\w[\w-]{2,40}")
# "15th", "100k", "30pm": amounts and times, which name nothing.
_AMOUNT = re.compile(r"\d+[a-z]{1,2}")
# An identifier that more than so many texts hold, or more than this share of them, names none of them.
FEW, COMMON = 4, 0.08
# So many characters of a message are searched for identifiers.
ASKED = 4_000


def is_identifier(word: str) -> bool:
    """Whether a word in lower case is a code that names one thing. Example: ord-02407 -> True, 15th -> False"""
    if word.isdigit():
        return len(word) >= 5
    return len(word) >= 4 and any(map(str.isdigit, word)) and not _AMOUNT.fullmatch(word)


def identifiers(text: str) -> list[str]:
    """The identifiers of a text in lower case. Example: "what was wrong with ORD-02407?" -> ["ord-02407"]"""
    return [word for word in dict.fromkeys(_WORD.findall(text[:ASKED].casefold())) if is_identifier(word)]


def holders(name: str, texts: Sequence[str], numbers: Sequence[int]) -> list[int]:
    """Those of some texts that hold an identifier as a word of its own; none of them where that are too many.

    Example: holders("ord-1", ["see ORD-1.", "see ORD-12"], [0, 1]) -> [0]
    """
    whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w]|-\w)")
    found = [number for number in dict.fromkeys(numbers) if whole.search(texts[number].casefold())]
    return found if len(found) <= max(FEW, COMMON * len(texts)) else []
