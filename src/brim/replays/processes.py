"""A share of a replay in a separate process."""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from brim.replays.parts import PartSums, ReplayPlan, ReplayWork
from brim.replays.sharing import Batch, WorkerLost

_work: ReplayWork


class ReplayProcess:
    """A worker on this machine."""

    def __init__(self, plan: ReplayPlan) -> None:
        # A forked process would inherit locks held by this one's threads, such as those of a progress bar.
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, spawn, initializer=_begin, initargs=(plan,))

    def take(self, batch: Batch) -> Any:
        return self._submit(_take, batch)

    def sums(self) -> Any:
        return self._submit(_sums)

    def wait(self, asked: Any) -> Any:
        try:
            return asked.result()
        except BrokenProcessPool:
            raise WorkerLost from None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, work: Any, *given: Any) -> Future[Any]:
        try:
            return self._pool.submit(work, *given)
        except BrokenProcessPool as problem:
            lost: Future[Any] = Future()
            lost.set_exception(problem)
            return lost


def _begin(plan: ReplayPlan) -> None:
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent process, which then ends this one
    _work = ReplayWork(plan)


def _take(batch: Batch) -> Any:
    return _work.take(batch)


def _sums() -> dict[int, PartSums]:
    return _work.sums()
