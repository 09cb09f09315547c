"""A token count for models with an unknown vocabulary, from the kinds of characters and on the high side.

    estimate("def add(a, b):") -> 11

It is not an average. Text outside ASCII costs its bytes, which is what a byte-level vocabulary needs at most (CJK,
emoji, and what small vocabularies spell byte by byte); digits, punctuation and capitals cost one each; words cost by
length, and letters that do not look like words (hashes, base64) one each. It is about twice a modern vocabulary on
code, by a factor that the counter learns from actual usage. It is a rule of thumb and no bound: short strings of
unusual words in Latin letters can need more.
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
    # Vocabularies hold few words in capitals, and the finest spell them out.
    if part.isupper() or _NO_WORD.search(part):
        return size
    return (size + 3) // 3
