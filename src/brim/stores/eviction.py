"""Eviction from a store that is too large or has old content, least recently used first.

Recently used sessions, and what they refer to, are never evicted. Each step is a short transaction, so other writers
never wait long; the next call continues where one stops.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from brim.stores import sqlite_archive, sqlite_log
from brim.stores.compression import Packer
from brim.stores.protocol import Evicted, Limits
from brim.stores.retention import DAY, NAMES, days_of
from brim.stores.sqlite_schema import LENGTH_BITS

# A file that is too large is brought down to this share of the limit.
TARGET = 0.9
# Rows examined per step, and pages returned to the disk per step.
ROWS, PAGES = 2_000, 256
# Of prefixes that end more than this many messages before the end of their conversation, one in eight is kept:
# a branch that starts there is found a little earlier.
EXACT = 48
# Usage records hold no content and are needed to see yearly costs.
USAGE_DAYS = 400

Open = Callable[[], AbstractContextManager[sqlite3.Connection]]


def used_bytes(db: sqlite3.Connection) -> int:
    """The bytes of the file that are in use."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


class Eviction:
    """Evicts from a file that `write` and `read` open."""

    def __init__(self, write: Open, read: Open, packer: Packer, limits: Limits) -> None:
        self._write = write
        self._read = read
        self._packer = packer
        self._limits = limits
        self._swept: dict[str, int] = {}

    def run(self, now: float, seconds: float) -> Evicted:
        """Evict for at most about this many seconds; the next run continues."""
        deadline = time.monotonic() + seconds
        with self._read() as db:
            over = used_bytes(db) > self._limits.max_bytes
            own = days_of(db.execute("SELECT name, value FROM pairs WHERE name >= ? AND name < ?", NAMES).fetchall())
        takes = _Rule(self._limits, now, self._limits.max_bytes * TARGET if over else float("inf"))
        sessions = self._retained(own, now, deadline) + self._sessions(takes, list(own), deadline)
        blobs = self._blobs(takes, deadline)
        rows = self._rows(now, deadline)
        self._shrink(deadline)
        return Evicted(sessions, blobs, rows)

    def _retained(self, own: Mapping[str, int], now: float, deadline: float) -> int:
        """Delete what tenants with their own retention have kept for longer than that."""
        taken = 0
        for tenant, days in own.items():
            before = min(now - self._limits.live_seconds, now - days * DAY)
            query = f"SELECT id FROM sessions WHERE touched < ? AND {_TENANT} = ? LIMIT {ROWS}"
            with self._read() as db:
                names = [row[0] for row in db.execute(query, (before, tenant)).fetchall()]
            for name in names:
                with self._write() as db:
                    row = db.execute("SELECT touched FROM sessions WHERE id = ?", (name,)).fetchone()
                    if row is not None and row[0] < before:
                        taken += sqlite_log.delete(db, self._packer, name)
                if time.monotonic() > deadline:
                    return taken
        return taken

    def _sessions(self, takes: _Rule, own: Sequence[str], deadline: float) -> int:
        """Delete the oldest sessions; those of tenants with their own retention only if the store is too large."""
        taken = 0
        others = f"SELECT id, touched FROM sessions WHERE {_TENANT} NOT IN ({', '.join('?' * len(own))})"
        while not (taken and time.monotonic() > deadline):
            with self._read() as db:
                if takes.too_much(db):
                    oldest = db.execute("SELECT id, touched FROM sessions ORDER BY touched LIMIT 1").fetchone()
                else:
                    oldest = db.execute(f"{others} ORDER BY touched LIMIT 1", own).fetchone()
                if oldest is None or not takes(db, oldest[1]):
                    break
            with self._write() as db:
                row = db.execute("SELECT touched FROM sessions WHERE id = ?", (oldest[0],)).fetchone()
                if row is not None and takes(db, row[0]):  # another process may have used it
                    taken += sqlite_log.delete(db, self._packer, oldest[0])
        return taken

    def _blobs(self, takes: _Rule, deadline: float) -> int:
        """Delete blobs that belong to no session."""
        taken = 0
        while not (taken and time.monotonic() > deadline):
            with self._read() as db:
                oldest = db.execute(_LOOSE).fetchone()
                if oldest is None or not takes(db, oldest[1]):
                    break
            with self._write() as db:
                oldest = db.execute(_LOOSE).fetchone()
                if oldest is not None and takes(db, oldest[1]):
                    sqlite_archive.forget_loose(db, oldest[0])
                    taken += 1
        return taken

    def _rows(self, now: float, deadline: float) -> int:
        """Delete dangling or old rows, some at a time, continuing where the last run stopped."""
        oldest = int(now // 86_400 - self._limits.max_age_days)
        taken = self._sweep("prefixes", _USELESS, deadline)
        taken += self._sweep("actuals", f"day < {oldest}", deadline)
        with self._read() as db:
            old = db.execute("SELECT 1 FROM usage WHERE at < ?", (now - USAGE_DAYS * 86_400,)).fetchone()
        if old:
            with self._write() as db:
                taken += db.execute("DELETE FROM usage WHERE at < ?", (now - USAGE_DAYS * 86_400,)).rowcount
        return taken

    def _sweep(self, table: str, useless: str, deadline: float) -> int:
        taken, first = 0, self._swept.get(table, _LOWEST)
        while True:
            with self._read() as db:
                step = f"SELECT max(key) FROM (SELECT key FROM {table} WHERE key > ? ORDER BY key LIMIT {ROWS})"
                last = db.execute(step, (first,)).fetchone()[0]
                if last is None:
                    self._swept[table] = _LOWEST
                    return taken
                some = f"FROM {table} WHERE key > ? AND key <= ? AND {useless}"
                found = db.execute(f"SELECT 1 {some} LIMIT 1", (first, last)).fetchone()
            if found:
                with self._write() as db:
                    taken += db.execute(f"DELETE {some}", (first, last)).rowcount
            first = self._swept[table] = last
            if time.monotonic() > deadline:
                return taken

    def _shrink(self, deadline: float) -> None:
        """Return free pages at the end of the file to the disk."""
        while True:
            with self._read() as db:
                if not db.execute("PRAGMA freelist_count").fetchone()[0]:
                    return
            with self._write() as db:
                db.execute(f"PRAGMA incremental_vacuum({PAGES})").fetchall()
            if time.monotonic() > deadline:
                return


class _Rule:
    """Decides by the time of last use whether something must go."""

    def __init__(self, limits: Limits, now: float, target: float) -> None:
        self._live = now - limits.live_seconds
        self._old = now - limits.max_age_days * 86_400
        self._target = target

    def __call__(self, db: sqlite3.Connection, touched: float) -> bool:
        return touched < self._live and (touched < self._old or self.too_much(db))

    def too_much(self, db: sqlite3.Connection) -> bool:
        return used_bytes(db) > self._target


# The tenant of a session, by its id.
_TENANT = "substr(id, 1, max(0, instr(id, '~') - 1))"
_LOOSE = "SELECT no, loose FROM contents WHERE loose IS NOT NULL ORDER BY loose LIMIT 1"
_USELESS = (
    f"NOT EXISTS (SELECT 1 FROM sessions WHERE no = place >> {LENGTH_BITS}"
    f" AND (key & 7 = 0 OR place & {(1 << LENGTH_BITS) - 1} >= length - {EXACT}))"
)
_LOWEST = -(1 << 63)
