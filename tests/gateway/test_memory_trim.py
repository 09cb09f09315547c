"""Garbage is collected in short steps, and memory that is free goes back to the system."""

from __future__ import annotations

import asyncio
import gc
import sys

import pytest

from brim.gateway.server import memory_trim
from brim.gateway.server.memory_trim import ALL, EVERY, OLDER, Collecting, Trimming


@pytest.mark.skipif(sys.platform != "linux", reason="other systems give memory back by themselves")
def test_trimming_goes_on_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []

    def noted(trim: object = memory_trim.trim) -> bool:
        assert callable(trim)
        calls.append(bool(trim()))
        return True

    monkeypatch.setattr(memory_trim, "trim", noted)

    async def run() -> int:
        task = Trimming(0.001, 0)
        task.start()
        while len(calls) < 3:
            await asyncio.sleep(0.001)
        await task.close()
        return len(calls)

    made = asyncio.run(run())
    assert len(calls) == made >= 3


def test_a_process_is_trimmed_when_it_has_grown_since_the_last_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [50, 40, 45, 49, 51, 42, 43, 51]  # trimmed at 50 and at 51, to 40 and to 42
    calls: list[int] = []

    def trim() -> bool:
        calls.append(len(sizes))
        return True

    monkeypatch.setattr(memory_trim, "resident", lambda: sizes.pop(0) if sizes else 0)
    monkeypatch.setattr(memory_trim, "trim", trim)

    async def run() -> None:
        task = Trimming(0.001, 10)
        task.start()
        while sizes:
            await asyncio.sleep(0.001)
        await task.close()

    asyncio.run(run())
    assert calls == [7, 3]


def test_a_system_that_offers_no_trimming_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "other")
    assert memory_trim.trim() is False
    assert memory_trim.keep_little() is False

    async def run() -> None:
        task = Trimming(0.001, 0)
        task.start()
        assert task._task is not None
        await asyncio.wait_for(task._task, 5)
        await task.close()

    asyncio.run(run())


def test_young_objects_are_looked_at_while_as_many_old_ones_go_as_new_ones_come() -> None:
    kept: list[list[int]] = []
    collecting, most = Collecting(), 0
    gc.collect()
    for number in range(40 * EVERY):
        kept.append([number])
        del kept[:-1_000]
        collecting.ended()
        most = max(most, len(gc.get_objects(0)) if not number % EVERY else 0)
    assert most < 10 * EVERY


def test_everything_is_collected_now_and_then() -> None:
    seen: list[int] = []

    def noted(phase: str, about: dict[str, int]) -> None:
        if phase == "start":
            seen.append(about["generation"])

    gc.disable()
    gc.callbacks.append(noted)
    try:
        collecting = Collecting()
        for _ in range(EVERY * OLDER * ALL):
            collecting.ended()
    finally:
        gc.callbacks.remove(noted)
        gc.enable()
    assert [seen.count(generation) for generation in (0, 1, 2)] == [OLDER * ALL - ALL, ALL - 2, 2]
    assert seen[-1] == 2
