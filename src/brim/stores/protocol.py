"""The store protocol: sessions with an append-only log each, an archive, and a few small tables.

A session's id begins with its tenant (see `tenancy`), so no other tenant can name its content. The log is the source
of truth; the state is derived from it and may be missing. A turn writes everything with one `commit`, so a crash loses
the whole turn or nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from brim.tokens.actuals import UsageRecord

# How long a session's lease lasts after its last turn. Nobody waits for it: it says who does work in the
# background, and a request that reaches another gateway takes it over.
LEASE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Turn:
    """Everything that one turn adds to a session; creates the session if necessary.

    `prefixes` are (digest of a conversation's first messages, how many) by which it is recognised again. `shown` are
    the digests of the blobs that the state points to; None leaves them as they were.
    `expected` is how many records the log must hold, and `epoch` what its lease must be at; if they are others, another
    writer was faster. With an `owner` the session's lease is this writer's from now on.
    """

    session: str
    records: Sequence[bytes] = ()
    blobs: Sequence[bytes] = ()
    state: bytes | None = None
    prefixes: Sequence[tuple[bytes, int]] = ()
    meta: Mapping[str, Any] | None = None
    expected: int | None = None
    shown: Sequence[bytes] | None = None
    owner: str = ""
    epoch: int | None = None

    @property
    def size(self) -> int:
        """The bytes of content."""
        return sum(map(len, self.records)) + sum(map(len, self.blobs)) + len(self.state or b"")


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session's data without its log. Times are seconds since 1970.

    `owner` wrote to it last and holds its lease until a time; `epoch` counts how often the owner changed. A writer that
    was paused meanwhile finds another epoch, and is refused.
    """

    id: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    created: float = 0.0
    touched: float = 0.0
    records: int = 0
    size: int = 0
    owner: str = ""
    epoch: int = 0
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request needs from a store before it is fitted.

    The session is the one of this id, or else the one of the first of these prefixes that is known. Of its log the
    records from `start` on are wanted; if it holds none of those and its epoch is the given one, state and blobs are at
    hand already. `sizes` are keys of known sizes.
    """

    session: str = ""
    prefixes: Sequence[bytes] = ()
    start: int = 0
    epoch: int | None = None
    sizes: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """The result of `load`: a session's row, records from `start` on, its state, and the blobs the state refers to.

    `length` is that of the prefix by which it was found. The sizes are not here: `get_actual` gives them from memory.
    """

    session: SessionRecord | None = None
    length: int = 0
    records: Sequence[bytes] = ()
    state: bytes | None = None
    blobs: Mapping[bytes, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UsageSum:
    """The usage of one model on one day (UTC, as 2026-11-30)."""

    day: str
    model: str
    requests: int
    failed: int
    estimated: int
    actual_in: int
    actual_out: int
    cached: int


@dataclass(frozen=True, slots=True)
class Evicted:
    """What an eviction removed."""

    sessions: int = 0
    blobs: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a store keeps. Sessions used in the last `live_seconds` are never evicted."""

    max_bytes: int = 1024**3
    max_age_days: float = 30
    live_seconds: float = 3_600


class TurnStore(Protocol):
    """What requests ask of a store: each loads once and commits once."""

    @property
    def remote(self) -> bool: ...

    @property
    def degraded(self) -> str | None: ...

    def put_session(self, session: str, meta: Mapping[str, Any]) -> None:
        """Create a session, or replace its metadata."""

    def get_session(self, session: str) -> SessionRecord | None: ...

    def touch(self, session: str) -> None:
        """Mark a session as in use."""

    def fork_session(self, source: str, target: str, records: int) -> bool:
        """Create a session with the first records and all the blobs of another.

        False if the one is not there, or the other is.
        """

    def load(self, wanted: Wanted) -> LoadedSession:
        """Everything a request needs, as one consistent read: the one call before it is fitted."""

    def commit(self, turn: Turn) -> int | None:
        """Write a turn atomically, with all waiting sizes: the one call after a request was fitted.

        Returns the number of its first record, or None, having written nothing, if `expected` or `epoch` doesn't match.
        """

    def records(self, session: str, start: int = 0) -> Iterator[bytes]:
        """The records of a session's log in order, from number `start` on."""

    def get_state(self, session: str) -> bytes | None:
        """The last committed state."""

    def find_prefix(self, digests: Sequence[bytes]) -> tuple[str, int] | None:
        """The session and length of the first digest that is known.

        A conversation's latest prefixes are all known, earlier ones only in part.
        """

    def put_blobs(self, blobs: Sequence[bytes], session: str | None = None) -> list[bytes]:
        """Archive contents, for a session or for anyone who knows the digest; returns their digests."""

    def get_blob(self, digest: bytes, session: str | None = None) -> bytes | None:
        """The content with this SHA-256; with a session, only if it is the session's own."""

    def find_blob(self, prefix: str, session: str | None = None) -> bytes | None:
        """The newest content whose SHA-256 starts with these hex digits.

        With a session: its own, never another session's or one that belongs to none.
        """

    def get_actual(self, key: bytes) -> int | None:
        """A known size, immediately: the event loop asks for these and nothing else.

        A store over a network answers from memory: `load` brings the sizes that it is asked for.
        """

    def put_actual(self, key: bytes, tokens: int) -> None:
        """Keep a size, immediately: it waits in memory for the next commit, or for a thread that writes it."""

    def add_usage(self, record: UsageRecord) -> None:
        """Add a usage record, replacing one with the same request id."""

    def add_usages(self, records: Sequence[UsageRecord]) -> None:
        """Add many, atomically."""

    def get_value(self, name: str) -> bytes | None: ...

    def put_value(self, name: str, value: bytes | None) -> None:
        """Keep a small value by name; None deletes it."""

    def claim_value(self, name: str, value: bytes) -> bytes:
        """Store a value unless the name exists; returns the stored value, the same for everyone who claims it."""

    def values(self, prefix: str) -> dict[str, bytes]:
        """The values whose names have this prefix, ordered by name."""


class StoreAdmin(Protocol):
    """What those who look after a store ask of it: pages, commands, eviction. No request waits for any of it.

    `Movable` in `brim.stores.moving` adds what exports and imports all of a store.
    """

    def sessions(self, limit: int = 50, *, before: float | None = None, query: str = "") -> list[SessionRecord]:
        """The sessions used most recently, newest first; filtered by time and by a text in their id or metadata."""

    def delete_session(self, session: str) -> bool:
        """Delete a session and everything only it refers to; False if it doesn't exist."""

    def usage(self, since: float = 0.0, model: str | None = None, limit: int = 1_000) -> list[UsageRecord]:
        """Usage records from a time on, newest first."""

    def usage_sums(self, since: float = 0.0) -> list[UsageSum]:
        """Usage by day and model, newest day first."""

    def size(self) -> int:
        """Bytes in use."""

    def evict(self) -> Evicted:
        """Delete old or excess content, oldest first, but nothing that a live session refers to."""


class Store(TurnStore, StoreAdmin, Protocol):
    """A store for sessions. All methods are thread-safe.

    `degraded` is None, or says why what is written now will not outlive the process. `remote` says whether a look-up
    costs a round trip: then sizes are loaded with the session, and not one by one.
    """

    def close(self) -> None: ...


def blob_digest(data: bytes) -> bytes:
    """SHA-256. Example: blob_digest(b"abc").hex()[:8] -> "ba7816bf"."""
    return hashlib.sha256(data).digest()


def prefix_range(prefix: str) -> tuple[int, int] | None:
    """The range of 64-bit numbers that start with these hex digits; None if they aren't hex digits.

    Example: prefix_range("ba7816bf") -> (0xba7816bf00000000, 0xba7816bfffffffff)
    """
    digits = prefix.lower()[:16]
    if not digits or any(digit not in "0123456789abcdef" for digit in prefix.lower()):
        return None
    return int(digits.ljust(16, "0"), 16), int(digits.ljust(16, "f"), 16)


def gathered(store: Store, wanted: Wanted, shown: Callable[[str], Sequence[bytes]]) -> LoadedSession:
    """`load` made of single look-ups, for stores where those are cheap.

    `shown` gives the digests of the blobs that a session's state refers to.
    """
    found, length = store.get_session(wanted.session) if wanted.session else None, 0
    if found is None and wanted.prefixes:
        known = store.find_prefix(wanted.prefixes)
        if known is not None:
            found, length = store.get_session(known[0]), known[1]
    if found is None:
        return LoadedSession()
    if found.records == wanted.start and found.epoch == wanted.epoch:
        return LoadedSession(found, length)
    blobs = {digest: store.get_blob(digest, found.id) for digest in shown(found.id)}
    return LoadedSession(
        found,
        length,
        tuple(store.records(found.id, wanted.start)),
        store.get_state(found.id),
        {digest: data for digest, data in blobs.items() if data is not None},
    )
