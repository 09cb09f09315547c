"""uvicorn's HTTP protocol with limits of its own: the size of headers, and the time that they may take.

The head of an answer goes out together with what follows it at once: one system call less for every request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from brim.errors import MissingExtra
from brim.gateway.options import HEADER_BYTES

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem

HEADER_SECONDS = 30.0
# An extension of ASGI: what takes lines that are to stand at the end of the next head. uvicorn looks at each header for
# several times as long as it takes to write them all.
LINES = "brim.lines"
# Answers up to this size are joined with their head.
JOINED = 1 << 16
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: application/json\r\n"
    b"content-length: 77\r\n\r\n"
    b'{"error":{"code":"headers_too_large","message":"the headers are too large"}}\n'
)


class Corked:
    """A transport that holds the head of an answer back until its body, or until nothing else is to be done.

    It knows of asyncio's transports what uvicorn's protocol uses.
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
        """Have these lines at the end of the next head."""
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
    """Cuts connections whose headers are too large or come too slowly."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._header_bytes = self._arrived = 0
        self._in_head = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        corked = Corked(transport, self.loop.call_soon)
        self._extensions = {LINES: corked.add}
        super().connection_made(corked)  # type: ignore[arg-type]
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._arrived = len(data)
        super().data_received(data)
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
        # Only where a piece was large enough is it worth adding up what of it was headers.
        large = self._header_bytes + self._arrived > HEADER_BYTES
        self._header_bytes = 0
        if large and len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEADER_BYTES:
            self._refuse()
        else:
            super().on_headers_complete()

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def _late(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
