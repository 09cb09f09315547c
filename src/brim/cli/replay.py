"""`brim replay`: what other budgets and policies would have done to recorded requests."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from brim import settings
from brim.batch.running import cores
from brim.cli.terminal.batches import jobs
from brim.cli.terminal.reading import add_model, apply_settings, policy_of, tokens
from brim.cli.terminal.showing import bar, plain, plural
from brim.cli.terminal.writing import apart, printable
from brim.errors import BadInput, BadSetting
from brim.planning.policies.policy import NAMES, Policy
from brim.replays import KindUse, Problem, Replay, ReplayOutcome, chart, replay
from brim.replays import Progress as Done
from brim.replays.result import counted
from brim.replays.run import CACHE_MINUTES

# Problems to show one by one; the others are counted.
MOST = 10
# Width of the tables without a terminal.
PLAIN_WIDTH = 130
# Outcomes side by side, and kinds of content below each other; --out has all of them.
MOST_COLUMNS, MOST_KINDS = 4, 8
# Seconds between progress lines in a pipe.
SECONDS = 10.0
# 20 MB took 3.5 s of CPU in one process, and 5.2 s in two, of which starting them and reading for them took 1.7.
JOBS_FROM = 10_000_000
WINDOW = "window"
_EXAMPLES = """examples:
  brim replay traffic.jsonl --budget 8k,32k                            two budgets side by side
  brim replay traffic.jsonl --budget window --policy agent,rolling    two policies at each model's own limit
  brim replay ~/.local/share/brim/brim.db --budget 20000              sessions that a gateway kept
  brim replay runs.jsonl --transcripts --model gpt-4o --budget 8000   whole conversations, request by request
  zcat traffic.jsonl.gz | brim replay - --budget 8000 --out replay.json --chart replay.svg
"""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "replay",
        help="what-if on recorded requests",
        description="Show what other budgets and policies would have done to recorded requests: nothing is sent.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="JSON lines of requests, JSON, .gz or .zst of these, Parquet, a gateway's store or log, - for the input",
    )
    parser.add_argument(
        "--budget",
        "-b",
        type=_budgets,
        default=[None],
        metavar="N[,N…]",
        help="input tokens, or window for each model's own limit (the default)",
    )
    parser.add_argument(
        "--policy", type=_policies, metavar="P[,P…]", help=f"of {', '.join(NAMES)} (default: from the settings, agent)"
    )
    add_model(parser)
    parser.add_argument(
        "--sessions", action="store_true", default=True, help="follow conversations as the gateway does (the default)"
    )
    parser.add_argument(
        "--one-shot", action="store_false", dest="sessions", help="fit each request by itself, as brim.fit does"
    )
    parser.add_argument(
        "--transcripts", action="store_true", help="take whole conversations apart into the requests they were made of"
    )
    parser.add_argument(
        "--cache-minutes",
        type=float,
        default=CACHE_MINUTES,
        metavar="M",
        help="how long a provider's prompt cache holds, where the recording has times (default: 5)",
    )
    parser.add_argument("--jobs", type=jobs, metavar="N", help="processes (default: one for each core, where it pays)")
    parser.add_argument("--ray", default="", metavar="ADDRESS", help="run on the Ray cluster there")
    parser.add_argument("--strict", action="store_true", help="stop at the first line that cannot be read")
    parser.add_argument("--out", metavar="FILE", help="write everything that was found there, as JSON")
    parser.add_argument("--chart", metavar="FILE", help="write a picture there, as SVG")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    loaded = apply_settings()
    policies = [_policy(name, loaded) for name in args.policy or [str(loaded.policy.get("name", "agent"))]]
    sources: list[Any] = [sys.stdin.buffer if name == "-" else name for name in args.files]
    shown = _Shown(Console(stderr=True))
    apart(("--out", args.out), ("--chart", args.chart))
    with shown.bar or nullcontext():
        found = replay(
            *sources,
            budget=args.budget,
            policy=policies,
            model=args.model,
            sessions=args.sessions,
            transcripts=args.transcripts,
            strict=args.strict,
            cache_minutes=args.cache_minutes,
            jobs=args.jobs or _jobs_for(args.files),
            ray=args.ray,
            on_progress=shown.progress,
            on_problem=shown.problem,
        )
    shown.end(found)
    if not found.requests:
        raise BadInput(", ".join(args.files), "holds no request that can be replayed")
    data = json.dumps(found.as_dict(), ensure_ascii=False)
    if args.out:
        Path(args.out).write_text(data + "\n", encoding="utf-8")
    if args.chart:
        Path(args.chart).write_text(chart(found), encoding="utf-8")
    if args.json:
        print(data)
    else:
        show(Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH), found)
    return 0 if found.held else 1


def _jobs_for(files: Sequence[str]) -> int:
    """One process for each core, where there is more to do than starting them takes."""
    size = sum(Path(name).stat().st_size for name in files if name != "-" and Path(name).is_file())
    return cores() if size >= JOBS_FROM else 1


def _budgets(text: str) -> list[int | None]:
    """Example: "8k,window" -> [8000, None]"""
    words = [word.strip() for word in text.split(",") if word.strip()]
    found = [None if word == WINDOW else tokens(word) for word in words]
    if not found:
        raise argparse.ArgumentTypeError(f"names no budget: give such as 8000,32k,{WINDOW}")
    return found


def _policies(text: str) -> list[str]:
    names = [word.strip() for word in text.split(",") if word.strip()]
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(NAMES)}")
    return names


def _policy(name: str, loaded: settings.Settings) -> Policy:
    """A policy with its settings from brim.toml; settings of another policy may not be in the same file."""
    try:
        return policy_of(loaded, name).with_(budget=None)
    except BadSetting as problem:
        raise BadInput("--policy", str(problem)) from None


class _Shown:
    """Shows progress and problems on standard error: a bar on a terminal, an occasional line elsewhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar: Progress | None = None
        self._problems = 0
        self._told = time.monotonic()
        if console.is_terminal:
            columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[requests]}")
            self.bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
            self._task = self.bar.add_task("replaying", total=None, requests="")

    def progress(self, done: Done) -> None:
        words = plural(done.requests, "request")
        if self.bar is not None:
            self.bar.update(self._task, completed=done.read, total=done.size or None, requests=words)
        elif time.monotonic() - self._told > SECONDS:
            self._told = time.monotonic()
            share = f", {done.read / done.size:.0%}" if done.size else ""
            print(f"replaying: {words}{share}", file=sys.stderr)

    def problem(self, problem: Problem) -> None:
        self._problems += 1
        if self._problems <= MOST:
            self.console.print(f"left out: {printable(str(problem))}", highlight=False, markup=False, soft_wrap=True)

    def end(self, found: Replay) -> None:
        if found.left_out > MOST:
            self.console.print(f"left out: {found.left_out - MOST:,} more (--out has the first 100)", highlight=False)


def show(console: Console, found: Replay) -> None:
    """Show a replay's results as tables and bars."""
    models = ", ".join(f"{plain(name)} ({count:,})" for name, count in found.models.items())
    read = f"{counted(found.requests, 'request')} in {counted(found.conversations, 'conversation')}"
    console.print(f"[bold]{read}[/]: {models}", highlight=False)
    console.print(_table(found))
    console.print(_bars(found))
    changing = [outcome for outcome in found.outcomes if outcome.kinds]
    if changing:
        console.print(_kinds(changing))
        console.print(_largest(changing[0]))
    if not found.held:
        console.print("[red]A request would have been over its limit: please report it with its line.[/]")


def _table(found: Replay) -> Table:
    names = ("over", "refused", "tokens", "prefix reuse", "input cost", "compacted", "archived", "ms p50 / p95")
    table = Table("policy", "budget", *names, box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for one in found.outcomes:
        unknown = "no prices" if one.sent else "all refused"
        cost = unknown if one.usd_before is None else f"${one.usd_before:,.2f} → ${one.usd_after:,.2f}"
        table.add_row(
            one.policy,
            WINDOW if one.budget is None else f"{one.budget:,}",
            f"{one.over_before:,} → {one.over_after:,}",
            f"{one.refused:,}",
            f"{_short(one.tokens_before)} → {_short(one.tokens_after)}",
            f"{one.reuse_before:.0%} → {one.reuse_after:.0%}",
            cost,
            f"{one.compacted:,}",
            f"{one.archived:,}",
            f"{one.ms_p50:.1f} / {one.ms_p95:.1f}",
        )
    return table


def _short(tokens: int) -> str:
    """Example: 950 -> "950"; 26_702 -> "26.7k"; 4_281_351 -> "4.28M" """
    if tokens >= 1_000_000:
        return f"{tokens / 1e6:.3g}M" if tokens < 1e9 else f"{tokens / 1e9:,.3g}G"
    return f"{tokens / 1e3:.3g}k" if tokens >= 1_000 else str(tokens)


def _bars(found: Replay) -> Table:
    table = Table("", "sent, of all tokens", "", "paid, of all input cost", "", box=None, header_style="bold")
    for one in found.outcomes:
        if not one.sent:
            continue
        sent = 1 - one.tokens_saved
        row = [one.label, bar(sent, 30), f"{sent:.0%}"]
        if one.usd_before and one.usd_after is not None:
            paid = one.usd_after / one.usd_before
            row += [f"[{'green' if paid <= 1 else 'red'}]{bar(paid, 30)}[/]", f"{paid:.0%}"]
        table.add_row(*row)
    return table


def _kinds(outcomes: Sequence[ReplayOutcome]) -> Table:
    """Tokens that left the prompt by kind of content, with the numbers of compacted and archived items."""
    shown = outcomes[:MOST_COLUMNS]
    table = Table("left out of prompts", *(one.label for one in shown), box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    uses = [{use.kind: use for use in one.kinds} for one in shown]
    freed = {kind: max(_freed(found.get(kind)) for found in uses) for found in uses for kind in found}
    for kind in sorted(freed, key=lambda kind: (-freed[kind], kind))[:MOST_KINDS]:
        table.add_row(f"  {kind}", *(_use(found.get(kind)) for found in uses))
    return table


def _freed(use: KindUse | None) -> int:
    return use.before - use.after if use is not None else 0


def _use(use: KindUse | None) -> str:
    """Example: "49,855 (115 + 54)": tokens, of 115 items that were compacted and 54 that were archived"""
    return f"{_freed(use):,} ({use.compacted:,} + {use.archived:,})" if use is not None else ""


def _largest(outcome: ReplayOutcome) -> Table:
    table = Table(f"largest items, {outcome.label}", "", "", "tokens", box=None, header_style="bold")
    table.columns[3].justify = "right"
    for change in outcome.largest[:5]:
        what = f"{change.kind} of {change.tool}" if change.tool else change.kind
        table.add_row(
            plain(f"  {change.place} {change.item}"), plain(what), change.form, f"{change.before:,} → {change.after:,}"
        )
    return table
