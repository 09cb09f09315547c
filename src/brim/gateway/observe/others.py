"""What the other processes on the same store do, so that pages and metrics tell of all of them.

Each process writes its turns and its counters to the store a moment after they change; whoever is looked at reads what
the others have written, at most once a second. Nothing is read while nobody looks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from brim import incidents
from brim.gateway.observe.journal import Journal
from brim.gateway.observe.metrics import Metrics
from brim.gateway.observe.turns import GatewayTurn

# What was read is taken for as long; a page waits for the store for so long at most.
FRESH_SECONDS, PATIENCE = 1.0, 2.0
# Counters are written so often while they change.
TOLD_SECONDS = 5.0
# What a process that ended without a word has left is told for so long.
GONE_SECONDS: Final = 86_400.0
_NAME: Final = "metrics."


class CounterStore(Protocol):
    """The part of a store that this reads."""

    def values(self, prefix: str) -> dict[str, bytes]: ...

    def put_value(self, name: str, value: bytes | None) -> None: ...


class Others:
    """Reads what the others have written. `group` are the processes that one address stands for."""

    def __init__(
        self,
        store: CounterStore | None,
        journal: Journal,
        group: str,
        process: str,
        take: Callable[[Sequence[GatewayTurn]], None],
    ) -> None:
        self._store, self._journal, self._take = store, journal, take
        self._group = f"{_NAME}{group}."
        self._own = f"{self._group}{process}"
        self._told = -TOLD_SECONDS
        self._waits = False
        self._last = b""
        self._read = 0.0
        self._snapshots: dict[str, bytes] = {}
        self._reading: asyncio.Task[None] | None = None

    def tell(self) -> None:
        """Have this process's counters written with the next flush, or in some seconds where that was just done."""
        early = self._told + TOLD_SECONDS - time.monotonic()
        if self._store is None or self._waits:
            return
        if early > 0:
            self._waits = True
            asyncio.get_running_loop().call_later(early, self._due)
            return
        self._told = time.monotonic()
        snapshot = self._journal.metrics.snapshot()
        if snapshot != self._last:
            self._last = snapshot
            self._journal.keep_value(self._own, b"%d %b" % (time.time(), snapshot))

    def _due(self) -> None:
        self._waits = False
        self._journal.wake()

    def forget(self) -> None:
        """This process ends: its counters end with it."""
        if self._last:
            self._journal.keep_value(self._own, None)

    async def fresh(self) -> None:
        """Know what the others have written up to a second ago, as far as the store answers."""
        if self._store is None or time.monotonic() - self._read < FRESH_SECONDS:
            return
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().create_task(self._follow(self._store))
        await asyncio.wait([self._reading], timeout=PATIENCE)

    async def _follow(self, store: CounterStore) -> None:
        try:
            turns = await asyncio.to_thread(self._journal.follow, time.time())
            self._snapshots = await asyncio.to_thread(_snapshots, store, self._own)
        except Exception as problem:  # numbers for people to look at: what is known already is shown
            incidents.note("store", problem)
        else:
            if turns:
                self._take(turns)
                self._journal.took(turns)
        self._read = time.monotonic()

    def metrics(self, *, everyone: bool = False) -> Metrics:
        """The counters of all processes behind this address, or of all on the store."""
        found = Metrics()
        found.add_snapshot(self._journal.metrics.snapshot())
        for name, snapshot in self._snapshots.items():
            if everyone or name.startswith(self._group):
                found.add_snapshot(snapshot)
        return found


def _snapshots(store: CounterStore, own: str) -> dict[str, bytes]:
    """The counters of the others by their names; those of processes that are long gone are deleted."""
    found: dict[str, bytes] = {}
    for name, value in store.values(_NAME).items():
        at, _, snapshot = value.partition(b" ")
        if name == own:
            continue
        if time.time() - int(at) > GONE_SECONDS:
            store.put_value(name, None)
        else:
            found[name] = snapshot
    return found
