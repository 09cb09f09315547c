"""`brim top`: watch the gateway live in a terminal."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from brim.cli.service.status import WORDS, filled, short
from brim.cli.terminal.asking import Asker, add_address
from brim.cli.terminal.showing import STYLE, plain, plural

# Columns of a session's window, of a name at least, and of all but the three names.
WINDOW_WIDTH, NAME_WIDTH, BESIDE_NAMES = 16, 11, 46
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
    """The whole view at one moment."""
    parts: list[Any] = [Text.from_markup(sentence(live)), _totals(live), Text()]
    return Group(*parts, _sessions(sessions, live["turns"]), Text(), _turns(live["turns"]))


def sentence(live: dict[str, Any]) -> str:
    """What the gateway did since its start, in the dashboard's words."""
    saved = live["saved_usd"]
    money = f" and saved [bold]${saved:,.2f}[/]" if saved >= 0.005 else ""
    requests = plural(live["requests"], "request")
    return f"Brim kept [bold]{live['overflows_avoided']:,}[/] of [bold]{requests}[/] inside their windows{money}."


def _totals(live: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    hits, error = live["cache_hit_share"], live["mean_error"]
    table.add_row(
        f"{live['running']:,} in flight",
        f"{short(live['tokens_before'])} came, {short(live['tokens_after'])} sent",
        f"cache hits {'–' if hits is None else f'{hits:.0%}'}",
        f"${live['cost_usd']:,.2f} paid",
    )
    table.add_row(
        f"{plural(live['recalls'], 'recall')}",
        f"{plural(live['refits'], 'refit')}",
        f"count error {'–' if error is None else f'{error:.1%}'}",
        f"{live['over_upper']:,} above the bound",
    )
    return table


def _sessions(sessions: list[dict[str, Any]], turns: list[dict[str, Any]]) -> Table:
    """Each session with its window: what was sent, what was left out (▒), and what is free (░)."""
    heads = ("session", "client", "model", "turns", "window", "")
    table = Table(*heads, box=None, header_style="bold", pad_edge=False)
    table.columns[3].justify = "right"
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[:3]:  # in a narrow terminal names are cut, not the window
        column.max_width = max(NAME_WIDTH, (shutil.get_terminal_size().columns - BESIDE_NAMES) // 3)
    running = {turn["session"] for turn in turns if turn["outcome"] == "running"}
    for row in sessions:
        name = row["id"].rpartition("~")[2].rpartition(".")[0] or row["id"].rpartition("~")[2]
        mark = "[green]●[/] " if row["id"] in running else "  "
        limit = f" of {short(row['limit'])}" if row.get("limit") else ""
        told = f"{filled(row['used'])}{WORDS[row['level']]}{limit}"
        table.add_row(
            mark + plain(name[:24]),
            plain(row["client"]),
            plain(row["model"]),
            f"{row['requests']:,}",
            context_bar(row),
            told,
        )
    return table


def context_bar(row: dict[str, Any], width: int = WINDOW_WIDTH) -> str:
    """A session's window in one line of markup. Example: 60% sent, 100% came -> "██████▒▒▒▒" """
    limit = row.get("limit") or 1
    full = round(min(1.0, row["used"]) * width)
    came = round(min(1.0, row.get("tokens_before", 0) / limit) * width)
    out = max(0, came - full)
    return f"[{STYLE[row['level']]}]{'█' * full}[/][dim]{'▒' * out}{'░' * (width - full - out)}[/]"


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
