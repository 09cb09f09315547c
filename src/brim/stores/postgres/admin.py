"""Lists, values and everything else off the hot path, in PostgreSQL."""

from __future__ import annotations

from typing import Any

from psycopg import Connection


def listed(db: Connection, columns: str, limit: int, before: float | None, query: str) -> list[tuple[Any, ...]]:
    sought = "%" + query.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    return db.execute(
        f"SELECT {columns} FROM brim_sessions WHERE touched < %s AND (%s = '%%%%' OR id ILIKE %s OR meta ILIKE %s)"
        " ORDER BY touched DESC, no DESC LIMIT %s",
        (float("inf") if before is None else before, sought, sought, sought, limit),
    ).fetchall()


def prefix(db: Connection, keys: list[int]) -> tuple[str, int] | None:
    row = db.execute(
        "SELECT s.id, p.length FROM brim_prefixes p JOIN brim_sessions s ON s.no = p.session"
        " WHERE p.key = ANY(%b::bigint[]) ORDER BY array_position(%b::bigint[], p.key) LIMIT 1",
        (keys, keys),
    ).fetchone()
    return (row[0], row[1]) if row else None


def copy_handles(db: Connection, source: int, target: bytes) -> None:
    """Give a fork all the blobs of its source; a content of the log may be a blob too."""
    db.execute(
        "INSERT INTO brim_handles AS h(session, digest, at) SELECT s.no, o.digest, o.at FROM brim_handles o,"
        " brim_sessions s WHERE o.session = %s AND s.key = %s AND o.at >= 0"
        " ON CONFLICT (session, digest) DO UPDATE SET at = excluded.at WHERE h.at < 0",
        (source, target),
    )
    db.execute(
        "UPDATE brim_sessions SET blobs = (SELECT blobs FROM brim_sessions WHERE no = %s) WHERE key = %s",
        (source, target),
    )


def put_loose(db: Connection, columns: tuple[Any, ...], digests: list[bytes], now: float) -> None:
    with db.transaction():
        put = "SELECT brim_put_contents(%b::bytea[], %b::int[], %b::bytea[], %b::text[])"
        db.execute(put, columns, binary=True)
        db.execute("UPDATE brim_contents SET loose = %s WHERE digest = ANY(%s)", (now, digests))


def value(db: Connection, key: bytes) -> bytes | None:
    row = db.execute("SELECT value FROM brim_values WHERE key = %s", (key,)).fetchone()
    return bytes(row[0]) if row else None


def put_value(db: Connection, key: bytes, name: str, given: bytes | None) -> None:
    if given is None:
        db.execute("DELETE FROM brim_values WHERE key = %s", (key,))
        return
    db.execute(
        "INSERT INTO brim_values VALUES (%s, %s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, name, given),
    )


def claim_value(db: Connection, key: bytes, name: str, given: bytes) -> bytes:
    found = value(db, key)
    if found is None:
        db.execute("INSERT INTO brim_values VALUES (%s, %s, %s) ON CONFLICT (key) DO NOTHING", (key, name, given))
        found = value(db, key)  # a separate statement, so that it sees what another process claimed meanwhile
    return given if found is None else found


def values(db: Connection, prefix: str) -> dict[str, bytes]:
    found = db.execute("SELECT name, value FROM brim_values WHERE starts_with(name, %s)", (prefix,)).fetchall()
    return {name: bytes(given) for name, given in sorted(found)}


def size(db: Connection) -> int:
    """Uncompressed bytes of content."""
    row = db.execute(
        "SELECT (SELECT coalesce(sum(size), 0) FROM brim_sessions)"
        " + (SELECT coalesce(sum(size), 0) FROM brim_contents WHERE loose IS NOT NULL)"
    ).fetchone()
    return int(row[0]) if row else 0
