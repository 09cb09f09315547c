"""What a run has measured so far, table by table, so that one that was interrupted can go on: `brim bench --resume`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measured:
    """One table of a run: its rows, the seconds that it took, and the versions that took part until then."""

    rows: list[dict[str, Any]]
    seconds: float
    versions: dict[str, str]


@dataclass
class Journal:
    """A file with a line that says which run it is of, and then one for each table."""

    path: Path | None = None
    known: dict[tuple[str, str], Measured] = field(default_factory=dict)

    def add(self, benchmark: str, table: str, measured: Measured) -> None:
        if self.path is None:
            return
        line = {"benchmark": benchmark, "table": table, **vars(measured)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def end(self) -> None:
        """Nothing is left to go on with."""
        if self.path is not None:
            self.path.unlink()


def opened(path: Path, run: Mapping[str, Any], resume: bool) -> Journal:
    """The journal of a run; what it knows of an earlier one only with `resume`, and only if that was the same run.

    Example: opened(path, {"commit": "a0c4b3b"}, resume=True).known -> the tables that were done at that commit
    """
    known = dict(_tables(path, run)) if resume and path.is_file() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run) + "\n", encoding="utf-8")
    journal = Journal(path, known)
    for place, measured in known.items():
        journal.add(*place, measured)
    return journal


def _tables(path: Path, run: Mapping[str, Any]) -> list[tuple[tuple[str, str], Measured]]:
    lines = [_read(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if not lines or lines[0] != run:
        return []
    return [((line.pop("benchmark"), line.pop("table")), Measured(**line)) for line in lines[1:] if line is not None]


def _read(line: str) -> dict[str, Any] | None:
    """A line; None for the last one of a run that was ended while it wrote."""
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return found
