"""Memory that is free goes back to the system."""

from __future__ import annotations

import asyncio
import sys

import pytest

from brim.gateway import trimming
from brim.gateway.trimming import Trimming


@pytest.mark.skipif(sys.platform != "linux", reason="other systems give memory back by themselves")
def test_trimming_goes_on_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []

    def noted(trim: object = trimming.trim) -> bool:
        assert callable(trim)
        calls.append(bool(trim()))
        return True

    monkeypatch.setattr(trimming, "trim", noted)

    async def run() -> int:
        task = Trimming(0.001)
        task.start()
        while len(calls) < 3:
            await asyncio.sleep(0.001)
        await task.close()
        return len(calls)

    made = asyncio.run(run())
    assert len(calls) == made >= 3


def test_a_system_that_offers_no_trimming_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "other")
    assert trimming.trim() is False
    assert trimming.keep_little() is False

    async def run() -> None:
        task = Trimming(0.001)
        task.start()
        assert task._task is not None
        await asyncio.wait_for(task._task, 5)
        await task.close()

    asyncio.run(run())
