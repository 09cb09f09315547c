"""The threads that plan requests: a few, replaced when one hangs, with a limit on hanging ones.

Planning that loops is ended inside its own thread (`brim.deadline`). A call that blocks outside Python, such as a store
on a dead disk, can't be ended: its thread is abandoned and replaced. While `MOST_LOST` threads are abandoned, no more
are added and every request goes straight to the plain planner.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from brim.deadline import OutOfTime

T = TypeVar("T")
# Planning holds the interpreter, so more threads would only wait for each other.
THREADS = 2
# Threads that may hang at once. Each holds its stack and one request.
MOST_LOST = 8


class _Job(NamedTuple):
    work: Callable[[], Any]
    begun: asyncio.Future[None]
    done: asyncio.Future[Any]


class PlanningThreads:
    """Runs work off the event loop, and gives up on it after a while."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads = 0
        self.lost = 0
        self._lock = threading.Lock()

    async def run(self, seconds: float, work: Callable[..., T], *given: Any) -> T:
        """The result of `work`; raises OutOfTime if it takes longer than this many seconds after it started."""
        if self.lost >= MOST_LOST:
            raise OutOfTime
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()  # carries the collector of incidents
        job = _Job(lambda: context.run(work, *given), loop.create_future(), loop.create_future())
        with self._lock:
            if self._threads < THREADS:
                self._start()
        self._jobs.put(job)
        await job.begun
        done, _ = await asyncio.wait([job.done], timeout=seconds)
        if done:
            found: T = job.done.result()
            return found
        with self._lock:
            self.lost += 1
            self._threads -= 1
        job.done.add_done_callback(self._found)
        raise OutOfTime

    def _found(self, done: asyncio.Future[Any]) -> None:
        """An abandoned thread finished after all."""
        if not done.cancelled():
            done.exception()  # nobody is waiting for it
        with self._lock:
            self.lost -= 1
            self._threads += 1

    def _start(self) -> None:
        self._threads += 1
        # A daemon thread, so that a hanging one doesn't keep the process from ending.
        threading.Thread(target=self._work, name="brim-plan", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            loop = job.done.get_loop()
            _tell(loop, job.begun, None, None)
            try:
                found = job.work()
            except BaseException as problem:  # passed on to whoever waits for the result
                _tell(loop, job.done, None, problem)
            else:
                _tell(loop, job.done, found, None)
            del job
            with self._lock:
                if self._threads > THREADS:  # it was replaced while it was hanging
                    self._threads -= 1
                    return

    def close(self) -> None:
        for _ in range(self._threads):
            self._jobs.put(None)


def _tell(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], found: Any, problem: Any) -> None:
    def settle() -> None:
        if not future.done():
            if problem is None:
                future.set_result(found)
            else:
                future.set_exception(problem)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:  # the loop has ended, so nobody is waiting
        return
