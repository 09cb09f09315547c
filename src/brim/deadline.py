"""A limit on how long a piece of work may take, kept by raising an exception inside its thread.

Python cannot stop a thread from outside, and a check inside every loop would be forgotten in the next one. So one
watchdog thread raises `OutOfTime` in a thread that is late (`PyThreadState_SetAsyncExc`, the only way that ends a
loop nobody thought of and leaves no thread behind). It arrives between two bytecodes: a call that blocks outside
Python (a socket, a lock) is first waited for. The gateway bounds those by leaving the thread behind.

What counts is the processor time of the thread, so that a busy machine rarely changes what is sent. Work that waits,
for a lock or for the processor, is late after twice as long on the clock.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from typing import TypeVar


class OutOfTime(BaseException):
    """Work has taken longer than it may. No `except Exception` inside the work swallows it."""


T = TypeVar("T")
# An exception that arrives in a finalizer is swallowed there: it is raised again, ever later, until the work is over.
AGAIN_SECONDS = 0.5
# Times the limit that may pass on the clock while the thread has computed for less than the limit. A compaction of
# 60,000 tokens computes for 0.36 s and took 1.4 s on the clock beside a load of 14 on two cores.
WAITING = 2


@dataclass(order=True, slots=True)
class _Watch:
    until: float
    thread: int = field(compare=False)
    latest: float = field(compare=False)
    computed: float = field(compare=False)
    over: bool = field(default=False, compare=False)
    fired: int = field(default=0, compare=False)


class _Watchdog:
    """Raises `OutOfTime` in threads whose work is not over when it should be."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew: none of the watched threads is in a forked process, and asking for the clock of one crashes."""
        # Held with `with` and nothing else: no exception can arrive between taking such a lock and letting it go.
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._watches: list[_Watch] = []
        self._thread: threading.Thread | None = None

    def begin(self, seconds: float) -> _Watch:
        now, thread = time.monotonic(), threading.get_ident()
        watch = _Watch(now + seconds, thread, now + WAITING * seconds, seconds + _computed(thread))
        with self._lock:
            first = not self._watches or watch.until < self._watches[0].until
            heappush(self._watches, watch)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="brim-deadline", daemon=True)
                self._thread.start()
            elif first:
                self._wake.notify()
        return watch

    def end(self, watch: _Watch) -> None:
        """The work is over: what was raised and has not arrived yet arrives here, and nothing is raised after it.

        It is not taken back with `PyThreadState_SetAsyncExc(thread, NULL)`: that leaves CPython 3.11 looking for an
        exception that is not there, and a thread that a profiler or a debugger watches then never goes on.
        """
        with self._lock:
            watch.over = True
        if watch.fired:
            _let_arrive()

    def _run(self) -> None:
        with self._lock:
            while True:
                while self._watches and self._watches[0].over:
                    heappop(self._watches)
                left = self._watches[0].until - time.monotonic() if self._watches else None
                if left is None or left > 0:
                    self._wake.wait(left)
                    continue
                late = self._watches[0]
                if not late.fired and (more := _left(late)) > 0:
                    late.until += more
                    heapreplace(self._watches, late)
                    continue
                _raise_in(late.thread, OutOfTime)
                late.until += AGAIN_SECONDS * 2**late.fired
                late.fired += 1
                heapreplace(self._watches, late)


def _left(watch: _Watch) -> float:
    """How long work may still go on: until its thread has computed for its time, or has waited for long."""
    return min(watch.computed - _computed(watch.thread), watch.latest - time.monotonic())


def _computed(thread: int) -> float:
    """The processor time of a thread; where the system does not tell, the clock."""
    if _clock_of is None:
        return time.monotonic()
    return time.clock_gettime(_clock_of(thread))


_clock_of: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)
_watchdog = _Watchdog()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watchdog.reset)
_watched = threading.local()


def run_within(seconds: float | None, work: Callable[[], T]) -> T:
    """What `work` gives; `OutOfTime` if it takes longer, None is for ever. Inside another, that one holds.

    A call and no `with` block: an exception that arrives on the way into an `__exit__` would skip it, and the watch
    would never end. Here it meets the second `end`.
    """
    if seconds is None or nested():
        return work()
    watch = _watched.watch = _watchdog.begin(seconds)
    try:
        try:
            return work()
        finally:
            _watchdog.end(watch)
    except OutOfTime:
        _watchdog.end(watch)
        raise
    finally:
        _watched.watch = None


def nested() -> bool:
    """Whether this thread is inside `run_within`."""
    return getattr(_watched, "watch", None) is not None


def _let_arrive() -> None:
    """Run what makes the interpreter look for a raised exception: it does so where a loop jumps back."""
    try:
        for _ in range(3):
            pass
    except OutOfTime:
        return


def _raise_in(thread: int, what: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(what))
