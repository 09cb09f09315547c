"""The store in PostgreSQL, for any number of gateways at once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from psycopg import Connection

from brim.conversation import decode, encode
from brim.stores.objects import ObjectStorage
from brim.stores.postgres import admin, blobs, usage
from brim.stores.postgres.connections import FAULTS, LEAST_SPEED, MOST_CONNECTIONS, REQUEST_SECONDS, Connections
from brim.stores.postgres.eviction import DatabaseEviction
from brim.stores.postgres.rows import ContentColumns, Rows, name_key, short
from brim.stores.postgres.schema import prepare
from brim.stores.postgres.sizes import KnownSizes
from brim.stores.protocol import (
    LEASE_SECONDS,
    Evicted,
    Limits,
    LoadedSession,
    SessionRecord,
    Turn,
    UsageSum,
    Wanted,
    blob_digest,
)
from brim.stores.sqlite_schema import key_of
from brim.tokens.actuals import UsageRecord

log = logging.getLogger(__name__)
# Turns of a log to read at once.
BATCH = 64
COLUMNS = "id, meta, created, touched, records, size, owner, epoch, until"
_LOAD = "SELECT * FROM brim_load(%b, %b::bigint[], %b, %b, %b::bigint[])"
_COMMIT = (
    "SELECT brim_commit(%b, %b, %b::float8, %b, %b::bytea, %b::bytea[], %b::int, %b::bigint, %b, %b::float8, %b::int,"
    " %b::bigint, %b::bytea, %b::bytea[], %b::bytea[], %b::bytea[], %b::int[], %b::bytea[], %b::text[], %b::bigint[],"
    " %b::int[], %b::bigint[], %b::bigint[], %b::int)"
)
# For this transaction only, as a pooler in transaction mode requires.
_NOT_WAITING = "set_config('synchronous_commit', 'off', true)"


class PostgresStore:
    """The store as a database. Raises psycopg.Error while it is unavailable; see `open_store`.

    Example: PostgresStore("postgresql://brim@db.example/brim?sslmode=verify-full")
    """

    remote = True
    degraded: str | None = None

    def __init__(
        self,
        url: str,
        limits: Limits = Limits(),  # noqa: B008, frozen
        *,
        objects: ObjectStorage | None = None,
        connections: int = MOST_CONNECTIONS,
        wait_for_disk: bool = True,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.connections = Connections(url, most=connections)
        self._now = now
        self._rows = Rows(objects)
        self._commit_statement = _COMMIT if wait_for_disk else f"{_COMMIT}, {_NOT_WAITING}"
        self._sizes = KnownSizes()
        self._eviction = DatabaseEviction(self.connections, self._rows, limits, now)
        self._flushing = threading.Lock()
        try:
            self.connections.at_leisure(partial(prepare, place=self.connections.place))
        except BaseException:
            self.connections.close()
            raise

    # The two calls of a request

    def load(self, wanted: Wanted) -> LoadedSession:
        asked = self._sizes.missing(wanted.sizes)
        given = (
            name_key(wanted.session),
            [key_of(digest) for digest in wanted.prefixes],
            wanted.start,
            wanted.epoch,
            [short(key) for key in asked],
        )
        row = self.connections.run(lambda db: db.execute(_LOAD, given, binary=True).fetchone())
        assert row is not None
        self._sizes.learn(asked, dict(zip(row[16] or (), row[17] or (), strict=True)))
        if row[0] is None:
            return LoadedSession()
        record = _session((*row[:9],))
        length, firsts, turns, state, *contents = row[9:16]
        found = {
            digest: self._rows.content(digest, data, place)
            for digest, data, place in zip(*(column or () for column in contents), strict=True)
        }
        records: list[bytes] = []
        for first, data in zip(firsts or (), turns or (), strict=True):
            records += self._rows.records(data, found)[max(0, wanted.start - first) :]
        packed = None if state is None else self._rows.unpack(state)
        return LoadedSession(record, length, tuple(records), packed, found)

    def commit(self, turn: Turn) -> int | None:
        waiting = self._sizes.take()
        try:
            first = self._commit(turn, waiting)
        except BaseException:
            self._sizes.again(waiting)
            raise
        if first is None:
            self._sizes.again(waiting)
        self._eviction.later()
        return first

    def _commit(self, turn: Turn, waiting: Mapping[bytes, int]) -> int | None:
        given = self._arguments(turn, waiting)

        def write(db: Connection) -> int | None:
            row = db.execute(self._commit_statement, given, binary=True).fetchone()
            return None if row is None or row[0] is None else int(row[0])

        def again(db: Connection) -> int | None:
            """Retry after the server went away during a write; the turn may be there already."""
            first = write(db)
            if first is None and turn.expected is not None and self._is_there(turn, turn.expected):
                return turn.expected
            return first

        within = REQUEST_SECONDS + turn.size / LEAST_SPEED
        return self.connections.run(write, again=again, within=within)

    def _is_there(self, turn: Turn, first: int) -> bool:
        """Whether a turn's records are at this position, written by the same owner."""
        known = self.get_session(turn.session)
        if known is None or not turn.owner or known.owner != turn.owner:
            return False
        there = islice(self.records(turn.session, first), len(turn.records))
        return list(there) == list(turn.records) and known.records == first + len(turn.records)

    def _arguments(self, turn: Turn, waiting: Mapping[bytes, int]) -> tuple[Any, ...]:
        now, rows = self._now(), self._rows
        data, large = rows.turn(turn) if turn.records else (None, [])
        own = list({blob_digest(blob): None for blob in turn.blobs})
        contents = rows.contents([*turn.blobs, *large])
        sizes = {short(key): tokens for key, tokens in waiting.items()}
        return (
            name_key(turn.session),
            turn.session,
            now,
            None if turn.meta is None else encode(turn.meta).decode(),
            None if turn.state is None else rows.pack(turn.state),
            None if turn.shown is None else list(turn.shown),
            turn.expected,
            turn.epoch,
            turn.owner,
            now + LEASE_SECONDS,
            len(turn.records),
            turn.size,
            data,
            list({blob_digest(record): None for record in large}),
            own,
            *_columns(contents),
            [key_of(digest) for digest, _ in turn.prefixes],
            [length for _, length in turn.prefixes],
            list(sizes),
            list(sizes.values()),
            int(now // 86_400),
        )

    def shown(self, session: str) -> list[bytes]:
        """The digests of the blobs that a session's state refers to."""
        query = "SELECT shown FROM brim_sessions WHERE key = %s"
        row = self.connections.run(lambda db: db.execute(query, (name_key(session),)).fetchone())
        return list(row[0]) if row else []

    # Sessions

    def put_session(self, session: str, meta: Mapping[str, Any]) -> None:
        self.commit(Turn(session, meta=meta))

    def get_session(self, session: str) -> SessionRecord | None:
        query = f"SELECT {COLUMNS} FROM brim_sessions WHERE key = %s"
        row = self.connections.run(lambda db: db.execute(query, (name_key(session),)).fetchone())
        return _session(row) if row else None

    def sessions(self, limit: int = 50, *, before: float | None = None, query: str = "") -> list[SessionRecord]:
        rows = self.connections.at_leisure(lambda db: admin.listed(db, COLUMNS, limit, before, query))
        return [_session(row) for row in rows]

    def touch(self, session: str) -> None:
        given = self._now(), name_key(session)
        self.connections.run(lambda db: db.execute("UPDATE brim_sessions SET touched = %s WHERE key = %s", given))

    def fork_session(self, source: str, target: str, records: int) -> bool:
        if self.get_session(target) is not None:
            return False
        known = self.get_session(source)
        if known is None:
            return False
        kept = list(islice(self.records(source), records))
        copy = Turn(target, kept, meta=known.meta, expected=0)
        given = self._arguments(copy, {})

        def write(db: Connection) -> bool:
            with db.transaction():
                owned = db.execute("SELECT no FROM brim_sessions WHERE key = %s FOR UPDATE", (name_key(source),))
                row = owned.fetchone()
                first = db.execute(self._commit_statement, given, binary=True).fetchone()
                if row is None or first is None or first[0] is None:
                    return False
                admin.copy_handles(db, row[0], name_key(target))
                return True

        return self.connections.run(write)

    def delete_session(self, session: str) -> bool:
        return self._eviction.delete(name_key(session))

    # Reading

    def records(self, session: str, start: int = 0) -> Iterator[bytes]:
        known = self.get_session(session)
        end = known.records if known else 0
        while start < end:
            batch = self.connections.run(partial(blobs.records, self._rows, name_key(session), start, BATCH))
            if not batch:
                return  # it was deleted meanwhile
            yield from batch
            start += len(batch)

    def get_state(self, session: str) -> bytes | None:
        query = "SELECT state FROM brim_sessions WHERE key = %s"
        row = self.connections.run(lambda db: db.execute(query, (name_key(session),), binary=True).fetchone())
        return None if row is None or row[0] is None else self._rows.unpack(row[0])

    def find_prefix(self, digests: Sequence[bytes]) -> tuple[str, int] | None:
        keys = [key_of(digest) for digest in digests]
        return self.connections.run(lambda db: admin.prefix(db, keys)) if keys else None

    # Blobs

    def put_blobs(self, blobs: Sequence[bytes], session: str | None = None) -> list[bytes]:
        if session is not None:
            self.commit(Turn(session, blobs=blobs))
        else:
            contents, now = self._rows.contents(blobs), self._now()
            within = REQUEST_SECONDS + sum(map(len, blobs)) / LEAST_SPEED
            put = partial(admin.put_loose, columns=_columns(contents), digests=contents.digests, now=now)
            self.connections.run(put, within=within)
        return [blob_digest(data) for data in blobs]

    def get_blob(self, digest: bytes, session: str | None = None) -> bytes | None:
        owner = None if session is None else name_key(session)
        return self.connections.run(partial(blobs.get, self._rows, digest, owner))

    def find_blob(self, prefix: str, session: str | None = None) -> bytes | None:
        owner = None if session is None else name_key(session)
        return self.connections.run(partial(blobs.find, self._rows, prefix, owner))

    # KnownSizes, usage, values

    def get_actual(self, key: bytes) -> int | None:
        return self._sizes.get(key)

    def put_actual(self, key: bytes, tokens: int) -> None:
        if self._sizes.put(key, tokens) and self._flushing.acquire(blocking=False):
            threading.Thread(target=self._flush_now, name="brim-sizes", daemon=True).start()

    def _flush_now(self) -> None:
        try:
            self.flush()
        except FAULTS as problem:  # they wait for the next commit
            log.debug("sizes were not written (%s)", type(problem).__name__)
        finally:
            self._flushing.release()

    def flush(self) -> None:
        """Write the sizes that are waiting for a commit."""
        waiting = self._sizes.take()
        sizes = {short(key): tokens for key, tokens in waiting.items()}
        given = list(sizes), list(sizes.values()), int(self._now() // 86_400)
        try:
            if sizes:
                query = "SELECT brim_put_sizes(%b::bigint[], %b::bigint[], %b::int)"
                self.connections.run(lambda db: db.execute(query, given))
        except BaseException:
            self._sizes.again(waiting)
            raise

    def add_usage(self, record: UsageRecord) -> None:
        self.add_usages([record])

    def add_usages(self, records: Sequence[UsageRecord]) -> None:
        if records:
            self.connections.run(lambda db: usage.add(db, records))

    def usage(self, since: float = 0.0, model: str | None = None, limit: int = 1_000) -> list[UsageRecord]:
        return self.connections.at_leisure(lambda db: usage.listed(db, since, model, limit))

    def usage_sums(self, since: float = 0.0) -> list[UsageSum]:
        return self.connections.at_leisure(lambda db: usage.sums(db, since))

    def get_value(self, name: str) -> bytes | None:
        return self.connections.run(lambda db: admin.value(db, name_key(name)))

    def put_value(self, name: str, value: bytes | None) -> None:
        self.connections.run(lambda db: admin.put_value(db, name_key(name), name, value))

    def claim_value(self, name: str, value: bytes) -> bytes:
        return self.connections.run(lambda db: admin.claim_value(db, name_key(name), name, value))

    def values(self, prefix: str) -> dict[str, bytes]:
        return self.connections.run(lambda db: admin.values(db, prefix))

    # The database

    def size(self) -> int:
        return self.connections.at_leisure(admin.size)

    def evict(self) -> Evicted:
        return self._eviction.run()

    def close(self) -> None:
        """Write what is waiting, and close the connections."""
        try:
            self.flush()
        finally:
            self._eviction.close()
            self.connections.close()


def _columns(contents: ContentColumns) -> tuple[Any, ...]:
    return contents.digests, contents.sizes, contents.datas, contents.places


def _session(row: tuple[Any, ...]) -> SessionRecord:
    name, meta, *numbers = row
    return SessionRecord(name, decode(meta.encode()), *numbers)
