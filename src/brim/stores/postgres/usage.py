"""Usage records in PostgreSQL, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from psycopg import Connection

from brim.stores.protocol import UsageSum
from brim.stores.sqlite_usage import COLUMNS
from brim.tokens.actuals import UsageRecord

_row = attrgetter(*COLUMNS.split(", "))
_TYPES = "text[] float8[] text[] text[] bigint[] bigint[] bigint[] bigint[] bigint[] text[]".split()
_ADD = (
    f"INSERT INTO brim_usage({COLUMNS})"
    f" SELECT * FROM unnest({', '.join(f'%b::{kind}' for kind in _TYPES)}) AS u(request)"
    " ORDER BY u.request ON CONFLICT (request) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])
)


def add(db: Connection, records: Sequence[UsageRecord]) -> None:
    """Add records in the order of their ids, so that gateways writing the same ones never deadlock."""
    last = {record.request: record for record in records}
    db.execute(_ADD, [list(column) for column in zip(*map(_row, last.values()), strict=True)])


def listed(db: Connection, since: float, model: str | None, limit: int) -> list[UsageRecord]:
    rows = db.execute(
        f"SELECT {COLUMNS} FROM brim_usage WHERE at >= %s AND (%s::text IS NULL OR model = %s)"
        " ORDER BY at DESC LIMIT %s",
        (since, model, model, limit),
    )
    return [UsageRecord(*row) for row in rows]


def sums(db: Connection, since: float) -> list[UsageSum]:
    rows = db.execute(
        "SELECT to_char(to_timestamp(at) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, model, count(*)::bigint,"
        " sum((status = 'failed')::int)::bigint, sum(estimated)::bigint, sum(coalesce(actual_in, 0))::bigint,"
        " sum(coalesce(actual_out, 0))::bigint, sum(cached)::bigint"
        ' FROM brim_usage WHERE at >= %s GROUP BY day, model ORDER BY day DESC, model COLLATE "C"',
        (since,),
    )
    return [UsageSum(*row) for row in rows]
