"""Row-by-row access to a store: to copy it, or to erase a tenant and verify that nothing is left."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from brim.conversation import encode
from brim.stores.protocol import SessionRecord, Store, Turn, blob_digest

SizeRow = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ExportedSession:
    """Everything that a store keeps about a session. Prefixes are 64 bits of their digests, with lengths."""

    record: SessionRecord
    records: Sequence[bytes]
    blobs: Sequence[bytes]
    state: bytes | None
    shown: Sequence[bytes]
    prefixes: Sequence[tuple[int, int]]

    @property
    def turn(self) -> Turn:
        """The session as a single turn of a new session."""
        prefixes = [(key.to_bytes(8, "big", signed=True), length) for key, length in self.prefixes]
        known = self.record
        return Turn(known.id, self.records, self.blobs, self.state, prefixes, known.meta, 0, self.shown)

    @property
    def digest(self) -> bytes:
        """A digest that is equal in two stores with the same data about a session."""
        found = hashlib.sha256()
        one = self.record
        head = (one.id, dict(sorted(one.meta.items())), one.created, one.touched, one.owner, one.epoch, one.until)
        for part in (encode(head), *self.records, b"", *self.blobs, b"", self.state or b"", b"", *self.shown):
            found.update(len(part).to_bytes(8, "big") + blob_digest(part))
        found.update(encode(sorted(self.prefixes)))
        return found.digest()


class Movable(Store, Protocol):
    """A store with raw access to every row: SQLite and PostgreSQL."""

    def exported(self) -> Iterator[ExportedSession]:
        """Every session, one by one."""

    def imported(self, given: ExportedSession) -> bool:
        """Store a session from elsewhere; False if its id already exists."""

    def size_rows(self) -> Iterator[list[SizeRow]]:
        """Known sizes, some at a time: key, tokens, day."""

    def put_size_rows(self, rows: Sequence[SizeRow]) -> None: ...

    def value_rows(self) -> list[tuple[str, bytes]]: ...

    def loose_blobs(self) -> Iterator[tuple[float, bytes]]:
        """Blobs without a session, with the time they were stored."""

    def put_loose_blob(self, at: float, data: bytes) -> None: ...

    def erase(self, tenant: str) -> int:
        """Delete all sessions and values of a tenant; returns how many."""

    def traces(self, tenant: str) -> dict[str, int]:
        """What is left of a tenant, or belongs to no session, by table."""
