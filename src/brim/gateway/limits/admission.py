"""Who comes with a virtual key: whether it is one, to which upstream it goes, and what is left of its allowances."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

from brim.deadline import OutOfTime
from brim.gateway.limits.allowance import Allowance
from brim.gateway.limits.spending import Spending
from brim.gateway.limits.virtual_keys import VirtualKey, find_key
from brim.gateway.proxy.faults import Refused
from brim.sized_lru import SizedLru
from brim.stores.protocol import Store

# So long a key is taken as it was read: a revoked one is refused after so many seconds, by every gateway.
FRESH_SECONDS: Final = 2.0
_MOST_KNOWN: Final = 5_000


class Admission:
    """Lets requests in by their virtual key. `in_time` does a look into the store beside the event loop."""

    def __init__(
        self, store: Store | None, keep: Callable[[str, bytes], None], in_time: Callable[..., Awaitable[Any]]
    ) -> None:
        self._store = store
        self._in_time = in_time
        self._known: SizedLru[str, tuple[VirtualKey | None, float]] = SizedLru(_MOST_KNOWN)
        self._spending = Spending(store, keep, in_time)
        self._pending: Counter[str] = Counter()

    async def admit(self, secret: str) -> Grant:
        """Let a request in. Raises Refused: 401 for a key that is none, 429 where its rate or budget is used up."""
        key = await self._find(secret)
        if key is None:
            raise Refused(401, "this virtual key is not known here: it was revoked, or never given", "invalid_api_key")
        if key.rate is not None:
            if await self._spending.used(key.id, "requests", key.rate) >= key.rate.most:
                raise _used_up("Rate limit reached", key.rate, "requests", "rate_limit_exceeded")
            self._spending.add(key.id, "requests", key.rate, 1)
        grant = Grant(self, key, secret)
        await grant.reserve(0)
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


class Grant:
    """One request that was let in: what it is expected to take, until it is known what it took."""

    __slots__ = ("_admission", "_held", "key", "secret")

    def __init__(self, admission: Admission, key: VirtualKey, secret: str) -> None:
        self._admission, self.key, self.secret = admission, key, secret
        self._held = 0

    async def reserve(self, tokens: int) -> None:
        """Hold so many tokens of the budget. Raises Refused (429) where they are not left."""
        budget, pending = self.key.budget, self._admission._pending
        if budget is None:
            return
        used = await self._admission._spending.used(self.key.id, "tokens", budget)
        if used + pending[self.key.id] - self._held + max(1, tokens) > budget.most:
            raise _used_up("You exceeded your current quota", budget, "tokens", "insufficient_quota")
        pending[self.key.id] += tokens - self._held
        self._held = tokens

    def settle(self, tokens: int) -> None:
        """Note what it took, and hold nothing any more."""
        pending = self._admission._pending
        pending[self.key.id] -= self._held
        if not pending[self.key.id]:
            del pending[self.key.id]
        self._held = 0
        if self.key.budget is not None and tokens:
            self._admission._spending.add(self.key.id, "tokens", self.key.budget, tokens)


def _used_up(words: str, allowed: Allowance, what: str, code: str) -> Refused:
    seconds = allowed.seconds_left(time.time())
    text = f"{words}: {allowed.most:,} {what} in a {allowed.period}. Please try again in {seconds:,} s."
    return Refused(429, text, code, retry_after=seconds)
