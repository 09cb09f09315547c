"""Tracks how much of each allowance is used, over all gateways on one store.

Each process writes only its own number and reads the others', so none waits for another and nothing is lost. The
others' latest usage isn't known here: together they may exceed an allowance by what they use in `FRESH_SECONDS` plus
one flush of the journal. With shared counters they never do.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from brim import incidents
from brim.deadline import OutOfTime
from brim.gateway.limits.allowance import Allowance
from brim.stores.protocol import Store

if TYPE_CHECKING:
    from brim.stores.counters import SharedCounters

# Seconds to cache the other processes' numbers.
FRESH_SECONDS: Final = 1.0
_SPENT: Final = "spent."


@dataclass(frozen=True, slots=True)
class Reservation:
    """The part of an allowance reserved for one request."""

    key: str
    kind: str
    allowed: Allowance
    name: str
    amount: int


class Spending:
    """The numbers of one process. `keep` writes a value a moment later; `in_time` makes a store call."""

    def __init__(
        self,
        store: Store | None,
        keep: Callable[[str, bytes], None],
        in_time: Callable[..., Awaitable[Any]],
        shared: SharedCounters | None = None,
    ) -> None:
        self._store = store
        self._keep = keep
        self._in_time = in_time
        self._shared = shared
        self._held: Counter[str] = Counter()
        self._telling: set[asyncio.Task[bool | None]] = set()
        self._process = secrets.token_hex(6)
        self._own: dict[str, int] = {}
        self._others: dict[str, int] = {}
        self._read: dict[str, float] = {}
        self._reading: dict[str, asyncio.Lock] = {}

    async def used(self, key: str, kind: str, allowed: Allowance) -> int:
        """How much of an allowance was used in the current period, as far as is known."""
        now = time.time()
        period, slot = _name(key, kind), allowed.slot(now)
        async with self._reading.setdefault(period, asyncio.Lock()):
            if self._store is not None and now - self._read.get(period, 0.0) > FRESH_SECONDS:
                await self._look(period, slot)
        name = f"{period}{slot}."
        return self._own.get(name, 0) + self._others.get(name, 0)

    async def take(self, key: str, kind: str, allowed: Allowance, amount: int) -> Reservation | None:
        """Reserve part of an allowance until the usage is known; None if not enough is left."""
        used = await self.used(key, kind, allowed)
        now = time.time()
        name, fits = f"{kind}.{allowed.slot(now)}", None
        if self._shared is not None:
            seconds = allowed.seconds_left(now) + 60
            fits = await self._shared.take(key, name, amount, most=allowed.most, least=used, seconds=seconds)
        held = f"{key}.{name}"
        if fits is None:
            fits = used + self._held[held] + amount <= allowed.most
        if not fits:
            return None
        self._held[held] += amount
        return Reservation(key, kind, allowed, name, amount)

    def settle(self, held: Reservation, amount: int) -> None:
        """Record how much of a reservation was used."""
        self._held[f"{held.key}.{held.name}"] -= held.amount
        self._held += Counter()  # removes the empty entries
        if amount:
            self.add(held.key, held.kind, held.allowed, amount)
        if self._shared is not None and amount != held.amount:
            seconds = held.allowed.seconds_left(time.time()) + 60
            task = asyncio.ensure_future(self._shared.take(held.key, held.name, amount - held.amount, seconds=seconds))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def add(self, key: str, kind: str, allowed: Allowance, amount: int) -> None:
        """Record additional usage."""
        name = f"{_name(key, kind)}{allowed.slot(time.time())}."
        self._own[name] = self._own.get(name, 0) + amount
        self._keep(name + self._process, b"%d" % self._own[name])

    async def _look(self, period: str, slot: str) -> None:
        """Read the others' usage, and forget usage of past periods."""
        assert self._store is not None
        try:
            kept: Mapping[str, bytes] = await self._in_time(_present, self._store, period, slot)
        except (Exception, OutOfTime) as problem:  # what is known so far still holds
            incidents.note("store", problem)
            return
        current = f"{period}{slot}."
        self._others[current] = sum(int(value) for name, value in kept.items() if not name.endswith(self._process))
        for held in (self._own, self._others):
            for name in [name for name in held if name.startswith(period) and name != current]:
                del held[name]
        self._read[period] = time.time()


def _present(store: Store, period: str, slot: str) -> dict[str, bytes]:
    """The stored values of the current period; those of past periods are deleted."""
    current, found = f"{period}{slot}.", store.values(period)
    for name in found:
        if name[: len(current)] < current:
            store.put_value(name, None)
    return {name: value for name, value in found.items() if name.startswith(current)}


def spent(store: Store, key: str, kind: str, allowed: Allowance) -> int:
    """The usage of an allowance in the current period, as written by all gateways on a store."""
    return sum(map(int, store.values(f"{_name(key, kind)}{allowed.slot(time.time())}.").values()))


def _name(key: str, kind: str) -> str:
    return f"{_SPENT}{key}.{kind}."
