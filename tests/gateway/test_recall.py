"""Recall by the tool: offered always, answered inside, not seen by the client."""

from __future__ import annotations

from typing import Any

import pytest

from brim.content import handle_of
from brim.testing import Call, Calls, FakeProvider, Raw, Say

from .conftest import Got, Running, Start, long_chat

PATHS = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/gemini-2.5-pro"]


def body_for(path: str, stream: bool) -> tuple[str, dict[str, Any]]:
    chat = long_chat(30, 280)
    if path == "/v1/messages":
        body: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": chat[1:]}
    elif path == "/v1/responses":
        body = {"model": "gpt-4o", "input": chat[1:]}
    elif "gemini" in path:
        roles = {"user": "user", "assistant": "model"}
        listed = [{"role": roles[one["role"]], "parts": [{"text": one["content"]}]} for one in chat[1:]]
        action = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"{path}:{action}", {"contents": listed}
    else:
        body = {"model": "gpt-4o", "messages": chat}
    return path, {**body, "stream": True, "stream_options": {"include_usage": True}} if stream else body


def said(answer: Got, path: str, stream: bool) -> str:
    """All the text that a client takes from an answer."""
    found = answer.events if stream else [answer.json]
    texts = []
    for one in found:
        if "choices" in one:
            texts += [(c.get("delta") or c.get("message") or {}).get("content") or "" for c in one["choices"]]
        elif "candidates" in one:
            texts += [part.get("text", "") for part in one["candidates"][0]["content"]["parts"]]
        elif one.get("type") == "content_block_delta":
            texts.append(one["delta"].get("text", ""))
        elif one.get("type") == "response.output_text.delta":
            texts.append(one["delta"])
        elif not stream and "content" in one:
            texts += [block.get("text", "") for block in one["content"]]
        elif not stream and "output" in one:
            texts += [part["text"] for item in one["output"] if item["type"] == "message" for part in item["content"]]
    return "".join(texts)


def tools_of(sent: dict[str, Any]) -> str:
    return str(sent["tools"])


@pytest.fixture
def recalling(start: Start) -> Running:
    return start(gateway={"recall": "tool"})


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", PATHS)
def test_a_recall_is_answered_inside_and_the_client_sees_only_what_is_said(
    recalling: Running, fake: FakeProvider, path: str, stream: bool
) -> None:
    fake.script(Call("brim_recall", {"query": "Question 3"}, text="Let me look. "), Say("It said item three."))
    where, body = body_for(path, stream)
    answer = recalling.ask("POST", where, body, {"x-brim-budget": "6000"})
    first, second = [seen.json for seen in fake.posts]
    assert answer.status == 200
    assert b"brim_recall" not in answer.body
    assert said(answer, path, stream) == "Let me look. It said item three."
    assert "brim_recall" in tools_of(first)
    assert tools_of(first) == tools_of(second)
    assert "itemq3" in str(second)[len(str(first)) - 2_000 :]
    turn = recalling.last
    assert (turn.recalls, turn.outcome) == (1, "done")
    assert turn.usage.input <= turn.upper


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", PATHS)
def test_calls_of_the_clients_own_tools_reach_it(
    recalling: Running, fake: FakeProvider, path: str, stream: bool
) -> None:
    fake.script(
        Calls((Call("brim_recall", {"query": "Question 3"}), Call("get_weather", {"n": 71})), text="Hm. "),
        Call("get_weather", {"n": 42}),
    )
    where, body = body_for(path, stream)
    answer = recalling.ask("POST", where, body, {"x-brim-budget": "6000"})
    assert b"brim_recall" not in answer.body
    assert b"get_weather" in answer.body
    assert b'"n":71' not in answer.body.replace(b"\\", b"")
    assert b'"n":42' in answer.body.replace(b"\\", b"")


@pytest.mark.parametrize("path", PATHS)
def test_the_tool_is_offered_when_nothing_was_archived_too(recalling: Running, fake: FakeProvider, path: str) -> None:
    where, body = body_for(path, False)
    recalling.ask("POST", where, body)
    assert "brim_recall" in tools_of(fake.posts[-1].json)


def test_the_clients_tools_come_first_and_stay_as_they_are(recalling: Running, fake: FakeProvider) -> None:
    tool = {"type": "function", "function": {"name": "x", "parameters": {"type": "object", "properties": {}}}}
    recalling.chat({"messages": [{"role": "user", "content": "hi"}], "tools": [tool]})
    sent = fake.posts[-1].json["tools"]
    assert sent[0] == tool
    assert [one["function"]["name"] for one in sent] == ["x", "brim_recall", "brim_query"]


def test_events_of_a_spliced_anthropic_stream_are_numbered_on(recalling: Running, fake: FakeProvider) -> None:
    fake.script(Call("brim_recall", {"query": "item"}, text="One. "), Say("Two.", thinking="hm"))
    where, body = body_for("/v1/messages", True)
    answer = recalling.ask("POST", where, body, {"x-brim-budget": "6000"})
    kinds = [event["type"] for event in answer.events]
    starts = [event["index"] for event in answer.events if event["type"] == "content_block_start"]
    assert kinds.count("message_start") == kinds.count("message_stop") == kinds.count("message_delta") == 1
    assert starts == [0, 1, 2]
    sent = fake.posts[-1].json["messages"]
    assert [message["role"] for message in sent[-2:]] == ["assistant", "user"]


def test_events_of_a_spliced_responses_stream_are_numbered_on(recalling: Running, fake: FakeProvider) -> None:
    fake.script(Call("brim_recall", {"query": "item"}, text="One. "), Say("Two."))
    where, body = body_for("/v1/responses", True)
    events = recalling.ask("POST", where, body, {"x-brim-budget": "6000"}).events
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["message", "message"]
    assert sorted({event["output_index"] for event in events if "output_index" in event}) == [0, 1]


def test_chat_chunks_of_later_rounds_keep_the_first_id_and_do_not_repeat_the_role(
    recalling: Running, fake: FakeProvider
) -> None:
    fake.script(Call("brim_recall", {"query": "item"}, text="One. "), Say("Two."))
    where, body = body_for("/v1/chat/completions", True)
    answer = recalling.ask("POST", where, body, {"x-brim-budget": "6000"})
    assert len({event["id"] for event in answer.events}) == 1
    roles = [choice["delta"].get("role") for event in answer.events for choice in event["choices"]]
    assert [role for role in roles if role] == ["assistant"]
    assert answer.body.count(b"[DONE]") == 1


def test_a_model_that_only_recalls_is_stopped(recalling: Running, fake: FakeProvider) -> None:
    fake.default = Call("brim_recall", {"query": "item"})
    where, body = body_for("/v1/chat/completions", False)
    answer = recalling.ask("POST", where, body)
    assert answer.status == 502
    assert answer.json["error"]["code"] == "recall_loop"


def test_what_is_recalled_never_overflows_the_window(start: Start, fake: FakeProvider) -> None:
    fake.window = 6_000
    running = start(
        gateway={"recall": "tool"}, models={"small": {"window": 6_000, "max_output": 500, "family": "o200k"}}
    )
    fake.script(*[Call("brim_recall", {"query": "item"})] * 3, Say("done"))
    answer = running.chat({"model": "small", "messages": long_chat(40), "max_tokens": 500})
    assert answer.status == 200
    assert answer.json["choices"][0]["message"]["content"] == "done"


@pytest.mark.parametrize("mode", ["auto", "off"])
def test_without_the_tool_mode_no_tool_is_offered(start: Start, fake: FakeProvider, mode: str) -> None:
    running = start(gateway={"recall": mode})
    running.chat({"messages": long_chat(30)}, x_brim_budget="6000")
    assert "tools" not in fake.posts[-1].json


def test_a_handle_brings_its_content_back(start: Start, fake: FakeProvider) -> None:
    recalling = start(gateway={"recall": "tool", "log_content": True})
    where, body = body_for("/v1/chat/completions", False)
    recalling.ask("POST", where, body, {"x-brim-budget": "6000", "x-brim-session": "s1"})
    session = recalling.get("/brim/v1/sessions")["sessions"][0]["id"]
    handle = recalling.get(f"/brim/v1/sessions/{session}")["archive"][0]["handle"]
    text = recalling.get(f"/brim/v1/sessions/{session}/archive/{handle}")["text"]
    assert handle_of(text) == handle
    fake.script(Call("brim_recall", {"handle": handle}), Say("done"))
    recalling.ask("POST", where, body, {"x-brim-budget": "6000", "x-brim-session": "s1"})
    assert fake.posts[-1].json["messages"][-1]["content"][:40] in text


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", PATHS)
def test_a_query_is_answered_inside_with_nothing_but_its_answer(
    start: Start, fake: FakeProvider, path: str, stream: bool
) -> None:
    recalling = start(gateway={"recall": "tool", "log_content": True})
    where, body = body_for(path, stream)
    budget = {"x-brim-budget": "6000", "x-brim-session": "s1"}
    recalling.ask("POST", where, body, budget)
    session = recalling.get("/brim/v1/sessions")["sessions"][0]["id"]
    handle = recalling.get(f"/brim/v1/sessions/{session}")["archive"][0]["handle"]
    text = recalling.get(f"/brim/v1/sessions/{session}/archive/{handle}")["text"]
    fake.script(
        Call("brim_query", {"handle": handle, "expression": "count"}),
        Call("brim_query", {"handle": handle, "expression": "lines 9-3"}),
        Say("Counted."),
    )
    answer = recalling.ask("POST", where, body, budget)
    assert said(answer, path, stream).endswith("Counted.")
    assert b"brim_query" not in answer.body
    *_, second, third = [str(seen.json) for seen in fake.posts]
    assert f" {len(text):,} characters" in second
    assert "they count from 1" in third


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
@pytest.mark.parametrize(
    "told",
    [
        b'{"choices":[1]}',
        b'{"choices":[{"message":[]}],"content":["x"],"output":[3]}',
        b"[]",
        b'{"content":7}',
        b"nonsense",
    ],
)
def test_an_answer_of_no_known_shape_is_handed_on_as_it_is(
    recalling: Running, fake: FakeProvider, path: str, told: bytes
) -> None:
    where, body = body_for(path, False)
    fake.script(Raw((told,)))
    answer = recalling.ask("POST", where, body)
    assert (answer.status, answer.body) == (200, told)


@pytest.mark.parametrize("data", [b'{"choices":{"a":1}}', b'{"type":[],"index":"x"}', b'{"type":"response.completed"}'])
def test_events_of_no_known_shape_reach_the_client(recalling: Running, fake: FakeProvider, data: bytes) -> None:
    for path in ("/v1/chat/completions", "/v1/messages", "/v1/responses"):
        where, body = body_for(path, True)
        fake.script(Raw((b"data: " + data + b"\n\n",), headers=(("content-type", "text/event-stream"),)))
        answer = recalling.ask("POST", where, body)
        assert answer.status == 200
        assert data in answer.body


def test_the_tool_is_offered_beside_tools_that_only_speak_of_it(recalling: Running, fake: FakeProvider) -> None:
    spoken = 'Like {"name": "brim_recall"}: never call brim_recall.'
    theirs = {"type": "function", "function": {"name": "notes", "description": spoken, "parameters": {}}}
    recalling.chat({"messages": [{"role": "user", "content": "hi"}], "tools": [theirs]})
    names = [tool["function"]["name"] for tool in fake.posts[-1].json["tools"]]
    assert names == ["notes", "brim_recall", "brim_query"]
    own = {"type": "function", "function": {"name": "brim_recall", "parameters": {}}}
    recalling.chat({"messages": [{"role": "user", "content": "hi"}], "tools": [own]})
    assert len(fake.posts[-1].json["tools"]) == 1
