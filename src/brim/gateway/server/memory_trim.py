"""Collects garbage in short steps, and returns free memory, of which the C library keeps pages between used ones."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

SECONDS = 5.0
# A process that grew by less since the last trim has little to return.
GROWN = 4 << 20
# Constants of glibc's malloc.h. Limit the heaps, because each keeps its own free memory; and always return memory as
# large as a body when it is freed, which glibc otherwise does less and less.
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
LARGE, HEAPS = 128 << 10, 2
# Requests after which young objects are collected; one in OLDER of these collections takes in older ones, and one in
# ALL of those everything. Over 60,000 short conversations, at a load of 10 to 15 on two cores, young ones took .3 ms on
# average and .6 at most, older ones 1.3 and 1.8, everything 4.2 and 5.1; by Python's own threshold young ones took 34.
EVERY, OLDER, ALL = 64, 16, 8


def keep_little() -> bool:
    """Tell the C library to keep little free memory; False if it can't be told."""
    tell = _offered("mallopt")
    return tell is not None and bool(tell(M_ARENA_MAX, HEAPS)) and bool(tell(M_MMAP_THRESHOLD, LARGE))


def trim() -> bool:
    """Return free pages; False if the C library doesn't offer that."""
    give_back = _offered("malloc_trim")
    if give_back is None:
        return False
    give_back(ctypes.c_size_t(0))
    return True


def _offered(name: str) -> Callable[..., int] | None:
    """A function of glibc; musl, which keeps little, has none of them."""
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    return found


def resident() -> int:
    """The process's resident memory in bytes; 0 if the system doesn't say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class Collecting:
    """Collects garbage every few requests, so that there is little of it each time: all threads wait meanwhile.

    Python's own threshold is for new objects less deleted ones. Where an old turn goes for each new one it is hardly
    ever reached, and the young objects that have to be looked at become very many.
    """

    def __init__(self) -> None:
        self._requests = 0

    def ended(self) -> None:
        """Note that a request ended."""
        self._requests += 1
        times, left = divmod(self._requests, EVERY)
        if left:
            return
        if times == OLDER:  # by now the caches are there, which stay; looking at all that they hold takes 10 ms
            gc.collect()
            gc.freeze()
        else:
            gc.collect(2 if not times % (OLDER * ALL) else 1 if not times % OLDER else 0)


class Trimming:
    """Checks periodically whether the process has grown, and then trims in a thread."""

    def __init__(self, seconds: float = SECONDS, grown: int = GROWN) -> None:
        self._seconds = seconds
        self._grown = grown
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        offered, before = True, 0
        while offered:
            await asyncio.sleep(self._seconds)
            if resident() >= before + self._grown:
                offered = await asyncio.to_thread(trim)
                before = resident()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
