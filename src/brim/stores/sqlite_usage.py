"""Usage records in SQLite, and their sums."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from operator import attrgetter

from brim.stores.protocol import UsageSum
from brim.tokens.actuals import UsageRecord

COLUMNS = "request, at, provider, model, estimated, upper, actual_in, actual_out, cached, status"
_row = attrgetter(*COLUMNS.split(", "))
_VALUES = f"({', '.join('?' * len(COLUMNS.split(', ')))})"
# Records per statement; one statement each would cost several times more.
TOGETHER = 64


def add_usages(db: sqlite3.Connection, records: Sequence[UsageRecord]) -> None:
    for start in range(0, len(records), TOGETHER):
        batch = records[start : start + TOGETHER]
        values = [value for record in batch for value in _row(record)]
        db.execute(f"REPLACE INTO usage({COLUMNS}) VALUES {', '.join([_VALUES] * len(batch))}", values)


def usage(db: sqlite3.Connection, since: float, model: str | None, limit: int) -> list[UsageRecord]:
    rows = db.execute(
        f"SELECT {COLUMNS} FROM usage WHERE at >= ? AND (? IS NULL OR model = ?) ORDER BY at DESC LIMIT ?",
        (since, model, model, limit),
    )
    return [UsageRecord(*row) for row in rows]


def usage_sums(db: sqlite3.Connection, since: float) -> list[UsageSum]:
    rows = db.execute(
        "SELECT date(at, 'unixepoch') AS day, model, count(*), sum(status = 'failed'), sum(estimated),"
        " sum(coalesce(actual_in, 0)), sum(coalesce(actual_out, 0)), sum(cached)"
        " FROM usage WHERE at >= ? GROUP BY day, model ORDER BY day DESC, model",
        (since,),
    )
    return [UsageSum(*row) for row in rows]
