"""Handles large bodies in worker processes: decompressed, parsed, counted and planned without delaying other requests.

A worker starts when it is first needed and ends after idling for a while. Each tenant always uses the same worker, so
its large bodies are handled one after the other: it uses at most one core, and its sessions stay in one place. A worker
that hangs or dies is replaced and costs only its own request.
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

# Seconds after which an idle worker ends, and fewer for one that holds LARGE_MEMORY.
LINGER, LINGER_LARGE, LARGE_MEMORY = 15.0, 3.0, 300 << 20
# `large_timeout` is computing time; up to WAITING times that may pass on the clock. At a load of 13 on two cores a
# worker had a seventh of a core. LOOK is how often it is checked, in seconds.
WAITING, LOOK = 4, 1.0
# Large bodies of one tenant that may wait in line.
MOST_WAITING: Final = 4


class WorkerFault(BrimError):
    """A fault inside Brim while a large body was read or fitted."""


class Process:
    """A worker and the socket to it. Its methods block, so call them in a thread."""

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
        """Have a job done. Raises EOFError, or TimeoutError after this many seconds of computing."""
        began, computed = time.monotonic(), self.computed()

        def patient() -> bool:
            return time.monotonic() - began < WAITING * self._seconds and self.computed() - computed < self._seconds

        self._end.settimeout(WAITING * self._seconds)
        self._channel.send(job, pieces)
        self._end.settimeout(min(LOOK, self._seconds))
        return self._channel.receive(patient)

    def computed(self) -> float:
        """The processor time it used, in seconds; if the system doesn't say, the time on the clock."""
        try:
            words = Path(f"/proc/{self._process.pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def memory(self) -> int:
        """Its memory in bytes; 0 if the system doesn't say."""
        try:
            words = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        except OSError:
            return 0
        return int(words[1]) * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """End it and wait for that."""
        self._process.kill()
        self._process.wait()
        self._channel.close()


class WorkerPlace:
    """The slot of one worker, running or not."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.process: Process | None = None
        self.timer: asyncio.TimerHandle | None = None


class Visit:
    """One request at a worker: first what it asks for, then its fit."""

    def __init__(self, offload: Offload, place: WorkerPlace) -> None:
        self._offload = offload
        self._place = place

    async def read(self, job: ReadJob, pieces: Sequence[bytes]) -> BodyAsks:
        """Have the worker read a body. Raises Refused."""
        asked: BodyAsks = (await self._offload.done(self._place, job, pieces))[0]
        return asked

    async def fit(self, job: Any) -> tuple[FitDone | None, list[bytes]]:
        """Have the body fitted. Raises BadBody, BudgetTooSmall, Refused, WorkerFault."""
        return await self._offload.done(self._place, job)


class Offload:
    """The workers of a gateway. Without a shared file, they send what they archive back to it."""

    def __init__(self, store: StoreFile | None, *, workers: int, seconds: float) -> None:
        self.store = store
        self._seconds = seconds
        self._places = [WorkerPlace() for _ in range(workers)]
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="brim-large")
        self._waiting: Counter[str] = Counter()

    @property
    def processes(self) -> int:
        """How many workers are running."""
        return sum(place.process is not None for place in self._places)

    @asynccontextmanager
    async def visit(self, tenant: str) -> AsyncIterator[Visit]:
        """Wait for the tenant's turn. Raises Refused (429) if too many of its bodies are waiting already."""
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
        """Have a job done by the worker in a slot whose lock is held."""
        loop = asyncio.get_running_loop()
        asking = loop.run_in_executor(self._threads, self._ask, place, job, pieces)
        try:
            answer, rest = await asyncio.shield(asking)
        except asyncio.CancelledError:  # the client is gone, so its work ends too
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
        """Tell the worker the usage of a request, unless it is busy with another."""
        place = self._place(tenant)
        if place.process is None or place.lock.locked():
            return
        async with self.visit(tenant):
            await self.done(place, LearnJob(number, tokens))

    def _place(self, tenant: str) -> WorkerPlace:
        return self._places[crc32(tenant.encode()) % len(self._places)]

    def _ask(self, place: WorkerPlace, job: Any, pieces: Sequence[bytes]) -> tuple[Any, list[bytes]]:
        if place.process is not None and not place.process.alive:  # it ended while idle
            place.process.end()
            place.process = None
        if place.process is None:
            place.process = Process(self.store, self._seconds)
        return place.process.ask(job, pieces)

    async def _stop(self, place: WorkerPlace, asking: asyncio.Future[Any]) -> None:
        """End a worker that hangs, died or is no longer needed, and release the thread that waits for it."""
        while not asking.done():
            if place.process is not None:  # it may be about to start
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
        """Keep a worker for a while, because the next request of the conversation needs what it has in memory."""
        process = place.process
        if process is not None:
            seconds = LINGER_LARGE if process.memory() > LARGE_MEMORY else LINGER
            place.timer = asyncio.get_running_loop().call_later(seconds, self._leave, place)

    def _leave(self, place: WorkerPlace) -> None:
        """End an idle worker. The next request starts another."""
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
    """The error that a worker reported."""
    if failed.kind == "budget":
        return BudgetTooSmall(*failed.given)
    if failed.kind == "body":
        return BadBody(*failed.given)
    if failed.kind == "refused":
        return Refused(*failed.given)
    return WorkerFault(str(failed.given[0]) if failed.given else f"{failed.kind} inside Brim")


def report_of(data: bytes) -> Any:
    """A fit's report, read from a worker's JSON."""
    return pickle.loads(data)
