"""Files that decide by the API of a request: only `apis/` may. Names of APIs as data are fine anywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

APIS = {"openai_chat", "openai_responses", "anthropic", "gemini"}
# The folders that may: everything about an API, providers in the catalogue, and adapters of frameworks.
ALLOWED = ("apis/", "models/", "integrations/", "wire/", "tokens/framing/", "catalog/")


def files(package: Path, found: Iterable[Path]) -> list[tuple[str, list[str]]]:
    """Files with the lines that compare with the name of an API, match on it, or look it up in a table of code."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in found}
    constants = {_module(package, path): _api_constants(tree) for path, tree in trees.items()}
    result = []
    for path, tree in trees.items():
        name = str(path.relative_to(package))
        if not name.startswith(ALLOWED):
            lines = sorted(set(_branches(tree, constants[_module(package, path)] | _imported(tree, constants))))
            if lines:
                result.append((name, [str(line) for line in lines]))
    return result


def _module(package: Path, path: Path) -> str:
    """Example: src/brim/apis/__init__.py -> brim.apis"""
    return ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")


def _api_constants(tree: ast.Module) -> set[str]:
    """The constants of a file that hold the name of an API, or several."""
    return {name for name, value in _constants(tree) if _is_api(value) or _names_apis(value)}


def _imported(tree: ast.Module, constants: dict[str, set[str]]) -> set[str]:
    """Those that a file has from others."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {one.name for node in nodes for one in node.names if one.name in constants.get(node.module or "", set())}


def _branches(tree: ast.Module, tables: set[str]) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            chosen = any(_compared(side, tables) for side in (node.left, *node.comparators))
        elif isinstance(node, ast.MatchValue):
            chosen = _is_api(node.value)
        elif isinstance(node, ast.Subscript):
            chosen = isinstance(node.value, ast.Name) and node.value.id in tables
        else:
            chosen = isinstance(node, ast.Call) and _asks_table(node.func, tables)
        if chosen:
            yield node.lineno


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _paired(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _paired(node.target, node.value)


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=False):
            yield from _paired(one, other)


def _is_api(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in APIS


def _names_apis(node: ast.expr) -> bool:
    """Whether a table has several APIs as its keys, or a set has them as its members."""
    if isinstance(node, ast.Call) and node.args:
        return _names_apis(node.args[0])
    members = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return sum(_is_api(one) for one in members) > 1


def _compared(node: ast.expr, tables: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in tables
    return _is_api(node) or (isinstance(node, (ast.Set, ast.Tuple, ast.List, ast.Dict)) and _names_apis(node))


def _asks_table(function: ast.expr, tables: set[str]) -> bool:
    """Whether a call is `TABLE.get(…)`, or `{…}.get(…)` with APIs as keys."""
    if not isinstance(function, ast.Attribute) or function.attr != "get":
        return False
    table = function.value
    return _names_apis(table) if isinstance(table, ast.Dict) else isinstance(table, ast.Name) and table.id in tables
