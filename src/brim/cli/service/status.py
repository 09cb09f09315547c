"""`brim status`: how full the last request's window was, for people and status lines."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console

from brim.cli.terminal.asking import Asker, add_address
from brim.cli.terminal.showing import STYLE, bar, plain, plural
from brim.cli.terminal.writing import printable
from brim.errors import NotFound

_EXAMPLES = """examples:
  brim status              what the gateway did last
  brim status --bar        one line for a status line or a shell prompt; empty when no gateway runs
  brim status --json
"""
WORDS = {"ok": "", "high": " high", "full": " full", "critical": " critical"}


def add(subparsers: Any) -> None:
    """Register `status` with the command line."""
    parser = subparsers.add_parser(
        "status",
        help="show how full the window is",
        description="Show how full the context window of the gateway's last request was.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--bar", action="store_true", help="one plain line; nothing when no gateway runs")
    parser.add_argument("--width", type=int, default=10, metavar="N", help="columns of the bar (10)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_address(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    try:
        found = Asker(args.url).get("status")
    except NotFound:
        if args.bar:
            return 1  # a status line shows nothing rather than an error
        raise
    if args.json:
        print(json.dumps(found))
        return 0
    turn = found["turn"]
    if turn is None:
        print("" if args.bar else "no request has passed yet")
        return 0
    if args.bar:
        print(printable(line(turn, args.width)))
        return 0
    style = STYLE[turn["level"]]
    console = Console()
    console.print(f"[{style}]{plain(line(turn, 24))}[/]", highlight=False)
    console.print(
        f"{turn['tokens_before']:,} → {turn['tokens_after']:,} tokens · {turn['archived']} archived · "
        f"session {plain(turn['session'])} · {plural(found['requests'], 'request')} since the start",
        highlight=False,
    )
    return 0


def line(turn: dict[str, Any], width: int) -> str:
    """Example: "██████░░░░ 61% of 112k · gpt-4o · 41k saved" """
    limit, saved = turn["limit"], turn["tokens_before"] - turn["tokens_after"]
    parts = [
        f"{bar(turn['used'], width)} {filled(turn['used'])} of {short(limit)}{WORDS[turn['level']]}",
        turn["model"],
    ]
    if saved > 0:
        parts.append(f"{short(saved)} saved")
    return " · ".join(parts)


def filled(used: float) -> str:
    """How full a window is, rounded down as on the dashboard. Example: 0.896 -> "89%" """
    return f"{int(used * 100 + 1e-9)}%"


def short(tokens: int) -> str:
    """Example: 41_200 -> "41k"; 950 -> "950" """
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.1f}M"
    return f"{tokens / 1_000:.0f}k" if tokens >= 10_000 else f"{tokens:,}"
