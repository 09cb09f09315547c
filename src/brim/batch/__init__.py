"""Batch: one task over every record of many files, on all cores or on a cluster, with results in input order."""

from __future__ import annotations

from brim.batch.chunks import Chunk
from brim.batch.running import run
from brim.batch.tasks import CompactTask, CountTask, Row, Task
from brim.batch.work import ChunkResult, LeftOut

__all__ = ["Chunk", "ChunkResult", "CompactTask", "CountTask", "LeftOut", "Row", "Task", "run"]
