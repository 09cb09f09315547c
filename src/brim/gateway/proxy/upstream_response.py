"""An upstream's answer on its connection, with a timeout for silence. Only `client` uses aiohttp besides this."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Final

from brim.errors import MissingExtra
from brim.gateway.proxy.faults import UpstreamFault

try:
    import aiohttp
    from aiohttp.connector import Connection
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem


class Faults:
    """Turns errors in a block into UpstreamFault. It has no state, so one instance serves all."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(problem, aiohttp.ServerTimeoutError):
            raise UpstreamFault(504, "the upstream fell silent in its answer", "upstream_timeout") from None
        if isinstance(problem, aiohttp.ClientError):
            text = f"the upstream broke off its answer ({kind_of(problem)})"
            raise UpstreamFault(502, text, "upstream_reset") from None


_FAULTS: Final = Faults()


class UpstreamResponse:
    """An answer: after `begun` its head is there, and its body arrives as it is read."""

    __slots__ = (
        "_connection", "_content", "_protocol", "_transport", "at_end", "fields", "headers", "next", "quiet", "seen",
        "silence", "status", "upload", "waiting",
    )  # fmt: skip

    def __init__(self, connection: Connection, silence: Silence) -> None:
        assert connection.protocol is not None
        self._connection: Connection | None = connection
        self._protocol: Any = connection.protocol
        self._transport: Any = connection.protocol.transport
        self._content: aiohttp.StreamReader | None = None
        self.upload: asyncio.Task[None] | None = None
        self.status = 0
        self.headers: tuple[tuple[bytes, bytes], ...] = ()
        self.waiting = True
        self.seen = 0
        self.silence = silence
        self.quiet = silence.watch(self)
        self.next: Callable[[], Awaitable[bytes]]
        """The next piece of the body; empty at its end. Call it inside `faults`, and with `waiting` set."""
        self.at_end: Callable[[], bool]

    async def begun(self) -> None:
        """Wait for the head, skipping informational (1xx) responses."""
        while True:
            message, content = await self._protocol.read()
            if not 100 <= message.code <= 199 or message.code == 101:
                break
        self.waiting = False
        self.status = message.code
        self.headers = message.raw_headers
        self.fields = message.headers
        self._content = content
        self.next = content.readany
        self.at_end = content.at_eof
        content.on_eof(self._ended)

    def _ended(self) -> None:
        """The answer is complete: the connection can be reused, unless the request wasn't fully sent."""
        connection = self._connection
        if connection is None or self._protocol.upgraded:
            return
        self._connection = None
        self.silence.forget(self)
        if self._transport.get_write_buffer_size() or self._stop_upload():
            connection.close()
        else:
            connection.release()

    def _stop_upload(self) -> bool:
        """Stop sending the request; returns whether there was more to send."""
        return self.upload is not None and self.upload.cancel()

    def silent(self, now: float, most: float) -> bool:
        """Whether nothing arrived for this long although someone is waiting; the answer then ends with an error."""
        content = self._content
        # While the upstream is still taking the request, it isn't silent.
        seen = content.total_bytes if content is not None else -self._transport.get_write_buffer_size()
        if not self.waiting or seen != self.seen or (self.upload is not None and not self.upload.done()):
            self.seen, self.quiet = seen, now
        elif now - self.quiet >= most:
            (self._protocol if content is None else content).set_exception(aiohttp.SocketTimeoutError("silence"))
            return True
        return False

    def header(self, name: str) -> str:
        found: str = self.fields.get(name, "")
        return found

    def faults(self) -> Faults:
        """Turns errors while reading the body into UpstreamFault."""
        return _FAULTS

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. Nothing is fetched ahead of the reader, so a slow client slows the upstream."""
        with self.faults():
            self.waiting = True
            while chunk := await self.next():
                self.waiting = False
                yield chunk
                self.waiting = True

    async def read(self, limit: int) -> bytes:
        """The whole body; UpstreamFault if it is larger than `limit`."""
        found: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            size += len(chunk)
            if size > limit:
                self.close()
                raise UpstreamFault(502, f"the upstream's answer is larger than {limit:,} bytes", "answer_too_large")
            found.append(chunk)
        return b"".join(found)

    def close(self) -> None:
        """Release the connection; if the answer wasn't read to its end, cut it, which tells the upstream to stop."""
        connection = self._connection
        if connection is not None:
            self._connection = None
            self.silence.forget(self)
            self._stop_upload()
            connection.close()

    async def __aenter__(self) -> UpstreamResponse:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Silence:
    """Ends answers that fall silent, by one shared timer: one per answer would be reset with every piece."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._step = min(max(seconds / 8, 0.01), 5.0)
        self._watched: dict[UpstreamResponse, None] = {}
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, answer: UpstreamResponse) -> float:
        """Watch an answer until it is forgotten; returns the time from which it is watched."""
        self._watched[answer] = None
        if self._timer is None:
            self._timer = self._loop.call_later(self._step, self._look)
        return self._loop.time()

    def forget(self, answer: UpstreamResponse) -> None:
        self._watched.pop(answer, None)

    def _look(self) -> None:
        now = self._loop.time()
        for answer in [one for one in self._watched if one.silent(now, self._seconds)]:
            self.forget(answer)
        self._timer = self._loop.call_later(self._step, self._look) if self._watched else None

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def kind_of(problem: BaseException) -> str:
    """The kind of an error, without addresses or headers. Example: ClientConnectorError -> "connector error" """
    name = type(problem).__name__.removeprefix("Client")
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
