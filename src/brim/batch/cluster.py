"""Work on a Ray cluster: results in order, and the share of a lost worker or machine done again."""

from __future__ import annotations

import re
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from brim.batch.chunks import FileChunk
from brim.batch.work import ChunkResult
from brim.errors import BadInput, MissingExtra

try:
    import ray
    from ray.exceptions import OutOfMemoryError, RaySystemError, WorkerCrashedError
except ImportError:
    raise MissingExtra("--ray", "batch") from None

# Chunks handed out for each core of the cluster: one that it works on, and one so that it never waits.
AHEAD = 2
# How often Ray does a chunk again whose worker or machine was lost.
RETRIES = 5
# Seconds for a connection to a cluster's address: Ray itself tries for minutes and then ends the process.
PATIENCE = 5.0
_ADDRESS = re.compile(r"(?:ray://)?\[?(?P<host>[^/\[\]]+)\]?:(?P<port>\d+)")


def on_cluster(
    work: Callable[[FileChunk], ChunkResult], chunks: Iterable[FileChunk], address: str
) -> Iterator[ChunkResult]:
    """The result of each chunk, in order. Files must have the same path on each machine of the cluster."""
    own = not ray.is_initialized()
    if own:
        _reach(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error")
        except (ConnectionError, ValueError, RaySystemError) as problem:
            raise BadInput("--ray", f"{address}: no Ray cluster answers there ({problem})") from None
    try:
        handed = ray.put(work)
        remote = ray.remote(max_retries=RETRIES)(_done)
        most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
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
    finally:
        if own:
            ray.shutdown()


def _reach(address: str) -> None:
    """Raises BadInput where nothing listens at an address."""
    named = _ADDRESS.fullmatch(address)
    if named is None:
        return  # such as "auto", which Ray looks up
    try:
        socket.create_connection((named["host"], int(named["port"])), PATIENCE).close()
    except (OSError, OverflowError) as problem:
        raise BadInput("--ray", f"{address}: no Ray cluster answers there ({problem})") from None


def _done(work: Callable[[FileChunk], ChunkResult], chunk: FileChunk) -> ChunkResult:
    return work(chunk)
