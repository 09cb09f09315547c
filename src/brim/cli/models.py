"""`brim models`: what Brim knows of models."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

from rich.console import Console
from rich.table import Table

from brim import catalog
from brim.cli.reading import apply_settings

_EXAMPLES = """examples:
  brim models                  all of them
  brim models claude-sonnet    those with this in their name
  brim models 'gpt-5*' --json
"""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "models",
        help="list models",
        description="List the models that Brim knows: windows, outputs, tokenizers, prices (USD per million tokens).",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pattern", metavar="PATTERN", nargs="?", help="part of a name, or a pattern with * and ?")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    apply_settings()
    found = list(catalog.models(args.pattern))
    if args.json:
        for model in found:
            print(json.dumps(dataclasses.asdict(model)))
        return 0 if found else 1
    if not found:
        catalog.find(args.pattern)  # says which names are near
        return 1
    table = Table(
        "model",
        "provider",
        "window",
        "output",
        "input limit",
        "tokenizer",
        "in $",
        "cached $",
        "out $",
        box=None,
        header_style="bold",
    )
    table.columns[0].no_wrap = True
    for column in (2, 3, 4, 6, 7, 8):
        table.columns[column].justify = "right"
    for model in found:
        prices = model.prices
        table.add_row(
            model.name,
            model.provider,
            f"{model.window:,}",
            f"{model.max_output:,}" if model.max_output else "?",
            f"{model.max_input():,}",
            model.family,
            *((_price(prices.fresh), _price(prices.cached), _price(prices.output)) if prices else ("", "", "")),
        )
    Console().print(table)
    Console().print(f"{len(found):,} models", highlight=False)
    return 0


def _price(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
