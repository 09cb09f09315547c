"""`brim settings`: show the settings in force and where they come from."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console
from rich.table import Table

from brim import settings
from brim.cli.terminal.showing import plain

_EXAMPLES = """examples:
  brim settings                 what is in force here
  brim settings --reference     every setting with its default and meaning
"""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "settings",
        help="show settings",
        description="Show the settings in force: from flags, BRIM_* variables, brim.toml, or the defaults.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--reference", action="store_true", help="list every setting with its default and meaning")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    names = ("setting", "type", "default", "meaning") if args.reference else ("setting", "value", "from")
    found: list[tuple[Any, ...]] = [*settings.reference()] if args.reference else [*settings.load().rows()]
    rows = [tuple(map(str, row)) for row in found]
    if args.json:
        print(json.dumps([dict(zip(names, row, strict=False)) for row in rows]))
        return 0
    table = Table(*names, box=None, header_style="bold")
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(*map(plain, row))
    Console().print(table)
    return 0
