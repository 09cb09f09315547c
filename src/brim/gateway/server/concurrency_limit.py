"""Limits on concurrent work: the number of requests in flight, and the bytes of their bodies."""

from __future__ import annotations

import asyncio
from collections import deque

from brim.gateway.proxy.faults import Refused


class Gate:
    """A semaphore at half the cost of asyncio's while places are free, which is nearly always."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[asyncio.Future[None]] = deque()

    def try_acquire(self) -> bool:
        """Take a place if one is free; otherwise `wait` for one."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    async def wait(self) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()  # the place was just given to this task; pass it on
            raise

    def leave(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1


class Gates:
    """The requests in flight, limited in total and per tenant. Others wait in order."""

    def __init__(self, places: int, each: int) -> None:
        self._all = Gate(places)
        self._places = min(places, each)
        self._each: dict[str, Gate] = {}
        self._inside: dict[str, int] = {}

    async def enter(self, tenant: str) -> None:
        """Take a place, first among the tenant's own, so that a waiting tenant keeps nobody else waiting."""
        self._inside[tenant] = self._inside.get(tenant, 0) + 1
        own = self._each.get(tenant)
        if own is None:
            own = self._each[tenant] = Gate(self._places)
        try:
            if not own.try_acquire():
                await own.wait()
            try:
                if not self._all.try_acquire():
                    await self._all.wait()
            except asyncio.CancelledError:
                own.leave()
                raise
        except asyncio.CancelledError:
            self._forget(tenant)
            raise

    def leave(self, tenant: str) -> None:
        self._all.leave()
        self._each[tenant].leave()
        self._forget(tenant)

    def _forget(self, tenant: str) -> None:
        left = self._inside.pop(tenant) - 1
        if left:
            self._inside[tenant] = left
        else:
            del self._each[tenant]


class Holding:
    """The bytes of bodies in memory, in total and per tenant."""

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._all = 0
        self._each: dict[str, int] = {}

    @property
    def bytes(self) -> int:
        return self._all

    def by(self, tenant: str) -> HeldPlace:
        return HeldPlace(self, tenant)

    def grow(self, tenant: str, size: int) -> None:
        """Add bytes. Raises Refused (429) if the tenant, or all together, hold too many."""
        known = self._each.get(tenant, 0)
        mine = known + size
        if (mine > self._most_each and known) or (self._all + size > self._most and self._all):
            whose = "all clients" if mine <= self._most_each else "this client"
            name = "held_bytes" if mine <= self._most_each else "tenant_bytes"
            text = f"the bodies of {whose} take too much memory at once: send this one again in a moment"
            raise Refused(429, f"{text} (gateway.{name})", "too_many_bytes")
        self._each[tenant] = mine
        self._all += size

    def shrink(self, tenant: str, size: int) -> None:
        self._all -= size
        left = self._each.pop(tenant) - size
        if left:
            self._each[tenant] = left


class HeldPlace:
    """The bytes that one request holds."""

    __slots__ = ("_holding", "_size", "_tenant")

    def __init__(self, holding: Holding, tenant: str) -> None:
        self._holding = holding
        self._tenant = tenant
        self._size = 0

    def add(self, size: int) -> None:
        """Add bytes. Raises Refused."""
        if size:
            self._holding.grow(self._tenant, size)
            self._size += size

    def release(self) -> None:
        if self._size:
            self._holding.shrink(self._tenant, self._size)
            self._size = 0
