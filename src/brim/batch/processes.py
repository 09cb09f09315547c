"""Work on the cores of one machine: results in order, and no more of them waiting than a few for each process."""

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

# Chunks handed out for each process: one that it works on, and one so that it never waits.
AHEAD = 2
# A chunk that ended its process this often ends the next one too: it most likely needs more memory than there is.
TRIES = 3


def on_processes(
    work: Callable[[FileChunk], ChunkResult], given: Iterable[FileChunk], jobs: int
) -> Iterator[ChunkResult]:
    """The result of each chunk, in order. A process that is killed is replaced, and its share done again."""
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
                    waiting.append((chunk, Future()))  # kept, also where handing it out fails
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
    # A forked process would begin with the locks that threads of this one held, such as those of a progress bar.
    return ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_leave_interrupts)


def _leave_interrupts() -> None:
    """Ctrl-C is for the process that started this one, which then ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _place(chunk: FileChunk) -> str:
    part = f"bytes {chunk.start:,} to {chunk.end:,}" if chunk.row_group is None else f"row group {chunk.row_group}"
    return f"{chunk.file} ({part})"
