"""Watches an exchange's client: whether its body arrives in time, and whether it stays for the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

# An ASGI extension that calls a function when the client of the request in work leaves, or (None) no longer does.
LEAVING: Final = "brim.leaving"
# Bodies that arrive sooner need no watching.
SOON: Final = 0.02
# The slowest upload, in bytes a second, on top of the seconds that every upload may take.
SLOWEST_UPLOAD: Final = 50_000


class Lookouts:
    """Lookouts of exchanges that just began, on one timer, because most bodies are there before they need it."""

    def __init__(self) -> None:
        self._new: dict[Lookout, float] = {}  # oldest first
        self._timer: asyncio.TimerHandle | None = None

    def add(self, lookout: Lookout) -> None:
        self._new[lookout] = time.monotonic() + SOON
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SOON, self._look)

    def drop(self, lookout: Lookout) -> None:
        self._new.pop(lookout, None)

    def _look(self) -> None:
        now = time.monotonic()
        while self._new:
            lookout, due = next(iter(self._new.items()))
            if due > now:
                break
            del self._new[lookout]
            lookout.look()
        self._timer = asyncio.get_running_loop().call_later(SOON, self._look) if self._new else None


class Lookout:
    """Cancels the task that made it when the client leaves (`gone`) or its body is late (`slow`)."""

    __slots__ = ("_all", "_headers", "_leaving", "_seconds", "_task", "_timer", "gone", "has_body", "slow")

    def __init__(
        self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes], lookouts: Lookouts, seconds: float
    ) -> None:
        self._seconds = seconds
        self.gone = self.slow = self.has_body = False
        self._headers = headers
        self._all = lookouts
        self._task = asyncio.current_task()
        self._timer: asyncio.TimerHandle | None = None
        self._leaving: Callable[[Callable[[], None] | None], None] = scope.get("extensions", {}).get(LEAVING, _nothing)

    def begin(self) -> None:
        self._all.add(self)

    def uploaded(self) -> None:
        """The body has arrived; from now on only watch for the client leaving."""
        self.has_body = True
        self._all.drop(self)
        self._stop()
        self._leaving(self._left)

    def end(self) -> None:
        self._all.drop(self)
        self._stop()
        self._leaving(None)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def take_cancellation(self) -> bool:
        """Undo the cancellation if it came from here, so that the task can report it; returns whether it did."""
        if not self.gone and not self.slow:
            return False
        if self._task is not None:
            self._task.uncancel()
        return True

    def look(self) -> None:
        """Give the body as long as it may take."""
        stated = self._headers.get(b"content-length", b"0")
        seconds = self._seconds + (int(stated) / SLOWEST_UPLOAD if stated.isdigit() else 0)
        self._timer = asyncio.get_running_loop().call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        self.slow = True
        self._cancel()

    def _left(self) -> None:
        self.gone = True
        self._cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


def _nothing(_: Callable[[], None] | None) -> None:
    """A server without the extension doesn't tell who leaves."""
