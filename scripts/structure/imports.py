"""Imports inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path


def inside_functions(package: Path, files: Iterable[Path]) -> list[str]:
    found = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = [one for one in ast.walk(node) if isinstance(one, (ast.Import, ast.ImportFrom))]
                found += [f"{path.relative_to(package)}:{one.lineno}" for one in inner]
    return sorted(set(found))
