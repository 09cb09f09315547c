"""A look-out for the client of an exchange: whether its body comes, and whether it stays for the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from brim.gateway.bodies import UPLOAD_SECONDS, Receive

# An exchange that is over in a moment needs no look-out.
SOON: Final = 0.02
# Bytes a second that an upload must come with, on top of the seconds that every one may take.
SLOWEST_UPLOAD: Final = 50_000


class Lookout:
    """Cancels the task that made it when the client leaves (`gone`) or its body does not come in time (`slow`)."""

    def __init__(self, receive: Receive, headers: Mapping[bytes, bytes]) -> None:
        self.gone = self.slow = self.has_body = False
        self._receive = receive
        self._headers = headers
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting = False
        self._watcher: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._timer = self._loop.call_later(SOON, self._look)

    def uploaded(self) -> None:
        """The body is here: from now on only the client's leaving is of interest."""
        self.has_body = True
        if self._waiting:
            self.end()
            self._look()

    def end(self) -> None:
        for one in (self._timer, self._watcher):
            if one is not None:
                one.cancel()
        self._timer = self._watcher = None  # a cancelled task refers to this object, which would keep both

    @property
    def stopped(self) -> bool:
        """Whether the task was cancelled from here; it may then go on to say so."""
        if not self.gone and not self.slow:
            return False
        if self._task is not None:
            self._task.uncancel()
        return True

    def _look(self) -> None:
        if self.has_body:
            self._watcher = self._loop.create_task(self._watch())
            return
        self._waiting = True
        stated = self._headers.get(b"content-length", b"0")
        seconds = UPLOAD_SECONDS + (int(stated) / SLOWEST_UPLOAD if stated.isdigit() else 0)
        self._timer = self._loop.call_later(seconds, self._too_slow)

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
