"""Raw access to every row of the PostgreSQL store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import Connection, sql

from brim.stores.erasing import erase_values, marks
from brim.stores.moving import ExportedSession, SizeRow
from brim.stores.postgres import blobs
from brim.stores.postgres.rows import name_key
from brim.stores.postgres.schema import TABLES
from brim.stores.postgres.store import PostgresStore

# Rows to read at once.
SOME = 5_000
_ORPHANS = {
    table: f"SELECT count(*) FROM brim_{table} t WHERE NOT EXISTS (SELECT FROM brim_sessions s WHERE s.no = t.session)"
    for table in ("turns", "handles", "prefixes")
} | {
    "contents": "SELECT count(*) FROM brim_contents c WHERE c.loose IS NULL"
    " AND NOT EXISTS (SELECT FROM brim_handles h WHERE h.digest = c.digest)"
}


class MovablePostgres(PostgresStore):
    """A PostgreSQL store with raw access to its rows."""

    def exported(self) -> Iterator[ExportedSession]:
        last = 0
        query = "SELECT no, id FROM brim_sessions WHERE no > %s ORDER BY no LIMIT %s"
        while True:
            rows = self.connections.at_leisure(lambda db, last=last: db.execute(query, (last, SOME)).fetchall())  # type: ignore[misc]
            if not rows:
                return
            for last, name in rows:
                found = self._exported(last, name)
                if found is not None:
                    yield found

    def _exported(self, number: int, name: str) -> ExportedSession | None:
        record = self.get_session(name)
        if record is None:
            return None

        def rest(db: Connection) -> tuple[list[bytes], list[tuple[int, int]]]:
            query = "SELECT digest FROM brim_handles WHERE session = %s AND at >= 0 ORDER BY at"
            digests = [row[0] for row in db.execute(query, (number,), binary=True).fetchall()]
            known = blobs.contents(self._rows, db, digests)
            query = "SELECT key, length FROM brim_prefixes WHERE session = %s ORDER BY key"
            return [known[digest] for digest in digests], db.execute(query, (number,)).fetchall()

        owned, prefixes = self.connections.at_leisure(rest)
        records = list(self.records(name))
        return ExportedSession(record, records, owned, self.get_state(name), self.shown(name), prefixes)

    def imported(self, given: ExportedSession) -> bool:
        one = given.record
        if self.get_session(one.id) is not None or self.commit(given.turn) is None:
            return False
        values = (one.created, one.touched, one.size, one.owner, one.epoch, one.until, name_key(one.id))
        query = (
            "UPDATE brim_sessions SET created = %s, touched = %s, size = %s, owner = %s, epoch = %s, until = %s"
            " WHERE key = %s"
        )
        self.connections.at_leisure(lambda db: db.execute(query, values))
        return True

    def size_rows(self) -> Iterator[list[SizeRow]]:
        self.flush()
        last = -(1 << 63)
        query = "SELECT key, tokens, day FROM brim_sizes WHERE key > %s ORDER BY key LIMIT %s"
        while True:
            rows = self.connections.at_leisure(lambda db, last=last: db.execute(query, (last, SOME)).fetchall())  # type: ignore[misc]
            if not rows:
                return
            yield rows
            last = rows[-1][0]

    def put_size_rows(self, rows: Sequence[SizeRow]) -> None:
        """Store sizes in bulk: binary COPY into a temporary table, then insert those that are new."""

        def put(db: Connection) -> None:
            with db.transaction(), db.cursor() as cursor:
                cursor.execute("CREATE TEMPORARY TABLE brim_coming(LIKE brim_sizes) ON COMMIT DROP")
                with cursor.copy("COPY brim_coming FROM STDIN (FORMAT BINARY)") as copying:
                    copying.set_types(["int8", "int8", "int4"])
                    for row in rows:
                        copying.write_row(row)
                cursor.execute("INSERT INTO brim_sizes SELECT * FROM brim_coming ORDER BY key ON CONFLICT DO NOTHING")

        self.connections.at_leisure(put)

    def value_rows(self) -> list[tuple[str, bytes]]:
        query = 'SELECT name, value FROM brim_values ORDER BY name COLLATE "C"'
        return self.connections.at_leisure(lambda db: [(name, bytes(value)) for name, value in db.execute(query)])

    def loose_blobs(self) -> Iterator[tuple[float, bytes]]:
        query = "SELECT digest, loose FROM brim_contents WHERE loose IS NOT NULL ORDER BY digest"
        for digest, at in self.connections.at_leisure(lambda db: db.execute(query).fetchall()):
            data = self.get_blob(bytes(digest))
            if data is not None:
                yield at, data

    def put_loose_blob(self, at: float, data: bytes) -> None:
        (digest,) = self.put_blobs([data])
        query = "UPDATE brim_contents SET loose = %s WHERE digest = %s"
        self.connections.at_leisure(lambda db: db.execute(query, (at, digest)))

    def erase(self, tenant: str) -> int:
        query = "SELECT id FROM brim_sessions WHERE brim_tenant(id) = %s"
        names = self.connections.at_leisure(lambda db: [row[0] for row in db.execute(query, (tenant,))])
        return sum(self.delete_session(name) for name in names) + erase_values(self, tenant)

    def traces(self, tenant: str) -> dict[str, int]:
        def look(db: Connection) -> dict[str, int]:
            found: dict[str, int] = {}
            for table in TABLES:
                # A row as text shows bytes as hexadecimal digits, so search for both spellings of the name.
                query = sql.SQL(
                    "SELECT count(*) FROM {} t"
                    " WHERE EXISTS (SELECT FROM unnest(%s::text[]) m WHERE strpos(t::text, m) > 0)"
                ).format(sql.Identifier(f"brim_{table}"))
                wanted = [*marks(tenant), *(mark.encode().hex() for mark in marks(tenant))]
                row = db.execute(query, (wanted,)).fetchone()
                found[table] = int(row[0]) if row else 0
            for table, orphans in _ORPHANS.items():
                row = db.execute(orphans).fetchone()
                found[table] += int(row[0]) if row else 0
            return {table: count for table, count in found.items() if count}

        return self.connections.at_leisure(look)
