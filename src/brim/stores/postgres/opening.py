"""A database store that keeps working while the server is gone: a restart or failover costs no turn and no request."""

from __future__ import annotations

from pathlib import Path

import psycopg

from brim.stores.buffered import Buffered, Medium
from brim.stores.objects import ObjectFolder, ObjectStorage
from brim.stores.postgres.connections import BUGS, FAULTS, shown
from brim.stores.postgres.store import PostgresStore
from brim.stores.protocol import Limits, Store


class BufferedPostgres(Buffered):
    """A PostgreSQL store with a write buffer in memory for times when the server is unavailable."""

    faults = FAULTS
    bugs = BUGS
    at_once = True
    remote = True

    def __init__(
        self,
        url: str,
        limits: Limits = Limits(),  # noqa: B008, frozen
        *,
        objects: ObjectStorage | None = None,
        wait_for_disk: bool = True,
    ) -> None:
        self._url, self._limits, self._objects, self._wait_for_disk = url, limits, objects, wait_for_disk
        super().__init__(shown(url))

    def _opened(self) -> Medium:
        return PostgresStore(self._url, self._limits, objects=self._objects, wait_for_disk=self._wait_for_disk)

    def _describe(self, error: BaseException) -> str:
        """The kind of the error and its code only, because libpq's messages may contain names and addresses."""
        code = error.sqlstate if isinstance(error, psycopg.Error) else None
        return f"{type(error).__name__}, SQLSTATE {code}" if code else type(error).__name__

    def get_actual(self, key: bytes) -> int | None:
        return self._file.get_actual(key) if self._file is not None else self._memory.get_actual(key)

    def put_actual(self, key: bytes, tokens: int) -> None:
        (self._file or self._memory).put_actual(key, tokens)


def open_database(url: str, limits: Limits, objects: str = "", *, wait_for_disk: bool = True) -> Store:
    """The store at an address. Raises BadSetting if there is none, or it has another version."""
    folder = ObjectFolder(Path(objects)) if objects else None
    return BufferedPostgres(url, limits, objects=folder, wait_for_disk=wait_for_disk)
