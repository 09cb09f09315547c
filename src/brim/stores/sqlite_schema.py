"""The tables of the SQLite store, its versions, and how to open a file.

Keys made of digests are their first 64 bits as a number: half the size of the file's indexes. What is read
by such a key is checked against the whole digest.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from brim.errors import BadSetting
from brim.stores.compression import Damaged

# Files up to this size are fully checked when they are opened; 64 MB take about 0.1 s.
CHECKED_BYTES = 64 << 20
# A session's rows in `chunks` have keys from its number << SHIFT on; so has its length in `prefixes`.
SHIFT = 32
LENGTH_BITS = 24

_FIRST = """
CREATE TABLE sessions(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  meta TEXT NOT NULL,
  created REAL NOT NULL,
  touched REAL NOT NULL,
  turns INTEGER NOT NULL DEFAULT 0,   -- number of the next row in chunks
  tail INTEGER NOT NULL DEFAULT 0,    -- number of the first row that may still be packed
  open INTEGER NOT NULL DEFAULT 0,    -- bytes of the rows that stand alone
  records INTEGER NOT NULL DEFAULT 0,
  blobs INTEGER NOT NULL DEFAULT 0,
  size INTEGER NOT NULL DEFAULT 0,
  length INTEGER NOT NULL DEFAULT 0,  -- of its last prefix
  state BLOB
);
CREATE INDEX sessions_touched ON sessions(touched);
CREATE TABLE chunks(
  key INTEGER PRIMARY KEY,            -- session << 32 | turn
  record INTEGER NOT NULL,            -- number of its first record
  blob INTEGER NOT NULL,              -- number of its first blob
  data BLOB NOT NULL
);
CREATE TABLE contents(                -- shared by sessions, or of none
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  digest BLOB NOT NULL UNIQUE,
  refs INTEGER NOT NULL,
  loose REAL,                         -- when it was last put as a blob of no session
  data BLOB NOT NULL
);
CREATE INDEX contents_loose ON contents(loose) WHERE loose IS NOT NULL;
CREATE TABLE handles(
  key INTEGER NOT NULL,               -- of the digest of a blob
  session INTEGER NOT NULL,           -- 0: of none
  at INTEGER NOT NULL,                -- the blob's number in its session; for 0 the number in contents
  PRIMARY KEY(key, session)
) WITHOUT ROWID;
CREATE TABLE prefixes(
  key INTEGER PRIMARY KEY,
  place INTEGER NOT NULL              -- session << 24 | length
);
CREATE TABLE actuals(key INTEGER PRIMARY KEY, tokens INTEGER NOT NULL, day INTEGER NOT NULL);
CREATE TABLE usage(
  request TEXT NOT NULL UNIQUE,
  at REAL NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  estimated INTEGER NOT NULL,
  upper INTEGER NOT NULL,
  actual_in INTEGER,
  actual_out INTEGER,
  cached INTEGER NOT NULL,
  status TEXT NOT NULL
);
CREATE INDEX usage_at ON usage(at);
CREATE TABLE pairs(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""

# Who wrote to a session last, and which blobs its state refers to, so that one read has all that a request needs.
_LEASES = """
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN until REAL NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN shown BLOB
"""

# Step n migrates version n to version n + 1. Steps are only ever added.
MIGRATIONS: tuple[str, ...] = (_FIRST, _LEASES)


def connect(path: Path, *, timeout: float, migrations: tuple[str, ...] = MIGRATIONS) -> sqlite3.Connection:
    """Open the file, made with mode 0600 if it is not there, and bring it to the newest version.

    WAL with synchronous=NORMAL: a turn that was acknowledged survives the death of the process at any moment.
    A loss of power may take the last turns, never the file; an fsync a turn would cost a hundred times more.
    """
    _make(path)
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA journal_size_limit = 16777216")
        connection.execute("PRAGMA secure_delete = FAST")
        connection.execute("PRAGMA cache_size = -4096")
        if path.stat().st_size <= CHECKED_BYTES:
            _check(connection)
        migrate(connection, path, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection, path: Path, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Run the missing steps, each atomically."""
    if version_of(connection) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection)  # read again, because another process may have been faster
        if version > len(migrations):
            raise BadSetting(
                "store.path",
                f"{path} has version {version} of the store's schema and this Brim knows versions up to "
                f"{len(migrations)}: upgrade Brim, or name another file",
            )
        for number in range(version, len(migrations)):
            for statement in migrations[number].split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def identity(path: Path) -> tuple[int, int] | None:
    """Identifies a file, to notice when another replaces it; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def key_of(digest: bytes) -> int:
    """The first 64 bits as SQLite's signed number. Example: key_of(b"\\xff" * 32) -> -1."""
    return int.from_bytes(digest[:8], "big", signed=True)


def signed(number: int) -> int:
    """A 64-bit number as SQLite keeps it. Example: signed(2**64 - 1) -> -1."""
    return number - (1 << 64) if number >> 63 else number


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def _check(connection: sqlite3.Connection) -> None:
    found = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != ("ok",):
        raise Damaged("the file fails SQLite's check")
