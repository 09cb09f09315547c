"""Clients that send slowly or not at all: they wait by themselves, and not for ever."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from brim.gateway.server.protocol import Doors, LimitedProtocol
from brim.settings import GatewaySettings as Settings
from tests.gateway.conftest import Running, Start

HI = {"messages": [{"role": "user", "content": "hi"}]}
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def connected(gateway: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gateway.port), timeout=20)


def whole_request() -> bytes:
    body = json.dumps({"model": "gpt-4o", **HI}).encode()
    return HEAD + b"content-length: %d\r\n\r\n" % len(body) + body


def answer(connection: socket.socket) -> bytes:
    """One answer of a stated length."""
    found = b""
    while b"\r\n\r\n" not in found:
        piece = connection.recv(65_536)
        assert piece
        found += piece
    head, _, body = found.partition(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < int(length.partition(b":")[2]):
        body += connection.recv(65_536)
    return head


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    while piece := connection.recv(65_536):
        found += piece
    return found


@pytest.mark.parametrize("half", [b"POST /v1/chat", HEAD, b"\r\n", HEAD + b"x-one: "])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_head_that_does_not_come_ends_the_connection_whichever_request_it_is(
    start: Start, half: bytes, before: int
) -> None:
    gateway = start(gateway={"head_timeout": 0.3})
    with connected(gateway) as connection:
        for _ in range(before):
            connection.sendall(whole_request())
            assert answer(connection).startswith(b"HTTP/1.1 200 ")
        connection.sendall(half)
        assert rest(connection) == b""


def test_a_head_in_small_pieces_has_no_more_time_than_a_whole_one(start: Start) -> None:
    gateway = start(gateway={"head_timeout": 0.3})
    with connected(gateway) as connection:
        connection.sendall(whole_request())
        answer(connection)
        connection.sendall(HEAD)
        connection.settimeout(0.05)
        closed = False
        for number in range(200):
            try:
                connection.sendall(b"x-%d: 1\r\n" % number)
                closed = connection.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                closed = True
            if closed:
                break
        assert closed


def test_a_connection_that_was_kept_serves_the_next_request_after_a_pause(start: Start) -> None:
    gateway = start(gateway={"head_timeout": 0.2})
    with connected(gateway) as connection:
        for _ in range(2):
            connection.sendall(whole_request())
            assert answer(connection).startswith(b"HTTP/1.1 200 ")
            connection.settimeout(0.6)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.settimeout(20)


def test_a_body_that_does_not_come_ends_each_request_of_a_connection(start: Start) -> None:
    gateway = start(gateway={"body_timeout": 0.2})
    with connected(gateway) as connection:
        connection.sendall(whole_request())
        answer(connection)
        connection.sendall(HEAD + b"content-length: 100\r\n\r\n{")
        assert rest(connection).startswith(b"HTTP/1.1 408 ")


def test_a_refused_request_whose_body_drips_in_ends_too(start: Start) -> None:
    gateway = start(gateway={"head_timeout": 0.3})
    with connected(gateway) as connection:
        connection.sendall(b"PUT /v1/models HTTP/1.1\r\nhost: elsewhere.example\r\ncontent-length: 1000000\r\n\r\n")
        assert answer(connection).startswith(b"HTTP/1.1 4")
        connection.settimeout(0.05)
        closed = False
        for _ in range(200):
            try:
                connection.sendall(b"x")
                closed = connection.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                closed = True
            if closed:
                break
        assert closed


def test_stalled_uploads_keep_nobody_else_waiting(start: Start) -> None:
    gateway = start(gateway={"concurrency": 4, "tenant_concurrency": 2})
    stalled = [connected(gateway) for _ in range(20)]
    try:
        for connection in stalled:
            connection.sendall(HEAD + b"content-length: 100\r\n\r\n{")
        for _ in range(3):
            assert gateway.chat(HI).status == 200
    finally:
        for connection in stalled:
            connection.close()


def test_connections_of_one_address_are_bounded(start: Start) -> None:
    gateway = start(gateway={"peer_connections": 3})
    held = [connected(gateway) for _ in range(3)]
    try:
        for connection in held:
            connection.sendall(whole_request())
            assert answer(connection).startswith(b"HTTP/1.1 200 ")
        with connected(gateway) as one_more:
            found = rest(one_more)
            assert found.startswith(b"HTTP/1.1 503 ")
            head, _, body = found.partition(b"\r\n\r\n")
            assert b"content-length: %d" % len(body) in head
            assert json.loads(body)["error"]["code"] == "too_many_connections"
    finally:
        for connection in held:
            connection.close()


def test_a_place_that_becomes_free_is_the_next_ones() -> None:
    doors = Doors(lambda: Settings(connections=2, peer_connections=1))
    assert doors.enter("a")
    assert not doors.enter("a")
    assert doors.enter("b")
    assert not doors.enter("c")
    doors.leave("a")
    assert doors.enter("c")


def test_a_client_that_left_before_anyone_watched_is_noticed() -> None:
    async def run() -> list[str]:
        protocol, seen = LimitedProtocol.__new__(LimitedProtocol), []
        protocol.loop, protocol._lost = asyncio.get_running_loop(), True
        protocol._watch(lambda: seen.append("left"))
        await asyncio.sleep(0)
        return seen

    assert asyncio.run(run()) == ["left"]
