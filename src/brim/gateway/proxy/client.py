"""The HTTP client: aiohttp's connections and parser, without the session on top of them.

A request is a head and a body that are ready to be sent, and an answer is passed on as it comes. What `ClientSession`
does in between (cookies, redirects, headers of its own, a task and timers for each request) adds 39% to the processor
time of a small request and 17% to that of a stream (both clients behind one upstream in one run, by a
script that is not kept here: 0.155 ms became 0.215 ms, 1.79 ms became 2.10 ms).

A request is written at most once. Nothing that an upstream may have read is sent again, whatever happens to the
connection, because a call that was charged and one that was never seen look the same from here.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import AsyncIterator
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import Any, Final

from brim.errors import MissingExtra
from brim.gateway.proxy.connection_faults import fault_of
from brim.gateway.proxy.upstream_response import Silence, UpstreamResponse

try:
    import aiohttp
    from aiohttp.connector import Connection
    from aiohttp.http import HttpProcessingError, StreamWriter
    from yarl import URL
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem

Headers = list[tuple[bytes, bytes]]
OutgoingBody = bytes | AsyncIterator[bytes] | None
# The longest line or field of an answer's head.
LONGEST_FIELD: Final = 32_768
# Bytes of an answer to buffer; reading pauses at twice this if the client is slow.
READ_AHEAD: Final = 1 << 16
# Bodies up to this size are sent in one write with their head.
JOINED: Final = 1 << 16
# Whether this task's last request used a kept-alive connection.
_kept: ContextVar[bool] = ContextVar("kept", default=False)


class _Connector(aiohttp.TCPConnector):
    """Distinguishes new connections from kept-alive ones, which the upstream may have closed since their last use."""

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:
        _kept.set(False)
        return await super()._create_connection(req, traces, timeout)


class _Origin(aiohttp.ClientRequest):
    """The destination of a connection, in the form that the connector expects."""

    @cached_property
    def connection_key(self) -> Any:
        return super().connection_key


class Client:
    """Kept-alive, shared connections to upstreams. Follows no redirects and adds no headers."""

    def __init__(self, *, connect_timeout: float, read_timeout: float, connections: int) -> None:
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout)
        self._silence = Silence(read_timeout)
        self._loop = asyncio.get_running_loop()
        self._origins: dict[URL, _Origin] = {}
        self.connector = _Connector(limit=connections, limit_per_host=connections, ttl_dns_cache=300)

    async def send(self, method: str, url: str, headers: Headers, body: OutgoingBody) -> UpstreamResponse:
        """Send a request, and return once the head of the answer is there. Raises UpstreamFault."""
        host = url.partition("://")[2].partition("/")[0].partition("?")[0]
        try:
            base, _, query = url.partition("?")  # a query may contain a key, which must not be remembered
            place, path = _place(base)
            host = f"{place.host}:{place.port}"
            head = _head(method, place, f"{path}?{query}" if query else path, headers, body)
            return await self._sent(await self._connected(place), method, head, body)
        except (aiohttp.ClientError, HttpProcessingError, ValueError, OSError) as problem:
            raise fault_of(problem, host) from None

    async def _connected(self, place: URL) -> Connection:
        """A connection to which nothing of this request was written yet.

        Kept-alive connections that the upstream closed meanwhile are dropped; new ones are used as they are.
        """
        origin = self._origins.get(place)
        if origin is None:
            origin = self._origins[place] = _Origin("GET", place, loop=self._loop)
        while True:
            _kept.set(True)
            connection = await self.connector.connect(origin, [], self._timeout)
            if not _kept.get() or _is_open(connection):
                return connection
            connection.close()

    async def _sent(self, connection: Connection, method: str, head: bytes, body: OutgoingBody) -> UpstreamResponse:
        """Send on this connection and wait for the head of the answer."""
        protocol = connection.protocol
        assert protocol is not None
        answer = UpstreamResponse(connection, self._silence)
        try:
            protocol.set_response_params(
                skip_payload=method == "HEAD",
                read_until_eof=True,
                auto_decompress=False,
                read_bufsize=READ_AHEAD,
                max_line_size=LONGEST_FIELD,
                max_field_size=LONGEST_FIELD,
            )
            self._write(protocol, head, body, answer)
            await answer.begun()
        except BaseException:
            answer.close()
            raise
        return answer

    def _write(self, protocol: Any, head: bytes, body: OutgoingBody, answer: UpstreamResponse) -> None:
        transport = protocol.transport
        if transport is None:
            raise aiohttp.ServerDisconnectedError
        if body is None:
            transport.write(head)
        elif isinstance(body, bytes):
            if len(body) <= JOINED:
                transport.write(head + body)
            else:
                transport.writelines((head, body))
        else:
            transport.write(head)
            writer = StreamWriter(protocol, self._loop)
            if head.endswith(_CHUNKED):
                writer.enable_chunking()
            answer.upload = self._loop.create_task(_upload(writer, body))
            answer.upload.add_done_callback(lambda task: _uploaded(task, protocol))

    async def close(self) -> None:
        self._silence.end()
        await self.connector.close()


def _is_open(connection: Connection) -> bool:
    """Whether an idle connection is still usable; the operating system knows about its end before the event loop does.

    Anything that arrived unasked (an end, a reset, stray bytes) makes it unusable.
    """
    transport = connection.transport
    if transport is None or transport.is_closing():
        return False
    idle = transport.get_extra_info("socket")
    if idle is None or not hasattr(select, "poll"):  # pragma: no cover, Windows
        return True
    waiting = select.poll()
    waiting.register(idle.fileno(), select.POLLIN)
    return not waiting.poll(0)


async def _upload(writer: StreamWriter, body: AsyncIterator[bytes]) -> None:
    async for piece in body:
        await writer.write(piece)
    await writer.write_eof()


def _uploaded(task: asyncio.Task[None], protocol: Any) -> None:
    """Tell whoever waits for the answer that the request was not fully sent."""
    if not task.cancelled() and task.exception() is not None:
        protocol.set_exception(aiohttp.ClientConnectionError("the request was not wholly sent"))


@lru_cache(1_024)
def _place(url: str) -> tuple[URL, str]:
    """A URL's server and path. Example: "http://a:8080/v1/models" -> http://a:8080, /v1/models"""
    found = URL(url, encoded=True)
    if found.scheme not in ("http", "https") or not found.raw_host:
        raise ValueError("no address of a server")
    return found.origin(), found.raw_path


_CHUNKED: Final = b"\r\ntransfer-encoding: chunked\r\n\r\n"


def _head(method: str, place: URL, path: str, headers: Headers, body: OutgoingBody) -> bytes:
    """The head of a request. Raises ValueError if a server could read it as something else."""
    lines = [f"{method} {path} HTTP/1.1\r\nhost: {place.host_port_subcomponent}".encode()]
    lines += [b"%b: %b" % pair for pair in headers]
    if isinstance(body, bytes) or (body is None and method not in ("GET", "HEAD", "OPTIONS")):
        lines.append(b"content-length: %d" % len(body or b""))
    elif body is not None and all(name != b"content-length" for name, _ in headers):
        lines.append(_CHUNKED[2:-4])
    lines.append(b"\r\n")
    head = b"\r\n".join(lines)
    ends = len(lines) + 1
    if head.count(b"\n") != ends or head.count(b"\r") != ends or b"\0" in head:
        raise ValueError("control characters in a header")
    return head
