"""Draining and reloads: what the gateway still answers, how soon it ends, and what it goes on knowing."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from brim import settings
from brim.gateway.server.app import Gateway
from brim.gateway.server.options import options_of
from brim.gateway.server.serving import Server, address
from brim.testing import FakeProvider, Hang, Say

from .conftest import Loop, Running
from .test_faults import until

HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}


class Stoppable:
    """A gateway that a test stops by itself."""

    def __init__(self, loop: Loop, upstream: str, home: Path, **given: Any) -> None:
        self._loop = loop
        loaded = settings.load(home, {"HOME": str(home)}, gateway={"port": 0, **given})
        self.options = options_of(loaded, upstream=upstream)
        self.server, self.task, url = loop.call(self._begin())
        self.running = Running(self.server.gateway, url, loop.call)

    async def _begin(self) -> tuple[Server, asyncio.Task[None], str]:
        server = Server(Gateway(self.options))
        bound = server.listen()
        task = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]))
        await server.ready.wait()
        return server, task, address(bound)

    def stop(self) -> None:
        self.server.stop()
        until(lambda: self.server.gateway.draining)

    def ended(self) -> None:
        """Wait for the end."""

        async def wait() -> None:
            await self.task

        self._loop.call(wait())


def watching(port: int) -> socket.socket:
    """A stream of the dashboard's events, open."""
    stream = socket.create_connection(("127.0.0.1", port), timeout=20)
    stream.sendall(b"GET /brim/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
    found = b""
    while b": live" not in found:
        found += stream.recv(65_536)
    return stream


def test_requests_are_taken_while_balancers_learn_that_a_gateway_ends(
    loop: Loop, fake: FakeProvider, tmp_path: Path
) -> None:
    gateway = Stoppable(loop, fake.url, tmp_path, drain_notice=60)
    gateway.server.handle_exit(signal.SIGTERM, None)
    assert gateway.running.ask("GET", "/readyz").status == 503
    assert gateway.running.chat({"messages": HI["messages"]}).status == 200
    loop.loop.call_soon_threadsafe(gateway.server._now.set)
    gateway.ended()


def test_open_streams_of_events_do_not_hold_up_the_end(loop: Loop, fake: FakeProvider, tmp_path: Path) -> None:
    gateway = Stoppable(loop, fake.url, tmp_path, shutdown_grace=25)
    with watching(gateway.running.port) as first, watching(gateway.running.port) as second:
        gateway.stop()
        gateway.ended()
        for stream in (first, second):
            rest = b""
            while piece := stream.recv(65_536):
                rest += piece
            assert rest.endswith(b"0\r\n\r\n")
            assert b"still here" not in rest  # it did not wait for the next sign of life


def test_an_answer_that_hangs_is_cut_when_the_drain_time_is_over(
    loop: Loop, fake: FakeProvider, tmp_path: Path
) -> None:
    gateway = Stoppable(loop, fake.url, tmp_path, shutdown_grace=2)
    fake.script(Say("never said", fault=Hang(0)))
    asking = threading.Thread(target=lambda: _ignoring_the_end(gateway.running))
    asking.start()
    until(lambda: gateway.server.gateway.metrics.running == 1)
    with watching(gateway.running.port):
        gateway.stop()
        gateway.ended()
    asking.join(10)


def _ignoring_the_end(running: Running) -> None:
    try:
        running.chat(HI)
    except (OSError, http.client.HTTPException):
        return  # it is cut


def test_while_draining_readiness_says_so_and_no_new_request_is_taken(
    loop: Loop, fake: FakeProvider, tmp_path: Path
) -> None:
    gateway = Stoppable(loop, fake.url, tmp_path, shutdown_grace=20)
    running = gateway.running
    assert running.ask("GET", "/readyz").status == 200
    fake.script(Say("one two three", pieces=3, fault=Hang(1)))
    with running.slow_reader({**HI, "stream": True}) as connection:
        until(lambda: gateway.server.gateway.metrics.running == 1)
        gateway.stop()
        ready = running.ask("GET", "/readyz")
        assert ready.status == 503
        assert ready.json["draining"] is True
        assert ready.json["running"] == 1
        assert running.ask("GET", "/healthz").status == 200
        posts = len(fake.posts)
        for path, shape in (("/v1/chat/completions", "code"), ("/v1/messages", "type")):
            refused = running.ask("POST", path, HI)
            assert refused.status == 503
            assert "shutting down" in refused.json["error"]["message"]
            assert shape in refused.json["error"]
            assert refused.headers["connection"] == "close"
            assert refused.headers["retry-after"] == "1"
        assert len(fake.posts) == posts
        connection.close()
        gateway.ended()


@pytest.mark.parametrize("known_by", ["list", "overflow"])
def test_a_reload_keeps_what_was_learnt(loop: Loop, tmp_path: Path, known_by: str) -> None:
    provider = FakeProvider(window=9_000, models=("house-model",))
    loop.call(provider.start())
    gateway = Stoppable(loop, provider.url, tmp_path)
    fitter = gateway.server.gateway.fitter
    if known_by == "overflow":
        fitter.models.learn_window("gpt-4o", "upstream", 5_000)
    # On a busy machine the first attempt may fail; the next one follows after a pause.
    until(lambda: fitter.models.find("house-model", "upstream") is not None, 40.0)
    loop.call(provider.stop())  # nobody can be asked again
    loop.call(gateway.server.gateway.reload(gateway.options))
    found = fitter.models.find("house-model", "upstream")
    assert found is not None
    assert found.window == 9_000
    if known_by == "overflow":
        narrowed = fitter.models.find("gpt-4o", "upstream")
        assert narrowed is not None
        assert narrowed.window == 5_000
    gateway.stop()
    gateway.ended()


def test_a_reload_forgets_the_models_of_an_upstream_that_has_moved(loop: Loop, tmp_path: Path) -> None:
    provider = FakeProvider(window=9_000, models=("house-model",))
    loop.call(provider.start())
    gateway = Stoppable(loop, provider.url, tmp_path)
    fitter = gateway.server.gateway.fitter
    until(lambda: fitter.models.find("house-model", "upstream") is not None, 40.0)
    loop.call(provider.stop())
    elsewhere = options_of(gateway.options.settings, upstream="http://127.0.0.1:9")
    loop.call(gateway.server.gateway.reload(elsewhere))
    assert fitter.models.find("house-model", "upstream") is None
    gateway.stop()
    gateway.ended()


@pytest.mark.parametrize("path", ["/v1/realtime?model=gpt-realtime", "/v1/responses", "/anything"])
def test_a_websocket_is_refused_with_what_to_do(loop: Loop, fake: FakeProvider, tmp_path: Path, path: str) -> None:
    gateway = Stoppable(loop, fake.url, tmp_path)
    answer = gateway.running.raw(
        f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: WebSocket\r\n"
        "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 501 ")
    error = json.loads(body)["error"]
    assert error["code"] == "websocket_not_supported"
    assert "provider's own address" in error["message"]
    assert all("realtime" not in seen.path for seen in fake.requests)
    gateway.stop()
    gateway.ended()
