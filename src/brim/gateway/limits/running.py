"""Counts the requests in flight per account, over all gateways on one store.

Each process writes its own number and reads the others'. With shared counters the total is exact; without them, the
gateways together may exceed a limit by what starts within `FRESH_SECONDS` plus one flush of the journal.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from brim import incidents
from brim.deadline import OutOfTime
from brim.gateway.limits.spending import FRESH_SECONDS
from brim.stores.protocol import Store

if TYPE_CHECKING:
    from brim.stores.counters import SharedCounters

# How often a process repeats its numbers; numbers older than STALE_SECONDS belong to a process that is gone.
BEAT_SECONDS, STALE_SECONDS = 10.0, 30
_NAME: Final = "in_work."


class Running:
    """The requests in flight in one process. `keep` writes or deletes a value a moment later; `in_time` reads."""

    def __init__(
        self,
        store: Store | None,
        keep: Callable[[str, bytes | None], None],
        in_time: Callable[..., Awaitable[Any]],
        shared: SharedCounters | None,
    ) -> None:
        self._store, self._keep, self._in_time, self._shared = store, keep, in_time, shared
        self._process = secrets.token_hex(6)
        self._number = itertools.count()
        self._own: dict[str, set[str]] = {}
        self._others: dict[str, tuple[int, float]] = {}
        self._beat: asyncio.TimerHandle | None = None
        self._telling: set[asyncio.Task[Any]] = set()

    async def enter(self, account: str, most: int) -> str | None:
        """A place for a request, to pass to `leave`; None if the limit is reached."""
        member = f"{self._process}.{next(self._number)}"
        own = self._own.setdefault(account, set())
        own.add(member)  # before any await, so that two concurrent requests can't both take the last place
        try:
            let_in = await self._shared.enter(account, [member], most) if self._shared is not None else None
            if let_in is None:
                let_in = len(own) + await self._elsewhere(account) <= most
        except BaseException:
            self._gone(account, member)
            raise
        if not let_in:
            self._gone(account, member)
            return None
        if self._shared is None:
            self._tell(account)
        if self._beat is None:
            self._beat = asyncio.get_running_loop().call_later(BEAT_SECONDS, self._again)
        return member

    def leave(self, account: str, member: str) -> None:
        self._gone(account, member)
        if self._shared is None:
            self._tell(account)
        else:
            self._later(self._shared.leave(account, member))

    def close(self) -> None:
        if self._beat is not None:
            self._beat.cancel()

    def _gone(self, account: str, member: str) -> None:
        own = self._own.get(account, set())
        own.discard(member)
        if not own:
            self._own.pop(account, None)

    def _tell(self, account: str) -> None:
        count = len(self._own.get(account, ()))
        self._keep(f"{_NAME}{account}.{self._process}", b"%d %d" % (count, time.time()) if count else None)

    def _again(self) -> None:
        """Repeat all numbers while there are any, so that they don't become stale."""
        self._beat = None
        for account, members in self._own.items():
            self._tell(account)
            if self._shared is not None:
                self._later(self._shared.enter(account, sorted(members)))
        if self._own:
            self._beat = asyncio.get_running_loop().call_later(BEAT_SECONDS, self._again)

    def _later(self, work: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(work)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _elsewhere(self, account: str) -> int:
        """How many requests the other processes have in flight, according to the store."""
        known, at = self._others.get(account, (0, 0.0))
        if self._store is None or time.monotonic() - at <= FRESH_SECONDS:
            return known
        try:
            found = await self._in_time(self._store.values, f"{_NAME}{account}.")
        except (Exception, OutOfTime) as problem:  # keep using what is known
            incidents.note("store", problem)
            return known
        known = 0
        for name, value in found.items():
            count, told = map(int, value.split())
            if name.endswith(self._process):
                continue
            if time.time() - told <= STALE_SECONDS:
                known += count
            else:
                self._keep(name, None)
        if len(self._others) > 10_000:
            self._others.clear()
        self._others[account] = known, time.monotonic()
        return known
