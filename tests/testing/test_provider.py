"""The fake provider: what users of `brim.testing` rely on."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any

import pytest

from brim import counting
from brim.testing import Call, Calls, Fail, FakeProvider, Overflow, Raw, Reset, Say

HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": HI,
    "/v1/responses": {"model": "gpt-4o", "input": "hi"},
    "/v1/messages": {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "/v1beta/models/gemini-2.5-pro:generateContent": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}


def ask(fake: FakeProvider, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(fake.url.removeprefix("http://"), timeout=20)
    try:
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body), headers or {})
        with connection.getresponse() as answer:
            return answer.status, answer.read()
    finally:
        connection.close()


@pytest.fixture
def fake() -> Any:
    with FakeProvider(window=4_000) as provider:
        yield provider


@pytest.mark.parametrize("path", BODIES)
def test_every_api_is_spoken_and_counted(fake: FakeProvider, path: str) -> None:
    fake.script(Say("hello there"))
    status, body = ask(fake, path, BODIES[path])
    assert status == 200
    assert b"hello there" in body
    api = {"/v1/messages": "anthropic", "/v1/responses": "openai_responses", "/v1/chat/completions": "openai_chat"}
    named = BODIES[path].get("model", "gemini-2.5-pro")
    expected = counting.count(BODIES[path], model=named, api=api.get(path, "gemini")).tokens
    usage = json.loads(body).get("usage") or json.loads(body)["usageMetadata"]
    told = [usage.get(key) for key in ("prompt_tokens", "input_tokens", "promptTokenCount") if key in usage]
    assert told == [expected]


WORDINGS = {
    "/v1/chat/completions": "maximum context length is 4000 tokens",
    "/v1/responses": "exceeds the context window of this model",
    "/v1/messages": "prompt is too long: ",
    "/v1beta/models/gemini-2.5-pro:generateContent": "exceeds the maximum number of tokens allowed (4000)",
}


@pytest.mark.parametrize("path", WORDINGS)
def test_a_prompt_above_the_window_is_refused_in_the_providers_words(fake: FakeProvider, path: str) -> None:
    long = json.loads(json.dumps(BODIES[path]).replace('"hi"', json.dumps("word " * 5_000)))
    status, body = ask(fake, path, long)
    assert status == 400
    assert WORDINGS[path] in json.loads(body)["error"]["message"]


def test_replies_come_in_the_order_of_the_script_and_then_the_default(fake: FakeProvider) -> None:
    fake.script(Say("one"), Fail(529, "busy"), Overflow(tokens=9, window=5, style="llama.cpp"), Call("f", {"x": 1}))
    answers = [ask(fake, "/v1/chat/completions", HI) for _ in range(5)]
    assert [status for status, _ in answers] == [200, 529, 400, 200, 200]
    assert json.loads(answers[2][1])["error"]["n_prompt_tokens"] == 9
    assert json.loads(answers[3][1])["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "f"
    assert b"All right." in answers[4][1]


@pytest.mark.parametrize("path", list(BODIES)[:3])
def test_streams_end_as_the_providers_do(fake: FakeProvider, path: str) -> None:
    ends = {"/v1/chat/completions": b"[DONE]", "/v1/messages": b"message_stop", "/v1/responses": b"response.completed"}
    fake.script(Calls((Call("f"), Call("g", {"y": 2})), text="two at once"))
    status, body = ask(fake, path, {**BODIES[path], "stream": True})
    assert status == 200
    assert ends[path] in body.rstrip().splitlines()[-1] + body.rstrip().splitlines()[-2]
    assert body.count(b'"name":"g"') >= 1


def test_a_prefix_that_was_seen_before_is_reported_as_cached(fake: FakeProvider) -> None:
    first = {"model": "gpt-4o", "messages": [{"role": "user", "content": "word " * 2_000}]}
    ask(fake, "/v1/chat/completions", first)
    longer = {**first, "messages": [*first["messages"], {"role": "assistant", "content": "ok"}, HI["messages"][0]]}
    _, body = ask(fake, "/v1/chat/completions", longer)
    assert json.loads(body)["usage"]["prompt_tokens_details"]["cached_tokens"] >= 1_920


@pytest.mark.parametrize("fault", [Reset(after=0), Reset(after=2), Reset(after=2, half=True)])
def test_a_reset_breaks_the_answer(fake: FakeProvider, fault: Reset) -> None:
    fake.script(Say("one two three four", pieces=4, fault=fault))
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        ask(fake, "/v1/chat/completions", {**HI, "stream": True})


def test_raw_bytes_and_requests_are_kept_as_they_are(fake: FakeProvider) -> None:
    fake.script(Raw((b"any", b"thing"), status=418, headers=(("x-a", "b"),)))
    status, body = ask(fake, "/v1/chat/completions?q=1", HI, {"x-mine": "yes"})
    assert (status, body) == (418, b"anything")
    seen = fake.posts[-1]
    assert (seen.path, seen.query, seen.headers["x-mine"], seen.json) == ("/v1/chat/completions", "q=1", "yes", HI)


def test_it_runs_inside_an_event_loop_too() -> None:
    async def run() -> int:
        async with FakeProvider() as provider:
            status, _ = await asyncio.to_thread(ask, provider, "/v1/chat/completions", HI)
            return status

    assert asyncio.run(run()) == 200


@pytest.mark.parametrize("body", ["[]", '"x"', "{", ""])
def test_nonsense_is_a_bad_request(fake: FakeProvider, body: str) -> None:
    assert ask(fake, "/v1/chat/completions", body.encode())[0] == 400
