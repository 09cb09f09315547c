"""Ollama's own chat: its requests are fitted into the window that they open, its lines of JSON pass and teach."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brim import apis
from brim.testing import Call, FakeProvider

from .conftest import Got, Running, Start, long_chat

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def ask(running: Running, messages: list[Any], **more: Any) -> Got:
    return running.ask("POST", "/api/chat", {"model": "qwen3:8b", "messages": messages, **more})


def lines(answer: Got) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.body.splitlines()]


def test_a_chat_that_fits_passes_byte_for_byte_and_its_lines_too(gateway: Running, fake: FakeProvider) -> None:
    answer = ask(gateway, [{"role": "user", "content": "hi"}])
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    said = lines(answer)
    assert "".join(line["message"]["content"] for line in said) == "All right."
    assert said[-1]["done"] is True
    assert fake.posts[-1].path == "/api/chat"
    assert fake.posts[-1].json["messages"] == [{"role": "user", "content": "hi"}]
    last = gateway.last
    assert last.outcome == "done"
    assert last.streamed
    assert last.usage.input == said[-1]["prompt_eval_count"] == last.after


@pytest.mark.parametrize("model", ["qwen3:8b", "nobody-knows-it:latest"])
def test_a_chat_is_fitted_into_the_window_that_it_opens(gateway: Running, fake: FakeProvider, model: str) -> None:
    options = {"num_ctx": 4_096, "num_predict": 512, "temperature": 0}
    answer = ask(gateway, long_chat(30), options=options, stream=False, model=model)
    assert answer.status == 200
    assert answer.number("tokens-before") > 4_096
    sent = fake.posts[-1].json
    assert sent["options"] == options
    assert len(sent["messages"]) < len(long_chat(30))
    assert sent["messages"][-1] == long_chat(30)[-1]
    assert answer.json["prompt_eval_count"] + 512 <= 4_096
    assert gateway.last.usage.input == answer.json["prompt_eval_count"]


def test_tools_thoughts_and_images_stay_as_ollama_wants_them(gateway: Running, fake: FakeProvider) -> None:
    call = {"function": {"name": "look", "arguments": {"path": "a.txt", "depth": 2}}}
    messages = [
        {"role": "system", "content": "You look."},
        {"role": "user", "content": "What is this?", "images": [PNG]},
        {"role": "assistant", "content": "", "thinking": "I should look.", "tool_calls": [call]},
        {"role": "tool", "tool_name": "look", "content": "x" * 200},
        *long_chat(20)[1:],
    ]
    answer = ask(gateway, messages, options={"num_ctx": 5_000}, stream=False)
    assert answer.status == 200
    sent = fake.posts[-1].json["messages"]
    assert sent[0] == messages[0]
    for message in sent:
        assert set(message) <= {"role", "content", "images", "thinking", "tool_calls", "tool_name"}
        assert isinstance(message["content"], str)
        assert all(isinstance(image, str) for image in message.get("images", ()))
        assert all(isinstance(one["function"]["arguments"], dict) for one in message.get("tool_calls", ()))
    calls = [one for message in sent for one in message.get("tool_calls", ())]
    assert len(calls) == sum(message["role"] == "tool" for message in sent)


def test_a_call_of_a_tool_comes_back_as_it_was_said(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Call("look", {"path": "a"}))
    said = lines(ask(gateway, [{"role": "user", "content": "look"}]))
    assert {"function": {"name": "look", "arguments": {"path": "a"}}} in said[-2]["message"]["tool_calls"]


def test_what_cannot_be_fitted_is_refused_in_ollamas_shape(gateway: Running, fake: FakeProvider) -> None:
    answer = ask(gateway, [{"role": "user", "content": "word " * 9_000}], options={"num_ctx": 20})
    assert answer.status == 400
    assert "exceeds the context length" in answer.json["error"]
    assert fake.posts == []


@pytest.mark.parametrize("recall", ["auto", "tool", "off"])
def test_every_way_of_recall_serves_it(start: Start, fake: FakeProvider, recall: str) -> None:
    running = start(gateway={"recall": recall})
    for _ in range(2):
        assert ask(running, long_chat(30), options={"num_ctx": 4_096}).status == 200
    assert all("brim_recall" not in str(seen.json.get("tools")) for seen in fake.posts)


def test_an_ollama_upstream_serves_its_own_api_and_openais(start: Start, fake: FakeProvider) -> None:
    running = start(own=True, upstreams={"local": {"base_url": f"{fake.url}/v1", "api": "ollama"}})
    assert ask(running, [{"role": "user", "content": "hi"}]).status == 200
    assert fake.posts[-1].path == "/api/chat"
    assert running.chat({"messages": [{"role": "user", "content": "hi"}]}).status == 200
    assert fake.posts[-1].path == "/v1/chat/completions"
    running.ask("GET", "/api/tags")
    assert any(seen.path == "/api/tags" for seen in fake.requests)


def test_a_body_of_ollamas_is_read_and_written_as_it_was() -> None:
    body = json.dumps(
        {
            "model": "qwen3",
            "messages": [
                {"role": "user", "content": "a", "images": [PNG]},
                {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
                {"role": "tool", "content": "1", "tool_name": "f"},
            ],
            "keep_alive": "5m",
            "options": {"num_ctx": 2_048, "num_predict": -1},
        }
    ).encode()
    found = apis.parse(body)
    assert found.api == "ollama"
    assert (found.window, found.max_output) == (2_048, None)
    assert apis.render(found, body) == body
