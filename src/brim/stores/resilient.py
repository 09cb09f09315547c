"""Opens the store at a path or address, as one that keeps working when its file or database is unavailable."""

from __future__ import annotations

import logging
import time
from functools import partial
from importlib import import_module
from pathlib import Path

from brim.errors import BadSetting
from brim.stores.buffered import Buffered
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Limits, Store
from brim.stores.sqlite import SqliteStore
from brim.stores.sqlite_repair import BUGS, FAULTS, Now, describe, is_damage, open_or_replace, start_anew
from brim.stores.sqlite_schema import identity

log = logging.getLogger(__name__)
# Prefixes of database addresses; anything else is a path.
ADDRESSES = ("postgresql://", "postgres://")


def is_address(given: object) -> bool:
    """Whether this is a database address. Example: is_address("postgresql://db/brim") -> True"""
    return isinstance(given, str) and given.startswith(ADDRESSES)


def open_store(
    path: str | Path | None,
    limits: Limits = Limits(),  # noqa: B008, frozen
    *,
    timeout: float = 5.0,
    objects: str = "",
    wait_for_disk: bool = True,
) -> Store:
    """The store in this file or database; without a path, or for a file of a newer Brim, one in memory.

    A file that cannot be opened is tried again, as one that cannot be written. Never raises for what is wrong with the
    file: it is logged, and `degraded` of the store says it. A damaged file is moved aside and a new one started with
    what could be read of the old one. A database may have a folder for large contents, `objects`; it can be told not to
    wait for its disk.
    """
    if path is None:
        return InMemoryStore()
    if is_address(path):
        # Its driver is an extra, loaded only for such a store.
        opening = import_module("brim.stores.postgres.opening")
        opened: Store = opening.open_database(str(path), limits, objects, wait_for_disk=wait_for_disk)
        return opened
    place = Path(path).expanduser()
    try:
        return ResilientStore(place, limits, timeout=timeout)
    except BadSetting as error:
        reason = describe(error)
        log.warning("the store %s cannot be used (%s): nothing will be remembered after this process", place, reason)
        return InMemoryStore(degraded=reason)


class ResilientStore(Buffered):
    """A SQLite store with a write buffer in memory for times when its file is unavailable."""

    faults = FAULTS
    bugs = BUGS

    def __init__(self, path: Path, limits: Limits, *, timeout: float, now: Now = time.time) -> None:
        self._open = partial(open_or_replace, path, limits, timeout, now)
        self._anew = partial(start_anew, limits=limits, timeout=timeout, now=now)
        super().__init__(str(path))

    def _opened(self) -> SqliteStore:
        return self._open()

    def _describe(self, error: BaseException) -> str:
        return describe(error)

    def _abandon(self) -> None:
        if isinstance(self._file, SqliteStore):
            self._file.abandon()

    def _renewed(self, error: BaseException) -> bool:
        """Whether a new file replaces a damaged one."""
        if not is_damage(error):
            return False
        with self._lock:
            disk = self._disk
            assert isinstance(disk, SqliteStore)
            if disk.moved():
                return True  # another process or thread replaced it; the next use opens the new one
            path, file = disk.path, identity(disk.path)
            disk.abandon()
            try:
                self._file = self._anew(path, file, error)
            except FAULTS as problem:
                log.warning("no new store could be made (%s)", describe(problem))
                return False
            return True
