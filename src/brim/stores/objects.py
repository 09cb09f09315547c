"""Object storage for large contents of an archive: a hook of three methods, and a folder as the simplest of them.

A name is written once and never changed. Put a bucket behind the same three methods, or mount one as a folder.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Protocol

from brim.errors import BadInput


class ObjectStorage(Protocol):
    """Storage for large contents. Must be thread-safe."""

    def put(self, name: str, data: bytes) -> None:
        """Store data under a new name, visible to everyone once this returns."""

    def get(self, name: str) -> bytes | None: ...

    def delete(self, name: str) -> None:
        """Delete the data under a name, if there is any."""


class ObjectFolder:
    """Object storage in a folder that all gateways share.

    Example: ObjectFolder(Path("/mnt/brim")).put("ba7816bf…", b"abc")
    """

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser()
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, name: str, data: bytes) -> None:
        place = self._place(name)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        part = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place)

    def get(self, name: str) -> bytes | None:
        try:
            return self._place(name).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, name: str) -> None:
        self._place(name).unlink(missing_ok=True)

    def _place(self, name: str) -> Path:
        if not name or any(letter not in "0123456789abcdef-" for letter in name):
            raise BadInput("name", f"{name!r} is no name of an object: digits, a to f, and -")
        return self._path / name[:2] / name
