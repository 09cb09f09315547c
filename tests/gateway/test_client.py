"""The HTTP client: connections are kept, requests arrive as they were given, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from brim.gateway.proxy.client import JOINED, Client
from brim.gateway.proxy.faults import UpstreamFault

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


class Upstream:
    """A server that does by hand what a test says, and notes what it got."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.connections = 0
        self.url = ""

    async def __aenter__(self) -> Upstream:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def __aexit__(self, *_: object) -> None:
        self._server.close()


def client(read_timeout: float = 5.0) -> Client:
    return Client(connect_timeout=2, read_timeout=read_timeout, connections=10)


async def head_of(reader: asyncio.StreamReader) -> list[bytes]:
    return (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]


def test_a_request_arrives_with_its_own_headers_and_no_others() -> None:
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            seen.extend(await head_of(reader))
            writer.write(OK)

    async def work() -> None:
        async with Upstream(answer) as upstream:
            asking = client()
            for method, body in (("POST", b""), ("GET", None)):
                async with await asking.send(method, upstream.url + "/v1/x?a=b%20c", [(b"x-one", b"1")], body) as got:
                    assert (got.status, await got.read(10)) == (200, b"hi")
            assert upstream.connections == 1
            await asking.close()

    asyncio.run(work())
    host = seen[1]
    assert host.startswith(b"host: 127.0.0.1:")
    assert seen == [
        b"POST /v1/x?a=b%20c HTTP/1.1", host, b"x-one: 1", b"content-length: 0",
        b"GET /v1/x?a=b%20c HTTP/1.1", host, b"x-one: 1",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [10, JOINED + 1, 3_000_000])
def test_bodies_of_every_size_arrive_whole(size: int) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await head_of(reader)
        assert b"content-length: %d" % size in head
        assert await reader.readexactly(size) == b"x" * size
        writer.write(OK)

    async def work() -> None:
        async with Upstream(answer) as upstream:
            asking = client()
            async with await asking.send("POST", upstream.url, [], b"x" * size) as got:
                assert got.status == 200
            await asking.close()

    asyncio.run(work())


def test_an_upload_of_unknown_length_is_sent_in_chunks() -> None:
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.extend(await head_of(reader))
        seen.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(OK)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"three"

    async def work() -> None:
        async with Upstream(answer) as upstream:
            asking = client()
            async with await asking.send("POST", upstream.url, [], pieces()) as got:
                assert await got.read(10) == b"hi"
            await asking.close()

    asyncio.run(work())
    assert seen[-2:] == [b"transfer-encoding: chunked", b"3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"]


def test_a_connection_whose_request_was_not_wholly_taken_is_not_used_again() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        await writer.drain()
        await asyncio.sleep(5)

    async def work() -> None:
        async with Upstream(refuse) as upstream:
            asking = client()
            for _ in range(2):
                async with await asking.send("POST", upstream.url, [], b"x" * 30_000_000) as got:
                    assert (got.status, await got.read(10)) == (413, b"no")
            assert upstream.connections == 2
            await asking.close()

    asyncio.run(work())


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("/v1/x", [(b"x-one", b"1\r\nx-two: 2")]),
        ("/v1/x", [(b"x-one\n", b"1")]),
        ("/v1/x", [(b"x-one", b"1\0")]),
        ("/v1/x?a=1\r\nx-two: 2", []),
    ],
)
def test_a_header_that_would_be_two_is_not_sent(url: str, headers: list[tuple[bytes, bytes]]) -> None:
    async def work() -> None:
        asking = client()
        with pytest.raises(UpstreamFault) as fault:
            await asking.send("POST", "http://127.0.0.1:9" + url, headers, b"{}")
        assert fault.value.code == "upstream_unsendable"
        await asking.close()

    asyncio.run(work())


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-le"])
def test_an_upstream_that_does_not_answer_is_not_waited_for_longer_than_allowed(said: bytes) -> None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(said)
        await asyncio.sleep(5)

    async def work() -> None:
        async with Upstream(nothing) as upstream:
            asking = client(read_timeout=0.1)
            with pytest.raises(UpstreamFault) as fault:
                await asking.send("POST", upstream.url, [], b"{}")
            assert (fault.value.status, fault.value.code) == (504, "upstream_timeout")
            await asking.close()

    asyncio.run(work())


@pytest.mark.parametrize("said", [b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n"])
def test_an_answer_that_is_no_http_is_a_fault_of_the_upstream(said: bytes) -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(said)

    async def work() -> None:
        async with Upstream(nonsense) as upstream:
            asking = client()
            with pytest.raises(UpstreamFault) as fault:
                await asking.send("POST", upstream.url, [], b"{}")
            assert fault.value.status == 502
            await asking.close()

    asyncio.run(work())


def test_a_wait_that_is_cancelled_cuts_the_connection() -> None:
    async def work() -> None:
        asked, cut = asyncio.Event(), asyncio.Event()

        async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await head_of(reader)
            asked.set()
            assert await reader.read() == b"{}"
            cut.set()

        async with Upstream(nothing) as upstream:
            asking = client()
            waiting: asyncio.Task[Any] = asyncio.create_task(asking.send("POST", upstream.url, [], b"{}"))
            await asyncio.wait_for(asked.wait(), 5)
            waiting.cancel()
            await asyncio.wait_for(cut.wait(), 5)
            await asking.close()

    asyncio.run(work())


class Killing(Upstream):
    """Answers the first requests all at once, so that as many connections are kept; then ends each at some stage."""

    STAGES = ("idle", "after the head", "inside the body", "after the body", "inside the answer")

    def __init__(self, kept: int, stage: str) -> None:
        super().__init__(self._handle)
        self._kept = kept
        self._stage = stage
        self._first = 0
        self._all = asyncio.Event()
        self.killing = asyncio.Event()
        self._idle: list[int] = []
        self.seen: list[bytes] = []

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._taken(reader)
        self._first += 1
        if self._first == self._kept:
            self._all.set()
        await self._all.wait()
        writer.write(OK)
        self._idle.append(writer.get_extra_info("socket").fileno())
        await self.killing.wait()
        while self._stage == "idle":  # those that are made anew are served
            await self._taken(reader)
            writer.write(OK)
        self.seen.append((await head_of(reader))[0])
        if self._stage == "after the head":
            writer.transport.abort()
            return
        if self._stage == "inside the body":
            await reader.readexactly(10)
            return
        await reader.readexactly(BODY)
        if self._stage == "inside the answer":
            writer.write(OK[:20])
            await writer.drain()

    def kill(self) -> None:
        """Begin to kill. Idle connections end at once, before the loop of the client can have looked."""
        self.killing.set()
        for number in self._idle if self._stage == "idle" else ():
            with socket.socket(fileno=os.dup(number)) as ending:
                ending.shutdown(socket.SHUT_RDWR)

    async def _taken(self, reader: asyncio.StreamReader) -> None:
        head = await head_of(reader)
        if self.killing.is_set():
            self.seen.append(head[0])
        await reader.readexactly(BODY)


BODY = 5_000


@pytest.mark.parametrize("stage", Killing.STAGES)
@pytest.mark.parametrize("loops", ["asyncio", "uvloop"])
def test_a_post_is_read_by_an_upstream_at_most_once_whenever_kept_connections_end(stage: str, loops: str) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def work() -> None:
        async with Killing(8, stage) as upstream:
            asking = client()

            async def ask(number: int) -> str:
                try:
                    async with await asking.send("POST", f"{upstream.url}/{number}", [], b"x" * BODY) as got:
                        return (await got.read(10)).decode()
                except UpstreamFault as fault:
                    return fault.code

            assert await asyncio.gather(*map(ask, range(8))) == ["hi"] * 8
            upstream.kill()
            for number in range(100, 104):
                got = await asyncio.wait_for(ask(number), 10)
                assert upstream.seen.count(b"POST /%d HTTP/1.1" % number) <= 1
                assert got == "hi" if stage == "idle" else got in ("upstream_unreachable", "upstream_reset")
            await asking.close()

    (uvloop.run if loops == "uvloop" else asyncio.run)(work())


def test_an_upstream_that_ends_every_new_connection_is_asked_once() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        return

    async def work() -> None:
        async with Upstream(hang_up) as upstream:
            asking = client()
            with pytest.raises(UpstreamFault):
                await asking.send("POST", upstream.url, [], b"{}")
            assert upstream.connections == 1
            await asking.close()

    asyncio.run(work())
