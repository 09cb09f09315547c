"""The benchmarks by name: what each is about, and its tables.

Those of versus/ have a row for Brim and one for every way of the other libraries, on the same inputs; the tables called
`brim` are of Brim alone, with bars.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import compact
import content
import count
import evidence
import fit
import meaning
import memory
import record
import table
from versus import chat, counting, extracts, footprint, kept, payloads, proxies, shapes, speed, tool_lists
from versus.ways import Field

HERE = Path(__file__).resolve().parent
FAILED = "failed: "
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
        "brim": _own(run, count.parts(run.data, run.quick)),
    }


def fit_tables(run: Run) -> Tables:
    sizes = (200, 1_000) if run.quick else speed.SIZES
    return {
        "shapes": lambda: shapes.six(run.field),
        "fill": lambda: shapes.fill(run.field, run.data, 1 if run.quick else 3),
        "speed": lambda: speed.table(run.field, 1 if run.quick else 3, sizes),
        "memory": lambda: footprint.table(run.field, 200 if run.quick else footprint.MESSAGES),
        "brim": _own(run, fit.parts(run.data, run.quick)),
    }


def compact_tables(run: Run) -> Tables:
    return {
        "json": lambda: payloads.table(run.field, run.data, 10 if run.quick else None),
        "tests": lambda: extracts.tests(run.field, run.data),
        "logs": lambda: extracts.logs(run.field, run.data, 2 if run.quick else None),
        "chunks": lambda: extracts.chunks(run.field, run.data),
        "brim": _own(run, compact.parts(run.data, run.quick)),
    }


def content_tables(run: Run) -> Tables:
    """Everything through `compact` without a hint; both halves, and the others on what compilers printed."""
    found: Tables = {"peers": lambda: extracts.builds(run.field, run.data)}
    for name, measure in content.below(run.data).items():
        found[name] = lambda measure=measure: [content.judged(row) for row in measure()]  # type: ignore[misc]
    return found


def value_tables(run: Run) -> Tables:
    runs = dict.fromkeys(kept.RUNS, 4) if run.quick else kept.RUNS
    return {
        **{str(share): partial(kept.value_table, run.field, run.data, share, runs) for share in kept.SHARES},
        "brim": _own(run, {"values": lambda: memory.PARTS["values"](run.data, not run.quick)}),
    }


def meaning_tables(run: Run) -> Tables:
    """Both halves of every set; the untouched one counts."""
    most = 4 if run.quick else None
    return {
        f"{name} {share}": partial(meaning.rows, run.data, name, share, most)
        for name in ("tau", "livemcp", "bfcl-long")
        for share in (25, 50)
    }


def chat_tables(run: Run) -> Tables:
    return {"turns": lambda: chat.table(run.field)}


def evidence_tables(run: Run) -> Tables:
    few = run.quick
    return {
        "questions": lambda: kept.evidence(run.field, run.data, 2 if few else 4, 8),
        "spans": lambda: kept.spans(run.field, run.data, 2),
        "brim": _own(run, evidence.parts(run.data, run.quick)),
    }


def memory_tables(run: Run) -> Tables:
    """Values and evidence are benchmarks of their own."""
    names = [name for name in memory.PARTS if name not in ("values", "evidence")]
    return {"brim": _own(run, {name: partial(memory.PARTS[name], run.data, not run.quick) for name in names})}


def scale_tables(run: Run) -> Tables:
    return {name: _own(run, {name: part}) for name, part in _loaded("scale.py", "scale").parts(run.quick).items()}


def gateway_tables(run: Run) -> Tables:
    overhead = proxies.Overhead(run.field, ("--rounds", "1") if run.quick else ())
    return {"proxies": overhead.proxies, "brim": overhead.own}


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
    return {"tools": lambda: tool_lists.table(run.field, run.data), "brim": _own(run, parts)}


BENCHMARKS: dict[str, tuple[str, Callable[[Run], Tables]]] = {
    "count": ("counts against what providers reported, speed, hard inputs", count_tables),
    "fit": ("six shapes of request, how full the budget gets, speed and growth, memory", fit_tables),
    "compact": ("JSON, logs, test output, pages and code in fewer tokens (M3–M6)", compact_tables),
    "content": ("every kind told and shortened without a hint, on tuned and on untouched halves", content_tables),
    "values": ("values that later tool calls need, and reuse of the prefix (M2)", value_tables),
    "meaning": ("what a model needs that is still there: requests, the user's words, results, values", meaning_tables),
    "chat": ("a tool chat of 40 turns: the ceiling, cost with a prompt cache, what is still there", chat_tables),
    "evidence": ("what answers a question in a long chat or a meeting (M1, M5b)", evidence_tables),
    "memory": ("sessions: one more turn, a stream of a million tokens, the store", memory_tables),
    "gateway": ("what a proxy adds to a request: Brim's gateway and the others'", gateway_tables),
    "scale": ("gateways that share a PostgreSQL, with and without faults", scale_tables),
    "mcp": ("tool lists, tool search and results through the MCP wrapper", mcp_tables),
}


def failure(problem: Exception) -> str:
    """What stands in a table where a part of it failed; where it failed goes to standard error.

    Example: failure(KeyError("x")) -> "failed: KeyError: 'x'"
    """
    traceback.print_exception(problem)
    return f"{FAILED}{type(problem).__name__}: {problem}"[:300]


def _own(run: Run, parts: Mapping[str, Callable[[], Iterable[table.Row]]]) -> Callable[[], list[Any]]:
    """The rows of Brim alone, part after part; a part that has no data, or fails, says so and the next goes on."""

    def measure() -> list[Any]:
        rows: list[table.Row] = []
        for name, part in parts.items():
            since = time.perf_counter()
            try:
                rows += part()
            except FileNotFoundError as problem:
                rows.append((name, f"no {Path(str(problem.filename)).name}", ""))
            except Exception as problem:  # an hour of measuring must not end with one part of it
                rows.append((name, failure(problem), ""))
            run.field.tell(f"    {name}: {time.perf_counter() - since:.0f} s")
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
