"""Recognizes keys and values that identify things; these stay verbatim, and are dropped last."""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NAMING = frozenset(
    "id ids uid uuid guid iid oid sha sha1 sha256 hash digest login name names username number title key keys email "
    "mail path filename file ref slug code symbol sku isbn doi pmid arn account handle".split()
)
_RANKS = {"login": 0, "username": 0, "name": 1, "slug": 1, "key": 1, "code": 1, "id": 2, "number": 3, "sha": 4}


@lru_cache(maxsize=4096)
def words_of(key: str) -> tuple[str, ...]:
    """Split a key into its lower-case words. Example: "headSha_id" -> ("head", "sha", "id")"""
    return tuple(word.lower() for word in _WORDS.findall(key))


@lru_cache(maxsize=4096)
def names_something(key: str) -> bool:
    """Whether values of this key are identifiers: its last word is one of id, name, sha, path, …"""
    words = words_of(key)
    return bool(words) and words[-1] in _NAMING


def key_rank(key: str) -> int:
    """Order the columns that could name a row, best first."""
    words = words_of(key)
    if not words:
        return 9
    return _RANKS.get(key.lower(), 5 if words[-1] in _NAMING else 8)
