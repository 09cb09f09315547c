"""The tables and functions of the PostgreSQL store, and its versions.

Loading and committing are functions in the database, one statement each. So a request makes two round trips, a commit
is atomic, and nothing depends on what a connection did before (pgbouncer may give every transaction another one).
"""

from __future__ import annotations

from importlib.resources import files

from psycopg import Connection, errors
from psycopg.abc import Query

from brim.errors import BadSetting
from brim.stores.postgres.connections import Connections

# Step n migrates version n to version n + 1. Steps are only ever added.
STEPS = ("first_step.sql", "second_step.sql")
TABLES = "sessions turns contents handles prefixes sizes usage values".split()
# When two set up an empty database at once, one fails and then finds it done.
TRIES = 5


def version_of(db: Connection) -> int:
    """The version of the tables; 0 if there are none."""
    there = db.execute("SELECT to_regclass('brim_schema') IS NOT NULL").fetchone()
    if there is None or not there[0]:
        return 0
    row = db.execute("SELECT max(version) FROM brim_schema").fetchone()
    return int(row[0] or 0) if row is not None else 0


def prepare(db: Connection, place: str) -> None:
    """Set up an empty database; raise BadSetting for one with another version."""
    version = version_of(db)
    if version == 0:
        migrate(db, place)
    elif version < len(STEPS):
        raise BadSetting(
            "store.path",
            f"{place} has version {version} of the store's schema and this Brim needs {len(STEPS)}: "
            "run `brim store migrate` while no older gateway uses it",
        )
    else:
        _check(version, place)


def migrate(db: Connection, place: str) -> tuple[int, int]:
    """Run the missing steps, all or none; returns the versions before and after. Raises BadSetting."""
    for left in reversed(range(TRIES)):
        try:
            with db.transaction():
                db.execute("CREATE TABLE IF NOT EXISTS brim_schema(version int PRIMARY KEY)")
                db.execute("LOCK TABLE brim_schema IN EXCLUSIVE MODE")
                before = version_of(db)
                _check(before, place)
                for number in range(before, len(STEPS)):
                    _run_file(db, STEPS[number])
                    db.execute("INSERT INTO brim_schema VALUES (%s)", (number + 1,))
            return before, len(STEPS)
        except (errors.UniqueViolation, errors.DuplicateTable):
            if not left:
                raise
    raise AssertionError("unreachable")


def migrate_at(address: str) -> tuple[int, int]:
    """Migrate the database at an address; returns the versions before and after. Raises BadSetting."""
    connections = Connections(address, most=1)
    try:
        return connections.at_leisure(lambda db: migrate(db, connections.place))
    finally:
        connections.close()


def _check(version: int, place: str) -> None:
    if version > len(STEPS):
        raise BadSetting(
            "store.path",
            f"{place} has version {version} of the store's schema and this Brim knows versions up to {len(STEPS)}: "
            "upgrade Brim",
        )


def _run_file(db: Connection, name: str) -> None:
    statements: Query = files("brim.stores.postgres").joinpath(name).read_bytes()
    db.execute(statements)
