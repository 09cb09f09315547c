"""A run beside an earlier one: which numbers of quality got worse, and which better.

`brim bench --quick --no-peers --against docs/benchmarks/quick.json` compares small samples with the published run of
the same samples. Times and sizes of memory are left out: they are the machine's as much as the code's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

Tables = Mapping[str, Mapping[str, Any]]
Key = tuple[str, str, str, str]
# A change by so much is told; below it stand seeds and rounding.
TOLD = 0.01
_NAMING = ("who", "set", "way", "half", "metric")
_SAMPLES = ("requests", "questions", "values", "logs", "systems", "files", "payloads", "queries", "documents")
_OF_THE_MACHINE = re.compile(
    r"\b(?:µs|ms|s|seconds?|MB|MB/s|min|CPU|p50|growth|turns/s|peak|doubling|slowest)\b|× bare"
)
_LESS_IS_BETTER = re.compile(
    r"over|refused|invalid|lost|÷|cost|under-counted|too low|of the tokens|compactions|gone for"
)
_NUMBER = re.compile(r"-?\d[\d,]*\.?\d*|-?\.\d+")
_REMARK = re.compile(r"\([^)]*\)")


@dataclass(frozen=True)
class Change:
    """A number that is another than before."""

    where: Key
    before: float
    after: float

    @property
    def worse(self) -> bool:
        """Whether it moved the wrong way, as the name of its column tells."""
        low = bool(_LESS_IS_BETTER.search(f"{self.where[2]} {self.where[3]}"))
        return (self.after > self.before) == low

    def __str__(self) -> str:
        benchmark, table, row, column = self.where
        return f"{benchmark} {table}, {row}, {column}: {self.before:g} -> {self.after:g}"


def changes(before: Tables, after: Tables) -> list[Change]:
    """What both runs have and is not the same, the worse first."""
    known, now = dict(_numbers(before)), dict(_numbers(after))
    found = [
        Change(where, known[where], value)
        for where, value in now.items()
        if where in known and abs(value - known[where]) > TOLD * max(1.0, abs(known[where]))
    ]
    # A row of other samples, where data is missing, says nothing of the code.
    others = {change.where[:3] for change in found if change.where[3] in _SAMPLES}
    kept = [change for change in found if change.where[:3] not in others]
    return sorted(kept, key=lambda change: (not change.worse, change.where))


def _numbers(run: Tables) -> Iterator[tuple[Key, float]]:
    """Every number of quality with its place: benchmark, table, row and column."""
    for benchmark, measured in run.items():
        for table, rows in measured["tables"].items():
            for row in rows:
                name = ", ".join(str(row[key]) for key in _NAMING if row.get(key))
                for column, cell in row.items():
                    if column in (*_NAMING, "bar", "met") or _OF_THE_MACHINE.search(f"{name} {column}"):
                        continue
                    for place, value in enumerate(_values(cell)):
                        yield (benchmark, table, name, column + (f", number {place + 1}" if place else "")), value


def _values(cell: Any) -> list[float]:
    """The numbers in a cell, remarks left out. Example: "0.9 / 1.0 (12 logs)" -> [0.9, 1.0]"""
    if isinstance(cell, bool):
        return []
    if isinstance(cell, int | float):
        return [float(cell)]
    return [float(found.replace(",", "")) for found in _NUMBER.findall(_REMARK.sub("", str(cell)))]


def tell(told: Console, published: Path, now: Tables) -> None:
    """Print what changed since a published run."""
    before = json.loads(published.read_text(encoding="utf-8"))
    found = changes(before["benchmarks"], now)
    compared = len({key for key, _ in _numbers(before["benchmarks"])} & {key for key, _ in _numbers(now)})
    worse = [change for change in found if change.worse]
    told.print(f"\nBeside {published.name} of {before['date']} ({before['commit']}): {compared:,} numbers compared,")
    told.print(f"{len(worse)} worse by more than {TOLD:.0%}, {len(found) - len(worse)} better.", style="bold")
    for change in found:
        told.print(f"  {'worse ' if change.worse else 'better'}  {change}", style="red" if change.worse else "green")


def keep(path: Path, run: Tables, about: Mapping[str, str]) -> None:
    """Write a run as the one that later ones are compared with; benchmarks that it has not measured stay."""
    known = json.loads(path.read_text(encoding="utf-8"))["benchmarks"] if path.exists() else {}
    benchmarks = known | {name: {"tables": measured["tables"]} for name, measured in run.items()}
    path.write_text(json.dumps({**about, "benchmarks": benchmarks}, indent=1, ensure_ascii=False) + "\n", "utf-8")
