"""Large bodies in processes of their own: unpacked, read, counted and planned where no other request waits for it.

A process starts when it is first needed and ends when nothing was there for it for a while. Each tenant has one that is
always its own choice, so its large bodies come one after the other: it holds one core at most, and its sessions stay
where they are. One that hangs or dies is ended and costs its own request alone.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from brim.errors import BadBody, BrimError, BudgetTooSmall
from brim.gateway.fitting.large_store import StoreFile
from brim.gateway.proxy.faults import Refused
from brim.gateway.server.jobs import BodyAsks, Channel, FitDone, JobFailed, LearnJob, ReadJob

# A process that has nothing to do ends after so many seconds, and after fewer if it holds so much memory.
LINGER, LINGER_LARGE, LARGE_MEMORY = 15.0, 3.0, 300 << 20
# Times `large_timeout`, which is time of computing, that may pass on the clock: beside a load of 13 on two cores a
# worker had a seventh of a core. How often it is looked at, in seconds.
WAITING, LOOK = 4, 1.0
# So many large bodies of one tenant may wait for their turn.
MOST_WAITING: Final = 4


class WorkerFault(BrimError):
    """A fault inside Brim while a large body was read or fitted."""


class Process:
    """A worker and the socket to it. Its methods wait, and are called in a thread."""

    def __init__(self, store: StoreFile | None, seconds: float) -> None:
        ours, theirs = socket.socketpair()
        number = theirs.fileno()
        with theirs:
            command = [sys.executable, "-m", "brim.gateway.server.worker", str(number), *(store.words if store else [])]
            self._process = subprocess.Popen(command, pass_fds=(number,), stdin=subprocess.DEVNULL)
        self._seconds = seconds
        self._end = ours
        self._channel = Channel(ours)
        if store is not None and store.words[0] == "-":
            self._channel.send(store.path)

    def ask(self, job: Any, pieces: Sequence[bytes] = ()) -> tuple[Any, list[bytes]]:
        """Have a job done. Raises EOFError, and TimeoutError after so many seconds of computing."""
        began, computed = time.monotonic(), self.computed()

        def patient() -> bool:
            return time.monotonic() - began < WAITING * self._seconds and self.computed() - computed < self._seconds

        self._end.settimeout(WAITING * self._seconds)
        self._channel.send(job, pieces)
        self._end.settimeout(min(LOOK, self._seconds))
        return self._channel.receive(patient)

    def computed(self) -> float:
        """Seconds of processor time that it has taken; where the system does not tell, the clock."""
        try:
            words = Path(f"/proc/{self._process.pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def memory(self) -> int:
        """Bytes that it holds; 0 where the system does not tell."""
        try:
            words = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        except OSError:
            return 0
        return int(words[1]) * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """End it, and wait until it has."""
        self._process.kill()
        self._process.wait()
        self._channel.close()


class WorkerPlace:
    """Where one worker runs, if it does."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.process: Process | None = None
        self.timer: asyncio.TimerHandle | None = None


class Visit:
    """One request at a worker: what it asks for first, then its fit."""

    def __init__(self, offload: Offload, place: WorkerPlace) -> None:
        self._offload = offload
        self._place = place

    async def read(self, job: ReadJob, pieces: Sequence[bytes]) -> BodyAsks:
        """Have a body read. Raises Refused."""
        asked: BodyAsks = (await self._offload.done(self._place, job, pieces))[0]
        return asked

    async def fit(self, job: Any) -> tuple[FitDone | None, list[bytes]]:
        """Have what was read fitted. Raises BadBody, BudgetTooSmall, Refused, WorkerFault."""
        return await self._offload.done(self._place, job)


class Offload:
    """The workers of a gateway. Without a file that both can open, what they archive is sent back to it."""

    def __init__(self, store: StoreFile | None, *, workers: int, seconds: float) -> None:
        self.store = store
        self._seconds = seconds
        self._places = [WorkerPlace() for _ in range(workers)]
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="brim-large")
        self._waiting: Counter[str] = Counter()

    @property
    def processes(self) -> int:
        """How many run."""
        return sum(place.process is not None for place in self._places)

    @asynccontextmanager
    async def visit(self, tenant: str) -> AsyncIterator[Visit]:
        """Wait for the tenant's turn. Raises Refused (429) where too many of its bodies wait already."""
        if self._waiting[tenant] > MOST_WAITING:
            raise Refused(429, "too many large requests at once: send this one again in a moment", "too_many_large")
        self._waiting[tenant] += 1
        place = self._place(tenant)
        try:
            async with place.lock:
                if place.timer is not None:
                    place.timer.cancel()
                try:
                    yield Visit(self, place)
                finally:
                    self._linger(place)
        finally:
            self._waiting[tenant] -= 1
            if not self._waiting[tenant]:
                del self._waiting[tenant]

    async def done(self, place: WorkerPlace, job: Any, pieces: Sequence[bytes] = ()) -> tuple[Any, list[bytes]]:
        """Have a job done by the worker of a place, whose lock is held."""
        loop = asyncio.get_running_loop()
        asking = loop.run_in_executor(self._threads, self._ask, place, job, pieces)
        try:
            answer, rest = await asyncio.shield(asking)
        except asyncio.CancelledError:  # the client is gone: its work ends too
            await self._stop(place, asking)
            raise
        except (EOFError, TimeoutError, OSError) as problem:
            await self._stop(place, asking)
            late = isinstance(problem, TimeoutError)
            much = f"more than {self._seconds:g} seconds (gateway.large_timeout)" if late else "too much memory"
            text = f"the request body takes {much} to be counted and fitted"
            raise Refused(413, text, "request_too_large") from None
        if isinstance(answer, JobFailed):
            raise _raised(answer)
        return answer, rest

    async def learn(self, tenant: str, number: int, tokens: int) -> None:
        """Tell the worker what a request took, unless it is at work on another."""
        place = self._place(tenant)
        if place.process is None or place.lock.locked():
            return
        async with self.visit(tenant):
            await self.done(place, LearnJob(number, tokens))

    def _place(self, tenant: str) -> WorkerPlace:
        return self._places[crc32(tenant.encode()) % len(self._places)]

    def _ask(self, place: WorkerPlace, job: Any, pieces: Sequence[bytes]) -> tuple[Any, list[bytes]]:
        if place.process is not None and not place.process.alive:  # it has ended while nothing was there for it
            place.process.end()
            place.process = None
        if place.process is None:
            place.process = Process(self.store, self._seconds)
        return place.process.ask(job, pieces)

    async def _stop(self, place: WorkerPlace, asking: asyncio.Future[Any]) -> None:
        """End a worker that hangs, is dead, or is not needed any more, and let the thread go that waits for it."""
        while not asking.done():
            if place.process is not None:  # it may just be about to start
                place.process.kill()
            await asyncio.wait([asking], timeout=0.05)
        if not asking.cancelled():
            asking.exception()
        await self._end(place)

    async def _end(self, place: WorkerPlace) -> None:
        process, place.process = place.process, None
        if process is not None:
            await asyncio.get_running_loop().run_in_executor(None, process.end)

    def _linger(self, place: WorkerPlace) -> None:
        """Keep a worker for a while: the next request of the same conversation finds what it needs there."""
        process = place.process
        if process is not None:
            seconds = LINGER_LARGE if process.memory() > LARGE_MEMORY else LINGER
            place.timer = asyncio.get_running_loop().call_later(seconds, self._leave, place)

    def _leave(self, place: WorkerPlace) -> None:
        """End a worker that nothing was there for. Whoever comes now starts another."""
        if place.process is not None and not place.lock.locked():
            process, place.process = place.process, None
            asyncio.get_running_loop().run_in_executor(None, process.end)

    async def close(self) -> None:
        for place in self._places:
            if place.timer is not None:
                place.timer.cancel()
            await self._end(place)
        self._threads.shutdown(wait=False, cancel_futures=True)


def _raised(failed: JobFailed) -> Exception:
    """The error that a worker told of."""
    if failed.kind == "budget":
        return BudgetTooSmall(*failed.given)
    if failed.kind == "body":
        return BadBody(*failed.given)
    if failed.kind == "refused":
        return Refused(*failed.given)
    return WorkerFault(str(failed.given[0]) if failed.given else f"{failed.kind} inside Brim")


def report_of(data: bytes) -> Any:
    """The report of a fit as a worker wrote it."""
    return pickle.loads(data)
