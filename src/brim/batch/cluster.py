"""Runs work on a Ray cluster: returns results in order, and repeats the share of a lost worker or machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from brim.batch.chunks import FileChunk
from brim.batch.work import ChunkResult
from brim.errors import BadInput, MissingExtra
from brim.replays.cluster import connected

try:
    import ray
    from ray.exceptions import OutOfMemoryError, WorkerCrashedError
except ImportError:
    raise MissingExtra("--ray", "batch") from None

# Chunks to send per core of the cluster: one to work on, and one so that it never waits.
AHEAD = 2
# How often Ray retries a chunk whose worker or machine was lost.
RETRIES = 5


def on_cluster(
    work: Callable[[FileChunk], ChunkResult], chunks: Iterable[FileChunk], address: str
) -> Iterator[ChunkResult]:
    """The result of each chunk, in order. Files must have the same path on every machine of the cluster."""
    with connected(address) as cores:
        handed = ray.put(work)
        remote = ray.remote(max_retries=RETRIES)(_done)
        most = AHEAD * cores
        given = iter(chunks)
        waiting: deque[tuple[FileChunk, ray.ObjectRef[ChunkResult]]] = deque()
        while True:
            while len(waiting) < most and (chunk := next(given, None)) is not None:
                waiting.append((chunk, remote.remote(handed, chunk)))
            if not waiting:
                return
            chunk, reference = waiting.popleft()
            try:
                done: ChunkResult = ray.get(reference)
            except (WorkerCrashedError, OutOfMemoryError) as problem:
                told = f"ended its worker {RETRIES + 1} times ({type(problem).__name__}): is memory short?"
                raise BadInput(f"{chunk.file} (bytes {chunk.start:,} to {chunk.end:,})", told) from None
            yield done


def _done(work: Callable[[FileChunk], ChunkResult], chunk: FileChunk) -> ChunkResult:
    return work(chunk)
