"""The tree-sitter grammars: one package a language, loaded when its first text is read.

The extra `code` brings those of 14 languages. Others are used where `tree-sitter-LANGUAGE` is installed.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

try:
    from tree_sitter import Language, Parser, Point, Tree
except ImportError:  # the extra `code` is not installed
    Language = Parser = None  # type: ignore[assignment, misc]

# A text is read so many bytes at a time, where other threads may run and a deadline may end it.
_PIECE = 512
# Good code is read twice at most. What a grammar reads more often than this, and a few bytes, is not of its language:
# Lua's looks for the end of a long string from each place on, and reads 24 KB of prose 870 times.
_MOST_TIMES, _FREE_BYTES = 20, 100_000
# Grammars whose module or function is not called as the language is.
_PLACES = {
    "csharp": ("tree_sitter_c_sharp", "language"),
    "ocaml": ("tree_sitter_ocaml", "language_ocaml"),
    "php": ("tree_sitter_php", "language_php"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}


def parser(language: str) -> Parser | None:
    """A new parser, for two threads must not share one. Example: parser("klingon") -> None"""
    grammar = _grammar(language) if Parser is not None else None
    return Parser(grammar) if grammar is not None else None


class _BoundedBytes:
    """Bytes that a grammar reads piece by piece, and how much it has read; after too much they are at their end."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._left = _MOST_TIMES * len(source) + _FREE_BYTES

    @property
    def exhausted(self) -> bool:
        return self._left < 0

    def __call__(self, offset: int, _: Point) -> bytes:
        self._left -= _PIECE
        return b"" if self._left < 0 else self._source[offset : offset + _PIECE]


def tree(source: bytes, language: str) -> Tree | None:
    """The syntax tree of a text; None without a grammar, and for a text over which its grammar goes again and again."""
    reader, pieces = parser(language), _BoundedBytes(source)
    if reader is None:
        return None
    found = reader.parse(pieces)
    return None if pieces.exhausted else found


def lacking(language: str) -> bool:
    """Whether texts of other languages can be read, but not of this one. Example: lacking("klingon") -> True"""
    return Parser is not None and _grammar(language) is None


@cache
def _grammar(language: str) -> Language | None:
    module, function = _PLACES.get(language, (f"tree_sitter_{language}", "language"))
    try:
        return Language(getattr(import_module(module), function)())
    except ModuleNotFoundError:
        return None
