"""Rooms for the compactor tests: a real tokenizer, and what every extract must do in any room."""

from __future__ import annotations

import re
from collections.abc import Callable

import splintr
from hypothesis import strategies as st

from brim.content.types import Room

_TOKENIZER = splintr.Tokenizer.from_pretrained("o200k_base")
_MARK = re.compile(r"\[… [^\]\n]*\]\n?|… [^\n]*\n?|\[…\]|…")


def count(text: str) -> int:
    try:
        return len(_TOKENIZER.encode(text))
    except UnicodeEncodeError:
        return len(_TOKENIZER.encode(text.encode("utf-8", "replace").decode()))


def room(tokens: int, query: str = "", handle: str = "", recall: bool = False) -> Room:
    return Room(tokens, count, handle, recall, query)


def stays_inside(extract: Callable[[str, Room], str], text: str, tokens: int, query: str = "") -> str:
    """The extract of a text, checked to be within its room and to be the text itself where that fits."""
    for handle in ("", "brim:3f2a"):
        got = extract(text, room(tokens, query, handle))
        assert count(got) <= tokens
        assert got == text or count(text) > tokens or len(text) > 128 * tokens or len(got) < len(text)
        if got != text and tokens > 30 and len(text) > 16 * tokens:
            assert "…" in got
    return got


def is_verbatim(got: str, text: str) -> bool:
    """Whether all that stands between the marks is in the text, in its order."""
    at = 0
    for part in _MARK.split(got):
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def keeps_lines(got: str, text: str) -> bool:
    """Whether every line but the mark is one of the text, in its order."""
    written = iter(text.split("\n"))
    return all(line in written for line in got.split("\n") if line and not _MARK.match(line))


texts = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="ab \n\t.{}<>/#-+@`|é漢\ud800\x00", max_size=600),
    st.lists(st.text(alphabet="abc XYZ_09.:;,-+@#<>/(){}[]\"'", max_size=80), max_size=60).map("\n".join),
)
budgets = st.integers(min_value=0, max_value=120)
