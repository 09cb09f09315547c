"""Shares a replay among processes or machines: each has some of the parts, and gets their requests in order.

Requests are read only once, here. If a process or machine is lost, a replacement rereads and repeats its work from the
start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from brim import apis
from brim.errors import BadBody, BadInput
from brim.replays.parts import PARTS, PartSums, part_of
from brim.replays.recorded import Problem, Recorded

# Bytes of requests to send in a batch, and the most batches that a worker may have waiting.
BATCH, AHEAD = 256 << 10, 8
# Give up after losing this many workers in a row without progress.
TRIES = 3

Numbered = Iterator[tuple[int, Recorded | Problem]]
Batch = list[tuple[int, Recorded]]


class WorkerLost(Exception):
    """A process or machine was lost, with its state."""


class ReplayWorker(Protocol):
    """A remote `ReplayWork`. Both calls return immediately; `wait` returns the result of one, or raises WorkerLost."""

    def take(self, batch: Batch) -> Any: ...

    def sums(self) -> Any: ...

    def wait(self, asked: Any) -> Any: ...

    def close(self) -> None: ...


class SharedReplay:
    """Distributes requests to workers. `read` rereads the sources; None if they can be read only once."""

    def __init__(self, start: Callable[[], ReplayWorker], count: int, read: Callable[[], Numbered] | None) -> None:
        self._start = start
        self._shares: list[_Share] = []
        for number in range(min(count, PARTS)):
            self._shares.append(_Share(start, number, min(count, PARTS), read))

    def take(self, number: int, recorded: Recorded) -> None:
        place = _place(recorded)
        self._shares[place % len(self._shares)].take(number, recorded)

    def told(self) -> tuple[int, list[tuple[int, Problem]]]:
        """The number of requests replayed since the last call, and the problems with others."""
        done, problems = 0, []
        for share in self._shares:
            done += share.done
            problems += share.problems
            share.done, share.problems = 0, []
        return done, problems

    def sums(self) -> dict[int, PartSums]:
        """The results of all workers, once they are done."""
        for share in self._shares:
            share.flush()  # start the last batches in parallel
        found: dict[int, PartSums] = {}
        for share in self._shares:
            for number, sums in share.sums().items():
                found[number] = sums
        return found

    def close(self) -> None:
        for share in self._shares:
            share.close()


def _place(recorded: Recorded) -> int:
    """The part of a request; the first part for an unreadable one, which its worker will report."""
    try:
        return part_of(recorded, apis.parse(recorded.body, recorded.api, model=recorded.model))
    except BadBody:
        return 0


class _Share:
    """One worker's share: the parts whose number modulo `count` is its own."""

    def __init__(
        self, start: Callable[[], ReplayWorker], number: int, count: int, read: Callable[[], Numbered] | None
    ) -> None:
        self._start, self._number, self._count, self._read = start, number, count, read
        self._worker = start()
        self._batch: Batch = []
        self._size = 0
        self._asked: deque[tuple[int, Any]] = deque()
        self._handed = -1  # the number of the last request sent
        self._through = -1  # the number of the last request done, by any worker
        self._lost = 0
        self.done = 0
        self.problems: list[tuple[int, Problem]] = []

    def take(self, number: int, recorded: Recorded) -> None:
        self._batch.append((number, recorded))
        self._size += len(recorded.body)
        if self._size >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Send the pending requests once there is room."""
        if not self._batch:
            return
        while len(self._asked) >= AHEAD:
            self._settle()
        batch, self._batch, self._size = self._batch, [], 0
        self._handed = batch[-1][0]
        self._asked.append((self._handed, self._worker.take(batch)))

    def sums(self) -> dict[int, PartSums]:
        while True:
            while self._asked:
                self._settle()
            try:
                found: dict[int, PartSums] = self._worker.wait(self._worker.sums())
                return found
            except WorkerLost:
                self._again()

    def _settle(self) -> None:
        number, asked = self._asked[0]
        try:
            done, problems = self._worker.wait(asked)
        except WorkerLost:
            self._again()
            return
        self._asked.popleft()
        if number > self._through:  # a replacement worker reports nothing new until then
            self.done += done
            self.problems += [one for one in problems if one[0] > self._through]
            self._through, self._lost = number, 0

    def _again(self) -> None:
        """Repeat the lost worker's requests on a new one."""
        self._lost += 1
        if self._read is None:
            raise BadInput("replay", "a process has ended, and its input can be read only once: name files instead")
        if self._lost == TRIES:
            raise BadInput("replay", f"the same requests have ended {TRIES} processes in a row: is memory short?")
        self._worker.close()
        self._worker = self._start()
        self._asked.clear()
        until, waiting, size = self._handed, self._batch, self._size
        self._batch, self._size = [], 0
        for number, found in self._read():
            if number > until:
                break
            if isinstance(found, Recorded) and _place(found) % self._count == self._number:
                self.take(number, found)
        self.flush()
        self._batch, self._size = waiting, size

    def close(self) -> None:
        self._worker.close()
