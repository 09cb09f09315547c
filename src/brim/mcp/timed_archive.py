"""An archive with a time limit: if it fails or hangs, only the handle is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from brim import incidents
from brim.deadline import OutOfTime, run_within
from brim.errors import NotFound
from brim.mcp.results.archive import ResultArchive

T = TypeVar("T")
# Calls that may hang in the archive at once, each in a thread; while they do, it isn't asked.
MOST_LOST = 4
# Seconds before a slow archive is asked again, so that a result of a hundred texts doesn't wait a hundred times.
REST = 5.0
# Multiple of the limit to wait for a call: a loop is ended at the limit, in its own thread, which takes a moment.
PATIENCE = 1.5


class TimedArchive:
    """Wraps an archive, calling it in threads that are abandoned when they hang. Example: a file on a dead disk."""

    def __init__(self, inner: ResultArchive, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds
        self._lost: list[threading.Thread] = []
        self._rests_until = 0.0

    def put(self, text: str) -> str:
        try:
            return self._asked(partial(self._inner.put, text))
        except (Exception, OutOfTime) as problem:  # it may be any archive, and the result can do without it
            incidents.note("store", problem)
            return ""

    def get(self, handle: str) -> str:
        """The text. Raises NotFound, also if the archive doesn't answer."""
        try:
            return self._asked(partial(self._inner.get, handle))
        except NotFound:
            raise
        except (Exception, OutOfTime) as problem:
            incidents.note("store", problem)
            raise NotFound(f"what is kept under {handle!r} cannot be read now: try again later") from None

    def _asked(self, work: Callable[[], T]) -> T:
        self._lost = [thread for thread in self._lost if thread.is_alive()]
        if len(self._lost) >= MOST_LOST or time.monotonic() < self._rests_until:
            raise OutOfTime
        found: list[T] = []
        problems: list[BaseException] = []

        def run() -> None:
            try:
                found.append(run_within(self._seconds, work))
            except BaseException as problem:  # passed on to whoever waits
                problems.append(problem)

        # A daemon thread, so that a hanging one doesn't keep the process from ending.
        thread = threading.Thread(target=run, name="brim-archive", daemon=True)
        thread.start()
        thread.join(PATIENCE * self._seconds)
        if found:
            return found[0]
        if not problems:
            self._lost.append(thread)
        problem = problems[0] if problems else OutOfTime()
        if isinstance(problem, OutOfTime):
            self._rests_until = time.monotonic() + REST
        raise problem
