"""The benchmarks by name, and how they are run: `brim bench [NAME …] --data DIR`.

Each makes tables. Those of versus/ have a row for Brim and one for every way of the other libraries, on the same
inputs; the rest are of Brim alone, with bars. What is written to docs/benchmarks/ is what the pages show.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import charts
import compact
import count
import evidence
import fit
import memory
import record
import summary
import table
from rich.console import Console
from versus import chat, counting, kept, payloads, shapes, speed
from versus.ways import WHO, Field

HERE = Path(__file__).resolve().parent
# Tables with times: all that are in them are measured in one run.
TIMED = {("count", "speed"), ("fit", "speed"), ("compact", "json")}
Tables = dict[str, Callable[[], list[Any]]]


@dataclass(frozen=True)
class Run:
    """What a benchmark is given."""

    data: Path
    field: Field
    quick: bool


def count_tables(run: Run) -> Tables:
    return {
        "accuracy": lambda: counting.accuracy(run.field, run.data),
        "claude": lambda: counting.of_claude(run.field, run.data, 200 if run.quick else 10),
        "speed": lambda: counting.throughput(run.field, run.data, 3 if run.quick else 9),
        "agreement": lambda: counting.agreement(run.field, 1_000 if run.quick else 20_000),
        "brim": _own(count.parts(run.data, run.quick)),
    }


def fit_tables(run: Run) -> Tables:
    sizes = (200, 1_000) if run.quick else speed.SIZES
    return {
        "shapes": lambda: shapes.six(run.field),
        "fill": lambda: shapes.fill(run.field, run.data, 1 if run.quick else 3),
        "speed": lambda: speed.table(run.field, 1 if run.quick else 3, sizes),
        "brim": _own(fit.parts(run.data, run.quick)),
    }


def compact_tables(run: Run) -> Tables:
    return {
        "json": lambda: payloads.table(run.field, run.data, 10 if run.quick else None),
        "brim": _own(compact.parts(run.data, run.quick)),
    }


def value_tables(run: Run) -> Tables:
    runs = 4 if run.quick else 20
    return {
        str(share): lambda share=share: kept.value_table(run.field, run.data, share, runs)  # type: ignore[misc]
        for share in kept.SHARES
    }


def chat_tables(run: Run) -> Tables:
    return {"turns": lambda: chat.table(run.field)}


def evidence_tables(run: Run) -> Tables:
    few = run.quick
    return {
        "questions": lambda: kept.evidence(run.field, run.data, 1 if few else 3, 10),
        "spans": lambda: kept.spans(run.field, run.data, 1 if few else 2),
        "brim": _own(evidence.parts(run.data, run.quick)),
    }


def memory_tables(run: Run) -> Tables:
    """Values and evidence are benchmarks of their own."""
    names = [name for name in memory.PARTS if name not in ("values", "evidence")]
    parts = {name: (lambda name=name: memory.PARTS[name](run.data, not run.quick)) for name in names}
    return {"brim": _own(parts)}


def gateway_tables(run: Run) -> Tables:
    return {"brim": lambda: _gateway(["--rounds", "1"] if run.quick else [])}


def mcp_tables(run: Run) -> Tables:
    tools = _loaded("mcp.py", "bench_mcp")  # its name is that of a library, which an import would find
    parts: dict[str, table.Part] = {
        "schemas": lambda: tools.schemas(run.data),
        "search": lambda: tools.tool_search(run.data),
        "runs": lambda: tools.runs(run.data),
        "latency": tools.latency,
        "documents": tools.documents,
    }
    if (record.ROOT / ".git").exists() and not run.quick:
        parts["session"] = lambda: tools.session(record.ROOT)
    return {"brim": _own(parts)}


BENCHMARKS: dict[str, tuple[str, Callable[[Run], Tables]]] = {
    "count": ("counts against what providers reported, speed, hard inputs", count_tables),
    "fit": ("six shapes of request, how full the budget gets, speed and growth", fit_tables),
    "compact": ("JSON, logs, test output, pages and code in fewer tokens (M3–M6)", compact_tables),
    "values": ("values that later tool calls need, and reuse of the prefix (M2)", value_tables),
    "chat": ("a tool chat of 40 turns: the ceiling, cost with a prompt cache, what is still there", chat_tables),
    "evidence": ("what answers a question in a long chat or a meeting (M1, M5b)", evidence_tables),
    "memory": ("sessions: one more turn, a stream of a million tokens, the store", memory_tables),
    "gateway": ("what the gateway adds to a request", gateway_tables),
    "mcp": ("tool lists, tool search and results through the MCP wrapper", mcp_tables),
}


def run(given: argparse.Namespace) -> int:
    """Run what was asked for; 0, or 1 where a benchmark could not be run."""
    told = Console(stderr=True, highlight=False)
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
    with Field(given.envs or record.ROOT / ".bench", not given.no_peers, told.print) as field:
        for name in given.names or BENCHMARKS:
            done[name] = _measured(name, Run(given.data, field, given.quick), given, told)
            if out:
                record.write(out, name, done[name])
                told.print(f"  wrote {out / name}.json", style="dim")
    if out:
        summary.write(out)
        charts.write(out)
    if given.json:
        print(json.dumps(done, indent=1, ensure_ascii=False))
    return 0


def _measured(name: str, run: Run, given: argparse.Namespace, told: Console) -> dict[str, Any]:
    told.print(f"{name}: {BENCHMARKS[name][0]}", style="bold")
    begun = time.perf_counter()
    only = given.only.split(",") if given.only else None
    before = record.read(given.out or record.FOLDER, name) if given.ours or (only and given.out) else None
    written = (before or {}).get("tables", {})
    tables: dict[str, list[Any]] = {}
    for part, measure in BENCHMARKS[name][1](run).items():
        if only and part not in only:
            tables |= {part: written[part]} if part in written else {}
            continue
        since = time.perf_counter()
        known = written.get(part) if given.ours and (name, part) not in TIMED else None
        run.field.peers = not given.no_peers and not known
        tables[part] = _in_first_column(measure())
        if known:
            tables[part] = renewed(known, tables[part])
        if not given.json:
            table.show(Console(), f"{name}: {part}", tables[part])
        told.print(f"  {part}: {time.perf_counter() - since:.0f} s", style="dim")
    below = table.missed(tables)
    if below:
        told.print(f"  below their bar: {len(below)}\n    " + "\n    ".join(below), style="dim")
    flags = [f"--{flag.replace('_', '-')}" for flag in ("quick", "no_peers", "ours") if getattr(given, flag)]
    flags += [f"--only {given.only}"] if given.only and not written else []
    versions = {**(before or {}).get("versions", {}), **run.field.versions()}
    return record.made(record.command([name], flags), tables, versions, time.perf_counter() - begun)


def renewed(known: list[dict[str, Any]], fresh: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A table with Brim's rows as they are now and those of the others as they were.

    Example: renewed([{"who": "Brim", "n": 1}, {"who": "X", "n": 2}], [{"who": "Brim", "n": 3}]) -> Brim 3, X 2
    """
    if not fresh or WHO not in fresh[0]:
        return fresh

    def key(row: dict[str, Any]) -> tuple[str, str]:
        return str(row[WHO]), str(row.get("set", ""))

    now = {key(row): row for row in fresh}
    kept = [now.pop(key(row), row) for row in known]
    return [*kept, *now.values()]


def _in_first_column(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A reason stands where the first number would, so that tables need no column for it."""
    good = next((row for row in rows if "problem" not in row), None)
    if good is None:
        return rows
    place = list(good)[1]
    return [{place if key == "problem" else key: value for key, value in row.items()} for row in rows]


def _own(parts: Mapping[str, Callable[[], Iterable[table.Row]]]) -> Callable[[], list[Any]]:
    """The rows of Brim alone, part after part; a part whose data is not there says so."""

    def measure() -> list[Any]:
        rows: list[table.Row] = []
        for name, part in parts.items():
            try:
                rows += part()
            except FileNotFoundError as problem:
                rows.append((name, f"no {Path(str(problem.filename)).name}", ""))
        return table.judged(rows)

    return measure


def _loaded(file: str, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, HERE / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _gateway(flags: list[str]) -> list[Any]:
    """It starts processes of its own, and is run as one."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gateway.json"
        command = [sys.executable, str(HERE / "gateway.py"), "--json", str(file), *flags]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode or not file.exists():
            said = (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]
            return [{"metric": "gateway", "value": f"failed: {said}", "bar": "", "met": ""}]
        return table.judged(_flat("", json.loads(file.read_text(encoding="utf-8"))))


def _flat(place: str, found: Any) -> list[table.Row]:
    """Nested numbers as rows. Example: {"json": {"brim": {"cpu_ms": 0.4}}} -> [("json, brim, cpu_ms", 0.4, "")]"""
    if isinstance(found, dict) and {"metric", "value"} <= found.keys():
        return [(found["metric"], found["value"], found.get("bar", ""))]
    if isinstance(found, dict):
        return [row for key, inner in found.items() for row in _flat(f"{place}, {key}" if place else key, inner)]
    if isinstance(found, list):
        return [row for inner in found for row in _flat(place, inner)]
    return [(place, found, "")]
