"""`brim demo`: count, fit and explain a sample agent run, as a first look at Brim."""

from __future__ import annotations

import argparse
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

import brim
from brim.cli.terminal.reading import add_model, apply_settings, tokens
from brim.cli.terminal.showing import FORMS, STYLE, bar, certainty, plain, show_report
from brim.cli.terminal.writing import LINES, printable
from brim.planning.reports.decisions import LAYERS, Decision, Report

BUDGET = 8_000
# The short tree only counts items below this many tokens.
LARGE = 90
_EXAMPLES = """examples:
  brim demo                        count the sample, fit it into 8,000 tokens, say what was done
  brim demo --budget 4000          the same with less room
  brim demo --all                  every item with its reason
  brim demo --save sample.json     write the sample to a file, to try the other commands on it
"""
_INTRO = (
    "[bold]An agent run of {messages} messages[/]: orders as JSON, a log, code, diffs, test output, a web page, "
    "a pasted table, and a last question about all of it. It is made up, and shipped with Brim.\n"
)
_NEXT = """[bold]Try next[/]
  brim demo --budget 4000                                half the room
  brim demo --all                                        every item with the reason for its form
  brim demo --save sample.json                           the run as a file, for the commands below
  brim count sample.json --model claude-sonnet-4-5       the same for another model
  brim fit sample.json --budget 8000 --out fitted.json   the request that would be sent
  brim explain YOUR.json --model gpt-4o --budget 32000   a request of yours: OpenAI, Anthropic or Gemini
"""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "demo",
        help="count, fit and explain a sample",
        description="Count a shipped agent run, fit it into a budget, and show what became of every part of it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model(parser)
    parser.add_argument("--budget", "-b", type=tokens, default=BUDGET, metavar="N", help="input tokens (default: 8000)")
    parser.add_argument("--all", action="store_true", help="show every item, not only the large ones")
    parser.add_argument("--save", metavar="FILE", help="write the sample there and do nothing else")
    parser.set_defaults(run=run)


def sample() -> bytes:
    """The sample: a request body of OpenAI's chat API."""
    return files("brim").joinpath("testing/data/sample.json").read_bytes()


def run(args: argparse.Namespace) -> int:
    body = sample()
    console = Console()
    if args.save:
        Path(args.save).write_bytes(body)
        print(f"{args.save}: {len(body):,} bytes. Try: brim explain {args.save} --budget {args.budget}")
        return 0
    apply_settings()
    count = brim.count(body, model=args.model)
    fitted = brim.fit(body, model=args.model, budget=args.budget)
    report = fitted.report
    console.print(_INTRO.format(messages=len(json.loads(body)["messages"])), highlight=False)
    console.print(
        f"[bold]Counted for {report.model}[/]: {count.tokens:,} tokens ({certainty(count)})\n"
        f"[bold]Fitted into {args.budget:,}[/]: {plain(str(report), LINES)}\n",
        highlight=False,
    )
    if args.all:
        show_report(console, report)
    else:
        _show_layers(console, report)
        console.print(_tree(report), no_wrap=True, overflow="ellipsis", crop=True)
    kept = f"\nNothing is lost: {len(fitted.archive)} originals are kept under their handles (brim:…).\n"
    console.print(kept if fitted.archive else "", highlight=False)
    console.print(_NEXT, highlight=False, soft_wrap=True)
    return 0


def _show_layers(console: Console, report: Report) -> None:
    table = Table("layer", "before", "after", "", box=None, header_style="bold")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for use in (use for use in report.layers if use.before or use.after):
        share = use.after / max(1, report.limit)
        table.add_row(f"L{use.layer} {use.name}", f"{use.before:,}", f"{use.after:,}", bar(share, 24))
    style = STYLE[report.level]
    used = f"[{style}]{bar(report.used, 24)}[/] {report.used:.0%}"
    table.add_row("all", f"{report.before:,}", f"{report.after:,}", used)
    console.print(table, highlight=False)


def _tree(report: Report) -> Tree:
    """The large items of each layer, and the number of small ones."""
    tree = Tree(f"{len(report.decisions):,} items; those of {LARGE} tokens and more:")
    for layer, name in LAYERS.items():
        found = [decision for decision in report.decisions if decision.layer == layer]
        large = [decision for decision in found if decision.before >= LARGE]
        if not found:
            continue
        branch = tree.add(f"L{layer} {name}")
        for decision in large:
            branch.add(_line(decision))
        if len(found) > len(large):
            whole = sum(decision.form == "full" for decision in found if decision.before < LARGE)
            branch.add(f"smaller items: {len(found) - len(large):,}, {whole:,} of them unchanged")
    return tree


def _line(decision: Decision) -> Text:
    """Example: "tool 7,920 → 3,205 dense  {"orders": [{"number": "HB-20401", …" """
    line = Text(f"{decision.role:<9} {decision.before:>6,} → {decision.after:>5,} ")
    line.append(f"{decision.form:<8}", style=FORMS[decision.form])
    line.append(printable(" ".join(decision.preview.split())), style="dim")
    return line
