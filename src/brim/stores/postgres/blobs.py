"""Reads the archive and the logs in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable

from psycopg import Connection

from brim.stores.postgres.rows import Rows
from brim.stores.protocol import prefix_range

_OWNED = "EXISTS (SELECT FROM brim_handles h WHERE h.digest = c.digest AND h.at >= 0)"


def records(rows: Rows, owner: bytes, start: int, most: int, db: Connection) -> list[bytes]:
    """Records of a log from a number on, for some turns."""
    found = db.execute(
        "SELECT t.first, t.data FROM brim_turns t JOIN brim_sessions s ON s.no = t.session"
        " WHERE s.key = %s AND t.first + t.count > %s ORDER BY t.first LIMIT %s",
        (owner, start, most),
        binary=True,
    ).fetchall()
    parts = [(first, rows.row(data), data) for first, data in found]
    shared = contents(rows, db, {digest for _, row, _ in parts for digest in row.shared})
    return [record for first, _, data in parts for record in rows.records(data, shared)[max(0, start - first) :]]


def contents(rows: Rows, db: Connection, digests: Iterable[bytes]) -> dict[bytes, bytes]:
    wanted = list(digests)
    if not wanted:
        return {}
    query = "SELECT digest, data, place FROM brim_contents WHERE digest = ANY(%b)"
    found = db.execute(query, (wanted,), binary=True).fetchall()
    return {digest: rows.content(digest, data, place) for digest, data, place in found}


def get(rows: Rows, digest: bytes, owner: bytes | None, db: Connection) -> bytes | None:
    """The blob with this digest, of any session or none, or of one session."""
    if owner is None:
        where, given = f"c.digest = %b AND (c.loose IS NOT NULL OR {_OWNED})", (digest,)
        query = f"SELECT digest, data, place FROM brim_contents c WHERE {where}"
        row = db.execute(query, given, binary=True).fetchone()
    else:
        row = db.execute(
            "SELECT c.digest, c.data, c.place FROM brim_sessions s JOIN brim_handles h ON h.session = s.no"
            " JOIN brim_contents c ON c.digest = h.digest WHERE s.key = %b AND h.digest = %b AND h.at >= 0",
            (owner, digest),
            binary=True,
        ).fetchone()
    return rows.content(*row) if row else None


def find(rows: Rows, prefix: str, owner: bytes | None, db: Connection) -> bytes | None:
    """The newest blob whose digest starts with these hex digits, of any session or none, or of one session."""
    digits = prefix.lower()
    if prefix_range(digits) is None or len(digits) > 64:
        return None
    low, high = bytes.fromhex(digits.ljust(64, "0")), bytes.fromhex(digits.ljust(64, "f"))
    if owner is None:
        row = db.execute(
            "SELECT c.digest, c.data, c.place FROM brim_contents c WHERE c.digest BETWEEN %b AND %b"
            f" AND (c.loose IS NOT NULL OR {_OWNED}) ORDER BY c.loose DESC NULLS LAST LIMIT 1",
            (low, high),
            binary=True,
        ).fetchone()
    else:
        row = db.execute(
            "SELECT c.digest, c.data, c.place FROM brim_sessions s JOIN brim_handles h ON h.session = s.no"
            " JOIN brim_contents c ON c.digest = h.digest"
            " WHERE s.key = %b AND h.digest BETWEEN %b AND %b AND h.at >= 0 ORDER BY h.at DESC LIMIT 1",
            (owner, low, high),
            binary=True,
        ).fetchone()
    return rows.content(*row) if row else None
