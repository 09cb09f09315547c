"""The work on one chunk, in any process or machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim import models
from brim.batch.chunks import FileChunk, records
from brim.batch.tasks import BatchTask, ResultRow
from brim.errors import BrimError
from brim.replays.recorded import NoRequest


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A skipped record: its line (or Parquet row), and the reason."""

    file: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.problem}"


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """The result of a chunk: a row with file and line for each usable record, and the skipped ones."""

    chunk: FileChunk
    rows: tuple[ResultRow, ...]
    left_out: tuple[LeftOut, ...]
    lines: int


@dataclass(frozen=True, slots=True)
class ChunkWork:
    """A task with the models from the settings, which other processes haven't read."""

    task: BatchTask
    described: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __call__(self, chunk: FileChunk) -> ChunkResult:
        """The result of a chunk, with lines counted from its start."""
        for name, given in self.described.items():
            models.override(name, given)
        rows: list[ResultRow] = []
        left_out: list[LeftOut] = []
        number = 0
        for number, record in records(chunk):
            if not record:
                continue
            try:
                found = self.task(record)
            except (NoRequest, BrimError) as problem:
                left_out.append(LeftOut(chunk.file, number, str(problem)))
                continue
            rows.append({"file": chunk.file, "line": number, **found})
        return ChunkResult(chunk, tuple(rows), tuple(left_out), number)
