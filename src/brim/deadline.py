"""A time limit for a piece of work, enforced by raising an exception inside its thread.

Python can't stop a thread from outside, and checks inside every loop would be forgotten in the next one. So one
watchdog thread raises `OutOfTime` in a thread that is late (with `PyThreadState_SetAsyncExc`, the only way to end a
loop nobody thought of without leaving a thread behind). The exception arrives between two bytecodes, so a call that
blocks outside Python (a socket, a lock) has to return first. The gateway limits those by abandoning the thread.

The limit applies to the thread's processor time, so that a busy machine rarely changes what is sent. Work that waits
for a lock or the processor is late after twice the limit in wall-clock time.
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
    """Work exceeded its time limit. No `except Exception` inside the work swallows it."""


T = TypeVar("T")
# Seconds before raising again, because a finalizer swallows the exception; each interval is longer than the last.
AGAIN_SECONDS = 0.5
# Multiple of the limit that may pass in wall-clock time while the thread has computed for less. A compaction of 60,000
# tokens computes for 0.36 s and took 1.4 s of wall-clock time beside a load of 14 on two cores.
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
    """Raises `OutOfTime` in threads whose work is late."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start over, also in a forked process: it has no watched threads, and reading the clock of one would crash."""
        # Only use it with `with`: no exception can then arrive between acquiring and releasing it.
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
        """End the work: an exception that was raised but hasn't arrived yet arrives here, and none is raised later.

        It isn't cancelled with `PyThreadState_SetAsyncExc(thread, NULL)`, because that leaves CPython 3.11 looking for
        an exception that doesn't exist, and a thread watched by a profiler or debugger then hangs.
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
    """The time left, until the thread has used its processor time or has waited for too long."""
    return min(watch.computed - _computed(watch.thread), watch.latest - time.monotonic())


def _computed(thread: int) -> float:
    """The processor time of a thread, or wall-clock time if the system doesn't provide it."""
    if _clock_of is None:
        return time.monotonic()
    return time.clock_gettime(_clock_of(thread))


_clock_of: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)
_watchdog = _Watchdog()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watchdog.reset)
_watched = threading.local()


def run_within(seconds: float | None, work: Callable[[], T]) -> T:
    """The result of `work`. Raises OutOfTime if it takes longer (None: no limit). An outer limit takes precedence.

    It is a call instead of a `with` block, because an exception that arrives on the way into `__exit__` would skip it,
    and the watch would never end. Here, the second `end` handles that.
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
    """Run a loop, because the interpreter checks for raised exceptions when a loop jumps back."""
    try:
        for _ in range(3):
            pass
    except OutOfTime:
        return


def _raise_in(thread: int, what: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(what))
