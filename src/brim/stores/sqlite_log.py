"""The logs of sessions in SQLite: appended turn by turn, packed as they grow, read, forked and deleted.

Every function runs inside its caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from brim.conversation import encode
from brim.stores.compression import FULL, OPEN_TURNS, Chunk, Packer
from brim.stores.protocol import LEASE_SECONDS, Turn
from brim.stores.sqlite_archive import add_handles, digests_in, entry, release
from brim.stores.sqlite_schema import LENGTH_BITS, SHIFT, key_of


class Head(NamedTuple):
    """The part of a session's row that appending needs."""

    no: int
    turns: int
    tail: int
    open: int
    records: int
    blobs: int
    epoch: int = 0


def head_of(db: sqlite3.Connection, session: str) -> Head | None:
    columns = "no, turns, tail, open, records, blobs, epoch"
    row = db.execute(f"SELECT {columns} FROM sessions WHERE id = ?", (session,)).fetchone()
    return Head(*row) if row else None


def owner_of(db: sqlite3.Connection, session: str | None) -> int | None:
    """Whose blobs may be read: a session's number, an unused number if it doesn't exist, or None for all."""
    if session is None:
        return None
    head = head_of(db, session)
    return head.no if head is not None else -1


def open_session(db: sqlite3.Connection, session: str, now: float) -> Head:
    """The session's row, created if necessary."""
    known = head_of(db, session)
    if known is not None:
        return known
    added = db.execute("INSERT INTO sessions(id, meta, created, touched) VALUES (?, '{}', ?, ?)", (session, now, now))
    return Head(added.lastrowid or 0, 0, 0, 0, 0, 0)


def append(db: sqlite3.Connection, packer: Packer, turn: Turn, now: float) -> int | None:
    """Write a turn; returns the number of its first record, or None if the log has an unexpected length."""
    head = head_of(db, turn.session)
    if turn.expected is not None and turn.expected != (head.records if head else 0):
        return None
    if turn.epoch is not None and turn.epoch != (head.epoch if head else 0):
        return None
    head = head or open_session(db, turn.session, now)
    records = [entry(db, packer, record) for record in turn.records]
    blobs = add_handles(db, packer, head.no, head.blobs, turn.blobs)
    turns, tail, alone = head.turns, head.tail, head.open
    if records or blobs:
        row = (head.no << SHIFT | turns, head.records, head.blobs, packer.write(Chunk(records, blobs)))
        db.execute("INSERT INTO chunks VALUES (?, ?, ?, ?)", row)
        turns, alone = turns + 1, alone + 1
        if alone >= OPEN_TURNS:
            tail, alone = _pack(db, packer, head.no, tail, turns), 0
    db.execute(
        "UPDATE sessions SET touched = ?, turns = ?, tail = ?, open = ?, records = ?, blobs = ?, size = size + ?"
        " WHERE no = ?",
        (now, turns, tail, alone, head.records + len(records), head.blobs + len(blobs), turn.size, head.no),
    )
    _describe(db, packer, head.no, turn)
    if turn.owner:
        lease = turn.owner, turn.owner, now + LEASE_SECONDS, head.no
        db.execute("UPDATE sessions SET epoch = epoch + (owner <> ?), owner = ?, until = ? WHERE no = ?", lease)
    return head.records


def _pack(db: sqlite3.Connection, packer: Packer, session: int, tail: int, turns: int) -> int:
    """Merge the rows from `tail` on into one; returns where the next packing starts."""
    first, last = session << SHIFT | tail, session << SHIFT | turns
    rows = db.execute("SELECT data FROM chunks WHERE key >= ? AND key < ? ORDER BY key", (first, last))
    data, size = packer.merge([row[0] for row in rows.fetchall()])
    db.execute("DELETE FROM chunks WHERE key > ? AND key < ?", (first, last))
    db.execute("UPDATE chunks SET data = ? WHERE key = ?", (data, first))
    return turns if size >= FULL else tail


def _describe(db: sqlite3.Connection, packer: Packer, session: int, turn: Turn) -> None:
    if turn.state is not None:
        db.execute("UPDATE sessions SET state = ? WHERE no = ?", (packer.pack(turn.state), session))
    if turn.shown is not None:
        db.execute("UPDATE sessions SET shown = ? WHERE no = ?", (b"".join(turn.shown), session))
    if turn.meta is not None:
        db.execute("UPDATE sessions SET meta = ? WHERE no = ?", (encode(turn.meta).decode(), session))
    if turn.prefixes:
        longest = max(length for _, length in turn.prefixes)
        db.execute("UPDATE sessions SET length = ? WHERE no = ?", (longest, session))
    for digest, length in turn.prefixes:
        db.execute("REPLACE INTO prefixes VALUES (?, ?)", (key_of(digest), session << LENGTH_BITS | length))


def chunk_from(db: sqlite3.Connection, packer: Packer, session: str, record: int) -> tuple[int, Chunk] | None:
    """The chunk with this record, and the number of its first one; None after the last."""
    row = db.execute(
        "SELECT c.record, c.data FROM sessions s JOIN chunks c ON c.key >= s.no << 32 AND c.key < (s.no + 1) << 32"
        " WHERE s.id = ? AND s.records > ? AND c.record <= ? ORDER BY c.key DESC LIMIT 1",
        (session, record, record),
    ).fetchone()
    return (row[0], packer.read(row[1])) if row else None


def chunks_of(db: sqlite3.Connection, packer: Packer, session: int) -> Iterator[Chunk]:
    rows = db.execute(
        "SELECT data FROM chunks WHERE key >= ? AND key < ? ORDER BY key",
        (session << SHIFT, (session + 1) << SHIFT),
    )
    return (packer.read(row[0]) for row in rows)


def fork(db: sqlite3.Connection, packer: Packer, source: str, target: str, records: int, now: float) -> bool:
    """Copy a session up to a number of records, with all its blobs, by its compressed rows."""
    head = head_of(db, source)
    if head is None or head_of(db, target) is not None:
        return False
    new = open_session(db, target, now)
    rows = db.execute(
        "SELECT key, record, blob, data FROM chunks WHERE key >= ? AND key < ? ORDER BY key",
        (head.no << SHIFT, (head.no + 1) << SHIFT),
    ).fetchall()
    kept = blobs = 0
    for number, (_, record, blob, data) in enumerate(rows):
        chunk = packer.read(data)
        if record + len(chunk.records) > records:
            chunk = Chunk(chunk.records[: max(0, records - record)], chunk.blobs)
            data = packer.write(chunk)
        for shared in chunk.shared:
            db.execute("UPDATE contents SET refs = refs + 1 WHERE no = ?", (shared,))
        for at, digest in enumerate(digests_in(db, chunk), blob):
            db.execute("REPLACE INTO handles VALUES (?, ?, ?)", (key_of(digest), new.no, at))
        db.execute(
            "INSERT INTO chunks VALUES (?, ?, ?, ?)",
            (new.no << SHIFT | number, min(record, records), blob, data),
        )
        kept, blobs = kept + len(chunk.records), blob + len(chunk.blobs)
    db.execute(
        "UPDATE sessions SET (meta, size) = (SELECT meta, size FROM sessions WHERE no = ?),"
        " turns = ?, tail = ?, records = ?, blobs = ? WHERE no = ?",
        (head.no, len(rows), len(rows), kept, blobs, new.no),
    )
    return True


def delete(db: sqlite3.Connection, packer: Packer, session: str) -> bool:
    """Delete a session with its log, its handles and the contents that only it referred to.

    Its prefixes hold no content; they lead nowhere now, and eviction sweeps them.
    """
    head = head_of(db, session)
    if head is None:
        return False
    for chunk in chunks_of(db, packer, head.no):
        keys = [(key_of(digest), head.no) for digest in digests_in(db, chunk)]
        db.executemany("DELETE FROM handles WHERE key = ? AND session = ?", keys)
        release(db, chunk.shared)
    db.execute("DELETE FROM chunks WHERE key >= ? AND key < ?", (head.no << SHIFT, (head.no + 1) << SHIFT))
    db.execute("DELETE FROM sessions WHERE no = ?", (head.no,))
    return True
