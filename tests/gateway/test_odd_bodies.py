"""Bodies that are nested without end, and errors of upstreams that are larger than anyone expects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brim.testing import FakeProvider, Raw

from .conftest import Running, Start, long_chat

PLACES = {
    "a field": '{"model":"gpt-4o","metadata":%s,"messages":[{"role":"user","content":"hi"}]}',
    "the model": '{"model":%s,"messages":[{"role":"user","content":"hi"}]}',
    "the list": '{"model":"gpt-4o","messages":%s}',
    "a message": '{"model":"gpt-4o","messages":[{"role":"user","content":"hi","more":%s}]}',
    "a content": '{"model":"gpt-4o","messages":[{"role":"user","content":%s}]}',
    "a schema": '{"model":"gpt-4o","tools":[{"type":"function","function":{"name":"f","parameters":%s}}],'
    '"messages":[{"role":"user","content":"hi"}]}',
    "the body": "%s",
}


def nested(depth: int, kind: str) -> str:
    return "[" * depth + "]" * depth if kind == "list" else '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize("fail", ["open", "closed"])
@pytest.mark.parametrize("kind", ["list", "object"])
@pytest.mark.parametrize("place", PLACES)
def test_json_without_end_is_refused_wherever_it_stands(
    start: Start, fake: FakeProvider, place: str, kind: str, fail: str
) -> None:
    running = start(gateway={"fail": fail})
    for depth in (1_200, 50_000):
        body = (PLACES[place] % nested(depth, kind)).encode()
        answer = running.ask("POST", "/v1/chat/completions", body)
        assert answer.status == 400
        assert "levels deep" in answer.json["error"]["message"]
        assert answer.json["error"]["code"] == "nested_too_deep"
    assert fake.posts == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", '{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":%s}]}'),
        ("/v1/responses", '{"model":"gpt-4o","input":[%s]}'),
        ("/v1beta/models/gemini-2.5-pro:generateContent", '{"contents":[{"role":"user","parts":%s}]}'),
    ],
)
def test_every_api_refuses_it_in_its_own_shape(gateway: Running, fake: FakeProvider, path: str, body: str) -> None:
    answer = gateway.ask("POST", path, (body % nested(60, "list")).encode())
    assert answer.status == 400
    message = answer.json["error"]["message"]
    assert "levels deep" in message
    assert len(message) < 120
    assert fake.posts == []


@pytest.mark.parametrize("given", [{"recall": "tool"}, {"clear_tool_uses": ["*"]}])
def test_no_option_of_the_gateway_stumbles_over_it(start: Start, given: dict[str, Any]) -> None:
    running = start(gateway=given)
    body = (PLACES["a field"] % nested(3_000, "list")).encode()
    assert running.ask("POST", "/v1/chat/completions", body).status == 400
    bypass = running.ask("POST", "/v1/chat/completions", body, {"x-brim-bypass": "1"})
    assert bypass.headers["x-brim-ms"]


@pytest.mark.parametrize("kind", ["list", "object"])
def test_what_is_nested_inside_a_text_is_text(gateway: Running, fake: FakeProvider, kind: str) -> None:
    text = nested(20_000, kind)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
        {"role": "user", "content": "and now?"},
    ]
    assert gateway.chat({"messages": messages}).status == 200
    assert fake.posts[-1].json["messages"] == messages
    assert gateway.chat({"messages": messages}, x_brim_budget="900").status == 200
    assert "nested" not in str(gateway.last.note)


@pytest.mark.parametrize("size", [10, 65_536, 65_537, 1_048_577, 5_000_000])
@pytest.mark.parametrize("status", [400, 413, 429, 500, 529])
def test_an_error_of_any_size_passes_with_its_status(
    gateway: Running, fake: FakeProvider, size: int, status: int
) -> None:
    body = b'{"error":{"message":"' + b"x" * size + b'"}}'
    pieces = tuple(body[at : at + 100_000] for at in range(0, len(body), 100_000))
    fake.script(Raw(pieces, status=status))
    answer = gateway.chat({"messages": [{"role": "user", "content": "hi"}]})
    assert answer.status == status
    assert answer.body == body


def test_a_large_error_that_tells_of_an_overflow_is_still_understood(gateway: Running, fake: FakeProvider) -> None:
    said = b'{"error":{"message":"prompt is too long: 9000 tokens > 6000 maximum"},"prompt":"' + b"y" * 300_000 + b'"}'
    fake.script(Raw((said,), status=400))
    answer = gateway.chat({"messages": long_chat(20)})
    assert answer.status == 200
    assert len(fake.posts) == 2
    assert len(fake.posts[1].body) < len(fake.posts[0].body)


def test_an_overflow_that_cannot_be_refitted_is_handed_on_whole(gateway: Running, fake: FakeProvider) -> None:
    said = b'{"error":{"message":"prompt is too long: 9000 tokens > 3 maximum"},"prompt":"' + b"y" * 300_000 + b'"}'
    fake.script(Raw((said,), status=400))
    answer = gateway.chat({"messages": [{"role": "user", "content": "hi " * 30}]})
    assert answer.status == 400
    assert json.loads(answer.body) == json.loads(said)
