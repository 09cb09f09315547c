"""uvicorn's HTTP protocol with limits on the size of heads, the time each may take, and the number of connections.

The head of an answer is sent together with what directly follows it, which saves a system call per request.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from brim.errors import MissingExtra
from brim.gateway.server.client_watch import LEAVING
from brim.gateway.server.options import HEADER_BYTES
from brim.settings import GatewaySettings as Settings

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem

# An ASGI extension that accepts raw lines for the end of the next head. uvicorn's checks of each header take
# several times as long as writing all of them.
LINES = "brim.lines"
# Answers up to this size are sent together with their head.
JOINED = 1 << 16
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: application/json\r\n"
    b"content-length: 77\r\n\r\n"
    b'{"error":{"code":"headers_too_large","message":"the headers are too large"}}\n'
)


_TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
    b"content-length: 82\r\n\r\n"
    b'{"error":{"code":"too_many_connections","message":"too many connections at once"}}'
)


class Doors:
    """The open connections, in total and per peer; `settings` are read anew each time."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._all = 0
        self._each: Counter[str] = Counter()

    @property
    def head_timeout(self) -> float:
        return self._settings().head_timeout

    def enter(self, peer: str) -> bool:
        """Admit a connection; False if there are too many."""
        settings = self._settings()
        if self._all >= settings.connections or self._each[peer] >= settings.peer_connections:
            return False
        self._all += 1
        self._each[peer] += 1
        return True

    def leave(self, peer: str) -> None:
        self._all -= 1
        self._each[peer] -= 1
        if not self._each[peer]:
            del self._each[peer]


class Corked:
    """A transport that holds back the head of an answer until its body arrives or the loop is idle.

    It implements the parts of asyncio's transports that uvicorn's protocol uses.
    """

    __slots__ = (
        "_held",
        "_lines",
        "_soon",
        "_transport",
        "get_extra_info",
        "is_closing",
        "pause_reading",
        "resume_reading",
    )

    def __init__(self, transport: asyncio.Transport, soon: Callable[[Callable[[], None]], object]) -> None:
        self._transport = transport
        self._soon = soon
        self._held = self._lines = b""
        self.get_extra_info = transport.get_extra_info
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading

    def add(self, lines: bytes) -> None:
        """Add these lines to the end of the next head."""
        self._lines = lines

    def write(self, data: bytes) -> None:
        if self._held:
            held, self._held = self._held, b""
            if len(data) > JOINED:  # not worth a copy
                self._transport.write(held)
                self._transport.write(data)
            else:
                self._transport.write(held + data)
        elif data[:9] == b"HTTP/1.1 " and data[-4:] == b"\r\n\r\n":
            self._held, self._lines = data[:-2] + self._lines + b"\r\n" if self._lines else data, b""
            self._soon(self._release)
        else:
            self._transport.write(data)

    def close(self) -> None:
        self._release()
        self._transport.close()

    def _release(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)


class LimitedProtocol(HttpToolsProtocol):
    """Cuts connections whose heads are too large or too slow, on the first request and on every later one."""

    def __init__(self, *given: Any, doors: Doors, **named: Any) -> None:
        super().__init__(*given, **named)
        self._doors = doors
        self._peer: str | None = None
        self._header_bytes = self._arrived = 0
        self._in_head = self._lost = False
        self._leaving: Callable[[], None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        corked = Corked(transport, self.loop.call_soon)
        self._extensions = {LINES: corked.add, LEAVING: self._watch}
        super().connection_made(corked)  # type: ignore[arg-type]
        address = transport.get_extra_info("peername")
        peer = str(address[0]) if isinstance(address, tuple) else ""
        if self._doors.enter(peer):
            self._peer = peer
            self._start_timer()
        else:
            transport.write(_TOO_MANY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._leaving is not None:
            self._leaving()
        self._stop_timer()
        if self._peer is not None:
            self._doors.leave(self._peer)
            self._peer = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._peer is None:
            return  # it wasn't admitted
        self._arrived = len(data)
        super().data_received(data)
        # Bytes that arrive while no request is being served start one, which has this long to complete its head.
        if self._deadline is None and (self._in_head or not self._serving):
            self._start_timer()
        if self._in_head:
            self._header_bytes += len(data)
            if self._header_bytes > HEADER_BYTES:
                self._refuse()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item]

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self._in_head = False
        # Adding up the header bytes is only worthwhile if a piece was large enough.
        large = self._header_bytes + self._arrived > HEADER_BYTES
        self._header_bytes = 0
        if large and len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEADER_BYTES:
            self._refuse()
        else:
            super().on_headers_complete()

    def _watch(self, leaving: Callable[[], None] | None) -> None:
        """Call this when the client leaves, if it has not done so already."""
        self._leaving = leaving
        if self._lost and leaving is not None:
            self.loop.call_soon(leaving)

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    @property
    def _serving(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _late(self) -> None:
        self._deadline = None
        if self._serving:  # a request before this one is still being answered
            self._start_timer()
        elif not self.transport.is_closing():
            self.transport.close()

    def _start_timer(self) -> None:
        self._deadline = self.loop.call_later(self._doors.head_timeout, self._late)

    def _stop_timer(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
