"""The summary and the charts in docs/benchmarks/ are made from the numbers beside them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path


def stale(root: Path, write: bool) -> Iterator[str]:
    """What does not show the numbers beside it; with `write` it is made anew."""
    bench = str(root / "bench")
    if bench not in sys.path:
        sys.path.append(bench)
    charts, record, summary = (importlib.import_module(name) for name in ("charts", "record", "summary"))
    folder = root / "docs/benchmarks"
    if write:
        summary.write(folder)
        charts.write(folder)
    if summary.made(folder) != record.read(folder, "summary"):
        yield "docs/benchmarks/summary.json: not of the numbers beside it: run scripts/check-docs --write"
    for file in charts.stale(folder):
        yield f"docs/benchmarks/{file}: does not show the numbers beside it: run scripts/check-docs --write"
