"""The archive of the originals of compacted results, each behind an opaque handle."""

from __future__ import annotations

import secrets
import tempfile
from collections import OrderedDict
from threading import Lock
from typing import IO, Protocol

from brim.errors import NotFound
from brim.recall import SCHEME


class ResultArchive(Protocol):
    """Stores texts by handle. `put` returns "" for a text it can't keep."""

    def put(self, text: str) -> str: ...

    def get(self, handle: str) -> str: ...


class MemoryArchive:
    """An archive in this process: small texts in memory, large ones in temporary files; the oldest go first.

    A handle is 128 random bits, so it can't be guessed and reveals nothing about its content.

    Example: archive.get(archive.put("text")) -> "text"
    """

    def __init__(self, *, memory_bytes: int = 64 << 20, file_bytes: int = 1 << 30, file_from: int = 4 << 20) -> None:
        self._memory_bytes = memory_bytes
        self._file_bytes = file_bytes
        self._file_from = min(file_from, memory_bytes)
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._files: OrderedDict[str, tuple[IO[bytes], int]] = OrderedDict()
        self._in_memory = 0
        self._in_files = 0
        self._lock = Lock()  # large results are compacted in threads

    def put(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        handle = SCHEME + secrets.token_hex(16)
        with self._lock:
            if len(data) > self._file_from:
                return handle if self._put_file(handle, data) else ""
            self._texts[handle] = data
            self._in_memory += len(data)
            while self._in_memory > self._memory_bytes:
                _, old = self._texts.popitem(last=False)
                self._in_memory -= len(old)
        return handle

    def _put_file(self, handle: str, data: bytes) -> bool:
        if len(data) > self._file_bytes:
            return False
        try:
            file = tempfile.TemporaryFile(prefix="brim-")  # noqa: SIM115, kept open for as long as the handle
            file.write(data)
        except OSError:
            return False  # the disk is full: the text isn't kept, so it gets no handle
        self._files[handle] = (file, len(data))
        self._in_files += len(data)
        while self._in_files > self._file_bytes:
            _, (old, size) = self._files.popitem(last=False)
            old.close()
            self._in_files -= size
        return True

    def get(self, handle: str) -> str:
        """The text. Raises NotFound if the handle is unknown or its text was evicted."""
        with self._lock:
            data = self._texts.get(handle)
            if data is not None:
                self._texts.move_to_end(handle)
            elif handle in self._files:
                file, _ = self._files[handle]
                self._files.move_to_end(handle)
                file.seek(0)
                data = file.read()
        if data is None:
            raise NotFound(f"nothing is kept under {handle!r}: it never was, or had to make room for newer results")
        return data.decode("utf-8", "surrogatepass")

    def close(self) -> None:
        for file, _ in self._files.values():
            file.close()
        self._files.clear()
        self._texts.clear()
        self._in_files = self._in_memory = 0
