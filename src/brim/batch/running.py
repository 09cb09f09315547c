"""Runs a task over every record of files, with the same results in the same order wherever it runs."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from brim.batch.chunks import CHUNK, FileChunk, chunks
from brim.batch.processes import on_processes
from brim.batch.tasks import BatchTask
from brim.batch.work import ChunkResult, ChunkWork


def run(
    task: BatchTask,
    files: Iterable[str],
    *,
    jobs: int | None = None,
    ray: str = "",
    described: Mapping[str, Mapping[str, Any]] | None = None,
    chunk: int = CHUNK,
) -> Generator[ChunkResult, None, None]:
    """The results of a task over files of JSON lines or Parquet, chunk by chunk in input order.

    `jobs` processes share the work (default: one per core), or the Ray cluster at the address `ray`.
    """
    work = ChunkWork(task, described or {})
    given = chunks(files, chunk)
    if ray:
        # Ray is an optional extra, so import it only if a cluster is requested.
        found: Iterator[ChunkResult] = import_module("brim.batch.cluster").on_cluster(work, given, ray)
    else:
        found = on_processes(work, given, jobs or cores())
    return _numbered(found)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _numbered(found: Iterator[ChunkResult]) -> Generator[ChunkResult, None, None]:
    """Number the lines of results from the start of their file; a chunk doesn't know how many precede it."""
    last: FileChunk | None = None
    before = 0
    for result in found:
        if last is None or last.file != result.chunk.file or result.chunk.start < last.end:
            before = 0
        rows = tuple({**row, "line": row["line"] + before} for row in result.rows)
        left_out = tuple(replace(one, line=one.line + before) for one in result.left_out)
        yield replace(result, rows=rows, left_out=left_out)
        before += result.lines
        last = result.chunk
