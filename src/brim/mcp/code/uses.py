"""Finds the uses of a definition: names in code, resolved to the definition they mean as far as the text shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from brim.mcp.code.languages import Symbol, constants, definitions, language_of, mentions
from brim.mcp.code.repository import Repository

_WORD = re.compile(rb"[\w$]+")
_BEFORE = re.compile(rb"([\w$]*)\s*(?:\.|->|::)\s*$")
# Files known by their folder's name, and languages whose files see their folder without an import.
_FOLDER_NAMES = frozenset(("__init__", "index", "mod", "lib", "main"))
_SHARED_FOLDERS = frozenset(("go", "java", "kotlin", "csharp", "swift", "scala", "c", "cpp"))
_ITSELF = ("self", "this", "cls", "super")
# Bytes before a name to search for its qualifier.
_LOOK_BACK = 120


@dataclass(frozen=True)
class _Source:
    """A file and its content."""

    path: str
    language: str
    data: bytes
    names: frozenset[bytes]  # the names to look for

    @cached_property
    def words(self) -> frozenset[bytes]:
        return frozenset(_WORD.findall(self.data))

    @cached_property
    def symbols(self) -> list[Symbol]:
        return [*definitions(self.data, self.language), *constants(self.data, self.language)]

    @cached_property
    def top(self) -> frozenset[str]:
        """The definitions outside of any class."""
        return frozenset(symbol.name for symbol in self.symbols if symbol.qualified == symbol.name)

    @cached_property
    def uses(self) -> dict[str, list[str | None]]:
        """The uses of each name, without its definitions, with their qualifier or None."""
        spots = {found.start(): found[0] for found in _WORD.finditer(self.data) if found[0] in self.names}
        defined = {(symbol.start_line, symbol.name) for symbol in self.symbols}
        found: dict[str, list[str | None]] = {}
        line, counted = 1, 0
        for spot in mentions(self.data, self.language, iter(spots)):
            name = spots[spot].decode("utf-8", "replace")
            line, counted = line + self.data.count(b"\n", counted, spot), spot
            if (line, name) in defined:
                defined.remove((line, name))  # the rest of the line may still use it
                continue
            taken = _BEFORE.search(self.data[max(0, spot - _LOOK_BACK) : spot])
            found.setdefault(name, []).append(taken[1].decode("utf-8", "replace") if taken else None)
        return found

    def aliases(self, module: str) -> set[str]:
        """The names of a module in this file. Example: "import shop as s", "shop" -> {"shop", "s"}"""
        named = re.findall(rb"(?<![\w$])" + re.escape(module.encode()) + rb"\s+as\s+([\w$]+)", self.data)
        return {module, *(name.decode("utf-8", "replace") for name in named)}


def uses_of(repository: Repository, defined: Sequence[tuple[str, str]]) -> list[dict[str, int]]:
    """The files that use each definition (file and qualified name), and how often.

    A name means the definition in its own file; elsewhere it means this one where the file does not define the name
    itself and names the module (or sees it, being in one package). A method is used as `something.name` in files that
    name its class or its module.
    """
    names = frozenset(qualified.rpartition(".")[2].encode() for _, qualified in defined)
    found: list[dict[str, int]] = [{} for _ in defined]
    for path in repository.files():
        language = language_of(path)
        if not language:
            continue
        source = _Source(path, language, repository.data(path), names)
        if not names & source.words:
            continue
        for number, (home, qualified) in enumerate(defined):
            times = _times(source, home, qualified)
            if times:
                found[number][path] = times
    return found


def _times(source: _Source, home: str, qualified: str) -> int:
    owner, _, name = qualified.rpartition(".")
    if name.encode() not in source.words:
        return 0
    module, at_home = _module(home), source.path == home
    uses = source.uses.get(name, [])
    sees = at_home or module.encode() in source.words or _one_package(source, home)
    if owner:
        if not (sees or owner.rpartition(".")[2].encode() in source.words):
            return 0
        own = () if at_home or not any(symbol.name == name for symbol in source.symbols) else _ITSELF
        return sum(at_home or (taken is not None and taken not in own) for taken in uses)
    if not sees:
        return 0
    hidden, modules = not at_home and name in source.top, source.aliases(module)
    return sum(taken in modules if taken is not None else not hidden for taken in uses)


def _module(path: str) -> str:
    """The name by which other files import a file. Example: "shop/cart.py" -> "cart", "shop/__init__.py" -> "shop" """
    place = PurePosixPath(path)
    return place.parent.name if place.stem in _FOLDER_NAMES and place.parent.name else place.stem


def _one_package(source: _Source, home: str) -> bool:
    same = PurePosixPath(source.path).parent == PurePosixPath(home).parent
    return same and source.language in _SHARED_FOLDERS
