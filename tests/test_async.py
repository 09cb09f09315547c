"""The async calls: the same results, and an event loop that goes on while a request is planned."""

from __future__ import annotations

import asyncio
from typing import Any

import brim


def long_chat() -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [
        {"role": roles[n % 2], "content": f"Line {n}: " + "the harbour is full of boats today. " * 20}
        for n in range(61)
    ]


def test_afit_gives_what_fit_gives() -> None:
    awaited = asyncio.run(brim.afit(long_chat(), model="gpt-4o", budget=2_000))
    assert awaited.messages == brim.fit(long_chat(), model="gpt-4o", budget=2_000).messages


def test_a_session_can_be_awaited_turn_by_turn() -> None:
    async def talk() -> tuple[Any, int]:
        session = brim.Session(model="gpt-4o", budget=2_000)
        await session.asay("Hello, who is in berth 12?")
        await session.arecord({"choices": [{"message": {"role": "assistant", "content": "The Albatross."}}]})
        fitted = await session.asay("And in berth 13?")
        return fitted.messages, len(session.log)

    messages, length = asyncio.run(talk())
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert length == 3


def test_the_event_loop_goes_on_while_a_request_is_fitted() -> None:
    async def both() -> int:
        turns, fitting = 0, asyncio.ensure_future(brim.afit(long_chat() * 20, model="gpt-4o", budget=4_000))
        while not fitting.done():
            await asyncio.sleep(0)
            turns += 1
        assert fitting.result().tokens <= 4_000
        return turns

    assert asyncio.run(both()) > 3


def test_a_fitted_request_tells_itself_in_one_line() -> None:
    fitted = brim.fit(long_chat(), model="gpt-4o", budget=2_000)
    assert "\n" not in repr(fitted)
    assert f"{fitted.tokens:,} tokens" in repr(fitted)
