"""What memory needs of a store: sessions with an append-only log each, an archive, and a few small tables.

A session's id begins with its tenant (see `tenancy`): what a session holds, no other tenant can name.
A session's log is the truth; its state is derived from the log and may be missing. Everything that a turn
writes goes in with one `commit`, so a crash loses the whole turn or none of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from brim.tokens.actuals import UsageRecord

# For so long after its last turn a session's lease is held. Nobody waits for it: it says who does work in the
# background, and a request that reaches another gateway takes it over.
LEASE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Turn:
    """All that one turn adds to a session, which is made if it is not there.

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
        """Bytes of content."""
        return sum(map(len, self.records)) + sum(map(len, self.blobs)) + len(self.state or b"")


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """What is known of a session without reading its log. Times are seconds since 1970.

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
    """What a request needs of a store before it is fitted.

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
    """What `load` brings: a session's row, records from `start` on, its state and the blobs which that points to.

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
    """What an eviction took."""

    sessions: int = 0
    blobs: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a store keeps. A session touched in the last `live_seconds` is never taken from."""

    max_bytes: int = 1024**3
    max_age_days: float = 30
    live_seconds: float = 3_600


class Store(Protocol):
    """Where sessions live. Every method may be called from any thread.

    `degraded` is None, or says why what is written now will not outlive the process. `remote` says whether a look-up
    costs a round trip: then sizes are loaded with the session, and not one by one.
    """

    @property
    def remote(self) -> bool: ...

    @property
    def degraded(self) -> str | None: ...

    def put_session(self, session: str, meta: Mapping[str, Any]) -> None:
        """Make a session, or replace its meta data."""

    def get_session(self, session: str) -> SessionRecord | None: ...

    def sessions(self, limit: int = 50, *, before: float | None = None, query: str = "") -> list[SessionRecord]:
        """The last touched sessions, newest first: touched before a time, with a text in their id or meta."""

    def touch(self, session: str) -> None:
        """Mark a session as in use."""

    def fork_session(self, source: str, target: str, records: int) -> bool:
        """Make a session with the first records and all the blobs of another.

        False if the one is not there, or the other is.
        """

    def delete_session(self, session: str) -> bool:
        """Delete a session and what only it refers to; False if it is not there."""

    def load(self, wanted: Wanted) -> LoadedSession:
        """All that a request needs, read at one moment: the one call before it is fitted."""

    def commit(self, turn: Turn) -> int | None:
        """Write a turn at once, with all sizes that wait: the one call after a request was fitted.

        The number of its first record, or None if `expected` or `epoch` does not hold; then nothing is written.
        """

    def records(self, session: str, start: int = 0) -> Iterator[bytes]:
        """The records of a session's log in order, from number `start` on."""

    def get_state(self, session: str) -> bytes | None:
        """The state that was last committed."""

    def find_prefix(self, digests: Sequence[bytes]) -> tuple[str, int] | None:
        """The session and length of the first digest that is known.

        All of a conversation's last prefixes are known, of those long before its end only some.
        """

    def put_blobs(self, blobs: Sequence[bytes], session: str | None = None) -> list[bytes]:
        """Archive contents, for a session or for anyone who knows the digest; their digests."""

    def get_blob(self, digest: bytes, session: str | None = None) -> bytes | None:
        """The content with this SHA-256, if a session is given one of its own."""

    def find_blob(self, prefix: str, session: str | None = None) -> bytes | None:
        """The newest content whose SHA-256 starts with these hex digits.

        With a session: its own, never another session's or one that belongs to none.
        """

    def get_actual(self, key: bytes) -> int | None:
        """A known size, at once: the event loop asks for these, and for nothing else.

        A store over a network answers from memory: `load` brings the sizes that it is asked for.
        """

    def put_actual(self, key: bytes, tokens: int) -> None:
        """Keep a size, at once: it waits in memory for the next commit, or for a thread that writes it."""

    def add_usage(self, record: UsageRecord) -> None:
        """Keep a usage record; one with the same request id replaces the one before."""

    def add_usages(self, records: Sequence[UsageRecord]) -> None:
        """Keep many at once: all of them, or none if the process dies meanwhile."""

    def usage(self, since: float = 0.0, model: str | None = None, limit: int = 1_000) -> list[UsageRecord]:
        """Usage records from a time on, newest first."""

    def usage_sums(self, since: float = 0.0) -> list[UsageSum]:
        """Usage by day and model, newest day first."""

    def get_value(self, name: str) -> bytes | None: ...

    def put_value(self, name: str, value: bytes | None) -> None:
        """Keep a small value by name; None deletes it."""

    def claim_value(self, name: str, value: bytes) -> bytes:
        """Keep a value unless there is one of this name; the one that is kept, the same for all who claim it."""

    def values(self, prefix: str) -> dict[str, bytes]:
        """The values whose names begin so, in the order of their names."""

    def size(self) -> int:
        """Bytes in use."""

    def evict(self) -> Evicted:
        """Delete what is too old or too much, oldest first, and nothing that a live session refers to."""

    def close(self) -> None: ...


def blob_digest(data: bytes) -> bytes:
    """SHA-256. Example: blob_digest(b"abc").hex()[:8] -> "ba7816bf"."""
    return hashlib.sha256(data).digest()


def prefix_range(prefix: str) -> tuple[int, int] | None:
    """The first and last 64-bit number that starts with these hex digits; None if they are none.

    Example: prefix_range("ba7816bf") -> (0xba7816bf00000000, 0xba7816bfffffffff)
    """
    digits = prefix.lower()[:16]
    if not digits or any(digit not in "0123456789abcdef" for digit in prefix.lower()):
        return None
    return int(digits.ljust(16, "0"), 16), int(digits.ljust(16, "f"), 16)
