"""Resolves a command's file arguments."""

from __future__ import annotations

import errno
import glob
from pathlib import Path

from brim.errors import BadInput


def files_named(name: str) -> list[Path]:
    """The files that an argument names, in order. Raises FileNotFoundError, BadInput."""
    path = Path(name)
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if one.is_file() and not _hidden(one.relative_to(path)))
    if path.is_file():
        return [path]
    if name == "-":
        raise BadInput("-", "is standard input, which is counted alone: pipe one text, or name files")
    matches = sorted(Path(one) for one in glob.glob(name, recursive=True) if Path(one).is_file())
    if glob.has_magic(name) and not matches:
        raise BadInput(name, "matches no file")
    if not matches:
        raise FileNotFoundError(errno.ENOENT, "there is no such file", name)
    return matches


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part in ("node_modules", "__pycache__") for part in path.parts)
