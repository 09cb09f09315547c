"""Writes the turn of a request while its upstream works, and before its client is answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from brim import incidents
from brim.deadline import OutOfTime

if TYPE_CHECKING:
    from brim.gateway.proxy.exchange import Exchange


class Saving:
    """The writing of a turn that was fitted and not written yet, if there is one."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        waits = exchange.result is not None and exchange.result.save is not None
        self._task = exchange.gateway.beside(self._save()) if waits else None

    async def done(self) -> None:
        """Return when it is written, so that no answered turn is lost."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _save(self) -> None:
        result = self._exchange.result
        if result is None or result.save is None:
            return
        save, result.save = result.save, None
        with incidents.collected() as found:
            try:
                await self._exchange.gateway.fitter.in_time(save)
            except (Exception, OutOfTime) as problem:  # the next turn writes it
                incidents.note("store", problem)
        self._exchange.survived(found)
