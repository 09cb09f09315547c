"""The store in one SQLite file, for several processes at once."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brim.conversation import decode, encode
from brim.sized_lru import SizedLru
from brim.stores import sqlite_archive, sqlite_log
from brim.stores.compression import Damaged, Packer
from brim.stores.eviction import Eviction, used_bytes
from brim.stores.protocol import (
    Evicted,
    Limits,
    LoadedSession,
    SessionRecord,
    Turn,
    UsageSum,
    Wanted,
    blob_digest,
    gathered,
)
from brim.stores.sqlite_schema import LENGTH_BITS, connect, identity, key_of
from brim.stores.sqlite_usage import add_usages, usage, usage_sums
from brim.tokens.actuals import UsageRecord

log = logging.getLogger(__name__)
# Seconds to remember that an actual was missing; another process may have stored it since.
MISS_SECONDS = 30.0
# Bytes of actuals to hold in memory, and the overhead of each beside its key.
ACTUALS_BYTES, HELD = 4 << 20, 230
# Actuals that may wait for the next commit before they are written separately.
MOST_WAITING = 1_000
# Seconds that reading actuals waits for a long write; after a wait in vain, the next ones don't wait for BUSY seconds.
# They are asked for where all other requests wait too, and an estimate can stand in for each of them.
SOON, BUSY = 0.05, 1.0
# New actuals to keep meanwhile.
MOST_LATE = 10_000
# Commits between checks of the limits (the first commit checks too), and the most seconds a check takes.
EVICT_EVERY, EVICT_SECONDS = 512, 0.01
# Digests per statement.
BATCH = 500
# The identity of an abandoned file.
_NO_FILE: tuple[int, int] | None = (0, 0)
# Connections of a parent process, kept because closing one in a child would harm the parent's.
_inherited: list[sqlite3.Connection] = []


class SqliteStore:
    """The store as a file. Raises sqlite3.Error or Damaged if the file is unusable; see `open_store`."""

    remote = False
    degraded: str | None = None

    def __init__(
        self,
        path: Path,
        limits: Limits = Limits(),  # noqa: B008, frozen
        *,
        timeout: float = 5.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self._timeout = timeout
        self._now = now
        self._lock = threading.RLock()
        self._packer = Packer()
        self._actuals: SizedLru[bytes, tuple[int | None, float]] = SizedLru(ACTUALS_BYTES)
        self._waiting: dict[bytes, int] = {}
        self._late: deque[tuple[bytes, int]] = deque(maxlen=MOST_LATE)
        self._busy_until = 0.0
        self._flushing = threading.Lock()
        self._commits = 0
        self._eviction = Eviction(self._write, self._read, self._packer, limits)
        self._connect()

    # Sessions

    def put_session(self, session: str, meta: Mapping[str, Any]) -> None:
        with self._write() as db:
            head = sqlite_log.open_session(db, session, self._now())
            row = (encode(meta).decode(), self._now(), head.no)
            db.execute("UPDATE sessions SET meta = ?, touched = ? WHERE no = ?", row)

    def get_session(self, session: str) -> SessionRecord | None:
        with self._read() as db:
            row = db.execute(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", (session,)).fetchone()
        return _session(row) if row else None

    def sessions(self, limit: int = 50, *, before: float | None = None, query: str = "") -> list[SessionRecord]:
        sought = "%" + query.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        with self._read() as db:
            rows = db.execute(
                f"SELECT {_COLUMNS} FROM sessions WHERE touched < ?"
                " AND (? = '%%' OR id LIKE ? ESCAPE '\\' OR meta LIKE ? ESCAPE '\\')"
                " ORDER BY touched DESC, no DESC LIMIT ?",
                (float("inf") if before is None else before, sought, sought, sought, limit),
            ).fetchall()
        return [_session(row) for row in rows]

    def touch(self, session: str) -> None:
        with self._write() as db:
            db.execute("UPDATE sessions SET touched = ? WHERE id = ?", (self._now(), session))

    def fork_session(self, source: str, target: str, records: int) -> bool:
        with self._write() as db:
            return sqlite_log.fork(db, self._packer, source, target, records, self._now())

    def delete_session(self, session: str) -> bool:
        with self._write() as db:
            return sqlite_log.delete(db, self._packer, session)

    # Turns

    def load(self, wanted: Wanted) -> LoadedSession:
        with self._lock:
            db = self._live()
            db.execute("BEGIN")  # a consistent read while other processes write
            try:
                return gathered(self, wanted, self.shown)
            finally:
                if db.in_transaction:
                    db.execute("COMMIT")

    def shown(self, session: str) -> list[bytes]:
        """The digests of the blobs that a session's state points to."""
        with self._read() as db:
            row = db.execute("SELECT shown FROM sessions WHERE id = ?", (session,)).fetchone()
        joined = bytes(row[0] or b"") if row else b""
        return [joined[at : at + 32] for at in range(0, len(joined), 32)]

    def commit(self, turn: Turn) -> int | None:
        with self._lock:
            with self._write() as db:
                first = sqlite_log.append(db, self._packer, turn, self._now())
            self._commits += 1
            if self._commits % EVICT_EVERY == 1:
                self.evict(EVICT_SECONDS)
            return first

    def records(self, session: str, start: int = 0) -> Iterator[bytes]:
        while True:
            with self._read() as db:
                found = sqlite_log.chunk_from(db, self._packer, session, start)
                if found is None:
                    return
                first, chunk = found
                wanted = chunk.records[start - first :]
                batch = [sqlite_archive.resolve(db, self._packer, entry) for entry in wanted]
            if not batch:
                raise Damaged("the log of a session is shorter than it should be")
            yield from batch
            start += len(batch)

    def get_state(self, session: str) -> bytes | None:
        with self._read() as db:
            row = db.execute("SELECT state FROM sessions WHERE id = ?", (session,)).fetchone()
            return self._packer.unpack(row[0]) if row and row[0] is not None else None

    def find_prefix(self, digests: Sequence[bytes]) -> tuple[str, int] | None:
        with self._read() as db:
            for start in range(0, len(digests), BATCH):
                keys = [key_of(digest) for digest in digests[start : start + BATCH]]
                rows = db.execute(
                    "SELECT key, id, place FROM prefixes JOIN sessions ON no = place >> ?"
                    f" WHERE key IN ({','.join('?' * len(keys))})",
                    (LENGTH_BITS, *keys),
                ).fetchall()
                if rows:
                    places = {row[0]: (str(row[1]), int(row[2]) & (1 << LENGTH_BITS) - 1) for row in rows}
                    return next(places[key] for key in keys if key in places)
        return None

    # Blobs

    def put_blobs(self, blobs: Sequence[bytes], session: str | None = None) -> list[bytes]:
        if session is not None:
            self.commit(Turn(session, blobs=blobs))
            return [blob_digest(data) for data in blobs]
        with self._write() as db:
            return [sqlite_archive.put_loose(db, self._packer, data, self._now()) for data in blobs]

    def get_blob(self, digest: bytes, session: str | None = None) -> bytes | None:
        with self._read() as db:
            return sqlite_archive.get_blob(db, self._packer, digest, sqlite_log.owner_of(db, session))

    def find_blob(self, prefix: str, session: str | None = None) -> bytes | None:
        with self._read() as db:
            return sqlite_archive.find_blob(db, self._packer, prefix, sqlite_log.owner_of(db, session))

    # Actuals, usage, values

    def get_actual(self, key: bytes) -> int | None:
        """A provider's number; None if it is unknown, or while a write holds the file for long."""
        with self._soon() as free:
            if not free:
                return None
            known = self._actuals.get(key)
            if known is not None and (known[0] is not None or time.monotonic() < known[1]):
                return known[0]
            # Called for every message of a request, so the check whether the file was moved is left to the next commit.
            db = self._db if self._process == os.getpid() and self._file is not _NO_FILE else self._live()
            row = db.execute("SELECT tokens FROM actuals WHERE key = ?", (_short(key),)).fetchone()
            tokens = int(row[0]) if row else None
            return self._actuals.put(key, (tokens, time.monotonic() + MISS_SECONDS), len(key) + HELD)[0]

    def put_actual(self, key: bytes, tokens: int) -> None:
        self._late.append((key, tokens))
        with self._soon() as free:
            if not free:
                return  # the next commit writes it
            self._take_late()
            if len(self._waiting) >= MOST_WAITING and self._flushing.acquire(blocking=False):
                threading.Thread(target=self._flush_now, name="brim-sizes", daemon=True).start()

    def _flush_now(self) -> None:
        try:
            self.flush()
        except (sqlite3.Error, Damaged) as problem:
            log.info("sizes wait for the next commit (%s)", type(problem).__name__)
        finally:
            self._flushing.release()

    def _take_late(self) -> None:
        while self._late:
            key, tokens = self._late.popleft()
            self._actuals.put(key, (tokens, 0.0), len(key) + HELD)
            self._waiting[key] = tokens

    @contextmanager
    def _soon(self) -> Iterator[bool]:
        """Try to take the lock for a short time; yields whether that worked."""
        waits = time.monotonic() >= self._busy_until
        free = self._lock.acquire(timeout=SOON if waits else 0.0)
        try:
            if not free and waits:
                self._busy_until = time.monotonic() + BUSY
            yield free
        finally:
            if free:
                self._lock.release()

    def flush(self) -> None:
        """Write the actuals that wait for a commit."""
        with self._lock:
            if self._waiting or self._late:
                with self._write():
                    pass  # every write includes them

    def add_usage(self, record: UsageRecord) -> None:
        self.add_usages([record])

    def add_usages(self, records: Sequence[UsageRecord]) -> None:
        with self._write() as db:
            add_usages(db, records)

    def usage(self, since: float = 0.0, model: str | None = None, limit: int = 1_000) -> list[UsageRecord]:
        with self._read() as db:
            return usage(db, since, model, limit)

    def usage_sums(self, since: float = 0.0) -> list[UsageSum]:
        with self._read() as db:
            return usage_sums(db, since)

    def get_value(self, name: str) -> bytes | None:
        with self._read() as db:
            row = db.execute("SELECT value FROM pairs WHERE name = ?", (name,)).fetchone()
        return bytes(row[0]) if row else None

    def put_value(self, name: str, value: bytes | None) -> None:
        with self._write() as db:
            if value is None:
                db.execute("DELETE FROM pairs WHERE name = ?", (name,))
            else:
                db.execute("REPLACE INTO pairs VALUES (?, ?)", (name, value))

    def claim_value(self, name: str, value: bytes) -> bytes:
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO pairs VALUES (?, ?)", (name, value))
            return bytes(db.execute("SELECT value FROM pairs WHERE name = ?", (name,)).fetchone()[0])

    def values(self, prefix: str) -> dict[str, bytes]:
        with self._read() as db:
            begin, end = prefix, prefix + "\U0010ffff"
            rows = db.execute("SELECT name, value FROM pairs WHERE name >= ? AND name < ? ORDER BY name", (begin, end))
            return {name: bytes(value) for name, value in rows}

    # The file

    def size(self) -> int:
        with self._read() as db:
            return used_bytes(db)

    def evict(self, seconds: float = 60.0) -> Evicted:
        """Delete by age and size in short transactions, for at most this many seconds."""
        with self._lock:
            return self._eviction.run(self._now(), seconds)

    def check(self) -> bool:
        """Whether SQLite finds the whole file intact; slow for a large one."""
        with self._read() as db:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))

    def close(self) -> None:
        """Write what is waiting and close the file; the last process to do so empties the write-ahead log."""
        with self._lock:
            self.flush()
            self._db.close()

    def abandon(self) -> None:
        """Drop an unusable file; the next use opens it again."""
        with self._lock:
            self._db.close()
            self._file = _NO_FILE

    def moved(self) -> bool:
        """Whether the path now has another file, or none."""
        return identity(self.path) != self._file

    def _connect(self) -> None:
        self._db = connect(self.path, timeout=self._timeout)
        self._process = os.getpid()
        self._file = identity(self.path)

    def _live(self) -> sqlite3.Connection:
        """The connection, renewed after a fork or if the file was moved or deleted."""
        if os.getpid() != self._process:
            _inherited.append(self._db)
            self._connect()
        elif self.moved():
            self.abandon()
            self._connect()
        return self._db

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._live()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """An atomic transaction that includes the waiting actuals."""
        with self._lock:
            db = self._live()
            self._take_late()
            waiting = list(self._waiting.items())
            db.execute("BEGIN IMMEDIATE")
            try:
                if waiting:
                    day = int(self._now() // 86_400)
                    rows = [(_short(key), tokens, day) for key, tokens in waiting]
                    db.executemany("REPLACE INTO actuals VALUES (?, ?, ?)", rows)
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            self._waiting.clear()


_COLUMNS = "id, meta, created, touched, records, size, owner, epoch, until"


def _session(row: tuple[Any, ...]) -> SessionRecord:
    name, meta, *numbers = row
    return SessionRecord(name, decode(meta.encode()), *numbers)


def _short(key: bytes) -> int:
    return key_of(hashlib.blake2b(key, digest_size=8).digest())
