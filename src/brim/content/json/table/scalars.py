"""Writes a value as the text of a cell, and reads it back.

A bare cell is a JSON number, true, false, null, or else a string. A string that would be read as something
else gets a mark: `'12` is the string "12"; one with commas, brackets or quotes is a JSON string; a longer
one with line breaks is written raw between triple quotes.

Example: cell("a, b", nested=False) -> '"a, b"';  cell("07", ...) -> '07';  cell("7", ...) -> "'7"
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from brim.content.json.exact import Digits
from brim.errors import NotDecodable

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
LITERALS: dict[str, Any] = {"null": None, "true": True, "false": False}
_WORDS = {None: "null", True: "true", False: "false"}

# Characters a bare string may not start with, anywhere or at the start of a row.
BAD_START = frozenset("\"'([{%$#")
# In a row, only commas and line breaks end a cell; inside brackets, brackets and quotes do too.
_ROW_DIRTY = re.compile(r"[,\x00-\x1f]|\s\Z")
_NESTED_DIRTY = re.compile(r"[,()\[\]{}\"\x00-\x1f]|\s\Z")
_ESCAPED = re.compile(r"[\"\\\x00-\x1f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]|\r(?!\n)")
ALIASED = re.compile(r"\$([A-Z]+)(?![A-Za-z0-9])(.*)\Z", re.DOTALL)


class Aliases:
    """Texts that are defined once at the top (`$A=https://…`) and used at the start of others as `$A/rest`."""

    def __init__(self, texts: dict[str, str] | None = None) -> None:
        self.texts = texts or {}
        self._whole = {text: name for name, text in self.texts.items()}
        starts = [(name, text) for name, text in self.texts.items() if text.startswith("http")]
        self._starts = sorted(starts, key=lambda item: -len(item[1]))

    def cut(self, text: str) -> tuple[str, str] | None:
        """Return the alias that a text begins with, and the rest of the text."""
        if not self.texts:
            return None
        whole = self._whole.get(text)
        if whole is not None:
            return whole, ""
        if text.startswith("http"):
            for name, start in self._starts:
                if text.startswith(start) and not text[len(start)].isalnum():
                    return name, text[len(start) :]
        return None


def cell(value: Any, nested: bool, aliases: Aliases) -> str:
    """Return the text of a scalar."""
    kind = type(value)
    if kind is str:
        return text_cell(value, nested, aliases)
    if kind is Digits:
        return str(value.text)
    if kind is int or kind is float:
        return repr(value)
    return _WORDS[value]


def text_cell(text: str, nested: bool, aliases: Aliases, column_is_text: bool = False) -> str:
    """Return the text of a string. In a column of texts, `12` needs no mark."""
    cut = aliases.cut(text)
    if cut is not None and not _NESTED_DIRTY.search(cut[1]):
        return f"${cut[0]}{cut[1]}"
    if not text or text[0].isspace() or (_NESTED_DIRTY if nested else _ROW_DIRTY).search(text):
        return quoted(text)
    if text[0] in BAD_START:
        return quoted(text)
    if not column_is_text and (text in LITERALS or NUMBER.match(text)):
        return "'" + text
    return text


def quoted(text: str) -> str:
    """Return a quoted string: raw in triple quotes if that saves escapes, else as JSON."""
    if not _ESCAPED.search(text):
        return f'"{text}"'
    plain = json.dumps(text, ensure_ascii=False)
    escapes = len(plain) - len(text) - 2
    if escapes > 1 and '"""' not in text and text[-1] != '"' and not _CONTROL.search(text):
        return f'"""{text}"""'
    return plain


def clean_column(texts: list[str]) -> bool:
    """Whether every text can be a bare cell of a row; cheap, with some false negatives."""
    joined = " ".join(texts)
    if "," in joined or not joined.isprintable() or not reads_as_texts(texts):
        return False
    return " " not in {text[-1] for text in texts}


def clean_nested(texts: list[str]) -> bool:
    """Whether every text can be a bare cell inside brackets."""
    return clean_column(texts) and not _BRACKETS.search(" ".join(texts))


def reads_as_texts(cells: Sequence[str]) -> bool:
    """Whether every bare cell is literally its text: not blank, not marked, not a number or literal."""
    starts = {cell[:1] for cell in cells}
    if not starts.isdisjoint(_NO_TEXT_START):
        return False
    if starts.isdisjoint(_MAYBE_LITERAL):
        return True
    return all(map(str.strip, cells, repeat(_NUMERIC))) and LITERALS.keys().isdisjoint(cells)


def read_numbers(cells: Sequence[str]) -> list[int] | None:
    """Return the cells as integers, or None unless all are integers as JSON writes them."""
    joined = "".join(cells)
    if not (joined.isascii() and joined.isdigit()) or not _ZERO_OR_NONE.isdisjoint({cell[:1] for cell in cells}):
        return None
    return list(map(int, cells))


_BRACKETS = re.compile(r"[()\[\]{}\"]")
_NO_TEXT_START = BAD_START | {"", " "}
_MAYBE_LITERAL = frozenset("-0123456789ntf")
_ZERO_OR_NONE = frozenset({"", "0"})
_NUMERIC = "-+.eE0123456789"


class ScalarReader(dict[str, Any]):
    """Converts bare or quoted cells to values, with a cache: reader["12"] -> 12, reader["'12"] -> "12"."""

    def __init__(self, aliases: dict[str, str], as_text: bool = False) -> None:
        super().__init__()
        self.aliases = aliases
        self.as_text = as_text

    def __missing__(self, raw: str) -> Any:
        value = self[raw] = self._read(raw)
        return value

    def _read(self, raw: str) -> Any:
        start = raw[:1]
        if start in BAD_START and start:
            return self._marked(raw, start)
        if not raw:
            return None
        if self.as_text:
            return raw
        if raw in LITERALS:
            return LITERALS[raw]
        if NUMBER.match(raw):
            return number(raw)
        return raw

    def _marked(self, raw: str, start: str) -> Any:
        if start == "'":
            return raw[1:]
        if start == '"':
            return unquoted(raw)
        if start == "$":
            found = ALIASED.match(raw)
            if found and found[1] in self.aliases:
                return self.aliases[found[1]] + found[2]
        return raw


def number(raw: str) -> int | float:
    """Return a JSON number's value: an int unless it has a point or an exponent."""
    try:
        return int(raw)
    except ValueError:
        return float(raw)


def unquoted(raw: str) -> str:
    """Return the string inside the quotes."""
    if raw.startswith('"""') and len(raw) >= 6:
        return raw[3:-3]
    if "\\" not in raw and len(raw) > 1:
        return raw[1:-1]
    try:
        text = json.loads(raw)
    except ValueError as error:
        raise NotDecodable(f"not a quoted text: {raw[:40]}") from error
    if not isinstance(text, str):
        raise NotDecodable(f"not a quoted text: {raw[:40]}")
    return text
