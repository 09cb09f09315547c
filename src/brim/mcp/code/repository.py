"""The files of a repository according to git, and their definitions."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from brim.errors import BadInput
from brim.mcp.code.languages import Symbol, definitions, language_of

_LARGEST = 1 << 20
_GIT_SECONDS = 30
_SKIPPED = frozenset((".git", "node_modules", "__pycache__", ".venv", "venv", "target", "dist", ".mypy_cache"))


@dataclass(frozen=True, slots=True)
class _Read:
    stamp: tuple[int, int]
    data: bytes
    symbols: tuple[Symbol, ...] | None


class Repository:
    """A working tree. Each version of a file is read and parsed only once."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        self._read: dict[str, _Read] = {}

    def files(self) -> list[str]:
        """Paths of all files that git tracks or would track, sorted; without git, all but build output."""
        listed = self.git("ls-files", "-co", "--exclude-standard", "-z", check=False)
        if listed is None:
            return sorted(self._walk())
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
        return sorted(dict.fromkeys(name for name in names if (self.root / name).is_file()))

    def _walk(self) -> list[str]:
        found: list[str] = []
        for folder, below, names in os.walk(self.root):
            below[:] = sorted(name for name in below if name not in _SKIPPED and not name.startswith("."))
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return found

    def git(self, *arguments: str, check: bool = True) -> bytes | None:
        """git's output; if git fails, None without `check`, otherwise BadInput with git's message."""
        command = ["git", "-C", str(self.root), "-c", "core.quotepath=off", *arguments]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            if check:
                raise BadInput("git", str(error)) from error
            return None
        if done.returncode != 0:
            if check and self.git("rev-parse", "--git-dir", check=False) is None:
                raise BadInput(
                    str(self.root), "is not in a git repository: start `brim mcp serve` in one, or `git init`"
                )
            if check:
                raise BadInput(f"git {arguments[0]}", done.stderr.decode("utf-8", "replace").strip()[:300])
            return None
        return done.stdout

    def data(self, path: str) -> bytes:
        """A file's bytes; empty if it is binary, too large, missing or outside the repository."""
        return self._of(path).data

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """What a file defines, in its order."""
        read = self._of(path)
        if read.symbols is None:
            language = language_of(path)
            symbols = tuple(definitions(read.data, language)) if language and read.data else ()
            read = self._read[path] = _Read(read.stamp, read.data, symbols)
        return read.symbols or ()

    def _of(self, path: str) -> _Read:
        full = self.root / path
        try:
            status = full.stat()
            if not full.resolve().is_relative_to(self.root):
                return _Read((0, 0), b"", ())
        except OSError:
            return _Read((0, 0), b"", ())
        stamp = (status.st_mtime_ns, status.st_size)
        read = self._read.get(path)
        if read is None or read.stamp != stamp:
            read = self._read[path] = _Read(stamp, self._bytes(full, status.st_size), None)
        return read

    def _bytes(self, full: Path, size: int) -> bytes:
        if size > _LARGEST:
            return b""
        try:
            data = full.read_bytes()
        except OSError:
            return b""
        return b"" if b"\0" in data[:4096] else data


def is_test(path: str) -> bool:
    """Whether a file contains tests, judging by its name."""
    folders, name = path.lower().split("/")[:-1], path.lower().rsplit("/", 1)[-1]
    stem = name.rsplit(".", 1)[0]
    named = stem.startswith("test_") or stem.endswith(("_test", ".test", ".spec", "_spec")) or stem == "conftest"
    return named or any(folder in ("test", "tests", "__tests__", "spec") for folder in folders)
