"""How long functions and files are."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path


def functions(package: Path, files: Iterable[Path]) -> list[tuple[int, str]]:
    """Functions with their lines, the longest first."""
    found = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                found.append((size, f"{path.relative_to(package)}:{node.lineno} {node.name}"))
    return sorted(found, reverse=True)


def files(package: Path, found: Iterable[Path]) -> list[tuple[int, str]]:
    """Files with their lines, the longest first."""
    sizes = [(len(path.read_text(encoding="utf-8").splitlines()), str(path.relative_to(package))) for path in found]
    return sorted(sizes, reverse=True)
