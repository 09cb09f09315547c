"""The HTTP client, behind one small adapter: everything that knows aiohttp is here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from functools import lru_cache
from types import TracebackType
from typing import Any, Final

from brim.errors import MissingExtra
from brim.gateway.faults import UpstreamFault

try:
    import aiohttp
    from multidict import CIMultiDict
    from yarl import URL
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem

Body = bytes | AsyncIterator[bytes] | None
# Whether the connection of this task's last request had served another before.
_kept: ContextVar[bool] = ContextVar("kept", default=False)


class _Connector(aiohttp.TCPConnector):
    """Tells new connections from kept ones: an upstream may have closed a kept one just now."""

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:
        _kept.set(False)
        return await super()._create_connection(req, traces, timeout)


class _Request(aiohttp.ClientRequest):
    """A request with the headers that it is given, and none that aiohttp would add: which also takes half the time."""

    def update_auto_headers(self, skip_auto_headers: object) -> None:
        self._skip_auto_headers = _NO_TYPE

    def update_cookies(self, cookies: object) -> None:
        pass

    def update_auth(self, auth: object, trust_env: bool = False) -> None:
        pass


_NO_TYPE: Final = CIMultiDict({"Content-Type": None})


class _Faults:
    """Turns what goes wrong in a block into UpstreamFault. It holds nothing, so one serves all."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(problem, aiohttp.ServerTimeoutError):
            raise UpstreamFault(504, "the upstream fell silent in its answer", "upstream_timeout") from None
        if isinstance(problem, aiohttp.ClientError):
            text = f"the upstream broke off its answer ({_kind(problem)})"
            raise UpstreamFault(502, text, "upstream_reset") from None


_FAULTS: Final = _Faults()


class Answer:
    """An upstream's answer: its head is here, its body comes as it is read."""

    __slots__ = ("_content", "_response", "at_end", "forget", "headers", "next", "quiet", "seen", "status", "waiting")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._content = response.content
        self.status = response.status
        self.headers: tuple[tuple[bytes, bytes], ...] = response.raw_headers
        self.next: Callable[[], Awaitable[bytes]] = response.content.readany
        """The next piece of the body; empty at its end. Call it inside `faults`, and with `waiting` set."""
        self.at_end: Callable[[], bool] = response.content.at_eof
        self.waiting = False
        self.seen, self.quiet = 0, 0.0
        self.forget: Callable[[Answer], None] | None = None
        connection = response.connection
        if connection is not None and connection.protocol is not None:
            connection.protocol.read_timeout = None  # from here on `_Silence` looks

    def silent(self, now: float, most: float) -> bool:
        """Whether nothing has come for so long although someone waits for it; then it ends with an error."""
        if not self.waiting or self._content.total_bytes != self.seen:
            self.seen, self.quiet = self._content.total_bytes, now
        elif now - self.quiet >= most:
            self._content.set_exception(aiohttp.SocketTimeoutError("silence"))
            return True
        return False

    def header(self, name: str) -> str:
        return self._response.headers.get(name, "")

    def faults(self) -> _Faults:
        """What goes wrong while the body is read, as UpstreamFault."""
        return _FAULTS

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives; what is not read is not fetched, so a slow reader slows the upstream."""
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
        """Let go: a connection whose answer was not read to its end is cut, which tells the upstream to stop."""
        if self.forget is not None:
            self.forget(self)
        if not self._response.closed:
            self._response.close()

    async def __aenter__(self) -> Answer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Client:
    """Connections to upstreams, kept alive and shared. It follows no redirects and adds no headers."""

    def __init__(self, *, connect_timeout: float, read_timeout: float, connections: int) -> None:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout, sock_read=read_timeout)
        self._silence = _Silence(read_timeout)
        self._session = aiohttp.ClientSession(
            connector=_Connector(limit=connections, limit_per_host=connections, ttl_dns_cache=300),
            timeout=timeout,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=_Request,
            max_line_size=32_768,
            max_field_size=32_768,
        )

    async def send(self, method: str, url: str, headers: list[tuple[bytes, bytes]], body: Body) -> Answer:
        """Send a request; the answer's head is there when this returns. Raises UpstreamFault."""
        named = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
        try:
            # A query may hold a key, which is not to be remembered.
            place = URL(url, encoded=True) if "?" in url else _place(url)
            response = await self._request(method, place, named, body)
        except aiohttp.ServerTimeoutError as problem:
            where = "was not reached" if isinstance(problem, aiohttp.ConnectionTimeoutError) else "did not answer"
            raise UpstreamFault(504, f"the upstream {where} in time", "upstream_timeout") from None
        except (aiohttp.InvalidURL, ValueError):
            raise UpstreamFault(502, "the upstream cannot be sent this request", "upstream_unsendable") from None
        except (aiohttp.ClientError, OSError) as problem:
            raise UpstreamFault(
                502, f"the upstream cannot be reached ({_kind(problem)})", "upstream_unreachable"
            ) from None
        answer = Answer(response)
        if not answer.at_end():
            self._silence.watch(answer)
        return answer

    async def _request(self, method: str, url: URL, headers: list[tuple[str, str]], body: Body) -> Any:
        """Send; once more if the upstream had closed the kept connection before it saw the request."""
        send = self._session.request
        while True:
            _kept.set(True)
            try:
                return await send(method, url, headers=headers, data=body, allow_redirects=False)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if not _kept.get() or not (body is None or isinstance(body, bytes)):
                    raise

    async def close(self) -> None:
        self._silence.end()
        await self._session.close()


@lru_cache(1_024)
def _place(url: str) -> URL:
    return URL(url, encoded=True)


class _Silence:
    """Ends answers in which nothing comes any more. A timer for each would be set anew with each piece."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._step = min(max(seconds / 8, 0.01), 5.0)
        self._watched: dict[Answer, None] = {}
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, answer: Answer) -> None:
        answer.quiet = self._loop.time()
        answer.forget = self._forget
        self._watched[answer] = None
        if self._timer is None:
            self._timer = self._loop.call_later(self._step, self._look)

    def _forget(self, answer: Answer) -> None:
        self._watched.pop(answer, None)

    def _look(self) -> None:
        now = self._loop.time()
        for answer in [one for one in self._watched if one.silent(now, self._seconds)]:
            self._forget(answer)
        self._timer = self._loop.call_later(self._step, self._look) if self._watched else None

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _kind(problem: BaseException) -> str:
    """What went wrong, without addresses or headers. Example: ClientConnectorError -> "connector error" """
    name = type(problem).__name__.removeprefix("Client")
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
