"""A store that keeps working when its file or database is unavailable: writes wait in memory until it is back."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

from brim.errors import BadSetting
from brim.stores.gathering import gathered
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Evicted, Limits, LoadedSession, SessionRecord, Store, Turn, UsageSum, Wanted
from brim.tokens.actuals import UsageRecord

log = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds to wait after a failure before trying again.
RETRY_SECONDS = 5.0
# Seconds between attempts to write what is waiting while no request does.
CATCH_UP_SECONDS = 5.0
# Bytes of turns that may wait in memory for an unavailable store; beyond that, the oldest are dropped.
MOST_WAITING = 64 << 20
# Records to read at once.
BATCH = 512


class Medium(Store, Protocol):
    """The underlying store: a file or a database."""

    def shown(self, session: str) -> Sequence[bytes]:
        """The digests of the blobs that a session's state refers to."""


class Unusable(Exception):
    """The underlying store was unavailable for an operation."""


class _Waiting(NamedTuple):
    """A write that is waiting for the store."""

    session: str
    size: int
    write: Callable[[Store], object]


class Buffered(ABC):
    """A store with a write buffer in memory for times when it is unavailable.

    They are read from there, and written in their order as soon as it can be used again. Those who derive from it say
    how it is opened, what can be wrong with it, and whether several threads may write to it at once.
    """

    faults: tuple[type[BaseException], ...] = (OSError,)
    bugs: tuple[type[BaseException], ...] = ()
    at_once = False
    # Then it isn't even read while it is unavailable, because every attempt over a network takes time.
    remote = False

    def __init__(self, name: str) -> None:
        self.degraded: str | None = None
        self._name = name
        self._lock = threading.RLock()
        self._file: Medium | None = None
        self._memory = _overlay()
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._retry_at = 0.0
        self._probing = threading.Lock()
        self._closed = threading.Event()
        self._retrying: threading.Thread | None = None
        try:
            self._file = self._opened()
        except self.faults as error:
            self.degraded = self._describe(error)
            self._retry_at = time.monotonic() + RETRY_SECONDS
            told = "the store %s cannot be used (%s): nothing will be remembered after this process, if that stays so"
            log.warning(told, name, self.degraded)

    @abstractmethod
    def _opened(self) -> Medium:
        """Open it. Raises one of `faults`, or BadSetting."""

    @abstractmethod
    def _describe(self, error: BaseException) -> str:
        """What is wrong, without content or secrets."""

    def _renewed(self, error: BaseException) -> bool:
        """Whether a damaged store was replaced by a new one, so that it is worth another try."""
        return False

    def _abandon(self) -> None:
        """Drop a connection that could not be closed."""
        self._file = None

    @property
    def _disk(self) -> Medium:
        """The underlying store, opened now if that failed before."""
        file = self._file
        if file is not None:
            return file  # without the lock, which a write may hold for long
        with self._lock:
            if self._file is None:
                if time.monotonic() < self._retry_at:
                    raise Unusable
                try:
                    self._file = self._opened()
                except BadSetting as error:
                    self._fail(error)
                    raise Unusable from error
            return self._file

    # Sessions

    def put_session(self, session: str, meta: Mapping[str, Any]) -> None:
        self._write(session, len(meta), lambda store: store.put_session(session, meta))

    def get_session(self, session: str) -> SessionRecord | None:
        found = self._read(lambda disk: disk.get_session(session), None)
        return _joined(found, self._memory.get_session(session))

    def sessions(self, limit: int = 50, *, before: float | None = None, query: str = "") -> list[SessionRecord]:
        none: list[SessionRecord] = []
        found = self._read(lambda disk: disk.sessions(limit, before=before, query=query), none)
        listed = {one.id: one for one in found}
        for one in self._memory.sessions(limit, before=before, query=query):
            listed[one.id] = self.get_session(one.id) or one
        return sorted(listed.values(), key=lambda one: -one.touched)[:limit]

    def touch(self, session: str) -> None:
        self._write(session, 0, lambda store: store.touch(session))

    def fork_session(self, source: str, target: str, records: int) -> bool:
        def copied() -> bool:
            known = self.get_session(source)
            if known is None or self.get_session(target) is not None:
                return False
            copy = Turn(target, list(islice(self.records(source), records)), meta=known.meta)
            self._hold(_Waiting(target, copy.size, lambda store: store.commit(copy)))
            self._memory.commit(copy)
            return True

        return self._attempt(lambda disk: disk.fork_session(source, target, records), copied)

    def delete_session(self, session: str) -> bool:
        with self._lock:
            held = self._memory.delete_session(session)
            self._waiting = deque(one for one in self._waiting if one.session != session)
            return self._write(session, 0, lambda store: store.delete_session(session)) or held

    # Turns

    def load(self, wanted: Wanted) -> LoadedSession:
        if self.degraded is None:
            try:
                return self._on_disk(lambda disk: disk.load(wanted))
            except Unusable:
                pass  # buffered data can still be read
        return gathered(self, wanted, self._shown)

    def _shown(self, session: str) -> Sequence[bytes]:
        held = self._memory.shown(session)
        return held or self._read(lambda disk: disk.shown(session), [])

    def commit(self, turn: Turn) -> int | None:
        return self._attempt(lambda disk: disk.commit(turn), lambda: self._commit_in_memory(turn))

    def _commit_in_memory(self, turn: Turn) -> int | None:
        unread = SessionRecord(turn.session)
        known = self._read(lambda disk: disk.get_session(turn.session) or replace(unread), unread)
        held = self._memory.get_session(turn.session)
        there = known.records + (held.records if held else 0)
        # If the file can't be read, its content is unknown, so accept the turn.
        if known is not unread and turn.expected is not None and turn.expected != there:
            return None
        base, read = known.records, known is not unread
        self._hold(_Waiting(turn.session, turn.size, lambda store: self._commit_late(store, turn, read)))
        return base + (self._memory.commit(replace(turn, epoch=None, expected=None)) or 0)

    def _commit_late(self, store: Store, turn: Turn, read: bool) -> int | None:
        """Write a turn that had to wait, without the part that another writer wrote in its place meanwhile.

        Where something else stands there, it is that writer's session. One that could not be `read` when the turn was
        made may hold anything: then the turn goes to its end.
        """
        late = replace(turn, epoch=None)
        if store is self._memory:
            return store.commit(replace(late, expected=None))
        first = store.commit(late)
        while first is None and turn.expected is not None:
            there = list(islice(store.records(turn.session, turn.expected), len(turn.records)))
            rest = turn.records[len(there) :]
            if not there or there != list(turn.records[: len(there)]):
                break
            if not rest:
                return store.commit(Turn(turn.session, blobs=turn.blobs)) if turn.blobs else turn.expected
            first = store.commit(replace(late, records=rest, expected=turn.expected + len(there)))
        if first is not None or turn.expected is None:
            return first
        if not read:
            return store.commit(replace(late, expected=None))
        log.warning("a turn that waited for the store was not written: its session was gone on with elsewhere")
        return None

    def records(self, session: str, start: int = 0) -> Iterator[bytes]:
        position = start
        while batch := self._batch(session, position):
            yield from batch
            position += len(batch)
        known = self._read(lambda disk: disk.get_session(session), None)
        yield from self._memory.records(session, max(0, start - (known.records if known else 0)))

    def _batch(self, session: str, start: int) -> list[bytes]:
        return self._read(lambda disk: list(islice(disk.records(session, start), BATCH)), [])

    def get_state(self, session: str) -> bytes | None:
        held = self._memory.get_state(session)
        return self._read(lambda disk: disk.get_state(session), None) if held is None else held

    def find_prefix(self, digests: Sequence[bytes]) -> tuple[str, int] | None:
        found = self._read(lambda disk: disk.find_prefix(digests), None)
        held = self._memory.find_prefix(digests)
        return max((one for one in (held, found) if one), key=lambda one: one[1], default=None)

    # Blobs

    def put_blobs(self, blobs: Sequence[bytes], session: str | None = None) -> list[bytes]:
        return self._write(session or "", sum(map(len, blobs)), lambda store: store.put_blobs(blobs, session))

    def get_blob(self, digest: bytes, session: str | None = None) -> bytes | None:
        held = self._memory.get_blob(digest, session)
        return self._read(lambda disk: disk.get_blob(digest, session), None) if held is None else held

    def find_blob(self, prefix: str, session: str | None = None) -> bytes | None:
        held = self._memory.find_blob(prefix, session)
        return self._read(lambda disk: disk.find_blob(prefix, session), None) if held is None else held

    # Actuals, usage, values

    def get_actual(self, key: bytes) -> int | None:
        held = self._memory.get_actual(key)
        return self._read(lambda disk: disk.get_actual(key), None) if held is None else held

    def put_actual(self, key: bytes, tokens: int) -> None:
        if self.degraded is not None:
            self._attempt(lambda disk: disk.put_actual(key, tokens), lambda: self._memory.put_actual(key, tokens))
            return
        try:  # without the lock, which a write may hold for long
            self._on_disk(lambda disk: disk.put_actual(key, tokens))
        except Unusable:
            self._memory.put_actual(key, tokens)

    def add_usage(self, record: UsageRecord) -> None:
        self.add_usages([record])

    def add_usages(self, records: Sequence[UsageRecord]) -> None:
        self._write("", 200 * len(records), lambda store: store.add_usages(records))

    def usage(self, since: float = 0.0, model: str | None = None, limit: int = 1_000) -> list[UsageRecord]:
        none: list[UsageRecord] = []
        found = self._read(lambda disk: disk.usage(since, model, limit), none)
        both = {one.request: one for one in (*found, *self._memory.usage(since, model, limit))}
        return sorted(both.values(), key=lambda one: -one.at)[:limit]

    def usage_sums(self, since: float = 0.0) -> list[UsageSum]:
        """Sums of what was written; records still in memory aren't included."""
        return self._read(lambda disk: disk.usage_sums(since), self._memory.usage_sums(since))

    def get_value(self, name: str) -> bytes | None:
        held = self._memory.get_value(name)
        return self._read(lambda disk: disk.get_value(name), None) if held is None else held

    def put_value(self, name: str, value: bytes | None) -> None:
        self._write("", len(value or b""), lambda store: store.put_value(name, value))

    def claim_value(self, name: str, value: bytes) -> bytes:
        """A file that can't be written may still be readable; its value counts."""
        known = self.get_value(name)
        return known if known is not None else self._write("", len(value), lambda store: store.claim_value(name, value))

    def values(self, prefix: str) -> dict[str, bytes]:
        nothing: dict[str, bytes] = {}
        kept = self._read(lambda disk: disk.values(prefix), nothing)
        return dict(sorted({**kept, **self._memory.values(prefix)}.items()))

    # The file

    def size(self) -> int:
        return self._read(lambda disk: disk.size(), 0) + self._memory.size()

    def evict(self) -> Evicted:
        return self._attempt(lambda disk: disk.evict(), lambda: self._memory.evict())

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            self._retry_at = 0.0
            if self._waiting and not self._caught_up():
                log.warning("%d writes are lost: the store could not be written again", len(self._waiting))
            try:
                if self._file is not None:
                    self._file.close()
            except self.faults as error:
                log.warning("the store could not be closed (%s)", self._describe(error))
                self._abandon()

    # How it goes on

    def _read(self, read: Callable[[Medium], T], otherwise: T) -> T:
        try:
            return self._on_disk(read)
        except Unusable:
            return otherwise

    def _write(self, session: str, size: int, write: Callable[[Store], T]) -> T:
        """Write to the store, or to memory and later to the store."""

        def held() -> T:
            self._hold(_Waiting(session, size, write))
            return write(self._memory)

        return self._attempt(write, held)

    def _attempt(self, write: Callable[[Medium], T], otherwise: Callable[[], T]) -> T:
        if self.at_once:
            return self._attempt_at_once(write, otherwise)
        with self._lock:
            if self.degraded is None or self._caught_up():
                try:
                    return self._on_disk(write)
                except Unusable:
                    return otherwise()
            return otherwise()

    def _attempt_at_once(self, write: Callable[[Medium], T], otherwise: Callable[[], T]) -> T:
        """The same without the lock: only one thread waits for a server that may be gone, and the others continue."""
        if self.degraded is None or self._answers():
            try:
                return self._on_disk(write)
            except Unusable:
                pass
        with self._lock:
            return otherwise()

    def _answers(self) -> bool:
        """Whether a server that was gone is back and has received all waiting writes."""
        if time.monotonic() < self._retry_at or not self._probing.acquire(blocking=False):
            return False
        try:
            self._retry_at = 0.0
            self._on_disk(lambda disk: disk.get_value(""))
            with self._lock:
                return self.degraded is None or self._caught_up()
        except Unusable:
            return False
        finally:
            self._probing.release()

    def _on_disk(self, use: Callable[[Medium], T]) -> T:
        if self.remote and self.degraded is not None and time.monotonic() < self._retry_at:
            raise Unusable
        try:
            return use(self._disk)
        except self.bugs:
            raise
        except self.faults as error:
            if not self._renewed(error):
                self._fail(error)
                raise Unusable from error
        try:
            return use(self._disk)
        except self.faults as error:
            self._fail(error)
            raise Unusable from error

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self.degraded is None:
                log.warning(
                    "the store %s cannot be used (%s): this turn is kept in memory only, until it can be used again",
                    self._name,
                    self._describe(error),
                )
            if self._file is None and time.monotonic() < self._retry_at:
                return  # it was not tried
            self.degraded = self._describe(error)
            self._retry_at = time.monotonic() + RETRY_SECONDS

    def _retry_later(self) -> None:
        """Try again what waits, also where no more requests come: a process that is killed takes it along."""
        if self._retrying is None or not self._retrying.is_alive():
            given = weakref.ref(self), self._closed
            self._retrying = threading.Thread(target=_keep_trying, args=given, name="brim-catch-up", daemon=True)
            self._retrying.start()

    def catch_up(self) -> None:
        """Try to write what is waiting."""
        if self.at_once:
            self._answers()
            return
        with self._lock:
            self._caught_up()

    def _hold(self, write: _Waiting) -> None:
        self._waiting.append(write)
        self._waiting_bytes += write.size
        self._retry_later()
        dropped = 0
        while self._waiting_bytes > MOST_WAITING and len(self._waiting) > 1:
            self._waiting_bytes -= self._waiting.popleft().size
            dropped += 1
        if dropped:
            log.warning("the store cannot be written and memory is full: %d turns are lost", dropped)

    def _caught_up(self) -> bool:
        """Whether all waiting writes are done; not tried for a while after a failure."""
        if time.monotonic() < self._retry_at:
            return False
        count = len(self._waiting)
        try:
            self._on_disk(lambda disk: disk)  # it may have to be opened first
        except Unusable:
            return False
        while self._waiting:
            try:
                self._on_disk(self._waiting[0].write)
            except Unusable:
                self._memory = _overlay()
                for write in self._waiting:  # writes that arrived meanwhile are in the store now
                    write.write(self._memory)
                return False
            self._waiting.popleft()
        self._memory, self._waiting_bytes = _overlay(), 0
        log.warning("the store %s can be used again: %d writes were caught up", self._name, count)
        self.degraded = None
        return True


def _overlay() -> InMemoryStore:
    return InMemoryStore(Limits(max_bytes=MOST_WAITING, live_seconds=0))


def _joined(written: SessionRecord | None, held: SessionRecord | None) -> SessionRecord | None:
    if written is None or held is None:
        return written or held
    return replace(
        written,
        meta=held.meta or written.meta,
        touched=max(written.touched, held.touched),
        records=written.records + held.records,
        size=written.size + held.size,
        owner=held.owner or written.owner,
        epoch=written.epoch + (bool(held.owner) and held.owner != written.owner),
        until=max(written.until, held.until),
    )


def _keep_trying(store: weakref.ref[Buffered], closed: threading.Event) -> None:
    """Let a store catch up until it has; a store that nobody holds any more is not kept alive for this."""
    while not closed.wait(CATCH_UP_SECONDS):
        found = store()
        if found is None or found.degraded is None:
            return
        found.catch_up()
        del found
