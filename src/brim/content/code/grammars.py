"""The tree-sitter grammars: one package a language, loaded when its first text is read.

The extra `code` brings those of 14 languages. Others are used where `tree-sitter-LANGUAGE` is installed.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

try:
    from tree_sitter import Language, Parser
except ImportError:  # the extra `code` is not installed
    Language = Parser = None  # type: ignore[assignment, misc]

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
