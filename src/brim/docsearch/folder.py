"""The Markdown files of a folder, reread only when they change."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

EXCLUDED = ("removed-features", "bugs")
_SUFFIX = ".md"
_LARGEST = 8 << 20


@dataclass(frozen=True, slots=True)
class FolderDocument:
    """A file; `path` is relative to the folder, with forward slashes."""

    path: str
    name: str
    text: str
    low: str


@dataclass(frozen=True, slots=True)
class _Seen:
    stamp: tuple[int, int]
    document: FolderDocument | None


class Folder:
    """A folder of documents with a cache of their contents.

    `exclude` names folders to skip, at any depth. A file that can't be read, or is larger than 8 MB, is skipped
    without affecting the others.
    """

    def __init__(self, root: str | Path, *, exclude: Sequence[str] = EXCLUDED) -> None:
        self.root = Path(root)
        self._exclude = frozenset(exclude)
        self._seen: dict[str, _Seen] = {}
        self._documents: tuple[FolderDocument, ...] = ()

    def documents(self) -> tuple[FolderDocument, ...]:
        """Every readable document, sorted by path; returns the same tuple if nothing changed."""
        seen: dict[str, _Seen] = {}
        changed = False
        for path, entry in _walk(str(self.root), "", self._exclude):
            try:
                status = entry.stat()
            except OSError:
                continue  # removed between listing and reading
            if not stat.S_ISREG(status.st_mode):
                continue  # a pipe would block the reader forever
            stamp = (status.st_mtime_ns, status.st_size)
            before = self._seen.get(path)
            if before is None or before.stamp != stamp:
                before = _Seen(stamp, _read(path, entry, status.st_size))
                changed = True
            seen[path] = before
        if changed or len(seen) != len(self._seen):
            self._seen = seen
            order = sorted(seen)
            self._documents = tuple(found for path in order if (found := seen[path].document) is not None)
        return self._documents

    def size(self) -> int:
        """Characters in memory."""
        return sum(2 * len(document.text) for document in self._documents)


def _walk(directory: str, prefix: str, exclude: frozenset[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return  # no such folder, or no permission to list it
    for entry in entries:
        try:
            below = entry.is_dir(follow_symlinks=False)
        except OSError:
            continue
        if below:
            if entry.name not in exclude:
                yield from _walk(entry.path, f"{prefix}{entry.name}/", exclude)
        elif entry.name.lower().endswith(_SUFFIX):
            yield prefix + entry.name, entry


def _read(path: str, entry: os.DirEntry[str], size: int) -> FolderDocument | None:
    if size > _LARGEST:
        return None
    try:
        with open(entry.path, "rb") as file:
            text = file.read().decode("utf-8-sig", "replace")
    except OSError:
        return None
    return FolderDocument(path, entry.name, text, text.lower())
