"""What `Session.record` takes: whatever a caller has of an answer, and a clear error for anything else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import brim
from brim import apis
from brim.apis import Usage
from brim.sessions.answers import came_back
from brim.testing.replies import Call
from brim.testing.speech import STREAMED, WHOLE, Speech

APIS = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")
CALL = Call("orders", {"page": 3, "state": "open"}, "call_1")


def speech(**changes: Any) -> Speech:
    given = {"text": "Page 3 is open.", "pieces": 4, "thinking": "Look it up.", "calls": (CALL,), "usage": Usage(31, 9)}
    return Speech(id="1", model="some-model", **{**given, **changes})


def chunks(api: str, said: Speech) -> list[Any]:
    """The events of a stream, as an SDK gives them."""
    lines = b"".join(STREAMED[api](said)).splitlines()
    texts = [line.removeprefix(b"data:").strip() for line in lines if line.startswith((b"data:", b"{"))]
    return [json.loads(text) for text in texts if text.startswith(b"{")]


class Sdk(SimpleNamespace):
    """An SDK's object: attributes, and `model_dump`."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return vars(self)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("thinking", ["", "Look it up."])
def test_a_stream_is_recorded_as_its_whole_answer_is(api: str, thinking: str) -> None:
    said = speech(thinking=thinking)
    whole = came_back(WHOLE[api](said), api)
    used, messages = came_back(chunks(api, said), api)
    assert used == 31
    assert [message.digest for message in messages] == [message.digest for message in whole[1]]
    assert [call for message in messages for call in message.calls]


@pytest.mark.parametrize("api", APIS)
def test_a_stream_may_be_objects_of_an_sdk_or_the_stream_itself(api: str) -> None:
    listed = chunks(api, speech())

    def stream() -> Iterator[Any]:
        yield from (Sdk(**chunk) for chunk in listed)

    assert came_back(stream(), api) == came_back(listed, api)


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_was_stopped_leaves_its_text_and_no_unfinished_call(api: str) -> None:
    events = chunks(api, speech(thinking="", pieces=1))
    said = next(number for number, event in enumerate(events) if "Page 3 is open." in json.dumps(event))
    whole_calls = api in ("gemini", "ollama")  # these send a call in one piece
    _, messages = came_back(events[: said + (1 if whole_calls else 2)], api)
    assert messages[0].text == "Page 3 is open."
    assert not any(message.calls for message in messages)


@pytest.mark.parametrize("api", APIS)
def test_an_assistants_message_and_its_text_join_the_conversation(api: str) -> None:
    session = brim.Session(model="gpt-4o", api=api, budget=4_000)
    session.say("Is berth 12 free?")
    session.record("Yes, it is.")
    session.say("Until when?")
    session.record(apis.text_message(api, "assistant", "Until noon.").value)
    assert [message.text for message in session.log] == [
        "Is berth 12 free?",
        "Yes, it is.",
        "Until when?",
        "Until noon.",
    ]
    assert [message.role for message in session.log] == ["user", "assistant"] * 2


def test_pieces_of_text_are_one_answer() -> None:
    assert [message.text for message in came_back(["All ", "right."], "anthropic")[1]] == ["All right."]


def test_the_output_list_of_the_responses_api_is_its_items() -> None:
    items = WHOLE["openai_responses"](speech())["output"]
    assert len(came_back(items, "openai_responses")[1]) == len(items) == 3


@pytest.mark.parametrize(
    ("api", "usage"),
    [
        ("openai_chat", {"prompt_tokens": 31, "completion_tokens": 2}),
        ("openai_responses", {"input_tokens": 31, "output_tokens": 2}),
        ("anthropic", {"input_tokens": 20, "cache_read_input_tokens": 11}),
        ("gemini", {"promptTokenCount": 31}),
    ],
)
def test_usage_alone_teaches_the_counter(api: str, usage: dict[str, int]) -> None:
    assert came_back(usage, api) == (31, [])


def test_an_async_stream_is_recorded() -> None:
    async def stream() -> AsyncIterator[Any]:
        for chunk in chunks("openai_chat", speech(calls=())):
            yield chunk

    session = brim.Session(model="gpt-4o", budget=4_000)
    session.say("Which page?")
    asyncio.run(session.arecord(stream()))
    assert session.log[-1].text == "Page 3 is open."


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (None, "must be a response or the chunks"),
        ("", "must be a response or the chunks"),
        (b"{}", "must be a response or the chunks"),
        (True, "must be a response or the chunks"),
        (-1, "not -1"),
        ([], "is empty"),
        ([1], r"response\[0\]: must be a chunk"),
        ({}, "holds no answer and no usage"),
        ({"id": "x", "object": "list"}, r"holds no answer and no usage \(it has id, object\)"),
        ({"role": "user", "content": "Hello"}, "in the role of 'user'.*`say`"),
        ({"role": "tool", "tool_call_id": "c", "content": "3"}, "in the role of 'tool'"),
        ({"error": {"message": "Rate limit reached"}}, "error of the provider .Rate limit reached"),
        ([{"choices": [{"delta": {"content": "Al"}}]}, {"error": {"message": "overloaded"}}], "overloaded"),
        (WHOLE["anthropic"](speech()), "speaks anthropic, and this session openai_chat.*api='anthropic'"),
        (chunks("openai_responses", speech()), "api='openai_responses'"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_recorded(response: Any, problem: str) -> None:
    session = brim.Session(model="gpt-4o", api="openai_chat", budget=4_000)
    session.say("Hello.")
    with pytest.raises(brim.BadInput, match=problem):
        session.record(response)
    assert len(session.log) == 1
