"""Runs work on the cores of one machine: returns results in order, with at most a few waiting per process."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice

from brim.batch.chunks import FileChunk
from brim.batch.work import ChunkResult
from brim.errors import BadInput

# Chunks to send per process: one to work on, and one so that it never waits.
AHEAD = 2
# Give up on a chunk after it ended this many processes; it most likely needs more memory than there is.
TRIES = 3


def on_processes(
    work: Callable[[FileChunk], ChunkResult], given: Iterable[FileChunk], jobs: int
) -> Iterator[ChunkResult]:
    """The result of each chunk, in order. A killed process is replaced, and its share repeated."""
    chunks = iter(given)
    first = list(islice(chunks, 2))
    if jobs == 1 or len(first) < 2:
        yield from map(work, chain(first, chunks))
        return
    chunks = chain(first, chunks)
    pool = _started(jobs)
    waiting: deque[tuple[FileChunk, Future[ChunkResult]]] = deque()
    tries = 1
    try:
        while True:
            try:
                while len(waiting) < AHEAD * jobs and (chunk := next(chunks, None)) is not None:
                    waiting.append((chunk, Future()))  # keep it even if submitting it fails
                    waiting[-1] = chunk, pool.submit(work, chunk)
                if not waiting:
                    return
                done = waiting[0][1].result()
            except BrokenProcessPool:
                if tries == TRIES:
                    told = f"reading from there on ended a process {TRIES} times: is memory short?"
                    raise BadInput(_place(waiting[0][0]), told) from None
                tries += 1
                pool.shutdown(wait=False, cancel_futures=True)
                pool = _started(jobs)
                chunks = chain([chunk for chunk, _ in waiting], chunks)
                waiting.clear()
                continue
            tries = 1
            waiting.popleft()
            yield done
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _started(jobs: int) -> ProcessPoolExecutor:
    # A forked process would inherit locks held by this one's threads, such as those of a progress bar.
    return ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_leave_interrupts)


def _leave_interrupts() -> None:
    """Ignore Ctrl-C; the parent process handles it and then ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _place(chunk: FileChunk) -> str:
    part = f"bytes {chunk.start:,} to {chunk.end:,}" if chunk.row_group is None else f"row group {chunk.row_group}"
    return f"{chunk.file} ({part})"
