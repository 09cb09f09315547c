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
from typing import Any, TypeVar

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
# Seconds of silence after which a request goes on without the store, before its planning is given up; and the bytes a
# second at which a server at least takes what it is sent. Writing a turn again that it wrote after all does no harm.
REQUEST_SECONDS, LEAST_SPEED = 1.5, 5e6
# Times after which a statement is prepared. A request's two calls take 340 µs then, and 430 without (the best of 600,
# without waiting for the disk: `bench/scale.py --only trips`).
PREPARED_AFTER = 2
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


class Silent(psycopg.OperationalError):
    """The server did not answer within the time of a request."""


class LimitedConnection(Connection):
    """A connection on which a server may be silent for some seconds only: then it is given up."""

    patience: float | None = None

    def wait(self, gen: Any, *given: Any, **beside: Any) -> Any:
        return super().wait(gen if self.patience is None else self._limited(gen, self.patience), *given, **beside)

    def _limited(self, gen: Any, patience: float) -> Any:
        try:
            wanted, heard = next(gen), time.monotonic()
            while True:
                ready = yield wanted
                if ready:
                    heard = time.monotonic()
                elif time.monotonic() - heard > patience:
                    self.close()
                    raise Silent("no answer from the server")
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value


class Connections:
    """The pool for one database; a forked process gets its own."""

    def __init__(self, url: str, *, most: int = MOST_CONNECTIONS) -> None:
        self.place = shown(url)
        try:
            parts = conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            example = "postgresql://USER@HOST:5432/DATABASE, with the password in PGPASSWORD"
            raise BadSetting("store.path", f"is no address of a database: write {example}") from None
        self._given = {"connect_timeout": 5, "tcp_user_timeout": SILENCE_MS, "application_name": "brim", **parts}
        self._most = most
        self._lock = threading.Lock()
        self._pool = self._opened()

    def _opened(self) -> ConnectionPool[LimitedConnection]:
        self._process = os.getpid()
        kwargs = {**self._given, "autocommit": True, "prepare_threshold": None}
        # It gives a server up soon, and begins anew when it is asked again: waiting longer each time, it would still
        # wait when the server is long back.
        pool: ConnectionPool[LimitedConnection] = ConnectionPool(
            "",
            kwargs=kwargs,
            min_size=1,
            max_size=self._most,
            connection_class=LimitedConnection,
            configure=_prepare_without_pooler,
            timeout=WAIT_SECONDS,
            reconnect_timeout=WAIT_SECONDS,
            open=True,
        )
        weakref.finalize(self, pool.close, 0.0)  # so that a discarded store leaves no thread or connection behind
        return pool

    @property
    def pool(self) -> ConnectionPool[LimitedConnection]:
        if os.getpid() != self._process:
            with self._lock:
                if os.getpid() != self._process:
                    self._pool = self._opened()
        return self._pool

    def run(
        self,
        use: Callable[[Connection], T],
        *,
        again: Callable[[Connection], T] | None = None,
        within: float | None = REQUEST_SECONDS,
    ) -> T:
        """Run a transaction on a connection; Silent if the server says nothing `within` so many seconds.

        It is retried after conflicts with other transactions, and once on a new connection if the server went away; by
        `again`, if it may already have been committed.
        """
        broken = 0
        for left in reversed(range(TRIES)):
            connection: LimitedConnection | None = None
            try:
                with self.pool.connection(within) as connection:
                    connection.patience = within
                    return use(connection)
            except Silent:
                raise
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

    def at_leisure(self, use: Callable[[Connection], T]) -> T:
        """Run a transaction that no request waits for, however long it takes."""
        return self.run(use, within=None)

    def close(self) -> None:
        self._pool.close()


def _prepare_without_pooler(connection: Connection) -> None:
    """Have repeated statements prepared, unless the server process is another than the one that greeted.

    Behind pgbouncer in transaction mode the next transaction may be on another connection, where a prepared statement
    of this name is unknown, or another one.
    """
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    if row is not None and row[0] == connection.info.backend_pid:
        connection.prepare_threshold = PREPARED_AFTER
