"""The documents of a folder: its text files, the lines of JSON Lines, and the texts inside recorded messages."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A file beyond this is read up to here; the tail of a huge file has hardly another shape than its head.
LARGEST_FILE = 8_000_000
# A document beyond this is cut: larger ones add time, not shapes. The ratio tests look at size.
LARGEST_DOCUMENT = 24_000
# Texts inside a JSON value that are shorter are no documents of their own.
SMALLEST_TEXT = 200
# A record of many turns gives this many of its texts.
MOST_TEXTS = 12


@dataclass(frozen=True, slots=True)
class Document:
    """A real text, and a name by which a later run finds it again."""

    name: str
    text: str


def documents(folder: Path) -> Iterator[Document]:
    """Every document below a folder (or the documents of one file), in the order of their paths."""
    for path in [folder] if folder.is_file() else _files(folder):
        try:
            text = _read(path)
        except (OSError, EOFError, zlib.error):
            continue
        if text is not None:
            yield from _split(str(path), text, path.name.removesuffix(".gz"))


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(at, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _read(path: Path) -> str | None:
    """The text of a file, unpacked; None if it is empty or no text."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        raw = file.read(LARGEST_FILE)
    if not raw or b"\0" in raw[:2_000]:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        # A character that the cut goes through is no reason to pass a large file by.
        return raw.decode(errors="ignore") if error.start > len(raw) - 4 else None


def _split(name: str, text: str, file: str) -> Iterator[Document]:
    if file.endswith(".jsonl"):
        for number, line in enumerate(text.split("\n")):
            if line:
                yield from _pieces(f"{name}#{number}", line)
                yield from _texts(f"{name}#{number}", line)
    else:
        yield from _pieces(name, text)


def _pieces(name: str, text: str) -> Iterator[Document]:
    """A text as one document, a large one as its head and its middle."""
    if len(text) <= LARGEST_DOCUMENT:
        yield Document(name, text)
        return
    yield Document(f"{name}:head", text[:LARGEST_DOCUMENT])
    middle = len(text) // 2
    yield Document(f"{name}:middle", text[middle : middle + LARGEST_DOCUMENT // 2])


def _texts(name: str, line: str) -> Iterator[Document]:
    """The longer texts inside a JSON value, each as a document: tool results, pages, files."""
    try:
        value = json.loads(line)
    except ValueError:
        return
    found: list[str] = []
    _collect(value, found)
    for number, text in enumerate(found[:MOST_TEXTS]):
        yield from _pieces(f"{name}.{number}", text)


def _collect(value: Any, found: list[str]) -> None:
    if isinstance(value, str):
        if len(value) >= SMALLEST_TEXT:
            found.append(value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _collect(inner, found)
