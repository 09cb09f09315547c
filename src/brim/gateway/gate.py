"""A gate that lets so many in at once; the others wait in the order in which they came."""

from __future__ import annotations

import asyncio
from collections import deque


class Gate:
    """Half of what asyncio's semaphore costs where there is room, which is nearly always."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[asyncio.Future[None]] = deque()

    def full(self) -> bool:
        """Take a place, if one is free. Where it is full, `wait` takes it."""
        if self._free > 0:
            self._free -= 1
            return False
        return True

    async def wait(self) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()  # it had come just now: it is the next one's
            raise

    def leave(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
