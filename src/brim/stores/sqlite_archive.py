"""Blobs in SQLite: small ones in their session's chunks, large and unowned ones once, under their digest.

`handles` says where a blob is; a content is deleted when nothing refers to it any more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from brim.stores.compression import SHARED_FROM, Chunk, Damaged, Packer
from brim.stores.protocol import blob_digest, prefix_range
from brim.stores.sqlite_schema import SHIFT, key_of, signed


def share(db: sqlite3.Connection, packer: Packer, data: bytes) -> int:
    """Store a content once and add a reference to it; returns its number."""
    digest = blob_digest(data)
    known = db.execute("UPDATE contents SET refs = refs + 1 WHERE digest = ? RETURNING no", (digest,)).fetchall()
    if known:
        return int(known[0][0])
    row = (digest, packer.pack(data))
    return db.execute("INSERT INTO contents(digest, refs, data) VALUES (?, 1, ?)", row).lastrowid or 0


def release(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Remove one reference from each content, deleting those without any."""
    for number in numbers:
        db.execute("UPDATE contents SET refs = refs - 1 WHERE no = ?", (number,))
        db.execute("DELETE FROM contents WHERE no = ? AND refs <= 0", (number,))


def entry(db: sqlite3.Connection, packer: Packer, data: bytes) -> bytes | int:
    """A record's or blob's entry in a chunk: itself, or the number of a shared content."""
    return data if len(data) < SHARED_FROM else share(db, packer, data)


def resolve(db: sqlite3.Connection, packer: Packer, found: bytes | int) -> bytes:
    """The content of a chunk's entry."""
    if isinstance(found, bytes):
        return found
    row = db.execute("SELECT data FROM contents WHERE no = ?", (found,)).fetchone()
    if row is None:
        raise Damaged("a content that the log refers to is missing")
    return packer.unpack(row[0])


def add_handles(
    db: sqlite3.Connection, packer: Packer, session: int, first: int, blobs: Sequence[bytes]
) -> list[bytes | int]:
    """Add blobs to a session, numbered from `first` on; returns the chunk entries of the new ones."""
    entries: list[bytes | int] = []
    for data in blobs:
        place = (key_of(blob_digest(data)), session)
        if db.execute("SELECT 1 FROM handles WHERE key = ? AND session = ?", place).fetchone() is None:
            db.execute("INSERT INTO handles VALUES (?, ?, ?)", (*place, first + len(entries)))
            entries.append(entry(db, packer, data))
    return entries


def put_loose(db: sqlite3.Connection, packer: Packer, data: bytes, now: float) -> bytes:
    """Store a blob that belongs to no session; returns its digest."""
    digest = blob_digest(data)
    key = key_of(digest)
    known = db.execute("SELECT at FROM handles WHERE key = ? AND session = 0", (key,)).fetchone()
    number = known[0] if known else share(db, packer, data)
    if not known:
        db.execute("INSERT INTO handles VALUES (?, 0, ?)", (key, number))
    db.execute("UPDATE contents SET loose = ? WHERE no = ?", (now, number))
    return digest


def forget_loose(db: sqlite3.Connection, number: int) -> None:
    """Remove the loose blob of a content; the content stays if a session refers to it."""
    (digest,) = db.execute("UPDATE contents SET loose = NULL WHERE no = ? RETURNING digest", (number,)).fetchall()[0]
    db.execute("DELETE FROM handles WHERE key = ? AND session = 0", (key_of(digest),))
    release(db, [number])


def get_blob(db: sqlite3.Connection, packer: Packer, digest: bytes, session: int | None = None) -> bytes | None:
    """The blob with this digest, of any session or none, or of one session."""
    places = db.execute(
        "SELECT session, at FROM handles WHERE key = ? AND (? IS NULL OR session = ?)",
        (key_of(digest), session, session),
    ).fetchall()
    found = (_read(db, packer, session, at) for session, at in places)
    return next((data for data in found if data is not None and blob_digest(data) == digest), None)


def find_blob(db: sqlite3.Connection, packer: Packer, prefix: str, session: int | None) -> bytes | None:
    """The newest blob whose digest starts with these hex digits, of any session or none, or of one session."""
    numbers = prefix_range(prefix)
    if numbers is None:
        return None
    first, last = map(signed, numbers)
    places = db.execute(
        "SELECT session, at FROM handles WHERE key BETWEEN ? AND ? AND (? IS NULL OR session = ?)"
        " ORDER BY session = 0, session DESC, at DESC",
        (first, last, session, session),
    ).fetchall()
    found = (_read(db, packer, owner, at) for owner, at in places)
    wanted = prefix.lower()
    return next((data for data in found if data is not None and blob_digest(data).hex().startswith(wanted)), None)


def _read(db: sqlite3.Connection, packer: Packer, session: int, at: int) -> bytes | None:
    if not session:
        return resolve(db, packer, at)
    first, last = session << SHIFT, (session + 1) << SHIFT
    row = db.execute(
        "SELECT blob, data FROM chunks WHERE key >= ? AND key < ? AND blob <= ? ORDER BY key DESC LIMIT 1",
        (first, last, at),
    ).fetchone()
    if row is None:
        return None  # the session is gone, but its handle isn't deleted yet
    chunk = packer.read(row[1])
    position = at - row[0]
    return resolve(db, packer, chunk.blobs[position]) if position < len(chunk.blobs) else None


def digests_in(db: sqlite3.Connection, chunk: Chunk) -> list[bytes]:
    """The digests of a chunk's blobs, in order."""
    return [_digest(db, found) for found in chunk.blobs]


def _digest(db: sqlite3.Connection, found: bytes | int) -> bytes:
    if isinstance(found, bytes):
        return blob_digest(found)
    row = db.execute("SELECT digest FROM contents WHERE no = ?", (found,)).fetchone()
    if row is None:
        raise Damaged("a content that the log refers to is missing")
    return bytes(row[0])
