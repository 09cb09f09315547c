"""Writes the commands' output: all files or none, each atomically, and text that can't control the terminal."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from brim.errors import BadInput

# A lone surrogate is written as its JSON escape, because no text file can hold it.
ERRORS = "backslashreplace"
# Control characters allowed in multi-line text.
LINES = "\n\t"


def printable(text: str, keep: str = "") -> str:
    """Foreign text made safe for a terminal: control characters become spaces, except those in `keep`.

    Example: printable("a\\x1b[2Jb") -> "a [2Jb"
    """
    return text if text.isprintable() else "".join(one if one.isprintable() or one in keep else " " for one in text)


def put(text: str) -> None:
    """Write content: unchanged to a file or pipe, made printable on a terminal."""
    sys.stdout.write(printable(text, LINES) if in_terminal() else text)


def in_terminal() -> bool:
    return sys.stdout.isatty()


def apart(*given: tuple[str, str | None]) -> None:
    """Refuse two options that name the same file, however it is spelled. Raises BadInput."""
    seen: dict[object, str] = {}
    for option, name in given:
        if not name:
            continue
        path = os.path.realpath(name)
        known = os.stat(path) if os.path.exists(path) else None
        first = seen.setdefault((known.st_dev, known.st_ino) if known else path, option)
        if first != option:
            raise BadInput(option, f"{name!r} is what {first} names: give another file")


def write_all(texts: Mapping[str | None, str]) -> None:
    """Write texts to the named files, all or none; a name of None or "" is skipped.

    Each text first goes to a temporary file next to its target, so that a full disk leaves the old content.
    """
    waiting: list[tuple[str, str]] = []
    try:
        for name, text in texts.items():
            if not name:
                continue
            if os.path.isdir(name):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
            if os.path.exists(name) and not os.path.isfile(name):  # a pipe or a device
                _into(name, text)
            else:
                waiting.append((_beside(name, text), name))
        for made, name in waiting:
            os.replace(made, name)
    finally:
        for made, _ in waiting:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(made)


def _into(name: str, text: str) -> None:
    try:
        Path(name).write_text(text + "\n", encoding="utf-8", errors=ERRORS)
    except OSError as problem:  # errors during writing don't name the file
        raise type(problem)(problem.errno, problem.strerror, name) from None


def _beside(name: str, text: str) -> str:
    """Write a text to a temporary file in the same folder, with the target's permissions; returns its name."""
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    try:
        handle, made = tempfile.mkstemp(prefix=".brim-", dir=folder)
    except OSError as problem:
        raise type(problem)(problem.errno, problem.strerror, name) from None
    try:
        with open(handle, "w", encoding="utf-8", errors=ERRORS) as file:
            file.write(text + "\n")
        os.chmod(made, os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o666 & ~_mask())
    except OSError as problem:
        os.unlink(made)
        raise OSError(problem.errno, problem.strerror, name) from None
    return made


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
