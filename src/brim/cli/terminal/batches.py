"""Commands over the records of many files: options, progress bar and output."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from contextlib import closing
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from brim.batch import BatchTask, ChunkResult, ResultRow, run
from brim.cli.terminal.named_files import files_named
from brim.cli.terminal.showing import plain, plural
from brim.cli.terminal.writing import ERRORS, printable
from brim.errors import BadInput
from brim.settings import Settings

# Skipped records to show one by one; the others are counted.
MOST = 10


def add_batch(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("many records")
    group.add_argument(
        "--lines", action="store_true", help="take each line of JSON lines, or row of Parquet, as a record of its own"
    )
    group.add_argument("--field", default="", metavar="NAME", help="with --lines: the field that holds the content")
    group.add_argument("--out", metavar="DIR", help="with --lines: write a row for each record there, as Parquet")
    group.add_argument("--jobs", type=jobs, metavar="N", help="with --lines: processes (default: one for each core)")
    group.add_argument("--ray", default="", metavar="ADDRESS", help="with --lines: run on the Ray cluster there")


def jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes: give 1 to 1024")
    return int(text)


def without_lines(args: argparse.Namespace) -> None:
    """Refuse options that make no sense for a single text. Raises BadInput."""
    for option in ("field", "out", "jobs", "ray"):
        if getattr(args, option):
            raise BadInput(f"--{option}", "says nothing without --lines")


def run_batch(args: argparse.Namespace, task: BatchTask, loaded: Settings) -> int:
    """Run a task on every record of the named files."""
    if not args.files:
        raise BadInput("--lines", "needs files: many processes cannot share standard input")
    files = list(dict.fromkeys(str(path) for name in args.files for path in files_named(name)))
    out = import_module("brim.batch.parquet").ParquetFolder(args.out, task.columns) if args.out else None
    described = {name: entry.given() for name, entry in loaded.models.items()}
    found = _FoundFiles(print_rows=out is None and "text" in task.columns)
    results = run(task, files, jobs=args.jobs, ray=args.ray, described=described)
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[records]}"), TimeRemainingColumn()
    total = sum(Path(name).stat().st_size for name in files)
    with closing(results), Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        shown = bar.add_task("reading", total=total, records="")
        for result in results:
            found.take(result, console)
            if out is not None:
                out.write(result.rows)
            bar.update(shown, advance=result.chunk.size, records=plural(found.records, "record"))
    if out is not None:
        out.close()
    found.end(args, console)
    return 0


class _FoundFiles:
    """Adds up the results. Result texts are printed as they arrive, as JSON lines."""

    def __init__(self, print_rows: bool) -> None:
        self.records = 0
        self._left_out = 0
        self._print_rows = print_rows
        self._tokens: Counter[str] = Counter()
        self._records: Counter[str] = Counter()

    def take(self, result: ChunkResult, console: Console) -> None:
        file = result.chunk.file
        self.records += len(result.rows)
        self._records[file] += len(result.rows)
        self._tokens[file] += sum(row["tokens"] for row in result.rows)
        for problem in result.left_out:
            self._left_out += 1
            if self._left_out <= MOST:
                console.print(f"left out: {printable(str(problem))}", highlight=False, markup=False, soft_wrap=True)
        if self._print_rows:
            sys.stdout.writelines(map(_line, result.rows))

    def end(self, args: argparse.Namespace, console: Console) -> None:
        if self._left_out > MOST:
            console.print(f"left out: {self._left_out - MOST:,} more", highlight=False)
        if not self.records:
            raise BadInput(", ".join(args.files), "holds no record that can be used")
        total = sum(self._tokens.values())
        told = f"{total:,} tokens in {plural(self.records, 'record')}"
        if self._print_rows:
            print(told, file=sys.stderr)
        elif args.json:
            files = {name: {"records": self._records[name], "tokens": size} for name, size in self._tokens.items()}
            print(json.dumps({"tokens": total, "records": self.records, "left_out": self._left_out, "files": files}))
        else:
            Console().print(self._table())
            Console().print(f"[bold]{told}[/]", highlight=False)

    def _table(self) -> Table:
        table = Table("tokens", "records", "file", box=None, header_style="bold")
        table.columns[0].justify = table.columns[1].justify = "right"
        for name, size in self._tokens.items():
            table.add_row(f"{size:,}", f"{self._records[name]:,}", plain(name))
        return table


def _line(row: ResultRow) -> str:
    text = json.dumps(row, ensure_ascii=False)
    return text.encode("utf-8", ERRORS).decode() + "\n"
