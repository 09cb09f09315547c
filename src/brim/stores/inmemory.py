"""The store of one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.conversation import encode
from brim.sized_lru import SizedLru
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
    gathered,
    prefix_range,
)
from brim.stores.retention import DAY, retained
from brim.tokens.actuals import UsageRecord

# Usage records to keep in memory.
MOST_USAGE = 10_000


@dataclass(slots=True)
class _Session:
    meta: dict[str, Any]
    created: float
    touched: float
    records: list[bytes] = field(default_factory=list)
    blobs: dict[bytes, None] = field(default_factory=dict)  # digests, newest last
    prefixes: dict[bytes, None] = field(default_factory=dict)
    state: bytes | None = None
    shown: tuple[bytes, ...] = ()
    size: int = 0
    owner: str = ""
    epoch: int = 0
    until: float = 0.0

    def record(self, name: str) -> SessionRecord:
        lease = self.owner, self.epoch, self.until
        return SessionRecord(name, dict(self.meta), self.created, self.touched, len(self.records), self.size, *lease)


class InMemoryStore:
    """A store that lives as long as its process.

    Example: store.commit(Turn("a", records=[b"hi"])) -> 0; list(store.records("a")) -> [b"hi"]
    """

    remote = False

    def __init__(
        self,
        limits: Limits = Limits(max_bytes=256 << 20),  # noqa: B008, frozen
        *,
        degraded: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.degraded = degraded
        self._limits = limits
        self._now = now
        self._lock = threading.RLock()
        self._sessions: dict[str, _Session] = {}
        self._prefixes: dict[bytes, tuple[str, int]] = {}
        self._blobs: dict[bytes, bytes] = {}
        self._loose: dict[bytes, float] = {}  # blobs without a session, and when they were last stored
        self._refs: dict[bytes, int] = {}
        self._actuals: SizedLru[bytes, int] = SizedLru(200_000)
        self._usage: dict[str, UsageRecord] = {}
        self._values: dict[str, bytes] = {}
        self._size = 0
        self._full = limits.max_bytes  # when to evict next; a little later if everything is live

    def put_session(self, session: str, meta: Mapping[str, Any]) -> None:
        with self._lock:
            self._open(session).meta = dict(meta)

    def get_session(self, session: str) -> SessionRecord | None:
        with self._lock:
            known = self._sessions.get(session)
            return known.record(session) if known else None

    def sessions(self, limit: int = 50, *, before: float | None = None, query: str = "") -> list[SessionRecord]:
        with self._lock:
            listed = [known.record(name) for name, known in reversed(self._sessions.items())]
        wanted = query.casefold()
        listed = [
            one
            for one in listed
            if (before is None or one.touched < before)
            and (not wanted or wanted in f"{one.id} {encode(one.meta).decode()}".casefold())
        ]
        return sorted(listed, key=lambda one: -one.touched)[:limit]

    def touch(self, session: str) -> None:
        with self._lock:
            if session in self._sessions:
                self._open(session)

    def fork_session(self, source: str, target: str, records: int) -> bool:
        with self._lock:
            known = self._sessions.get(source)
            if known is None or target in self._sessions:
                return False
            blobs = [self._blobs[digest] for digest in known.blobs]
            self.commit(Turn(target, known.records[:records], blobs, meta=known.meta))
            return True

    def delete_session(self, session: str) -> bool:
        with self._lock:
            known = self._sessions.pop(session, None)
            if known is None:
                return False
            self._size -= known.size
            for digest in known.blobs:
                self._release(digest)
            for digest in known.prefixes:
                if self._prefixes.get(digest, ("", 0))[0] == session:
                    del self._prefixes[digest]
            return True

    def load(self, wanted: Wanted) -> LoadedSession:
        with self._lock:
            return gathered(self, wanted, self.shown)

    def shown(self, session: str) -> tuple[bytes, ...]:
        """The digests of the blobs that a session's state refers to."""
        with self._lock:
            known = self._sessions.get(session)
            return known.shown if known else ()

    def commit(self, turn: Turn) -> int | None:
        with self._lock:
            known = self._sessions.get(turn.session)
            if turn.expected is not None and turn.expected != (len(known.records) if known else 0):
                return None
            if turn.epoch is not None and turn.epoch != (known.epoch if known else 0):
                return None
            known = self._open(turn.session)
            if turn.owner:
                known.epoch += turn.owner != known.owner
                known.owner, known.until = turn.owner, self._now() + LEASE_SECONDS
            if turn.shown is not None:
                known.shown = tuple(turn.shown)
            first = len(known.records)
            known.records += turn.records
            added = sum(map(len, turn.records))
            for data in turn.blobs:
                digest = blob_digest(data)
                if digest not in known.blobs:
                    known.blobs[digest] = None
                    self._keep(digest, data)
            if turn.state is not None:
                added += len(turn.state) - len(known.state or b"")
                known.state = turn.state
            if turn.meta is not None:
                known.meta = dict(turn.meta)
            known.size += added
            self._size += added
            for digest, length in turn.prefixes:
                self._prefixes[digest] = (turn.session, length)
                known.prefixes[digest] = None
            if self._size > self._full:
                self.evict()
                self._full = max(self._limits.max_bytes, self._size + self._size // 20)
            return first

    def records(self, session: str, start: int = 0) -> Iterator[bytes]:
        with self._lock:
            known = self._sessions.get(session)
            return iter(known.records[start:] if known else [])

    def get_state(self, session: str) -> bytes | None:
        with self._lock:
            known = self._sessions.get(session)
            return known.state if known else None

    def find_prefix(self, digests: Sequence[bytes]) -> tuple[str, int] | None:
        with self._lock:
            return next((self._prefixes[digest] for digest in digests if digest in self._prefixes), None)

    def put_blobs(self, blobs: Sequence[bytes], session: str | None = None) -> list[bytes]:
        digests = [blob_digest(data) for data in blobs]
        with self._lock:
            if session is not None:
                self.commit(Turn(session, blobs=blobs))
                return digests
            for digest, data in zip(digests, blobs, strict=True):
                if self._loose.pop(digest, None) is None:
                    self._keep(digest, data)
                self._loose[digest] = self._now()
        return digests

    def get_blob(self, digest: bytes, session: str | None = None) -> bytes | None:
        with self._lock:
            if session is not None and digest not in self._of(session):
                return None
            return self._blobs.get(digest)

    def find_blob(self, prefix: str, session: str | None = None) -> bytes | None:
        wanted = prefix.lower()
        if prefix_range(wanted) is None:
            return None
        with self._lock:
            known: dict[bytes, Any] = self._blobs if session is None else self._of(session)
            found = next((digest for digest in reversed(known) if digest.hex().startswith(wanted)), None)
            return self._blobs[found] if found is not None else None

    def get_actual(self, key: bytes) -> int | None:
        with self._lock:
            return self._actuals.get(key)

    def put_actual(self, key: bytes, tokens: int) -> None:
        with self._lock:
            self._actuals.put(key, tokens)

    def add_usages(self, records: Sequence[UsageRecord]) -> None:
        for record in records:
            self.add_usage(record)

    def add_usage(self, record: UsageRecord) -> None:
        with self._lock:
            self._usage.pop(record.request, None)
            self._usage[record.request] = record
            while len(self._usage) > MOST_USAGE:
                del self._usage[next(iter(self._usage))]

    def usage(self, since: float = 0.0, model: str | None = None, limit: int = 1_000) -> list[UsageRecord]:
        with self._lock:
            found = [one for one in self._usage.values() if one.at >= since and model in (None, one.model)]
        return sorted(found, key=lambda one: -one.at)[:limit]

    def usage_sums(self, since: float = 0.0) -> list[UsageSum]:
        groups: dict[tuple[str, str], list[UsageRecord]] = {}
        for one in self.usage(since, limit=MOST_USAGE):
            groups.setdefault((time.strftime("%Y-%m-%d", time.gmtime(one.at)), one.model), []).append(one)
        by_model = sorted(groups.items(), key=lambda item: item[0][1])
        return [_sum(*place, group) for place, group in sorted(by_model, key=lambda item: item[0][0], reverse=True)]

    def get_value(self, name: str) -> bytes | None:
        with self._lock:
            return self._values.get(name)

    def put_value(self, name: str, value: bytes | None) -> None:
        with self._lock:
            self._values.pop(name, None)
            if value is not None:
                self._values[name] = value

    def claim_value(self, name: str, value: bytes) -> bytes:
        with self._lock:
            return self._values.setdefault(name, value)

    def values(self, prefix: str) -> dict[str, bytes]:
        with self._lock:
            return {name: self._values[name] for name in sorted(self._values) if name.startswith(prefix)}

    def size(self) -> int:
        with self._lock:
            return self._size

    def evict(self) -> Evicted:
        with self._lock:
            now = self._now()
            live = now - self._limits.live_seconds
            old = min(live, now - self._limits.max_age_days * 86_400)
            sessions = blobs = 0
            own = {tenant: min(live, now - days * DAY) for tenant, days in retained(self).items()}
            for name, known in sorted(self._sessions.items(), key=lambda item: item[1].touched):
                too_old = known.touched < own.get(name.rpartition("~")[0], old)
                if too_old or (known.touched < live and self._size > self._limits.max_bytes):
                    sessions += self.delete_session(name)
            for digest, put in list(self._loose.items()):
                if put < old or (put < live and self._size > self._limits.max_bytes):
                    del self._loose[digest]
                    self._release(digest)
                    blobs += 1
            return Evicted(sessions, blobs)

    def close(self) -> None:
        """Does nothing; memory is freed with the object."""

    def _open(self, session: str) -> _Session:
        """The session, created if necessary and marked as used."""
        now = self._now()
        known = self._sessions.setdefault(session, _Session({}, now, now))
        known.touched = now
        return known

    def _of(self, session: str) -> dict[bytes, None]:
        """The digests of a session's blobs, newest last."""
        known = self._sessions.get(session)
        return known.blobs if known else {}

    def _keep(self, digest: bytes, data: bytes) -> None:
        self._refs[digest] = self._refs.get(digest, 0) + 1
        if digest not in self._blobs:
            self._blobs[digest] = data
            self._size += len(data)

    def _release(self, digest: bytes) -> None:
        self._refs[digest] -= 1
        if not self._refs[digest]:
            del self._refs[digest]
            self._size -= len(self._blobs.pop(digest))


def _sum(day: str, model: str, group: Sequence[UsageRecord]) -> UsageSum:
    return UsageSum(
        day=day,
        model=model,
        requests=len(group),
        failed=sum(one.status == "failed" for one in group),
        estimated=sum(one.estimated for one in group),
        actual_in=sum(one.actual_in or 0 for one in group),
        actual_out=sum(one.actual_out or 0 for one in group),
        cached=sum(one.cached for one in group),
    )
