"""Giving memory that is free back to the system: the C library keeps what lies between what is still used."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Callable

SECONDS = 20.0
# Numbers of glibc's malloc.h. Threads share so many heaps, as each keeps its own free memory; and what is as large as a
# body is given back when it is let go, which glibc otherwise does less and less.
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
LARGE, HEAPS = 128 << 10, 2


def keep_little() -> bool:
    """Have the C library keep little of what is free; False where it cannot be told so."""
    tell = _offered("mallopt")
    return tell is not None and bool(tell(M_ARENA_MAX, HEAPS)) and bool(tell(M_MMAP_THRESHOLD, LARGE))


def trim() -> bool:
    """Give free pages back; False where the C library does not offer that."""
    give_back = _offered("malloc_trim")
    if give_back is None:
        return False
    give_back(ctypes.c_size_t(0))
    return True


def _offered(name: str) -> Callable[..., int] | None:
    """A function of glibc; musl, which keeps little, has none of them."""
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    return found


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
