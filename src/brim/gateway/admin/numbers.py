"""Numbers over time for the dashboard, from the store: by bucket, model, client and tenant."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from brim.gateway.observe.history import BUCKET, FIELDS, History, Key, summed

# The available time spans and the width of their columns; each shows 12 to 60 columns.
SPANS: dict[str, tuple[int, int]] = {
    "15m": (900, 15),
    "1h": (3_600, 300),
    "24h": (86_400, 1_800),
    "7d": (7 * 86_400, 3 * 3_600),
    "30d": (30 * 86_400, 12 * 3_600),
}
USUAL = "24h"
MOST_NAMES = 50
_Row = tuple[Key, Sequence[float]]


def numbers(
    history: History, span: str, wanted: dict[str, str], shows: Callable[[str], bool], now: float | None = None
) -> dict[str, Any]:
    """The sums over a time span, by column and by name; `wanted` may filter by model, client and tenant.

    Without a span it is the shortest that has everything of the last day. The shortest of all is only available where
    no other process has numbers of its own.
    """
    until = time.time() if now is None else now
    spans = [name for name in SPANS if SPANS[name][1] >= BUCKET or history.alone(until)]
    span = span if span in spans else _usual(history, spans, until) if not span else spans[0]
    seconds, width = SPANS[span]
    first = (int(until) // width + 1) * width - seconds
    rows = [row for row in history.rows(first, until, width) if row[0][0] >= first and shows(row[0][3])]
    names = {"model": 1, "client": 2, "tenant": 3}
    found = [row for row in rows if all(wanted.get(name) in (None, "", row[0][place]) for name, place in names.items())]
    columns: dict[int, list[_Row]] = {}
    for row in found:
        columns.setdefault(row[0][0] // width * width, []).append(row)
    return {
        "span": span,
        "spans": spans,
        "width": width,
        "points": [{"at": at, **_rounded(columns.get(at, []))} for at in range(first, first + seconds, width)],
        "totals": _rounded(found),
        "choices": {name: sorted({str(row[0][place]) for row in rows}) for name, place in names.items()},
        **{f"{name}s": _by(found, place) for name, place in names.items()},
    }


def _usual(history: History, spans: Sequence[str], until: float) -> str:
    """The shortest span that has everything of the last day; the day where nothing has come."""
    first = min((key[0] for key, _ in history.rows(until - SPANS[USUAL][0], until)), default=0)
    return next(name for name in spans if first >= until - SPANS[name][0] or name == USUAL)


def _by(rows: Sequence[_Row], place: int) -> list[dict[str, Any]]:
    """The sums by name, largest first."""
    found: dict[str, list[_Row]] = {}
    for row in rows:
        found.setdefault(str(row[0][place]), []).append(row)
    named = [{"name": name, **_rounded(its)} for name, its in found.items()]
    return sorted(named, key=lambda row: (-row["tokens_before"], row["name"]))[:MOST_NAMES]


def _rounded(rows: Sequence[_Row]) -> dict[str, Any]:
    whole = summed(rows)
    money = ("cost_usd", "saved_usd", "errors", "added_ms")
    return {name: round(whole[name], 6) if name in money else int(whole[name]) for name in FIELDS}
