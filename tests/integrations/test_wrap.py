"""`brim.wrap` without the SDKs: clients built as theirs are. tests/real/wrapped_sdks.py has the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import brim
from brim.testing import FakeProvider

BUDGET = 2_000


class Omit:
    """What the SDKs put where nothing was given."""


@dataclass
class Options:
    url: str
    json_data: Any
    method: str = "post"


class Stream:
    def __init__(self, events: list[Any]) -> None:
        self._iterator = (event for event in events)

    def __iter__(self) -> Any:
        return self._iterator


def usage(tokens: int) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}}


@dataclass
class Client:
    """As openai.OpenAI is made: every call goes through `request`."""

    base_url: str = "http://127.0.0.1/v1"
    sent: list[Any] = field(default_factory=list)
    answer: Callable[[], Any] = lambda: usage(20)

    def request(self, cast_to: Any, options: Options, *, stream: bool = False) -> Any:
        self.sent.append(options.json_data)
        return self.answer()

    def copy(self, **changes: Any) -> Client:
        return type(self)(**{"base_url": self.base_url, "sent": self.sent, **changes})

    with_options = copy


class AsyncClient(Client):
    async def request(self, cast_to: Any, options: Options, *, stream: bool = False) -> Any:  # type: ignore[override]
        return super().request(cast_to, options, stream=stream)


Client.__module__ = AsyncClient.__module__ = "openai._client"


def long_chat(turns: int) -> list[dict[str, str]]:
    rows = "\n".join(f"berth {n}: {n * 7919 % 1013} cm free" for n in range(60))
    return [{"role": ("user", "assistant")[n % 2], "content": f"Turn {n}\n{rows}"} for n in range(2 * turns - 1)]


def ask(client: Any, messages: Any, path: str = "/chat/completions", **more: Any) -> Any:
    return client.request(dict, Options(path, {"model": "gpt-4o", "messages": messages, **more}))


def size(body: Any) -> int:
    return brim.count(body["messages"], model="gpt-4o").tokens


def test_a_long_request_is_fitted_and_the_callers_stays_as_it_was() -> None:
    client, messages = brim.wrap(Client(), budget=BUDGET), long_chat(9)
    before = [dict(message) for message in messages]
    ask(client, messages)
    assert size({"messages": messages}) > BUDGET >= size(client.sent[0])
    assert messages == before
    assert client.sent[0]["messages"][-1] == messages[-1]


def test_the_client_is_the_same_object_of_its_own_class() -> None:
    client = Client()
    assert brim.wrap(client) is client
    assert isinstance(client, Client)


def test_what_fits_is_sent_as_the_very_object_that_was_given() -> None:
    client = brim.wrap(Client())
    options = Options("/chat/completions", {"model": "gpt-4o", "messages": long_chat(1)})
    client.request(dict, options)
    assert client.sent[0] is options.json_data


def test_what_was_not_given_is_left_out_as_the_sdk_leaves_it_out() -> None:
    client = brim.wrap(Client(), budget=BUDGET)
    ask(client, long_chat(9), temperature=Omit())
    assert "temperature" not in client.sent[0]


def test_other_paths_are_sent_as_they_are() -> None:
    client = brim.wrap(Client(), budget=BUDGET)
    messages = long_chat(9)
    ask(client, messages, "/embeddings")
    assert client.sent[0]["messages"] is messages


def test_copies_of_a_wrapped_client_go_on_with_its_conversations() -> None:
    client = brim.wrap(Client(), budget=BUDGET)
    ask(client, long_chat(9))
    ask(client.with_options(), long_chat(9))
    assert client.sent[0] == client.sent[1]
    assert size(client.sent[1]) <= BUDGET


def test_prefixes_stay_as_they_were_sent_and_conversations_apart() -> None:
    client = brim.wrap(Client(), budget=8_000)
    stable = 0
    last: dict[str, list[Any]] = {"Ada": [], "Ben": []}
    for turns in range(3, 14):
        for name, before in last.items():
            first, *rest = long_chat(turns)
            ask(client, [{**first, "content": f"{name} asks. {first['content']}"}, *rest])
            now = client.sent[-1]["messages"]
            assert f"{name} asks." in str(now)
            stable += now[: len(before)] == before
            last[name] = now
    assert stable >= 14  # of 22; the others are compactions


@pytest.mark.parametrize("streamed", [False, True])
def test_usage_teaches(streamed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(brim.Counter, "record", lambda self, sent, tokens: seen.append(tokens))
    events = [{"choices": []}, usage(23), usage(23)]
    client = brim.wrap(Client(answer=lambda: Stream(events) if streamed else usage(23)))
    answer = ask(client, long_chat(1))
    assert list(answer) == (events if streamed else ["usage"])
    assert seen == [23]


def test_an_async_client_is_fitted_off_the_event_loop() -> None:
    client = brim.wrap(AsyncClient(), budget=BUDGET)
    assert asyncio.run(ask(client, long_chat(9))) == usage(20)
    assert size(client.sent[0]) <= BUDGET


def test_what_cannot_fit_is_refused_and_not_sent() -> None:
    client = brim.wrap(Client(), budget=BUDGET)
    with pytest.raises(brim.BudgetTooSmall):
        ask(client, [{"role": "system", "content": "Be exact. " * 3_000}, {"role": "user", "content": "Hi"}])
    assert client.sent == []


def test_a_name_that_only_the_provider_knows_goes_by_the_given_model() -> None:
    client = brim.wrap(Client(), model="gpt-4o", budget=BUDGET)
    client.request(dict, Options("/chat/completions", {"model": "our-deployment", "messages": long_chat(9)}))
    assert client.sent[0]["model"] == "our-deployment"
    assert size(client.sent[0]) <= BUDGET


def test_wrapping_again_takes_the_new_settings() -> None:
    client = brim.wrap(brim.wrap(Client(), budget=4_000), budget=BUDGET)
    ask(client, long_chat(9))
    assert size(client.sent[0]) <= BUDGET


@pytest.mark.parametrize("thing", [object(), FakeProvider, "openai"])
def test_what_is_no_client_is_refused_by_name(thing: Any) -> None:
    with pytest.raises(brim.BadInput, match="is no client of"):
        brim.wrap(thing)


def test_a_recall_tool_is_refused_since_nobody_would_answer_it() -> None:
    with pytest.raises(brim.BadInput, match="recall"):
        brim.wrap(Client(), recall="tool")
