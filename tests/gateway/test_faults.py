"""Limits and faults: nothing hangs, nothing is answered 200 with a broken body, nothing takes the gateway down."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import time
import zlib

import brotli
import pytest

from brim import zstd
from brim.gateway.fitting import fitter
from brim.gateway.proxy.faults import Refused
from brim.gateway.server import bodies
from brim.testing import Fail, FakeProvider, Hang, Raw, Reset, Say

from .conftest import Running, Start, long_chat

HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
PACKERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("packing", PACKERS)
def test_a_packed_body_that_fits_is_forwarded_as_it_came(gateway: Running, fake: FakeProvider, packing: str) -> None:
    packed = PACKERS[packing](json.dumps(HI).encode())
    fake.script(Raw((b'{"usage":{"prompt_tokens":8}}',)))
    answer = gateway.ask("POST", "/v1/chat/completions", packed, {"content-encoding": packing})
    assert answer.status == 200
    assert fake.posts[-1].body == packed
    assert fake.posts[-1].headers["content-encoding"] == packing
    assert answer.number("tokens-before") == 8


@pytest.mark.parametrize("packing", PACKERS)
def test_a_packed_body_that_does_not_fit_is_sent_fitted_and_unpacked(
    gateway: Running, fake: FakeProvider, packing: str
) -> None:
    packed = PACKERS[packing](json.dumps({"model": "gpt-4o", "messages": long_chat(30)}).encode())
    headers = {"content-encoding": packing, "x-brim-budget": "5000"}
    assert gateway.ask("POST", "/v1/chat/completions", packed, headers).status == 200
    assert "content-encoding" not in fake.posts[-1].headers
    assert fake.posts[-1].json["model"] == "gpt-4o"


@pytest.mark.parametrize("packing", PACKERS)
def test_a_decompression_bomb_is_refused(packing: str) -> None:
    bomb = PACKERS[packing](b" " * 30_000_000)
    with pytest.raises(Refused) as refused:
        bodies.unpack(bomb, packing, 1_000_000)
    assert refused.value.status == 413


@pytest.mark.parametrize("packing", PACKERS)
def test_packed_bodies_that_are_broken_are_refused(packing: str) -> None:
    packed = PACKERS[packing](json.dumps(long_chat(5)).encode())
    for broken in (
        packed[: len(packed) // 2] if packing != "zstd" else b"\x28\xb5\x2f\xfd" + b"\xff" * 40,
        b"not packed at all",
    ):
        with pytest.raises(Refused) as refused:
            bodies.unpack(broken, packing, 1_000_000)
        assert refused.value.status == 400


def test_unknown_packings_and_oversized_bodies_are_refused(start: Start, fake: FakeProvider) -> None:
    running = start(gateway={"body_limit": 2_000})
    assert running.ask("POST", "/v1/chat/completions", b"x", {"content-encoding": "rar"}).status == 415
    big = running.ask("POST", "/v1/messages", {"model": "claude-sonnet-4-5", "messages": long_chat(9)[1:]})
    assert (big.status, big.json["error"]["type"]) == (413, "request_too_large")
    chunked = b"POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    answer = running.raw(chunked + b"bb8\r\n" + b"x" * 3_000 + b"\r\n0\r\n\r\n")
    assert b" 413 " in answer.split(b"\r\n")[0]
    assert fake.posts == []


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/messages", "/v1beta/models/gemini-2.5-pro:generateContent"]
)
def test_what_a_client_did_wrong_is_not_told_as_a_fault_of_the_server(gateway: Running, path: str) -> None:
    error = gateway.ask("POST", path, b"{}", {"content-encoding": "rot13"})
    assert error.status == 415
    inner = error.json["error"]
    assert (inner.get("status") or inner["type"]) in ("invalid_request_error", "INVALID_ARGUMENT")


def test_headers_that_are_too_large_are_refused(gateway: Running) -> None:
    head = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + b"".join(
        b"x-%d: %s\r\n" % (n, b"v" * 500) for n in range(200)
    )
    assert gateway.raw(head + b"\r\n").startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_an_upstream_that_cannot_be_reached_is_a_502_in_the_providers_shape(start: Start, path: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    upstreams = {
        "dead": {"base_url": f"http://127.0.0.1:{port}/v1"},
        "late": {"base_url": f"http://127.0.0.1:{port}", "api": "anthropic"},
    }
    answer = start(own=True, upstreams=upstreams).ask("POST", path, {**HI, "max_tokens": 5})
    assert answer.status == 502
    assert "cannot be reached" in answer.json["error"]["message"]
    assert f"127.0.0.1:{port} refused the connection" in answer.json["error"]["message"]


def test_a_connection_that_breaks_before_the_answer_is_a_502(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Say("x", fault=Reset(after=0)), Say("y", fault=Reset(after=0)))
    assert gateway.chat(HI).status == 502
    assert gateway.last.outcome == "failed"


def test_a_request_that_the_upstream_may_have_read_is_not_sent_again(gateway: Running, fake: FakeProvider) -> None:
    assert gateway.chat(HI).status == 200
    before = len(fake.posts)
    fake.script(Say("x", fault=Reset(after=0)), Say("here"))
    assert gateway.chat(HI).status == 502
    assert len(fake.posts) == before + 1
    assert gateway.chat(HI).json["choices"][0]["message"]["content"] == "here"


@pytest.mark.parametrize("half", [False, True], ids=["between events", "inside an event"])
def test_a_stream_that_breaks_is_broken_for_the_client_too(gateway: Running, fake: FakeProvider, half: bool) -> None:
    fake.script(Say("one two three four", pieces=6, fault=Reset(after=3, half=half)))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        gateway.chat({**HI, "stream": True})
    assert gateway.last.outcome == "failed"
    assert gateway.chat(HI).status == 200


def test_a_whole_answer_that_breaks_off_is_not_taken_as_whole(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Raw((b'{"choices": [', b'{"message"'), fault=Reset(after=1)))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        gateway.chat(HI)


def test_a_stream_without_its_last_event_is_noted(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Raw((b'data: {"choices":[]}\n\n',), headers=(("content-type", "text/event-stream"),)))
    assert gateway.chat({**HI, "stream": True}).status == 200
    assert gateway.last.outcome == "incomplete"


def test_an_upstream_that_falls_silent_times_out(start: Start, fake: FakeProvider) -> None:
    running = start(gateway={"read_timeout": 0.2})
    fake.script(Say("x", fault=Hang(after=0)))
    answer = running.chat(HI)
    assert (answer.status, answer.json["error"]["code"]) == (504, "upstream_timeout")


def _leave_after(gateway: Running, marker: bytes, body: dict[str, object]) -> None:
    data = json.dumps(body).encode()
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=20) as connection:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(data)
        connection.sendall(head + data)
        seen = b""
        while marker not in seen:
            seen += connection.recv(65_536)


def test_a_client_that_goes_away_cancels_the_upstream_call(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Say("one two three", pieces=3, fault=Hang(after=2)))
    _leave_after(gateway, b"data:", {**HI, "stream": True})
    assert gateway.last.outcome == "gone"
    until(lambda: fake.abandoned == 1)


def test_a_client_that_closes_right_after_the_last_event_is_no_error(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Say("one two", pieces=2, fault=Hang(after=5)))
    _leave_after(gateway, b"[DONE]", {**HI, "stream": True})
    assert gateway.last.outcome == "done"


def test_a_client_that_reads_slowly_slows_the_upstream(gateway: Running, fake: FakeProvider) -> None:
    piece = b"data: " + b"x" * 65_000 + b"\n\n"
    fake.script(Raw((piece,) * 800, headers=(("content-type", "text/event-stream"),)))
    with gateway.slow_reader({**HI, "stream": True}) as connection:
        first = connection.recv(1_000)
        assert b"200 OK" in first
        # The gateway may hold what its buffers hold, and must not have read all the 52 MB.
        assert gateway.gateway.metrics.running == 1
        got = len(first)
        while got < 52_000_000:
            got += len(connection.recv(1 << 20))
    until(lambda: gateway.gateway.metrics.running == 0)


def until(ready: object, seconds: float = 10.0) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + seconds
    while not ready():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_request_that_fits_is_forwarded_as_it_came_by_the_plain_planner_too(
    gateway: Running, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(fitter.Fitter, "fit", broken)
    answer = gateway.chat(HI)
    assert answer.status == 200
    assert "RuntimeError" in answer.headers["x-brim-note"]
    assert fake.posts[-1].json == HI


@pytest.mark.parametrize("fail", ["open", "closed"])
def test_nothing_is_forwarded_unfitted_even_if_the_plain_planner_fails(
    start: Start, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch, fail: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(fitter.Fitter, "fit", broken)
    monkeypatch.setattr(fitter.Fitter, "plainly", broken)
    answer = start(gateway={"fail": fail}).chat(HI)
    assert (answer.status, answer.json["error"]["code"]) == (500, "not_fitted")
    assert fake.posts == []


def test_a_body_that_cannot_be_read_is_refused_where_that_is_set(start: Start, fake: FakeProvider) -> None:
    answer = start(gateway={"fail": "closed"}).ask("POST", "/v1/chat/completions", b"{")
    assert (answer.status, answer.json["error"]["code"]) == (400, "not_fitted")
    assert fake.posts == []


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"messages": 5}', b"\xff\xfe", b'{"messages": [{"role": "alien"}]}']
)
def test_bodies_that_brim_cannot_read_are_the_upstreams_to_judge(
    gateway: Running, fake: FakeProvider, body: bytes
) -> None:
    fake.script(Fail(400, "what is this?"))
    answer = gateway.ask("POST", "/v1/chat/completions", body)
    assert (answer.status, answer.json["error"]["message"]) == (400, "what is this?")
    assert fake.posts[-1].body == body


def test_requests_beyond_the_concurrency_wait_their_turn(start: Start, fake: FakeProvider) -> None:
    running = start(gateway={"concurrency": 1})
    fake.script(Say("one two three", pieces=3, fault=Hang(after=2)), Say("second"))
    data = json.dumps({**HI, "stream": True}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(data)
    first = socket.create_connection(("127.0.0.1", running.port))
    first.sendall(head + data)
    assert first.recv(1_000)
    second = socket.create_connection(("127.0.0.1", running.port))
    second.sendall(head + data)
    until(lambda: running.gateway.metrics.running == 2)
    assert len(fake.posts) == 1
    first.close()
    second.settimeout(20)
    assert b"200 OK" in second.recv(1_000)
    second.close()


def test_running_requests_end_before_the_gateway_does(start: Start, fake: FakeProvider) -> None:
    running = start()
    fake.script(Say("one two three", pieces=3, fault=Hang(after=2)))
    data = json.dumps({**HI, "stream": True}).encode()
    connection = socket.create_connection(("127.0.0.1", running.port))
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(data)
    connection.sendall(head + data)
    assert b"200 OK" in connection.recv(1_000)
    running.gateway.leaving = True
    assert running.ask("GET", "/readyz").status == 503
    assert running.ask("GET", "/healthz").status == 200
    connection.close()
    running.settled()
    assert running.gateway.metrics.running == 0
