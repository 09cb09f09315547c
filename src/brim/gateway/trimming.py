"""Giving memory that is free back to the system: the C library keeps what lies between what is still used."""

from __future__ import annotations

import asyncio
import ctypes
import sys

SECONDS = 20.0


def trim() -> bool:
    """Give free pages back; False where the C library does not offer that."""
    if sys.platform != "linux":
        return False
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is None:  # musl keeps little and has no such function
        return False
    give_back(0)
    return True


class Trimming:
    """Trims in a thread, every so many seconds, while it runs."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        offered = True
        while offered:
            await asyncio.sleep(self._seconds)
            offered = await asyncio.to_thread(trim)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
