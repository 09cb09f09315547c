"""What passes through: bytes, streams, headers, errors."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from brim.testing import Fail, FakeProvider, Raw, Say
from brim.tokens.counter import Counter

from .conftest import Running, Start

BODIES = {
    "/v1/chat/completions": {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "x-unknown": [1]},
    "/v1/responses": {"model": "gpt-4o", "input": "hi", "unknown_field": {"kept": True}},
    "/v1/messages": {
        "model": "claude-sonnet-4-5",
        "max_tokens": 64,
        "system": [{"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "hi"}],
    },
    "/v1beta/models/gemini-2.5-pro:generateContent": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}


@pytest.mark.parametrize("path", BODIES)
def test_a_request_that_fits_is_forwarded_byte_for_byte(gateway: Running, fake: FakeProvider, path: str) -> None:
    body = json.dumps(BODIES[path], indent=3).encode() + b"\n "
    answer = gateway.ask("POST", path, body, {"x-custom": "kept"})
    seen = fake.posts[-1]
    assert answer.status == 200
    assert seen.body == body
    assert seen.headers["x-custom"] == "kept"
    assert answer.number("tokens-before") == answer.number("tokens-after") > 0


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_a_stream_arrives_as_the_provider_wrote_it(gateway: Running, fake: FakeProvider, path: str) -> None:
    fake.script(Say("one two three four five", pieces=5), Say("one two three four five", pieces=5))
    body = {**BODIES[path], "stream": True}
    through = gateway.ask("POST", path, body)
    number = int(fake.url.rpartition(":")[2])
    direct = Running(gateway.gateway, f"http://127.0.0.1:{number}", gateway.call).ask("POST", path, body)
    assert through.headers["content-type"].startswith("text/event-stream")
    assert through.body.replace(b"00000001", b"N") == direct.body.replace(b"00000002", b"N")


def test_odd_pieces_of_a_stream_are_not_put_together_otherwise(gateway: Running, fake: FakeProvider) -> None:
    pieces = (b'data: {"a"', b": 1}\n", b"\n: ping\n\n", b"data: [DONE]\n\n")
    fake.script(Raw(pieces, headers=(("content-type", "text/event-stream"),)))
    answer = gateway.chat({"messages": [{"role": "user", "content": "hi"}], "stream": True})
    assert answer.body == b"".join(pieces)


def test_other_routes_pass_through_untouched(gateway: Running, fake: FakeProvider) -> None:
    answer = gateway.ask("POST", "/v1/embeddings", {"model": "text-embedding-3-small", "input": "hi"})
    assert answer.status == 200
    assert fake.posts[-1].json == {"model": "text-embedding-3-small", "input": "hi"}
    counted = gateway.ask("POST", "/v1/messages/count_tokens", BODIES["/v1/messages"])
    assert counted.json["input_tokens"] > 0
    assert gateway.ask("GET", "/v1/files/abc?limit=2").status == 404
    assert (fake.requests[-1].path, fake.requests[-1].query) == ("/v1/files/abc", "limit=2")


def test_models_are_listed_without_a_redirect(gateway: Running) -> None:
    assert gateway.ask("GET", "/v1/models").json["data"][0]["id"] == "gpt-4o"
    assert (
        gateway.ask("GET", "/v1/models", None, {"anthropic-version": "2023-06-01"}).json["data"][0]["type"] == "model"
    )


def test_head_on_the_root_answers(gateway: Running) -> None:
    assert gateway.ask("HEAD", "/").status == 200
    assert gateway.ask("GET", "/", None, {"accept": "text/html"}).headers["location"] == "/brim/"


def test_an_error_of_the_provider_arrives_as_it_is(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Fail(429, "slow down", headers=(("retry-after", "7"), ("x-ratelimit-remaining-tokens", "0"))))
    answer = gateway.chat({"messages": [{"role": "user", "content": "hi"}]})
    assert answer.status == 429
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-ratelimit-remaining-tokens"] == "0"
    assert answer.json["error"]["message"] == "slow down"


def test_betas_and_client_keys_are_forwarded_and_hop_headers_are_not(gateway: Running, fake: FakeProvider) -> None:
    headers = {
        "anthropic-beta": "context-1m-2025-08-07,made-up-beta",
        "x-api-key": "sk-ant-client-key-0001",
        "connection": "keep-alive, x-secret-hop",
        "x-secret-hop": "1",
        "cookie": "a=b",
        "x-brim-session": "abc",
    }
    gateway.ask("POST", "/v1/messages", BODIES["/v1/messages"], headers)
    seen = fake.posts[-1].headers
    assert seen["anthropic-beta"] == "context-1m-2025-08-07,made-up-beta"
    assert seen["x-api-key"] == "sk-ant-client-key-0001"
    assert not {"x-secret-hop", "cookie", "x-brim-session"} & set(seen)


def test_a_configured_key_replaces_the_clients(start: Start, fake: FakeProvider) -> None:
    upstreams = {"mine": {"base_url": f"{fake.url}/v1", "key_env": "MY_KEY"}}
    running = start({"MY_KEY": "provider-key-42"}, own=True, upstreams=upstreams)
    answer = running.ask(
        "POST", "/v1/chat/completions", BODIES["/v1/chat/completions"], {"authorization": "Bearer client"}
    )
    assert answer.status == 200
    assert fake.posts[-1].path == "/v1/chat/completions"
    assert fake.posts[-1].headers["authorization"] == "Bearer provider-key-42"


def test_upstreams_are_chosen_by_model_and_by_name_and_never_by_address(start: Start, fake: FakeProvider) -> None:
    upstreams = {
        "dead": {"base_url": "http://127.0.0.1:9/v1", "models": ["dead-*"]},
        "groq": {"base_url": f"{fake.url}/openai/v1", "models": ["llama-*"]},
        "rest": {"base_url": f"{fake.url}/v1", "only": True},
    }
    running = start(own=True, upstreams=upstreams)
    body = {"messages": [{"role": "user", "content": "hi"}]}
    assert running.chat({**body, "model": "llama-3.3-70b"}).status == 200
    assert fake.posts[-1].path == "/openai/v1/chat/completions"
    assert running.chat({**body, "model": "gpt-4o"}).status == 200
    assert fake.posts[-1].path == "/v1/chat/completions"
    named = running.ask("POST", "/up/groq/v1/chat/completions", {**body, "model": "any"})
    assert named.status == 200
    assert fake.posts[-1].path == "/openai/v1/chat/completions"
    assert running.chat({**body, "model": "dead-1"}).status == 502
    assert running.ask("POST", "/up/other/v1/chat/completions", body).json["error"]["code"] == "unknown_upstream"
    answer = running.ask("POST", "/v1/messages", BODIES["/v1/messages"])
    assert (answer.status, answer.json["error"]["type"]) == (404, "not_found_error")


def test_a_client_that_keeps_its_connection_is_served_on_it_again(gateway: Running, fake: FakeProvider) -> None:
    one = b'{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}'
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n" % len(one)
    answer = gateway.raw(head + b"\r\n" + one + head + b"connection: close\r\n\r\n" + one)
    assert answer.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1/projects/p-1/locations/eu/publishers/google/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro"),
        ("/openai/deployments/gpt-4o/chat/completions", "gpt-4o"),
    ],
)
def test_requests_behind_projects_and_deployments_are_fitted_too(gateway: Running, path: str, model: str) -> None:
    body = BODIES["/v1/chat/completions" if "openai" in path else "/v1beta/models/gemini-2.5-pro:generateContent"]
    answer = gateway.ask("POST", path, {key: value for key, value in body.items() if key != "model"})
    assert answer.number("tokens-before") > 0
    assert gateway.last.model == model


def test_a_body_in_chunks_is_put_together(gateway: Running, fake: FakeProvider) -> None:
    body = json.dumps(BODIES["/v1/chat/completions"]).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    head += b"transfer-encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(body[at : at + 7]), body[at : at + 7]) for at in range(0, len(body), 7))
    assert b"200 OK" in gateway.raw(head + chunks + b"0\r\n\r\n")
    assert fake.posts[-1].body == body


def test_a_tokenizer_is_loaded_beside_the_loop(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    running, threads, total = start(), [], Counter.total

    def counted(self: Counter, conversation: Any) -> int:
        threads.append(threading.current_thread().name)
        return total(self, conversation)

    monkeypatch.setattr(Counter, "total", counted)
    running.chat({"messages": [{"role": "user", "content": "Hi."}]})
    assert threads[0].startswith("brim-fit")
    threads.clear()
    running.chat({"messages": [{"role": "user", "content": "Hi."}]})
    assert not any(name.startswith("brim-fit") for name in threads)
