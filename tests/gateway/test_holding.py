"""What the gateway holds while answers are streamed, and after them: no bodies, and so many turns at most."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from brim import apis
from brim.conversation import Conversation
from brim.gateway.fitting import conversations
from brim.gateway.fitting.conversations import Conversations
from brim.gateway.observe.turns import GatewayTurn
from brim.gateway.proxy.exchange import Exchange
from brim.testing import FakeProvider, Hang, Say

from .conftest import Running, long_chat
from .test_faults import until

LARGE = 50_000


async def _held() -> list[str]:
    """Where a large body is held by what serves the requests that are in work, or by a name in its frames."""
    return [place for task in asyncio.all_tasks() for place in _in_frames(task.get_coro())]


def _in_frames(work: Any) -> Iterator[str]:
    while work is not None and getattr(work, "cr_frame", None) is not None:
        for name, value in work.cr_frame.f_locals.items():
            held = {name: value}
            if isinstance(value, Exchange):
                held = {f"{name}.result.{key}": getattr(value.result, key, None) for key in ("body", "parsed", "told")}
            elif hasattr(value, "__struct_fields__"):
                held = {f"{name}.{key}": getattr(value, key) for key in value.__struct_fields__}
            yield from (
                f"{work.__qualname__}: {place}" for place, one in held.items() if _large(one, place.endswith(".told"))
            )
        work = work.cr_await


def _large(value: Any, any_is: bool) -> bool:
    if isinstance(value, Conversation):
        return sum(len(message.raw) for message in value.messages) > LARGE
    return len(value) > LARGE if isinstance(value, bytes) else any_is and value is not None


@pytest.mark.parametrize("budget", ["6000", ""])
def test_no_body_is_held_while_its_answer_is_streamed(gateway: Running, fake: FakeProvider, budget: str) -> None:
    fake.script(Say("This takes a while.", pieces=4, fault=Hang(after=2)))
    messages = long_chat(20, 2_000)
    body = {"model": "gpt-4o", "messages": messages, "stream": True}
    data = json.dumps(body).encode()
    assert len(data) > 2 * LARGE
    control = {"x-brim-budget": budget} if budget else {}
    asking = threading.Thread(target=_asked, args=(gateway, data, control), daemon=True)
    asking.start()
    until(lambda: bool(fake.posts) and any(turn.status == 200 for turn in _turns(gateway)))
    held = gateway.call(_held())
    whole = [place for place in held if "parsed" not in place or budget]  # what is sent as it is must be learnt from
    assert whole == []


def _asked(gateway: Running, data: bytes, control: dict[str, str]) -> None:
    try:
        gateway.ask("POST", "/v1/chat/completions", data, control)
    except (OSError, TimeoutError):
        return  # the answer hangs until the gateway ends


def _turns(gateway: Running) -> list[GatewayTurn]:
    return [turn for live in list(gateway.gateway.fitter.conversations) for turn in live.turns]


def test_a_conversation_does_not_hold_the_bytes_of_its_list_beside_its_messages() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    parsed = apis.parse(json.dumps(body).encode())
    assert set(parsed.fields) == {"model", "stream"}
    assert apis.value_of(parsed) == body
    assert apis.value_of(apis.parse({"model": "gpt-5", "input": "hi"})) == {"model": "gpt-5", "input": "hi"}


def test_of_very_many_requests_the_last_are_remembered_and_the_newest_of_each_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conversations, "MOST_REQUESTS", 6)
    known = Conversations()
    quiet, busy = known.begin(""), known.begin("")
    for number in range(3):
        known.add(quiet, _turn(f"quiet {number}"))
    for number in range(20):
        known.add(busy, _turn(f"busy {number}"))
    assert [turn.id for turn in quiet.turns] == ["quiet 2"]
    assert [turn.id for turn in busy.turns] == [f"busy {number}" for number in range(14, 20)]
    assert (quiet.requests, busy.requests) == (3, 20)


def test_nothing_is_kept_of_a_conversation_that_is_forgotten() -> None:
    known = Conversations(most=3)
    first = [known.of(_chat(f"{number} {more}"), "", "").id for number in range(20) for more in ("a", "b")]
    assert len(set(first)) == 40
    assert list(known._prefixes.values()) == list(known._known.values())
    assert len(known) == 3


def test_the_garbage_collector_need_not_look_at_conversations_and_turns() -> None:
    known = Conversations()
    live, turn = known.begin(""), _turn("a")
    known.add(live, turn)
    assert not gc.is_tracked(live)
    assert not gc.is_tracked(turn)


def test_a_conversation_is_recognised_by_its_last_two_hundred_requests() -> None:
    known = Conversations()
    said = [{"role": "user", "content": f"part {number}"} for number in range(conversations.MOST_TURNS + 5)]
    ids = {known.of(_chat(*said[: length + 1]), "", "").id for length in range(len(said))}
    assert len(ids) == 1
    assert len(known._prefixes) == conversations.MOST_TURNS
    assert known.of(_chat(*said, "and?"), "", "").id in ids


def _chat(*messages: Any) -> Conversation:
    listed = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]
    return apis.parse({"model": "gpt-4o", "messages": listed})


def _turn(id: str) -> GatewayTurn:
    return GatewayTurn(id=id, number=0, session="", at=0.0, api="openai_chat", model="m", upstream="u", client="")
