"""Repairs a damaged file: moves it aside, and carries over what can be read of it."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brim.conversation import decode
from brim.stores.compression import Damaged, Packer
from brim.stores.protocol import Limits, Turn
from brim.stores.sqlite import SqliteStore
from brim.stores.sqlite_archive import resolve
from brim.stores.sqlite_log import chunks_of
from brim.stores.sqlite_schema import LENGTH_BITS, identity
from brim.stores.sqlite_usage import COLUMNS as USAGE_COLUMNS
from brim.tokens.actuals import UsageRecord

try:
    import fcntl
except ImportError:  # Windows, where a file in use can't be renamed anyway
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)
Now = Callable[[], float]
# Errors that mean a bad file. BUGS are errors of the program instead, and aren't hidden.
FAULTS = (sqlite3.DatabaseError, Damaged, OSError)
BUGS = (sqlite3.ProgrammingError, sqlite3.IntegrityError, sqlite3.DataError, sqlite3.NotSupportedError)


@dataclass(frozen=True, slots=True)
class Salvaged:
    """How many sessions were carried over whole, in part, or not at all."""

    whole: int = 0
    cut: int = 0
    left: int = 0

    def __str__(self) -> str:
        return f"{self.whole} sessions carried over, {self.cut} up to a damage, {self.left} left behind"


def move_aside(path: Path, *, now: float | None = None) -> Path:
    """Rename a damaged file and its write-ahead log. Example: brim.db -> brim.db.corrupt-20261130-101500."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    aside = path.with_name(f"{path.name}.corrupt-{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.corrupt-{stamp}-{number}")
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            os.replace(part, aside.with_name(aside.name + suffix))
    return aside


def salvage(aside: Path, store: SqliteStore, *, seconds: float = 10.0) -> Salvaged:
    """Carry sessions over into a new store, most recently used first, for at most this many seconds."""
    whole = cut = left = 0
    deadline = time.monotonic() + seconds
    with closing(sqlite3.connect(aside, isolation_level=None)) as db:
        prefixes = _prefixes(db)
        for number in _numbers(db):
            if time.monotonic() > deadline:
                left += 1
                continue
            turns, damaged = _turns(db, number, prefixes.get(number, []))
            for turn in turns:
                store.commit(turn)
            whole, cut = whole + (not damaged), cut + (damaged and bool(turns))
            left += damaged and not turns
        for name, value in _readable(db, "SELECT name, value FROM pairs"):
            store.put_value(name, value)
        store.add_usages([UsageRecord(*row) for row in _readable(db, f"SELECT {USAGE_COLUMNS} FROM usage")])
    return Salvaged(whole, cut, left)


def _readable(db: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """The rows before the first damage."""
    with suppress(sqlite3.DatabaseError):  # rows after it can't be read
        yield from db.execute(query)


def _numbers(db: sqlite3.Connection) -> list[int]:
    """The numbers of all sessions in the index or the table."""
    queries = ("SELECT no FROM sessions ORDER BY touched DESC", "SELECT no FROM sessions NOT INDEXED")
    return list(dict.fromkeys(row[0] for query in queries for row in _readable(db, query)))


def _prefixes(db: sqlite3.Connection) -> dict[int, list[tuple[bytes, int]]]:
    """The prefixes of each session, as far as their digests are kept."""
    found: dict[int, list[tuple[bytes, int]]] = {}
    for key, place in _readable(db, "SELECT key, place FROM prefixes"):
        prefix = (key.to_bytes(8, "big", signed=True), place & (1 << LENGTH_BITS) - 1)
        found.setdefault(place >> LENGTH_BITS, []).append(prefix)
    return found


def _turns(db: sqlite3.Connection, number: int, prefixes: list[tuple[bytes, int]]) -> tuple[list[Turn], bool]:
    """A session as turns up to its first damage, and whether it has any.

    The state and the prefixes are kept only with a complete log, from which they are derived.
    """
    packer = Packer()
    turns: list[Turn] = []
    try:
        name, meta, state = db.execute("SELECT id, meta, state FROM sessions WHERE no = ?", (number,)).fetchone()
        for chunk in chunks_of(db, packer, number):
            records = [resolve(db, packer, entry) for entry in chunk.records]
            turns.append(Turn(name, records, [resolve(db, packer, entry) for entry in chunk.blobs]))
        known = packer.unpack(state) if state is not None else None
        turns.append(Turn(name, state=known, prefixes=prefixes, meta=decode(meta.encode())))
    except (sqlite3.DatabaseError, Damaged, ValueError, TypeError):
        return turns, True  # what comes after the damage stays in the file that was moved aside
    return turns, False


def describe(error: BaseException) -> str:
    """What is wrong, without any content."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)


def is_damage(error: BaseException) -> bool:
    """Whether the file itself is broken, rather than just unavailable."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    return isinstance(error, Damaged) or code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def open_or_replace(path: Path, limits: Limits, timeout: float, now: Now = time.time) -> SqliteStore:
    """Open the file; replace a damaged one with what can be read of it."""
    file = identity(path)
    try:
        return SqliteStore(path, limits, timeout=timeout, now=now)
    except FAULTS as error:
        if not is_damage(error):
            raise
        return start_anew(path, file, error, limits=limits, timeout=timeout, now=now)


def start_anew(
    path: Path, damaged: tuple[int, int] | None, error: BaseException, *, limits: Limits, timeout: float, now: Now
) -> SqliteStore:
    """Move a damaged file aside, and start a new one with what can be read of it.

    If another process has done so, its new file is opened.
    """
    with _alone(path.parent):
        if identity(path) != damaged:
            return SqliteStore(path, limits, timeout=timeout, now=now)
        aside = move_aside(path)
        store = SqliteStore(path, limits, timeout=timeout, now=now)
    saved = salvage(aside, store)
    log.warning("the store %s was damaged (%s) and is now %s; %s", path, describe(error), aside.name, saved)
    return store


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process is in here, if the system has such locks."""
    if fcntl is None:
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
