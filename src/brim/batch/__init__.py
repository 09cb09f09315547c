"""Runs one task over every record of many files, on all cores or a cluster, with results in input order."""

from __future__ import annotations

from brim.batch.chunks import FileChunk
from brim.batch.running import run
from brim.batch.tasks import BatchTask, CompactTask, CountTask, ResultRow
from brim.batch.work import ChunkResult, LeftOut

__all__ = ["BatchTask", "ChunkResult", "CompactTask", "CountTask", "FileChunk", "LeftOut", "ResultRow", "run"]
