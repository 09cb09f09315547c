"""The HTTP client, behind one small adapter: everything that knows aiohttp is here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Final
from weakref import WeakSet

from brim.errors import MissingExtra
from brim.gateway.faults import UpstreamFault

try:
    import aiohttp
    from yarl import URL
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem

_OWN_HEADERS: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
Body = bytes | AsyncIterator[bytes] | None
# Whether the connection of this task's last request had served another before.
_kept: ContextVar[bool] = ContextVar("kept", default=False)


class _Connector(aiohttp.TCPConnector):
    """Tells new connections from kept ones: an upstream may have closed a kept one just now."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._known: WeakSet[Any] = WeakSet()

    async def connect(self, req: Any, traces: Any, timeout: Any) -> aiohttp.connector.Connection:
        _kept.set(False)
        found = await super().connect(req, traces, timeout)
        if found.protocol in self._known:
            _kept.set(True)
        else:
            self._known.add(found.protocol)
        return found


class Answer:
    """An upstream's answer: its head is here, its body comes as it is read."""

    __slots__ = ("_response", "headers", "next", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: tuple[tuple[bytes, bytes], ...] = response.raw_headers
        self.next: Callable[[], Awaitable[bytes]] = response.content.readany
        """The next piece of the body; empty at its end. Call it inside `faults`."""

    def header(self, name: str) -> str:
        return self._response.headers.get(name, "")

    @contextmanager
    def faults(self) -> Iterator[None]:
        """What goes wrong while the body is read, as UpstreamFault."""
        try:
            yield
        except aiohttp.ServerTimeoutError:
            raise UpstreamFault(504, "the upstream fell silent in its answer", "upstream_timeout") from None
        except aiohttp.ClientError as problem:
            text = f"the upstream broke off its answer ({_kind(problem)})"
            raise UpstreamFault(502, text, "upstream_reset") from None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives; what is not read is not fetched, so a slow reader slows the upstream."""
        with self.faults():
            while chunk := await self.next():
                yield chunk

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
        self._session = aiohttp.ClientSession(
            connector=_Connector(limit=connections, limit_per_host=connections, ttl_dns_cache=300),
            timeout=timeout,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_OWN_HEADERS,
            max_line_size=32_768,
            max_field_size=32_768,
        )

    async def send(self, method: str, url: str, headers: list[tuple[bytes, bytes]], body: Body) -> Answer:
        """Send a request; the answer's head is there when this returns. Raises UpstreamFault."""
        named = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
        try:
            response = await self._request(method, URL(url, encoded=True), named, body)
        except aiohttp.ServerTimeoutError as problem:
            where = "was not reached" if isinstance(problem, aiohttp.ConnectionTimeoutError) else "did not answer"
            raise UpstreamFault(504, f"the upstream {where} in time", "upstream_timeout") from None
        except (aiohttp.InvalidURL, ValueError):
            raise UpstreamFault(502, "the upstream cannot be sent this request", "upstream_unsendable") from None
        except (aiohttp.ClientError, OSError) as problem:
            raise UpstreamFault(
                502, f"the upstream cannot be reached ({_kind(problem)})", "upstream_unreachable"
            ) from None
        return Answer(response)

    async def _request(self, method: str, url: URL, headers: list[tuple[str, str]], body: Body) -> Any:
        """Send; once more if the upstream had closed the kept connection before it saw the request."""
        send = self._session.request
        while True:
            try:
                return await send(method, url, headers=headers, data=body, allow_redirects=False)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if not _kept.get() or not (body is None or isinstance(body, bytes)):
                    raise

    async def close(self) -> None:
        await self._session.close()


def _kind(problem: BaseException) -> str:
    """What went wrong, without addresses or headers. Example: ClientConnectorError -> "connector error" """
    name = type(problem).__name__.removeprefix("Client")
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
