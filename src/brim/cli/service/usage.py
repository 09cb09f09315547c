"""`brim usage`: usage by day and model, as providers reported it."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Any

from rich.console import Console
from rich.table import Table

from brim import models
from brim.cli.terminal.asking import Asker, add_address
from brim.cli.terminal.named_store import named_store
from brim.cli.terminal.reading import apply_settings
from brim.cli.terminal.showing import plain
from brim.errors import BadInput, NotFound, UnknownModel

NUMBERS = ("requests", "failed", "counted", "billed in", "cached", "output", "USD")
SUMMED = ("requests", "failed", "estimated", "actual_in", "actual_out", "cached")
DAY, LONGEST = 86_400, 3_650
_EXAMPLES = """examples:
  brim usage                         the last 30 days
  brim usage --days 7 --model gpt-4o
  brim usage --model 'claude-*' --json
"""


def add(subparsers: Any) -> None:
    """Register `usage` with the command line."""
    parser = subparsers.add_parser(
        "usage",
        help="show usage by day and model",
        description="Show requests, tokens and cost by day and model: of a running gateway, else of its store.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--days", type=int, default=30, metavar="N", help="how many days, today included (30)")
    parser.add_argument("--model", metavar="MODEL", help="only this model; may have * and ?")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_address(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if not 0 < args.days <= LONGEST:
        raise BadInput("--days", f"must be a number from 1 to {LONGEST:,}")
    apply_settings()
    rows = [
        {**row, "cost_usd": cost_of(row)}
        for row in since(asked(args.url, args.days), args.days)
        if not args.model or fnmatchcase(str(row["model"]), args.model)
    ]
    if args.json:
        print(json.dumps({"days": rows, "total": total(rows)}))
        return 0
    if not rows:
        print(f"no request in the last {args.days} days" + (f" to {args.model}" if args.model else ""))
        return 0
    Console().print(_table(rows))
    return 0


def asked(url: str | None, days: int) -> list[dict[str, Any]]:
    """Usage by day and model, from the gateway if one runs or is named, otherwise from the store."""
    try:
        found: list[dict[str, Any]] = Asker(url).get(f"usage?days={days}")["days"]
        return found
    except NotFound as no_gateway:
        if url is not None:
            raise
        missing = no_gateway
    try:
        with named_store() as store:
            return [asdict(row) for row in store.usage_sums()]
    except NotFound:
        raise missing from None


def since(rows: Iterable[dict[str, Any]], days: int) -> list[dict[str, Any]]:
    """The rows of the last days (UTC), including today."""
    first = time.strftime("%Y-%m-%d", time.gmtime(time.time() - (days - 1) * DAY))
    return [row for row in rows if row["day"] >= first]


def cost_of(row: Mapping[str, Any]) -> float | None:
    """The cost in USD by list prices; None if the price is unknown. Cache writes count as fresh input."""
    try:
        prices = models.find(str(row["model"])).prices
    except UnknownModel:
        return None
    if prices is None:
        return None
    return round(prices.cost(row["actual_in"] - row["cached"], row["cached"], 0, row["actual_out"]), 6)


def total(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    listed = list(rows)
    sums: dict[str, Any] = {key: sum(row[key] for row in listed) for key in SUMMED}
    known = [row["cost_usd"] for row in listed if row["cost_usd"] is not None]
    return {**sums, "cost_usd": round(sum(known), 6) if known else None}


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, header_style="bold", show_footer=False)
    table.add_column("day (UTC)", no_wrap=True)
    table.add_column("model", overflow="fold")
    for name in NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(str(row["day"]), plain(str(row["model"])), *_numbers(row))
    if len(rows) > 1:
        table.add_row("total", "", *_numbers(total(rows)), style="bold")
    return table


def _numbers(row: Mapping[str, Any]) -> list[str]:
    given, cost = row["actual_in"], row["cost_usd"]
    counts = [f"{row[key]:,}" for key in ("requests", "failed", "estimated", "actual_in")]
    cached = f"{row['cached'] / given:.0%}" if given else ""
    return [*counts, cached, f"{row['actual_out']:,}", "" if cost is None else f"{cost:,.4f}"]
