"""A token count for models whose vocabulary is not known: from the kinds of characters, and on the high side.

    estimate("def add(a, b):") -> 11

It is not an average. A byte-level vocabulary never needs more tokens than bytes, so text outside ASCII costs
its bytes (CJK, emoji, and what small vocabularies spell byte by byte); digits and punctuation cost one each;
words cost by length, and letters that do not look like words (hashes, base64) almost one each. Real
vocabularies are below it on code, CJK and emoji, by a factor that the counter learns from actual usage.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_LETTERS: Final = re.compile(r"[A-Za-z]+")
# Vocabularies split camelCase about where the case changes.
_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SPACE_RUN: Final = re.compile(r" {2,}")
# A space merges with the word or sign after it, but not with a digit or another script.
_LONE_SPACE: Final = re.compile(r" (?=[^!-/:-~ ]|$)")
_SPACES_PER_TOKEN: Final = 8
# Four consonants in a row, a letter three times, letters that words do not double, q without u: not a word.
_NO_WORD: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{4}|(.)\1\1|([hjkqvwxyz])\2|q[^u]", re.IGNORECASE)
_LONGEST_NAME: Final = 64


def estimate(text: str) -> int:
    """Return a number of tokens that a real vocabulary is not expected to exceed.

    Example: estimate("") -> 0; estimate("日本") -> 7; estimate("42") -> 3
    """
    if not text:
        return 0
    runs = _LETTERS.findall(text)
    letters = sum(map(len, runs))
    spaces = sum(1 + len(run) // _SPACES_PER_TOKEN for run in _SPACE_RUN.findall(text))
    rest = len(text.encode("utf-8", "surrogatepass")) - letters - text.count(" ")
    spaces += len(_LONE_SPACE.findall(text))
    # Sentencepiece vocabularies put a space before the text: one more token where it does not merge.
    return 1 + rest + spaces + sum(map(_letters_cost, runs))


@lru_cache(maxsize=1 << 16)
def _letters_cost(run: str) -> int:
    """Tokens of a run of ASCII letters.

    Example: "function" -> 3; "getUserName" -> 6; "xkqzjw" -> 6
    """
    if len(run) > _LONGEST_NAME:
        return len(run)
    parts = _PART.findall(run)
    if len(parts) >= 3 and len(run) < 3 * len(parts):
        return len(run)
    return sum(map(_part_cost, parts))


def _part_cost(part: str) -> int:
    size = len(part)
    if _NO_WORD.search(part):
        return size
    if part.isupper():  # vocabularies hold few words in capitals
        return (3 * size + 3) // 4
    return (size + 3) // 3
