"""Type names that are defined more than once: classes and aliases of types."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

# What an alias of a type is made of.
MAKERS = {"Callable", "Literal", "Mapping", "Sequence", "Iterable", "NewType", "TypeVar", "Union", "Awaitable"}
BUILTIN = {"dict", "list", "tuple", "set", "frozenset", "type"}


def repeated(package: Path, files: Iterable[Path]) -> list[tuple[str, list[str]]]:
    """Names with the files that define them, for every name that several do. Private names count as well.

    A subclass of the same name as its only base would be one of them.
    """
    where: dict[str, list[str]] = defaultdict(list)
    for path in files:
        for name in _types(ast.parse(path.read_text(encoding="utf-8"))):
            where[name].append(str(path.relative_to(package)))
    return sorted((name, places) for name, places in where.items() if len(places) > 1)


def _types(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(target, ast.Name) and target.id[:1].isupper() and not target.id.isupper() and _alias(node.value):
            yield target.id


def _alias(value: ast.expr) -> bool:
    """Whether an expression is a type. Example: Callable[[str], int] -> True; re.compile("a") -> False"""
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
        return value.value.id in MAKERS | BUILTIN
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        return True
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in MAKERS
