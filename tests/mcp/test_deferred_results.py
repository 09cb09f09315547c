"""Calls that become tasks: their results are compacted when they come."""

from __future__ import annotations

from typing import Any

import pytest

from brim.mcp.results.compacting import count_tokens
from brim.mcp.wrapper.deferred_results import Tasks, task_of

from .conftest import MODERN_META, connected, run, text_of

MANY = {"name": "lines", "arguments": {"n": 3_000}, "task": {"ttl": 60_000}}


def test_the_result_of_a_task_is_compacted_and_can_be_recalled() -> None:
    async def scene() -> None:
        async with connected(level="compact") as client:
            await client.names()
            task = (await client.result("tools/call", MANY))["task"]
            assert task["status"] == "working"
            result = await client.result("tasks/result", {"taskId": task["taskId"]})
            assert count_tokens(text_of(result)) <= 2_100
            handle = result["_meta"]["dev.brim/result"]["handles"][0]
            assert "line 2999 of" in text_of(await client.call("brim_recall", handle=handle, query="line 2999"))

    run(scene())


def test_a_task_that_began_twice_is_not_answered_from_memory() -> None:
    async def scene() -> None:
        async with connected() as client:
            await client.names()
            for _ in range(2):
                assert "task" in await client.result("tools/call", MANY)

    run(scene())


def test_a_result_inside_the_state_of_a_task_is_compacted() -> None:
    async def scene() -> None:
        async with connected(version="2026-07-28", level="compact") as client:
            params = {"name": "later", "arguments": {"name": "lines", "n": 3_000}, "_meta": MODERN_META}
            began = await client.result("tools/call", params)
            state = await client.result("tasks/get", {"taskId": began["taskId"], "_meta": MODERN_META})
            assert state["status"] == "completed"
            assert count_tokens(text_of(state["result"])) <= 2_100
            assert state["result"]["_meta"]["dev.brim/result"]["level"] == "compact"

    run(scene())


def test_a_task_of_several_servers_is_asked_of_its_own() -> None:
    async def scene() -> None:
        async with connected(names=("one", "two"), level="compact") as client:
            await client.names()
            task = (await client.result("tools/call", {**MANY, "name": "two__lines"}))["task"]
            result = await client.result("tasks/result", {"taskId": task["taskId"]})
            assert count_tokens(text_of(result)) <= 2_100
            listed = (await client.result("tasks/list"))["tasks"]
            assert len(listed) == 2
            unknown = await client.ask("tasks/result", {"taskId": "t0"})
            assert "no such task" in unknown["error"]["message"]

    run(scene())


def test_with_a_time_limit_the_result_of_a_task_is_still_waited_for() -> None:
    async def scene() -> None:
        async with connected(call_timeout=30) as client:
            task = (await client.result("tools/call", {**MANY, "arguments": {"n": 3}}))["task"]
            client.post("tasks/result", {"taskId": task["taskId"]})
            assert [waiting.timer for waiting in client.wrapper.pending.values()] == [None]

    run(scene())


@pytest.mark.parametrize(
    ("result", "id"),
    [
        ({"task": {"taskId": "a"}}, "a"),
        ({"resultType": "task", "taskId": "b"}, "b"),
        ({"content": [], "task": {"taskId": "c"}}, ""),
        ({"content": [], "structuredContent": {"taskId": "d"}}, ""),
        ({"task": "e"}, ""),
        ({}, ""),
    ],
)
def test_a_task_is_told_from_a_result_that_speaks_of_one(result: dict[str, Any], id: str) -> None:
    assert task_of(result) == id


def test_the_oldest_tasks_are_forgotten() -> None:
    tasks: Tasks[int] = Tasks()
    for number in range(5_000):
        assert tasks.began(b'{"task": {"taskId": "t%d"}}' % number, number)
    assert tasks.call({"taskId": "t0"}) is None
    assert tasks.call({"taskId": "t4999"}) == 4_999
