"""Eviction of old or excess content, least recently used first.

Every step is a short transaction that never waits, so any number of gateways may evict at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from psycopg import Connection

from brim.stores.eviction import EXACT, TARGET, USAGE_DAYS
from brim.stores.postgres import admin
from brim.stores.postgres.connections import FAULTS, Connections
from brim.stores.postgres.rows import Rows
from brim.stores.protocol import Evicted, Limits
from brim.stores.retention import DAY, RETAINED, days_of

log = logging.getLogger(__name__)
# Seconds between one gateway's checks of the limits, and the most that one check takes.
EVERY_SECONDS, SPENT_SECONDS = 60.0, 10.0
# Sessions and rows per step.
SOME, ROWS = 100, 5_000
_LOWEST = -(1 << 63)


class DatabaseEviction:
    """Evicts from a database and deletes its sessions."""

    def __init__(self, connections: Connections, rows: Rows, limits: Limits, now: Callable[[], float]) -> None:
        self._connections = connections
        self._rows = rows
        self._limits = limits
        self._now = now
        self._swept = _LOWEST
        self._next = time.monotonic() + EVERY_SECONDS
        self._running = threading.Lock()
        self._closed = False

    def later(self) -> None:
        """Check the limits in a thread, if the last check was long ago. Requests never wait for it."""
        if time.monotonic() < self._next or not self._running.acquire(blocking=False):
            return
        self._next = time.monotonic() + EVERY_SECONDS
        threading.Thread(target=self._run_apart, name="brim-evict", daemon=True).start()

    def _run_apart(self) -> None:
        try:
            if not self._closed:
                self.run(SPENT_SECONDS)
        except FAULTS as problem:  # the next run continues
            log.warning("nothing could be evicted (%s)", type(problem).__name__)
        finally:
            self._running.release()

    def close(self) -> None:
        self._closed = True

    def delete(self, key: bytes, before: float = float("inf")) -> bool:
        """Delete a session that wasn't used since a time, with everything only it refers to."""
        query = "SELECT brim_delete(%s, %s)"
        row = self._connections.at_leisure(lambda db: db.execute(query, (key, before)).fetchone())
        return row is not None and row[0] is not None and self._drop(row[0])

    def _drop(self, places: list[str]) -> bool:
        for place in places:
            if self._rows.objects is not None:
                self._rows.objects.delete(place)
        return True

    def run(self, seconds: float = 600.0) -> Evicted:
        deadline = time.monotonic() + seconds
        now = self._now()
        live = now - self._limits.live_seconds
        old = min(live, now - self._limits.max_age_days * 86_400)
        over = self._connections.at_leisure(admin.size) - self._limits.max_bytes
        if over > 0:
            over += int(self._limits.max_bytes * (1 - TARGET))
        own = days_of(self._connections.at_leisure(lambda db: admin.values(db, RETAINED)).items())
        sessions = sum(self._retained(tenant, min(live, now - days * DAY), deadline) for tenant, days in own.items())
        others, over = self._sessions(live, old, over, list(own), deadline)
        sessions += others
        blobs = self._loose(live, old, over, deadline)
        return Evicted(sessions, blobs, self._sweep(now, deadline))

    def _retained(self, tenant: str, before: float, deadline: float) -> int:
        """Delete what a tenant with its own retention has kept for longer than that."""
        taken = 0
        while time.monotonic() < deadline:
            keys = self._connections.at_leisure(partial(_oldest_of, tenant, before))
            taken += sum(self.delete(key, before) for key in keys)
            if len(keys) < SOME:
                break
        return taken

    def _sessions(self, live: float, old: float, over: int, own: list[str], deadline: float) -> tuple[int, int]:
        """Delete sessions until none is too old and the size is within its limit; returns how many, and the excess.

        Sessions of tenants with their `own` retention go only if there is too much.
        """
        taken = 0
        while time.monotonic() < deadline:
            limit = live if over > 0 else old
            rows = self._connections.at_leisure(partial(_oldest, limit, [] if over > 0 else own))
            for key, size, touched in rows:
                if touched >= old and over <= 0:
                    return taken, over
                if self.delete(key, limit):
                    taken, over = taken + 1, over - size
            if len(rows) < SOME:
                break
        return taken, over

    def _loose(self, live: float, old: float, over: int, deadline: float) -> int:
        """Delete blobs that belong to no session."""
        taken = 0
        while time.monotonic() < deadline:
            rows = self._connections.at_leisure(partial(_release_loose, live if over > 0 else old))
            taken += len(rows)
            over -= sum(size for size, _ in rows)
            self._drop([place for _, places in rows for place in places])
            if len(rows) < SOME:
                break
        return taken

    def _sweep(self, now: float, deadline: float) -> int:
        """Delete old or useless rows, some at a time, continuing where the last run stopped."""
        oldest = int(now // 86_400 - self._limits.max_age_days)
        taken = 0
        for step in (partial(_old_sizes, oldest), partial(_old_usage, now - USAGE_DAYS * 86_400)):
            while time.monotonic() < deadline:
                rows = self._connections.at_leisure(step)
                taken += rows
                if rows < ROWS:
                    break
        while time.monotonic() < deadline:
            last, rows = self._connections.at_leisure(partial(_thin, self._swept))
            taken += rows
            self._swept = _LOWEST if last is None else last
            if last is None:
                break
        return taken


def _oldest(before: float, without: list[str], db: Connection) -> list[tuple[bytes, int, float]]:
    query = (
        "SELECT key, size, touched FROM brim_sessions WHERE touched < %s AND brim_tenant(id) <> ALL(%s)"
        " ORDER BY touched LIMIT %s"
    )
    return db.execute(query, (before, without, SOME)).fetchall()


def _oldest_of(tenant: str, before: float, db: Connection) -> list[bytes]:
    query = "SELECT key FROM brim_sessions WHERE brim_tenant(id) = %s AND touched < %s ORDER BY touched LIMIT %s"
    return [row[0] for row in db.execute(query, (tenant, before, SOME)).fetchall()]


def _old_sizes(day: int, db: Connection) -> int:
    some = f"SELECT ctid FROM brim_sizes WHERE day < %s LIMIT {ROWS}"
    return db.execute(f"DELETE FROM brim_sizes WHERE ctid = ANY(ARRAY({some}))", (day,)).rowcount


def _old_usage(before: float, db: Connection) -> int:
    some = f"SELECT ctid FROM brim_usage WHERE at < %s LIMIT {ROWS}"
    return db.execute(f"DELETE FROM brim_usage WHERE ctid = ANY(ARRAY({some}))", (before,)).rowcount


def _release_loose(before: float, db: Connection) -> list[tuple[int, list[str]]]:
    """Delete the oldest blobs without a session; contents that a session refers to stay."""
    with db.transaction():
        rows = db.execute(
            "UPDATE brim_contents SET loose = NULL WHERE digest IN (SELECT digest FROM brim_contents WHERE loose < %s"
            " ORDER BY loose LIMIT %s FOR UPDATE SKIP LOCKED) RETURNING digest, size",
            (before, SOME),
        ).fetchall()
        places = db.execute("SELECT brim_release(%b::bytea[])", ([row[0] for row in rows],)).fetchone()
    found = [(int(row[1]), list[str]()) for row in rows]
    if found and places is not None:
        found[0][1].extend(places[0])
    return found


def _thin(after: int, db: Connection) -> tuple[int | None, int]:
    """Keep one in eight of the prefixes far from the end of their conversation; returns the last key examined."""
    row = db.execute(
        f"SELECT max(key) FROM (SELECT key FROM brim_prefixes WHERE key > %s ORDER BY key LIMIT {ROWS}) k", (after,)
    ).fetchone()
    if row is None or row[0] is None:
        return None, 0
    taken = db.execute(
        "DELETE FROM brim_prefixes p WHERE key > %s AND key <= %s AND key & 7 <> 0 AND NOT EXISTS"
        f" (SELECT FROM brim_sessions s WHERE s.no = p.session AND p.length >= s.length - {EXACT})",
        (after, row[0]),
    )
    return int(row[0]), taken.rowcount
