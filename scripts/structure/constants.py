"""Numbers of planning and sessions that nobody explains: constants without a comment beside or above them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

# The packages whose numbers decide what a request keeps.
PLACES = ("planning", "sessions")


def unexplained(package: Path, files: Iterable[Path]) -> list[str]:
    """Module constants that are numbers and have no comment on their line, nor on the one above their group."""
    found = []
    for path in files:
        name = path.relative_to(package)
        if name.parts[0] not in PLACES:
            continue
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        explained = 0  # the last line that a comment above covers
        for node in ast.parse(text).body:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)):
                continue
            above = lines[node.lineno - 2].lstrip().startswith("#") or explained == node.lineno - 1
            if above:
                explained = node.end_lineno or node.lineno
            if _is_number(node.value) and not above and "#" not in lines[node.lineno - 1]:
                found.append(f"{name}:{node.lineno} {lines[node.lineno - 1]}")
    return found


def _is_number(value: ast.expr | None) -> bool:
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    if isinstance(value, (ast.Tuple, ast.List)):
        return any(map(_is_number, value.elts))
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)
