"""Counters that all gateways share in Valkey or Redis, so that limits hold exactly on many machines.

They are never the only copy: each gateway also writes its own numbers to the store. Those serve as a lower bound for
a counter that Valkey lost, and replace the counters while Valkey can't be reached.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterable
from typing import Any, Final, cast
from urllib.parse import urlsplit

from brim.errors import BadSetting, MissingExtra

try:
    from valkey import asyncio as client
    from valkey.exceptions import ValkeyError
except ImportError:
    raise MissingExtra("store.cache", "valkey") from None

log = logging.getLogger(__name__)
# How long a request waits for Valkey, and how long Valkey is left alone after a failure, in seconds.
PATIENCE, RETRY_SECONDS = 0.25, 1.0
# Requests in flight are reported again within this many seconds; older reports are from a gateway that is gone.
STALE_SECONDS: Final = 30
PREFIX: Final = "brim:"
FAULTS: Final = (ValkeyError, OSError, TimeoutError)
# Raises a counter to what the store knows, then adds an amount if the total stays within the maximum.
_TAKE: Final = """
local held = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), tonumber(ARGV[1])) + tonumber(ARGV[2])
if tonumber(ARGV[3]) > 0 and held > tonumber(ARGV[3]) then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', held), 'EX', ARGV[4])
return 1"""
# Uses Valkey's clock, because the gateways' clocks differ.
_ENTER: Final = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local most = tonumber(ARGV[1])
if most > 0 and redis.call('ZCARD', KEYS[1]) >= most then return 0 end
for at = 3, #ARGV do redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[at]) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1"""


class SharedCounters:
    """Every method returns None while Valkey can't be reached.

    Example: await SharedCounters("valkey://cache.example:6379/0").take("acme", "requests.1200", 1, most=60, seconds=60)
    """

    def __init__(self, address: str) -> None:
        if urlsplit(address).scheme not in ("valkey", "valkeys", "redis", "rediss", "unix"):
            raise BadSetting(
                "store.cache", "is no address of a Valkey: write valkey://HOST:6379/0, with TLS valkeys://"
            )
        try:
            self._client: Any = client.from_url(address, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE)  # type: ignore[no-untyped-call]
        except ValueError as problem:
            raise BadSetting("store.cache", f"is no address of a Valkey ({problem})") from None
        self._retry_at = 0.0
        self.lost = False

    async def take(
        self, owner: str, name: str, amount: int, *, most: int = 0, least: int = 0, seconds: int
    ) -> bool | None:
        """Add to a counter that expires in `seconds`, unless it would exceed `most` (0: no limit).

        The counter is at least `least`.
        """
        answer = await self._done(self._client.eval, _TAKE, 1, _key(owner, name), least, amount, most, seconds)
        return None if answer is None else answer == 1

    async def enter(self, owner: str, members: Iterable[str], most: int = 0) -> bool | None:
        """Count requests as in flight for some seconds, unless `most` are already."""
        key = _key(owner, "in-work")
        answer = await self._done(self._client.eval, _ENTER, 1, key, most, STALE_SECONDS, *members)
        return None if answer is None else answer == 1

    async def leave(self, owner: str, member: str) -> None:
        await self._done(self._client.zrem, _key(owner, "in-work"), member)

    async def erase(self, owner: str) -> tuple[int, int]:
        """Delete all counters of an owner; returns how many, and how many are left. Raises one of FAULTS."""
        gone = [await self._client.delete(key) async for key in self._named(owner)]
        return sum(gone), len([key async for key in self._named(owner)])

    async def close(self) -> None:
        await self._client.aclose()

    def _named(self, owner: str) -> Any:
        return self._client.scan_iter(match=_key(owner, "*"), count=1_000)

    async def _done(self, call: Any, *given: Any) -> Any:
        if time.monotonic() < self._retry_at:
            return None
        try:
            answer = await asyncio.wait_for(cast(Awaitable[Any], call(*given)), 2 * PATIENCE)
        except FAULTS as problem:
            self._retry_at = time.monotonic() + RETRY_SECONDS
            if not self.lost:
                told = "Valkey cannot be reached (%s): limits hold by what the store knows until it can"
                log.warning(told, type(problem).__name__)
            self.lost = True
            return None
        if self.lost:
            log.warning("Valkey can be reached again")
            self.lost = False
        return answer


def _key(owner: str, name: str) -> str:
    return f"{PREFIX}{owner}:{name}"
