"""`brim top`: what the gateway does, live in a terminal."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from brim.cli.status import WORDS, short
from brim.cli.terminal.asking import Asker, add_address
from brim.cli.terminal.showing import STYLE, bar, plain

_EXAMPLES = """examples:
  brim top                  until Ctrl-C
  brim top --once           one picture, for scripts
"""


def add(subparsers: Any) -> None:
    """Register `top` with the command line."""
    parser = subparsers.add_parser(
        "top",
        help="watch the gateway",
        description="Watch the gateway: requests, tokens before and after, cache hits, cost and sessions.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--once", action="store_true", help="print once and end")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="how often to look (1)")
    add_address(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    asker = Asker(args.url)
    console = Console()
    if args.once or not sys.stdout.isatty():
        console.print(picture(asker.get("live?limit=12"), asker.get("sessions?limit=8")["sessions"]))
        return 0
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(picture(asker.get("live?limit=12"), asker.get("sessions?limit=8")["sessions"]), refresh=True)
            time.sleep(max(0.1, args.every))


def picture(live: dict[str, Any], sessions: list[dict[str, Any]]) -> Group:
    """The whole view of one moment."""
    return Group(_totals(live), Text(), _sessions(sessions), Text(), _turns(live["turns"]))


def _totals(live: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    hits, error = live["cache_hit_share"], live["mean_error"]
    table.add_row(
        f"[bold]{live['requests']:,}[/] requests",
        f"[bold]{live['running']}[/] running",
        f"[bold]{short(live['tokens_before'])}[/] → [bold]{short(live['tokens_after'])}[/] tokens",
        f"[bold]{live['overflows_avoided']:,}[/] overflows avoided",
    )
    table.add_row(
        f"cache hits {'–' if hits is None else f'{hits:.0%}'}",
        f"{live['recalls']:,} recalls, {live['refits']:,} refits",
        f"${live['cost_usd']:.4f} spent, ${live['saved_usd']:.4f} saved",
        f"count error {'–' if error is None else f'{error:.2%}'}, {live['over_upper']} over bound",
    )
    return table


def _sessions(sessions: list[dict[str, Any]]) -> Table:
    table = Table("session", "model", "client", "turns", "window", "", box=None, header_style="bold", pad_edge=False)
    for row in sessions:
        style = STYLE[row["level"]]
        share = f"[{style}]{bar(row['used'], 20)} {row['used']:.0%}{WORDS[row['level']]}[/]"
        archived = f"{row['archived']} archived" if row["archived"] else ""
        names = plain(row["id"][:24]), plain(row["model"]), plain(row["client"])
        table.add_row(*names, str(row["requests"]), share, archived)
    return table


def _turns(turns: list[dict[str, Any]]) -> Table:
    table = Table("time", "model", "before", "after", "actual", "ms", "", box=None, header_style="bold", pad_edge=False)
    for column in (2, 3, 4, 5):
        table.columns[column].justify = "right"
    for turn in turns:
        usage = turn["usage"]
        table.add_row(
            time.strftime("%H:%M:%S", time.localtime(turn["at"])),
            plain(turn["model"]),
            f"{turn['tokens_before']:,}",
            f"{turn['tokens_after']:,}",
            f"{usage['input']:,}" if usage else "",
            f"{turn['added_ms']:.1f}",
            plain(turn["note"][:40]) if turn["note"] else "" if turn["outcome"] == "done" else turn["outcome"],
        )
    return table
