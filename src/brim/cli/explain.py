"""`brim explain`: the plan as a tree, with a bar for each layer."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console

from brim.cli.fit import add_request, fitted
from brim.cli.terminal.showing import show_report

# Columns of what goes to a file or a pipe.
WIDE = 160
_EXAMPLES = """examples:
  brim explain chat.json --model gpt-4o --budget 8000
  brim explain body.json --budget 32000 --json | jq .warnings
"""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "explain",
        help="show what a fit would do, and why",
        description="Show what a fit would do: tokens by layer, and for every item its form and the reason.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_request(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    report = fitted(args).report
    if args.json:
        print(json.dumps(report.as_dict(), ensure_ascii=False))
    else:
        console = Console()
        if not console.is_terminal:
            console.width = max(console.width, WIDE)
        show_report(console, report)
    return 0
