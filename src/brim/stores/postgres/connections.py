"""Connections to PostgreSQL: a bounded pool, with retries where they help.

All of libpq's options work: `PGPASSWORD`, a password file, `sslmode=verify-full`, several hosts with
`target_session_attrs=read-write`. The password is never shown; logs and errors use `shown`.
"""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import TypeVar

import psycopg
from psycopg import Connection, conninfo, errors
from psycopg_pool import ConnectionPool

from brim.errors import BadSetting

T = TypeVar("T")
# Connections per process. A request holds one for a millisecond or two; there are about as many planning threads.
MOST_CONNECTIONS = 10
# Seconds that a request waits for a connection before it continues without the store.
WAIT_SECONDS = 2.0
# Attempts for a transaction that conflicts with another.
TRIES = 8
# Milliseconds after which a silent server counts as gone; a partition must not block a thread for minutes.
SILENCE_MS = 10_000
IN_THE_WAY = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
# Errors of the program rather than the server.
BUGS = (psycopg.ProgrammingError, psycopg.DataError, psycopg.IntegrityError, psycopg.NotSupportedError)
FAULTS = (psycopg.Error, OSError)


def shown(url: str) -> str:
    """A database address without its password and other secrets. Example: postgresql://brim@db.example:5432/brim."""
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "the PostgreSQL store"
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host') or ''}{port}/{parts.get('dbname') or ''}"


class Connections:
    """The pool for one database; a forked process gets its own."""

    def __init__(self, url: str, *, most: int = MOST_CONNECTIONS) -> None:
        self.place = shown(url)
        try:
            parts = conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            example = "postgresql://USER@HOST:5432/DATABASE, with the password in PGPASSWORD"
            raise BadSetting("store.path", f"is no address of a database: write {example}") from None
        # No prepared statements: behind pgbouncer the next transaction may be on another connection.
        self._given = {"connect_timeout": 5, "tcp_user_timeout": SILENCE_MS, "application_name": "brim", **parts}
        self._most = most
        self._lock = threading.Lock()
        self._pool = self._opened()

    def _opened(self) -> ConnectionPool:
        self._process = os.getpid()
        kwargs = {**self._given, "autocommit": True, "prepare_threshold": None}
        # It gives a server up soon, and begins anew when it is asked again: waiting longer each time, it would still
        # wait when the server is long back.
        pool: ConnectionPool = ConnectionPool(
            "",
            kwargs=kwargs,
            min_size=1,
            max_size=self._most,
            timeout=WAIT_SECONDS,
            reconnect_timeout=WAIT_SECONDS,
            open=True,
        )
        weakref.finalize(self, pool.close, 0.0)  # so that a discarded store leaves no thread or connection behind
        return pool

    @property
    def pool(self) -> ConnectionPool:
        if os.getpid() != self._process:
            with self._lock:
                if os.getpid() != self._process:
                    self._pool = self._opened()
        return self._pool

    def run(self, use: Callable[[Connection], T], *, again: Callable[[Connection], T] | None = None) -> T:
        """Run a transaction on a connection.

        It is retried after conflicts with other transactions, and once on a new connection if the server went away; by
        `again`, if it may already have been committed.
        """
        broken = 0
        for left in reversed(range(TRIES)):
            connection: Connection | None = None
            try:
                with self.pool.connection() as connection:
                    return use(connection)
            except IN_THE_WAY:
                if not left:
                    raise
                time.sleep(random.uniform(0.001, 0.02))
            except (psycopg.OperationalError, errors.ReadOnlySqlTransaction) as problem:
                if connection is None or broken:
                    raise
                if isinstance(problem, errors.ReadOnlySqlTransaction):
                    connection.close()  # a server that was the primary before a failover
                elif not connection.closed:
                    raise
                broken, use = 1, again or use
                self.pool.check()
        raise AssertionError("unreachable")

    def close(self) -> None:
        self._pool.close()
