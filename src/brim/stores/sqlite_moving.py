"""Raw access to every row of the SQLite store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from brim.stores import sqlite_archive, sqlite_log
from brim.stores.erasing import erase_values, marks
from brim.stores.moving import ExportedSession, SizeRow
from brim.stores.sqlite import SqliteStore
from brim.stores.sqlite_schema import LENGTH_BITS

# Sizes to read at once.
SOME = 5_000
_REST = (1 << LENGTH_BITS) - 1
# Rows that no longer belong to any session.
_ORPHANS = {
    "chunks": "SELECT count(*) FROM chunks WHERE key >> 32 NOT IN (SELECT no FROM sessions)",
    "handles": "SELECT count(*) FROM handles WHERE session <> 0 AND session NOT IN (SELECT no FROM sessions)",
    "prefixes": f"SELECT count(*) FROM prefixes WHERE place >> {LENGTH_BITS} NOT IN (SELECT no FROM sessions)",
    "contents": "SELECT count(*) FROM contents WHERE refs <= 0",
}


class MovableSqlite(SqliteStore):
    """A SQLite store with raw access to its rows."""

    def exported(self) -> Iterator[ExportedSession]:
        with self._read() as db:
            names = [row[0] for row in db.execute("SELECT id FROM sessions ORDER BY no").fetchall()]
        for name in names:
            found = self._exported(name)
            if found is not None:
                yield found

    def _exported(self, name: str) -> ExportedSession | None:
        with self._read() as db:
            record, head = self.get_session(name), sqlite_log.head_of(db, name)
            if record is None or head is None:
                return None
            records, blobs = [], []
            for chunk in list(sqlite_log.chunks_of(db, self._packer, head.no)):
                records += [sqlite_archive.resolve(db, self._packer, entry) for entry in chunk.records]
                blobs += [sqlite_archive.resolve(db, self._packer, entry) for entry in chunk.blobs]
            rows = db.execute(
                f"SELECT key, place & {_REST} FROM prefixes WHERE place >> {LENGTH_BITS} = ? ORDER BY key", (head.no,)
            ).fetchall()
            return ExportedSession(record, records, blobs, self.get_state(name), self.shown(name), rows)

    def imported(self, given: ExportedSession) -> bool:
        one = given.record
        with self._lock:
            if self.get_session(one.id) is not None or self.commit(given.turn) is None:
                return False
            with self._write() as db:
                columns = "created = ?, touched = ?, size = ?, owner = ?, epoch = ?, until = ?"
                values = (one.created, one.touched, one.size, one.owner, one.epoch, one.until, one.id)
                db.execute(f"UPDATE sessions SET {columns} WHERE id = ?", values)
        return True

    def size_rows(self) -> Iterator[list[SizeRow]]:
        self.flush()
        last = -(1 << 63) - 1
        while True:
            with self._read() as db:
                query = "SELECT key, tokens, day FROM actuals WHERE key > ? ORDER BY key LIMIT ?"
                rows = db.execute(query, (max(last, -(1 << 63)), SOME)).fetchall()
            if not rows:
                return
            yield rows
            last = rows[-1][0]

    def put_size_rows(self, rows: Sequence[SizeRow]) -> None:
        with self._write() as db:
            db.executemany("INSERT OR IGNORE INTO actuals VALUES (?, ?, ?)", rows)

    def value_rows(self) -> list[tuple[str, bytes]]:
        with self._read() as db:
            return [(name, bytes(value)) for name, value in db.execute("SELECT name, value FROM pairs ORDER BY name")]

    def loose_blobs(self) -> Iterator[tuple[float, bytes]]:
        with self._read() as db:
            numbers = db.execute("SELECT no, loose FROM contents WHERE loose IS NOT NULL ORDER BY no").fetchall()
        for number, at in numbers:
            with self._read() as db:
                yield at, sqlite_archive.resolve(db, self._packer, number)

    def put_loose_blob(self, at: float, data: bytes) -> None:
        with self._write() as db:
            sqlite_archive.put_loose(db, self._packer, data, at)

    def erase(self, tenant: str) -> int:
        with self._read() as db:
            begins = (f"{tenant}~", f"{tenant}~")
            query = "SELECT id FROM sessions WHERE substr(id, 1, length(?)) = ?"
            names = [row[0] for row in db.execute(query, begins).fetchall()]
        gone = sum(self.delete_session(name) for name in names) + erase_values(self, tenant)
        with self._write() as db:
            db.execute(f"DELETE FROM prefixes WHERE place >> {LENGTH_BITS} NOT IN (SELECT no FROM sessions)")
        return gone

    def traces(self, tenant: str) -> dict[str, int]:
        found: dict[str, int] = {}
        with self._read() as db, closing(db.cursor()) as cursor:
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
            for table in tables:
                columns = [row[1] for row in cursor.execute(f"PRAGMA table_info({table})").fetchall()]
                looks = [(name, mark) for name in columns for mark in marks(tenant)]
                where = " OR ".join(f"instr(CAST({name} AS TEXT), ?) > 0" for name, _ in looks)
                given = [mark for _, mark in looks]
                found[table] = cursor.execute(f"SELECT count(*) FROM {table} WHERE {where}", given).fetchone()[0]
            for table, query in _ORPHANS.items():
                found[table] += cursor.execute(query).fetchone()[0]
        return {table: count for table, count in found.items() if count}
