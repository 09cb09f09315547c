"""uvicorn's HTTP protocol with limits of its own: the size of headers, and the time that they may take."""

from __future__ import annotations

import asyncio
from typing import Any

from brim.errors import MissingExtra
from brim.gateway.options import HEADER_BYTES

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem

HEADER_SECONDS = 30.0
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: application/json\r\n"
    b"content-length: 77\r\n\r\n"
    b'{"error":{"code":"headers_too_large","message":"the headers are too large"}}\n'
)


class LimitedProtocol(HttpToolsProtocol):
    """Cuts connections whose headers are too large or come too slowly."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._header_bytes = self._arrived = 0
        self._in_head = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
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
