"""A limit on how long a piece of work may take, kept by raising an exception inside its thread.

Python cannot stop a thread from outside, and a check inside every loop would be forgotten in the next one. So one
watchdog thread raises `OutOfTime` in a thread that is late (`PyThreadState_SetAsyncExc`, the only way that ends a
loop nobody thought of and leaves no thread behind). It arrives between two bytecodes: a call that blocks outside
Python (a socket, a lock) is first waited for. The gateway bounds those by leaving the thread behind.
"""

from __future__ import annotations

import ctypes
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


@dataclass(order=True, slots=True)
class _Watch:
    until: float
    thread: int = field(compare=False)
    over: bool = field(default=False, compare=False)
    fired: int = field(default=0, compare=False)


class _Watchdog:
    """Raises `OutOfTime` in threads whose work is not over when it should be."""

    def __init__(self) -> None:
        # Held with `with` and nothing else: no exception can arrive between taking such a lock and letting it go.
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._watches: list[_Watch] = []
        self._thread: threading.Thread | None = None

    def begin(self, seconds: float) -> _Watch:
        watch = _Watch(time.monotonic() + seconds, threading.get_ident())
        with self._lock:
            first = not self._watches or watch.until < self._watches[0].until
            heappush(self._watches, watch)
            if self._thread is None or not self._thread.is_alive():  # a forked process has no threads but its own
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
                _raise_in(late.thread, OutOfTime)
                late.until += AGAIN_SECONDS * 2**late.fired
                late.fired += 1
                heapreplace(self._watches, late)


_watchdog = _Watchdog()
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
