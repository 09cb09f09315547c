"""The tree-sitter grammars: one package per language, loaded when its first text is read.

The extra `code` installs those of 14 languages. Others are used if `tree-sitter-LANGUAGE` is installed.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

try:
    from tree_sitter import Language, Parser, Point, Tree
except ImportError:  # the extra `code` is not installed
    Language = Parser = None  # type: ignore[assignment, misc]

# Bytes to parse at a time; in between, other threads may run and a deadline may stop the parse.
_PIECE = 512
# Valid code is read twice at most. If a grammar reads a text more often than this, beyond some free bytes, it isn't in
# that language: Lua's looks for the end of a long string from each position, and reads 24 KB of prose 870 times.
_MOST_TIMES, _FREE_BYTES = 20, 100_000
# Grammars whose module or function has another name than the language.
_PLACES = {
    "csharp": ("tree_sitter_c_sharp", "language"),
    "ocaml": ("tree_sitter_ocaml", "language_ocaml"),
    "php": ("tree_sitter_php", "language_php"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}


def parser(language: str) -> Parser | None:
    """A new parser, because two threads must not share one. Example: parser("klingon") -> None"""
    grammar = _grammar(language) if Parser is not None else None
    return Parser(grammar) if grammar is not None else None


class _BoundedBytes:
    """Bytes that a grammar reads piece by piece. After too many reads, they pretend to end."""

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
    """The syntax tree of a text; None without a grammar, or if the grammar keeps rereading the text."""
    reader, pieces = parser(language), _BoundedBytes(source)
    if reader is None:
        return None
    found = reader.parse(pieces)
    return None if pieces.exhausted else found


def lacking(language: str) -> bool:
    """Whether grammars are installed, but not for this language. Example: lacking("klingon") -> True"""
    return Parser is not None and _grammar(language) is None


@cache
def _grammar(language: str) -> Language | None:
    module, function = _PLACES.get(language, (f"tree_sitter_{language}", "language"))
    try:
        return Language(getattr(import_module(module), function)())
    except ModuleNotFoundError:
        return None
