"""Runs benchmarks: `brim bench [NAME …] --data DIR`. What is written to docs/benchmarks/ is what the pages show."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import charts
import compare
import datasets
import journal
import record
import summary
import table
from benchmarks import BENCHMARKS, FAILED, Run, failure
from rich.console import Console
from versus.ways import WHO, Field

# Tables with times: all that are in them are measured in one run.
TIMED = {("count", "speed"), ("fit", "speed"), ("fit", "memory"), ("compact", "json"), ("gateway", "proxies")}
NAMING = (WHO, "set")  # columns that say what a row is of
WIDTH = 160  # where there is no terminal to ask
UNFINISHED = ".unfinished.jsonl"


def run(given: argparse.Namespace) -> int:
    """Run what was asked for; 0, or 1 where a part of it failed."""
    told = Console(stderr=True, highlight=False, soft_wrap=True)
    if given.list:
        for name, (about, _) in BENCHMARKS.items():
            print(f"{name:10} {about}")
        return 0
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown or not given.data.is_dir():
        missing = f"no folder {given.data}: docs/benchmarks.md says where the data is published"
        told.print(f"no benchmark {', '.join(unknown)}: there are {', '.join(BENCHMARKS)}" if unknown else missing)
        return 2
    out = given.out or (None if given.quick or given.only or given.no_peers else record.FOLDER)
    done: dict[str, Any] = {}
    notes = _journal(out, given) if out else journal.Journal()
    commit = record.commit()  # before files are written, which makes it another
    with Field(given.envs or record.ROOT / ".bench", not given.no_peers, told.print) as field:
        for name in given.names or BENCHMARKS:
            done[name] = _measured(name, Run(given.data, field, given.quick), given, told, notes)
            done[name]["versions"]["commit"] = commit
            if out:
                record.write(out, name, done[name])
                told.print(f"  wrote {out / name}.json", style="dim")
    if out:
        summary.write(out)
        charts.write(out)
    if given.against and given.against.exists():
        compare.tell(told, given.against, done)
    if given.keep:
        about = {key: next(iter(done.values()))[key] for key in ("date", "machine")}
        compare.keep(given.keep, done, {"command": "make bench-quick DATA=DIR", "commit": commit, **about})
    if given.json:
        print(json.dumps(done, indent=1, ensure_ascii=False))
    if any(failed(rows) for one in done.values() for rows in one["tables"].values()):
        return 1
    notes.end()
    return 0


def _journal(out: Path, given: argparse.Namespace) -> journal.Journal:
    """Of a run with the same names, flags, data and commit."""
    flags = {key: getattr(given, key) for key in ("names", "quick", "no_peers", "ours", "only")}
    about = {**flags, "data": str(given.data.resolve()), "commit": record.commit().rstrip("+")}
    return journal.opened(out / UNFINISHED, about, given.resume)


def _measured(name: str, run: Run, given: argparse.Namespace, told: Console, notes: journal.Journal) -> dict[str, Any]:
    told.print(f"{name}: {BENCHMARKS[name][0]}", style="bold")
    only = given.only.split(",") if given.only else None
    before = record.read(given.out or record.FOLDER, name) if given.ours or (only and given.out) else None
    written = (before or {}).get("tables", {})
    versions = dict((before or {}).get("versions", {}))
    tables: dict[str, list[Any]] = {}
    seconds: dict[str, float] = {}
    for part, measure in BENCHMARKS[name][1](run).items():
        if only and part not in only:
            tables |= {part: written[part]} if part in written else {}
            continue
        known = written.get(part) if given.ours and (name, part) not in TIMED else None
        run.field.peers = not given.no_peers and not known
        found = notes.known.get((name, part))
        if found is None:
            since = time.perf_counter()
            rows = _tried(measure)
            found = journal.Measured(rows, time.perf_counter() - since, run.field.versions())
            if not failed(rows):
                notes.add(name, part, found)
        tables[part] = renewed(known, found.rows) if known else found.rows
        seconds[part] = found.seconds
        versions |= found.versions
        if not given.json:
            table.show(Console(width=WIDTH if not sys.stdout.isatty() else None), f"{name}: {part}", tables[part])
        told.print(f"  {part}: {found.seconds:.0f} s", style="dim")
    below = table.missed(tables)
    if below:
        told.print(f"  below their bar: {len(below)}\n    " + "\n    ".join(below), style="dim")
    flags = [f"--{flag.replace('_', '-')}" for flag in ("quick", "no_peers", "ours") if getattr(given, flag)]
    flags += [f"--only {given.only}"] if given.only and not written else []
    made = record.made(record.command([name], flags), tables, versions, sum(seconds.values()))
    spent = {part: round(found) for part, found in seconds.items()}
    data = {part: datasets.data_of(name, part) for part in tables}
    runs = {part: _run_of(before or {}, part) if part not in seconds else _run_of(made) for part in tables}
    return {**made, "data": data, "runs": runs, "seconds of tables": spent}


def _run_of(made: Mapping[str, Any], table: str = "") -> dict[str, str]:
    """When, on what and of which commit a table is; tables of one file may be of several runs."""
    known: dict[str, str] | None = made.get("runs", {}).get(table)
    if known is not None:
        return known
    about = {key: made[key] for key in ("date", "machine") if key in made}
    return {**about, "commit": made.get("versions", {}).get("commit", "unknown")}


def _tried(measure: Any) -> list[Any]:
    """The rows of a table; one with the reason where it fails, so that the other tables are measured all the same."""
    try:
        return _in_first_column(measure())
    except Exception as problem:
        return [{WHO: "none", "problem": failure(problem)}]


def failed(rows: list[dict[str, Any]]) -> bool:
    """Whether a table, or a part of it, could not be measured; that another library fails is a measurement."""
    return any(str(row.get(key, "")).startswith(FAILED) for row in rows for key in ("problem", "value"))


def renewed(known: list[dict[str, Any]], fresh: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A table with Brim's rows as they are now and those of the others as they were.

    Example: renewed([{"who": "Brim", "n": 1}, {"who": "X", "n": 2}], [{"who": "Brim", "n": 3}]) -> Brim 3, X 2
    """
    if not fresh or WHO not in fresh[0]:
        return fresh

    def key(row: dict[str, Any]) -> tuple[str, ...]:
        return tuple(str(row.get(name, "")) for name in NAMING)

    now = {key(row): row for row in fresh}
    kept = [now.pop(key(row), row) for row in known]
    return [*kept, *now.values()]


def _in_first_column(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A reason stands where the first number would, so that tables need no column for it."""
    good = next((row for row in rows if "problem" not in row), None)
    if good is None:
        return rows
    place = next(key for key in good if key not in NAMING)
    return [{place if key == "problem" else key: value for key, value in row.items()} for row in rows]
