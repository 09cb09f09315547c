"""Watches an exchange's client: whether its body arrives in time, and whether it stays for the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from starlette.types import Receive

# Shorter exchanges need no watching.
SOON: Final = 0.02
# The slowest upload, in bytes a second, on top of the seconds that every upload may take.
SLOWEST_UPLOAD: Final = 50_000


class Lookouts:
    """Lookouts of exchanges that just began. They share one timer, because most end before they need one."""

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

    __slots__ = (
        "_all", "_headers", "_receive", "_seconds", "_task", "_timer", "_waiting", "_watcher", "gone", "has_body",
        "slow",
    )  # fmt: skip

    def __init__(self, receive: Receive, headers: Mapping[bytes, bytes], lookouts: Lookouts, seconds: float) -> None:
        self._seconds = seconds
        self.gone = self.slow = self.has_body = False
        self._receive = receive
        self._headers = headers
        self._all = lookouts
        self._task = asyncio.current_task()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting = False
        self._watcher: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._all.add(self)

    def uploaded(self) -> None:
        """The body has arrived; from now on only watch for the client leaving."""
        self.has_body = True
        if self._waiting:
            self.end()
            self.look()

    def end(self) -> None:
        self._all.drop(self)
        for one in (self._timer, self._watcher):
            if one is not None:
                one.cancel()
        self._timer = self._watcher = None  # a cancelled task refers to this object; the cycle would keep both alive

    def take_cancellation(self) -> bool:
        """Undo the cancellation if it came from here, so that the task can report it; returns whether it did."""
        if not self.gone and not self.slow:
            return False
        if self._task is not None:
            self._task.uncancel()
        return True

    def look(self) -> None:
        """Start watching, because the exchange takes longer."""
        loop = asyncio.get_running_loop()
        if self.has_body:
            self._watcher = loop.create_task(self._watch())
            return
        self._waiting = True
        stated = self._headers.get(b"content-length", b"0")
        seconds = self._seconds + (int(stated) / SLOWEST_UPLOAD if stated.isdigit() else 0)
        self._timer = loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        self.slow = True
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        if self._task is not None:
            self._task.cancel()
