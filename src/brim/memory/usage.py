"""Usage records in SQLite, and what they add up to."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple

from brim.memory.store import UsageSum
from brim.tokens.actuals import UsageRecord

COLUMNS = "request, at, provider, model, estimated, upper, actual_in, actual_out, cached, status"


def add_usage(db: sqlite3.Connection, record: UsageRecord) -> None:
    db.execute(f"REPLACE INTO usage({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(record))


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
