"""A store that keeps working when its file or database is unavailable: writes wait in memory until it is back."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, islice
from typing import Any, NamedTuple, Protocol, TypeVar

from brim.errors import BadSetting
from brim.stores.inmemory import InMemoryStore
from brim.stores.late_turns import joined, write_late
from brim.stores.protocol import Evicted, Limits, LoadedSession, SessionRecord, Store, Turn, UsageSum, Wanted, gathered
from brim.tokens.actuals import UsageRecord

log = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds to wait after a failure before trying again.
RETRY_SECONDS = 5.0
# Seconds between attempts of a thread of its own to write what is waiting.
CATCH_UP_SECONDS = 1.0
# Bytes of turns that may wait in memory for an unavailable store; beyond that, the oldest are dropped.
MOST_WAITING = 64 << 20
# Sessions whose turns are remembered after they waited, in case that the store is lost again before the next one.
MOST_WRITTEN = 1_000
# Records to read at once.
BATCH = 512


class Medium(Store, Protocol):
    """The underlying store: a file or a database."""

    def shown(self, session: str) -> Sequence[bytes]:
        """The digests of the blobs that a session's state refers to."""


class Unusable(Exception):
    """The underlying store was unavailable for an operation."""


class _Waiting(NamedTuple):
    """A write that is waiting for the store: a turn, or all turns of a session in one, or something else."""

    session: str
    size: int
    write: Callable[[Store], object]
    turn: Turn | None = None
    turns: int = 1
    read: bool = True  # whether the session could be read when the turn was made


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
        self._waiting: dict[str, _Waiting] = {}  # turns by their session, and other writes by a number
        self._waiting_bytes = 0
        self._numbers, self._caught = count(), 0
        self._written: dict[str, _Waiting] = {}  # turns that waited, until their session is loaded as it is now
        self._retry_at = 0.0
        self._opening = threading.RLock()
        self._trying: int | None = None  # the thread that tries whether a server is back
        self._probing = threading.Lock()
        self._bringing = threading.RLock() if self.at_once else self._lock
        self._closed = threading.Event()
        self._retrying: threading.Thread | None = None
        try:
            self._file = self._opened()
        except self.faults as error:
            self.degraded = self._describe(error)
            self._retry_at = time.monotonic() + RETRY_SECONDS
            told = "the store %s cannot be used (%s): nothing will be remembered after this process, if that stays so"
            log.warning(told, name, self.degraded)
            if self.at_once:
                self._retry_later()

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
        with self._opening:
            if self._file is None and time.monotonic() < self._retry_at:
                raise Unusable
            try:
                self._file = self._file or self._opened()
                return self._file
            except BadSetting as error:
                problem = error
        self._fail(problem)
        raise Unusable from problem

    # Sessions

    def put_session(self, session: str, meta: Mapping[str, Any]) -> None:
        self._write(session, len(meta), lambda store: store.put_session(session, meta))

    def get_session(self, session: str) -> SessionRecord | None:
        found = self._read(lambda disk: disk.get_session(session), None, session)
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
            self._hold_turn(copy, read=True)
            return True

        return self._attempt(lambda disk: disk.fork_session(source, target, records), copied)

    def delete_session(self, session: str) -> bool:
        with self._lock:
            held = self._memory.delete_session(session)
            for key in [key for key, one in self._waiting.items() if one.session == session]:
                self._waiting_bytes -= self._waiting.pop(key).size
            return self._write(session, 0, lambda store: store.delete_session(session)) or held

    # Turns

    def load(self, wanted: Wanted) -> LoadedSession:
        if self.degraded is None:
            held = self._memory.find_prefix(wanted.prefixes) if self._waiting else None
            session = wanted.session if held is None or wanted.session in self._waiting else held[0]
            try:
                found = self._on_disk(lambda disk: disk.load(wanted), session)
                if found.session is not None:
                    self._written.pop(found.session.id, None)
                return found
            except Unusable:
                pass  # buffered data can still be read
        told = gathered(self, wanted, self._shown)
        waits = self._waiting.get(told.session.id) if told.session is not None else None
        if self.remote and waits is not None and waits.turn is not None and waits.turn.expected:
            return LoadedSession()  # only its end is here
        return told

    def _shown(self, session: str) -> Sequence[bytes]:
        held = self._memory.shown(session)
        return held or self._read(lambda disk: disk.shown(session), [])

    def commit(self, turn: Turn) -> int | None:
        return self._attempt(lambda disk: disk.commit(turn), lambda: self._commit_in_memory(turn), turn.session)

    def _commit_in_memory(self, turn: Turn) -> int | None:
        unread = SessionRecord(turn.session)
        known = self._read(lambda disk: disk.get_session(turn.session) or replace(unread), unread)
        held = self._memory.get_session(turn.session)
        there = known.records + (held.records if held else 0)
        # If the file can't be read, its content is unknown, so accept the turn.
        if known is not unread and turn.expected is not None and turn.expected != there:
            return None
        return known.records + self._hold_turn(turn, read=known is not unread)

    def _hold_turn(self, turn: Turn, *, read: bool) -> int:
        """Have a turn wait, with those of its session that wait already: they are written as one.

        Returns the number of its first record among those in memory.
        """
        before, whole, turns = self._waiting.pop(turn.session, None), turn, 1
        if before is not None:
            self._waiting_bytes -= before.size
        elif not read:
            before = self._written.get(turn.session)
        if before is not None and before.turn is not None:
            whole, read, turns = joined(before.turn, turn), before.read, before.turns + 1
        held, first = self._memory.get_session(turn.session), len(whole.records) - len(turn.records)
        if first == (held.records if held else 0):
            self._memory.commit(replace(turn, epoch=None, expected=None))
        else:  # it says once more what is there
            self._memory.delete_session(turn.session)
            self._memory.commit(replace(whole, epoch=None, expected=None))
        write = partial(write_late, turn=whole, read=read)
        self._hold(_Waiting(turn.session, whole.size, write, whole, turns, read), turn.session)
        return first

    def records(self, session: str, start: int = 0) -> Iterator[bytes]:
        position = start
        while batch := self._batch(session, position):
            yield from batch
            position += len(batch)
        known = self._read(lambda disk: disk.get_session(session), None, session)
        yield from self._memory.records(session, max(0, start - (known.records if known else 0)))

    def _batch(self, session: str, start: int) -> list[bytes]:
        return self._read(lambda disk: list(islice(disk.records(session, start), BATCH)), [], session)

    def get_state(self, session: str) -> bytes | None:
        held = self._memory.get_state(session)
        return self._read(lambda disk: disk.get_state(session), None, session) if held is None else held

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
        self._retry_at = 0.0
        if self._waiting and not self.catch_up():
            lost = sum(one.turns for one in self._waiting.values())
            log.warning("%d writes are lost: the store could not be written again", lost)
        with self._lock:
            try:
                if self._file is not None:
                    self._file.close()
            except self.faults as error:
                log.warning("the store could not be closed (%s)", self._describe(error))
                self._abandon()

    # How it goes on

    def _read(self, read: Callable[[Medium], T], otherwise: T, session: str = "") -> T:
        try:
            return self._on_disk(read, session)
        except Unusable:
            return otherwise

    def _write(self, session: str, size: int, write: Callable[[Store], T]) -> T:
        """Write to the store, or to memory and later to the store."""

        def held() -> T:
            self._hold(_Waiting(session, size, write), f"{next(self._numbers)}~")
            return write(self._memory)

        return self._attempt(write, held, session)

    def _attempt(self, write: Callable[[Medium], T], otherwise: Callable[[], T], session: str = "") -> T:
        if self.at_once:
            return self._attempt_at_once(write, otherwise, session)
        with self._lock:
            if self.degraded is None or self._caught_up():
                try:
                    return self._on_disk(write, session)
                except Unusable:
                    return otherwise()
            return otherwise()

    def _attempt_at_once(self, write: Callable[[Medium], T], otherwise: Callable[[], T], session: str) -> T:
        """The same for a server: no request waits until it is back, and none for what others have to write first."""
        while True:
            try:
                return self._on_disk(write, session)
            except Unusable:
                with self._lock:
                    if self.degraded is not None:  # else it came back at this moment
                        return otherwise()

    def _on_disk(self, use: Callable[[Medium], T], session: str = "") -> T:
        """Use the store, after what waits of a session was written."""
        if self.remote and self.degraded is not None and self._trying != threading.get_ident():
            raise Unusable  # what waits here is not in it yet, and both together would say things twice
        if self.degraded is None and session in self._waiting:
            self._bring(session)
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
            if self.at_once:
                self._retry_later()

    def _retry_later(self) -> None:
        """Try again what waits, also where no more requests come: a process that is killed takes it along."""
        if self._retrying is None or not self._retrying.is_alive():  # a forked process has none
            given = weakref.ref(self), self._closed
            self._retrying = threading.Thread(target=_keep_trying, args=given, name="brim-catch-up", daemon=True)
            self._retrying.start()

    def _recovered(self) -> bool:
        """Whether nothing has to be tried any more; then the next fault starts another thread for it."""
        with self._lock:
            if self.degraded is None and not self._waiting:
                self._retrying = None
            return self._retrying is None

    def catch_up(self) -> bool:
        """Try to write what is waiting, and return whether all of it is written."""
        if not self.at_once:
            with self._lock:
                return self._caught_up()
        with self._probing:
            self._trying, self._retry_at = threading.get_ident(), 0.0
            try:
                return self._caught_up()
            finally:
                self._trying = None

    def _hold(self, write: _Waiting, key: str) -> None:
        self._waiting[key] = write
        self._waiting_bytes += write.size
        self._retry_later()
        dropped = 0
        while self._waiting_bytes > MOST_WAITING and len(self._waiting) > 1:
            oldest = self._waiting.pop(next(iter(self._waiting)))
            self._waiting_bytes -= oldest.size
            dropped += oldest.turns
        if dropped:
            log.warning("the store cannot be written and memory is full: %d turns are lost", dropped)

    def _caught_up(self) -> bool:
        """Whether all waiting writes are done; not tried for a while after a failure.

        The store is in use again as soon as it answers: a session that still waits is written before it is used.
        """
        if time.monotonic() < self._retry_at:
            return False
        try:
            self._on_disk(lambda disk: disk.get_value(""))
            wrote = False
            while (found := self._next(wrote)) is not None:
                self._on_disk(found[1].write)
                self._settle(*found)
                wrote = True
            for session in list(self._waiting):
                self._bring(session)
        except Unusable:
            return False
        with self._lock:
            if self._waiting:
                return False
            caught, self._caught, self._memory = self._caught, 0, _overlay()
        log.warning("the store %s can be used again: %d writes were caught up", self._name, caught)
        return True

    def _next(self, wrote: bool) -> tuple[str, _Waiting] | None:
        """What is written before the store is in use again: what is no turn, and at least one, as disks can be full."""
        with self._lock:
            found = next(((key, one) for key, one in self._waiting.items() if one.turn is None), None)
            if found is None and not wrote:
                found = next(iter(self._waiting.items()), None)
            if found is None:
                self._memory, self.degraded = _overlay(), None
                for one in self._waiting.values():
                    assert one.turn is not None
                    self._memory.commit(replace(one.turn, epoch=None, expected=None))
            return found

    def _bring(self, session: str) -> None:
        """Write what waits of a session. Raises Unusable."""
        with self._bringing:
            one = self._waiting.get(session)
            if one is None:
                return
            self._on_disk(one.write)
            self._settle(session, one)

    def _settle(self, key: str, write: _Waiting) -> None:
        """Note a write as done, unless more came to wait with it meanwhile: then all of it is written once more."""
        with self._lock:
            if self._waiting.get(key) is not write:
                return
            del self._waiting[key]
            self._waiting_bytes -= write.size
            self._caught += write.turns
            if write.turn is not None:
                self._memory.delete_session(key)
                self._written[key] = write
                while len(self._written) > MOST_WRITTEN:
                    del self._written[next(iter(self._written))]


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
        if found is None or found._recovered():
            return
        found.catch_up()
        del found
