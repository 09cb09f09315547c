"""Finds the pieces of a text that match a query.

Words of the query and parts of its identifiers are found by plain substring search, which takes milliseconds on
megabytes; rare words weigh more than common ones.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import log

_WORD = re.compile(r"\w[\w'’./-]*\w|\w")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_MOST_TERMS = 32
_MOST_HITS = 20_000
_STOP = frozenset(
    re.findall(
        r"\w+",
        """
    a about after all also am an and any are as at be because been but by can could did do does for from
    get had has have he her here him his how i if in into is it its just let like make me more my need
    no not now of on one only or other our out over please she should show so some tell than that the
    their them then there these they this to up us use was we were what when where which who why will
    with would you your
    """,
    )
)


def terms(query: str) -> tuple[str, ...]:
    """The words worth searching for, in lower case, compounds before their parts.

    Example: "Where is parseHeader used?" -> ("parseheader", "parse", "header", "used")
    """
    found: dict[str, None] = {}
    for word in _WORD.findall(query[:20_000]):
        for form in (word, *_PART.findall(word), *_pairs(word)):
            low = form.replace("İ", "I").lower().strip("'’./-")
            if len(low) < 2 and low.isascii():
                continue
            if low not in _STOP:
                found.setdefault(_stem(low))
        if len(found) >= _MOST_TERMS:
            break
    return tuple(found)[:_MOST_TERMS]


def _pairs(word: str) -> list[str]:
    """Neighbouring characters of a word in a script without spaces. Example: "数据库" -> ["数据", "据库"]"""
    wide = sum(1 for sign in word if "\u2e80" <= sign <= "\uffef")
    if wide < 3 or wide < 0.6 * len(word):
        return []
    return [word[at : at + 2] for at in range(min(len(word) - 1, _MOST_TERMS))]


def _stem(word: str) -> str:
    # Substring search finds "retries" and "retried" by "retri", which is good enough without a table.
    for ending in ("ing", "ed", "es", "s", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 4 and word.isalpha():
            return word[: -len(ending)]
    return word


def lowered(text: str) -> str:
    """Lower case with the positions of characters unchanged (only İ would become two)."""
    return text.replace("İ", "I").lower()


def hits(low: str, term: str) -> list[int]:
    """The positions of a term in the lowered text; short terms only at the start of a word."""
    found: list[int] = []
    at = low.find(term)
    whole_start = len(term) < 5 and term.isascii()
    while at >= 0 and len(found) < _MOST_HITS:
        if not whole_start or at == 0 or not low[at - 1].isalnum():
            found.append(at)
        at = low.find(term, at + len(term))
    return found


def scores(pieces: Sequence[str], query: str) -> dict[int, float]:
    """The scores of the pieces that contain a word of the query; others are left out.

    Example: scores(["a cat\\n", "a dog\\n"], "dog") -> {1: 1.1…}
    """
    wanted = terms(query)
    if not wanted or not pieces:
        return {}
    starts = [0, *accumulate(len(piece) for piece in pieces)]
    low = lowered("".join(pieces))
    found: dict[int, float] = {}
    for term in wanted:
        inside = dict.fromkeys(bisect_right(starts, at, hi=len(pieces)) - 1 for at in hits(low, term))
        weight = log(1 + len(pieces) / (1 + len(inside))) + 0.05
        for index in inside:
            found[index] = found.get(index, 0.0) + weight
    return found


def ranked(pieces: Sequence[str], query: str) -> list[int]:
    """The indices of the pieces that match, best first."""
    found = scores(pieces, query)
    return sorted(found, key=lambda index: (-found[index], index))
