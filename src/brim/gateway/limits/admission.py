"""Admission of requests: checks virtual keys, and the allowances of keys and tenants."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from brim.deadline import OutOfTime
from brim.gateway.limits.allowance import Allowance
from brim.gateway.limits.running import Running
from brim.gateway.limits.spending import Reservation, Spending
from brim.gateway.limits.tenant_limits import TenantLimits
from brim.gateway.limits.virtual_keys import VirtualKey, find_key
from brim.gateway.proxy.faults import Limited, Refused
from brim.sized_lru import SizedLru
from brim.stores.protocol import Store

if TYPE_CHECKING:
    from brim.stores.counters import SharedCounters

# Seconds to cache a key; after this long, every gateway refuses a revoked one.
FRESH_SECONDS: Final = 2.0
_MOST_KNOWN: Final = 5_000
# The shared account if all clients are joined into one tenant.
_EVERYONE: Final = "everyone"


class Admission:
    """Admits requests. `in_time` makes a store call off the event loop."""

    def __init__(
        self,
        store: Store | None,
        keep: Callable[[str, bytes | None], None],
        in_time: Callable[..., Awaitable[Any]],
        shared: SharedCounters | None = None,
    ) -> None:
        self._store = store
        self._in_time = in_time
        self._known: SizedLru[str, tuple[VirtualKey | None, float]] = SizedLru(_MOST_KNOWN)
        self.spending = Spending(store, keep, in_time, shared)
        self.running = Running(store, keep, in_time, shared)
        self._shared = shared

    async def admit(self, secret: str, tenant: str, limits: TenantLimits) -> Grant | None:
        """Admit a request under its virtual key or its tenant's limits. None if nothing limits it.

        Raises Refused for an invalid key; Limited if a rate or budget is used up, or too many requests are in flight.
        """
        key = None
        if secret:
            key = await self._find(secret)
            if key is None:
                raise Refused(
                    401, "this virtual key is not known here: it was revoked, or never given", "invalid_api_key"
                )
            limits = TenantLimits(key.budget, key.rate, limits.in_work)
        elif not limits.given:
            return None
        grant = Grant(self, key.id if key is not None else tenant or _EVERYONE, limits, key, secret)
        await grant.enter()
        return grant

    async def _find(self, secret: str) -> VirtualKey | None:
        known = self._known.get(secret)
        if known is not None and time.monotonic() - known[1] < FRESH_SECONDS:
            return known[0]
        if self._store is None:
            return None
        try:
            found: VirtualKey | None = await self._in_time(find_key, self._store, secret)
        except OutOfTime:
            raise Refused(503, "the store that knows the virtual keys does not answer", "store_unavailable") from None
        self._known.put(secret, (found, time.monotonic()))
        return found

    async def close(self) -> None:
        self.running.close()
        if self._shared is not None:
            await self._shared.close()


class Grant:
    """One admitted request: its place among those in flight, and its reserved tokens until the usage is known."""

    __slots__ = ("_account", "_admission", "_held", "_limits", "_place", "key", "secret")

    def __init__(
        self, admission: Admission, account: str, limits: TenantLimits, key: VirtualKey | None, secret: str
    ) -> None:
        self._admission, self._account, self._limits = admission, account, limits
        self.key, self.secret = key, secret
        self._held: Reservation | None = None
        self._place: str | None = None

    async def enter(self) -> None:
        """Take a place among the requests in flight and count towards the rate. Raises Limited."""
        limits, admission = self._limits, self._admission
        if limits.in_work:
            self._place = await admission.running.enter(self._account, limits.in_work)
            if self._place is None:
                raise Limited(f"{limits.in_work:,} requests at once", "rate_limit_exceeded", 1)
        try:
            if limits.rate is not None:
                taken = await admission.spending.take(self._account, "requests", limits.rate, 1)
                if taken is None:
                    raise _used_up(limits.rate, "requests", "rate_limit_exceeded")
                admission.spending.settle(taken, 1)
            await self.reserve(0)
        except BaseException:
            self._leave()
            raise

    async def reserve(self, tokens: int) -> None:
        """Reserve tokens of the budget. Raises Limited if not enough are left."""
        budget, spending = self._limits.budget, self._admission.spending
        if budget is None:
            return
        if self._held is not None:
            held, self._held = self._held, None
            spending.settle(held, 0)
        self._held = await spending.take(self._account, "tokens", budget, max(1, tokens))
        if self._held is None:
            raise _used_up(budget, "tokens", "insufficient_quota")

    def settle(self, tokens: int) -> None:
        """Record the usage and release the reservation."""
        self._leave()
        held, self._held = self._held, None
        if held is not None:
            self._admission.spending.settle(held, tokens)
        elif tokens and self._limits.budget is not None:
            self._admission.spending.add(self._account, "tokens", self._limits.budget, tokens)

    def _leave(self) -> None:
        if self._place is not None:
            self._admission.running.leave(self._account, self._place)
            self._place = None


def _used_up(allowed: Allowance, what: str, code: str) -> Limited:
    return Limited(f"{allowed.most:,} {what} in a {allowed.period}", code, allowed.seconds_left(time.time()))
