"""How many tokens Claude sees in a text: exact, offline, for every generation of its tokenizer.

The vocabularies are the published reconstruction of `ctok` (MIT, see data/NOTICE-ctok); the counting is our
own, compiled where a compiler was there when Brim was installed and plain Python elsewhere, with one result.

    family           models                              frame of a one-message request
    claude-3         Claude 3 to 4.6                      7
    claude-4.7       Opus 4.7                            11
    claude-4.8       Opus 4.8 and everything after it     6
    claude-opus-5    Opus 5                               6   as 4.8, but blanks at the end are free
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from array import array
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Literal, NamedTuple, Protocol

from brim.count_text import CountText
from brim.errors import BadSetting
from brim.tokens import _claude_plain

try:
    from brim.tokens import _claude as _compiled
except ImportError:  # Brim was installed without a compiler
    _compiled = None  # type: ignore[assignment]

PLANE = 0x10000  # the tables cover the basic plane
BLOCKS = 0x110000 >> 6

_LONG = 2048  # shorter texts cannot make canonical ordering slow
_STRETCH = 512
# All characters that may change places are in these ranges; letters, ideographs and emoji break a stretch.
_UNBROKEN = re.compile("[\u0300-\u30ff\ua66f-\uabff\ufb1e-\ufe2f\U00010000-\U0001efff]+")
_DOUBLE_MARKS = {0x0F73: "\u0f71\u0f72", 0x0F75: "\u0f71\u0f74", 0x0F81: "\u0f71\u0f80"}


class ClaudeFamily(NamedTuple):
    """What sets one generation of the tokenizer apart from the others."""

    table: str
    frame: int  # tokens of a one-message request around its text
    frame_bow: bool  # the frame ends in a word-opening marker, which stands for one leading space
    fold_quotes: bool = False
    caps_from: int = 0  # shortest all-capital word that is written small behind a marker; 0: none is
    free_end: bool = False  # trailing blanks of the message cost nothing


class Vocabulary(Protocol):
    """The interface of both implementations; `text` is in NFC."""

    def count(self, text: str, frame_bow: bool, head_space: bool, /) -> int: ...


FAMILIES = {
    "claude-3": ClaudeFamily("claude-3", 7, frame_bow=True, fold_quotes=True, caps_from=4),
    "claude-4.7": ClaudeFamily("claude-4.7", 11, frame_bow=True),
    "claude-4.8": ClaudeFamily("claude-4.7", 6, frame_bow=False),
    "claude-opus-5": ClaudeFamily("claude-4.7", 6, frame_bow=False, free_end=True),
}


def count(text: str, family: str) -> int:
    """Return the tokens of `text` as the content of one message, without the frame around it.

    Accepts any string: text that spells a special token, NULs and lone surrogates count as the text they are.

    Example: count("hello, world", "claude-3") -> 3
    """
    traits = _family(family)
    if traits.free_end:
        text = text.rstrip(" \t\n\r\f\v")
    return vocabulary(traits.table).count(composed(text), traits.frame_bow, text.startswith(" "))


def message_frame(family: str) -> int:
    """Return the tokens that a request with one user message has around the message's text.

    Example: message_frame("claude-4.8") -> 6
    """
    return _family(family).frame


def implementation() -> Literal["compiled", "python"]:
    """Say which of the two counters is at work; their counts are the same."""
    return "python" if _compiled is None else "compiled"


def _family(name: str) -> ClaudeFamily:
    try:
        return FAMILIES[name]
    except KeyError:
        raise BadSetting("family", f"{name!r} is none of {', '.join(FAMILIES)}") from None


# ---- canonical composition --------------------------------------------------------------------------


def composed(text: str) -> str:
    """Return `text` in NFC, in linear time.

    The standard library sorts a run of marks by insertion, and 100,000 marks in the wrong order would take a
    minute: long runs are put in order first.

    Example: "e\\u0301" -> "é"
    """
    if text.isascii():
        return text
    if len(text) > _LONG and _longest_stretch(text) > _STRETCH:
        text = _UNBROKEN.sub(_ordered, text.translate(_DOUBLE_MARKS))
    return unicodedata.normalize("NFC", text)


def _ordered(stretch: re.Match[str]) -> str:
    if stretch.end() - stretch.start() <= _STRETCH:
        return stretch[0]
    parts: list[str] = []
    for is_mark, group in groupby(stretch[0], key=lambda c: unicodedata.combining(c) != 0):
        run = list(group)
        parts.extend(sorted(run, key=unicodedata.combining) if is_mark else run)
    return "".join(parts)


def _longest_stretch_plain(text: str) -> int:
    return max(map(len, _UNBROKEN.findall(text)), default=0)


_longest_stretch: CountText = _compiled.longest_stretch if _compiled else _longest_stretch_plain


# ---- tables, loaded once a process and only when they are needed --------------------------------------


@cache
def vocabulary(table: str) -> Vocabulary:
    """The counter of one table: compiled if available, otherwise plain Python."""
    return plain_vocabulary(table) if _compiled is None else compiled_vocabulary(table)


@cache
def plain_vocabulary(table: str) -> _claude_plain.PlainVocabulary:
    """The plain-Python counter of one table."""
    return _claude_plain.PlainVocabulary(_alphabet(), *_pieces(table), *_spelling(table))


@cache
def compiled_vocabulary(table: str) -> Vocabulary:
    """The compiled counter of one table."""
    kinds, lower = _characters()
    small = array("H", range(PLANE))
    for capital, letter in lower.items():
        small[capital] = letter
    return _compiled.Vocabulary(kinds, small.tobytes(), *_pieces(table), *_spelling(table))


def _spelling(table: str) -> tuple[bool, int]:
    """Quotes and capitals are written as the table's first family writes them; the others of it agree."""
    return FAMILIES[table].fold_quotes, FAMILIES[table].caps_from


@cache
def _alphabet() -> _claude_plain.Alphabet:
    return _claude_plain.Alphabet(*_characters())


@cache
def _characters() -> tuple[bytes, dict[int, int]]:
    """The kind and flags of each code point, and the small form of each capital."""
    data = _read("claude-characters")
    pairs = data[PLANE:].decode("utf-16-le")
    return data[:PLANE], {ord(capital): ord(small) for capital, small in zip(pairs[::2], pairs[1::2], strict=True)}


def _pieces(table: str) -> tuple[bytes, str]:
    """The cost of the characters that are no piece, by block of 64, and the pieces with NULs between."""
    data = _read(table)
    return data[:BLOCKS], data[BLOCKS:].decode()


def _read(name: str) -> bytes:
    return zlib.decompress(files("brim.tokens").joinpath("data", f"{name}.z").read_bytes())
