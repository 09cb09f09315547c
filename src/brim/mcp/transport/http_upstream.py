"""A server over streamable HTTP: each message is a POST, answers come as JSON or as an event stream.

The handshake versions have a session header, a standing GET stream for what the server says on its own, and
streams that can be taken up again. The stateless one has none of it, and headers that repeat the body.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from brim.errors import MissingExtra
from brim.mcp.transport import json_rpc
from brim.mcp.transport.event_stream import TooLarge, server_sent
from brim.mcp.transport.http_refusals import refusal, shown
from brim.mcp.transport.json_rpc import VERSION_KEY, Id, Malformed, RpcMessage, RpcObject, is_modern, meta_of
from brim.mcp.transport.token_command import NoToken, TokenCommand
from brim.mcp.transport.upstream import Events

try:
    import aiohttp
except ImportError:  # the stdio wrapper works without aiohttp
    aiohttp = None  # type: ignore[assignment]

_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_RESUMES = 3
_OLDER = "a server of the older SSE transport needs a bridge: brim mcp wrap -- npx -y mcp-remote"
# The parameter that the stateless version repeats in the header Mcp-Name.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NAMED |= dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId")


@dataclass(slots=True)
class _Resume:
    """How far an event stream was read, and when it may be resumed."""

    last: str = ""
    seconds: float = 1.0


class HttpUpstream:
    """One server behind a URL; `headers` go with every request, and the token of `login` if there is one."""

    def __init__(
        self,
        url: str,
        *,
        name: str = "",
        headers: Mapping[str, str] | None = None,
        login: TokenCommand | None = None,
        largest: int = 512 << 20,
    ) -> None:
        if aiohttp is None:
            raise MissingExtra("an MCP server over HTTP", "gateway")
        self.name = name
        self.alive = False
        self._url = url
        self._shown = shown(url)
        self._largest = largest
        self._headers = dict(headers or {})
        self._login = login
        self._http: aiohttp.ClientSession | None = None
        self._events: Events | None = None
        self._session = ""
        self._version = ""
        self._posts: dict[Id, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._param_headers: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._paused = asyncio.Event()
        self._paused.set()

    async def start(self, events: Events) -> None:
        if self._http is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=30)
            self._http = aiohttp.ClientSession(timeout=timeout)
        self._events = events
        self._session = self._version = ""
        self.alive = True

    def send(self, line: bytes, message: RpcMessage | None = None) -> None:
        message = message if message is not None and message.line == line else json_rpc.decode(line)
        if message.method == "notifications/cancelled" and self._drop(message):
            return
        task = self._spawn(self._post(line, message))
        if message.is_request and message.id is not None:
            self._posts[message.id] = task

    def _drop(self, message: RpcMessage) -> bool:
        """In the stateless version, closing a request's stream cancels it."""
        id = message.params().get("requestId")
        task = self._posts.pop(id, None) if isinstance(id, int | float | str) else None
        if task is None or self._version:
            return False
        task.cancel()
        return True

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # A message out

    async def _post(self, line: bytes, message: RpcMessage) -> None:
        assert self._http is not None
        try:
            await self._log_in()
            async with self._http.post(self._url, data=line, headers=self._headers_for(message)) as answer:
                again = answer.status == 401 and await self._log_in(refused=True)
                if not again:
                    await self._answered(answer, message)
            if again:
                async with self._http.post(self._url, data=line, headers=self._headers_for(message)) as answer:
                    await self._answered(answer, message)
        except NoToken as error:
            self._failed(message, str(error))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self._failed(message, f"{self._shown} cannot be reached: {error or type(error).__name__}")
        except TooLarge as error:
            self._failed(message, str(error), json_rpc.TOO_LARGE)
        finally:
            if message.id is not None:
                self._posts.pop(message.id, None)

    async def _log_in(self, *, refused: bool = False) -> bool:
        """Get the token from the command, anew after a refusal; returns whether it changed."""
        if self._login is None:
            return False
        before = self._headers.get("Authorization", "")
        token = await self._login.token(before.removeprefix("Bearer ") if refused else "")
        self._headers["Authorization"] = f"Bearer {token}"
        return self._headers["Authorization"] != before

    def _headers_for(self, message: RpcMessage) -> dict[str, str]:
        headers = {
            **self._headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        params = message.params()
        if is_modern(params):
            headers["MCP-Protocol-Version"] = str(meta_of(params)[VERSION_KEY])
            headers["Mcp-Method"] = message.method or ""
            name = params.get(_NAMED.get(message.method or "", ""))
            if isinstance(name, str):
                headers["Mcp-Name"] = header_value(name)
            if message.method == "tools/call":
                headers.update(self._mirrored(params))
        elif message.method != "initialize":
            if self._version:
                headers["MCP-Protocol-Version"] = self._version
            if self._session:
                headers["Mcp-Session-Id"] = self._session
        return headers

    def _mirrored(self, params: RpcObject) -> dict[str, str]:
        """Arguments that the tool's schema wants repeated in headers."""
        found: dict[str, str] = {}
        for path, header in self._param_headers.get(str(params.get("name")), ()):
            value: Any = params.get("arguments")
            for step in path:
                value = value.get(step) if isinstance(value, dict) else None
            if isinstance(value, bool):
                found[f"Mcp-Param-{header}"] = "true" if value else "false"
            elif isinstance(value, int | str):
                found[f"Mcp-Param-{header}"] = header_value(str(value))
        return found

    # An answer in

    async def _answered(self, answer: aiohttp.ClientResponse, message: RpcMessage) -> None:
        if answer.status == 404 and self._session:
            self._expired()
            return
        if answer.status in (401, 403) and (answer.status == 401 or "WWW-Authenticate" in answer.headers):
            await self._refused(answer, message)
            return
        if message.method == "initialize" and answer.ok:
            self._session = answer.headers.get("Mcp-Session-Id", "")
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if answer.ok and kind == "text/event-stream":
            await self._stream(answer, message)
        elif answer.status == 202 or (answer.ok and not message.is_request):
            await answer.read()
        else:
            self._body(await self._read(answer), answer.status, message)
        if message.method == "notifications/initialized":
            self._spawn(self._listen())

    async def _refused(self, answer: aiohttp.ClientResponse, message: RpcMessage) -> None:
        challenge = ", ".join(answer.headers.getall("WWW-Authenticate", []))
        said = (await self._read(answer))[:200].decode("utf-8", "replace").strip()
        with_token = any(name.lower() == "authorization" for name in self._headers)
        self._failed(message, refusal(self._url, answer.status, challenge, said, with_token=with_token))

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in answer.content.iter_any():
            size += len(part)
            if size > self._largest:
                raise TooLarge(self._largest)
            parts.append(part)
        return b"".join(parts)

    def _body(self, body: bytes, status: int, message: RpcMessage) -> None:
        try:
            found = json_rpc.decode(body)
        except Malformed:
            text = body[:300].decode("utf-8", "replace").strip()
            older = f"; {_OLDER} {self._shown}" if status in (404, 405) and message.method == "initialize" else ""
            self._failed(message, f"{self._shown} answered HTTP {status}: {text or 'nothing'}{older}")
            return
        if found.is_response and found.id is None:
            self._failed(message, str(found.error().get("message", f"HTTP {status}")))
            return
        self._deliver(body, message)

    async def _stream(self, answer: aiohttp.ClientResponse, message: RpcMessage | None) -> None:
        """Read events; resume a stream that ends before its answer, if the protocol version can."""
        resume = _Resume()
        done = await self._events_of(answer, message, resume)
        for _ in range(_RESUMES):
            if done or message is None or not message.is_request or not resume.last or not self._version:
                break
            await asyncio.sleep(resume.seconds)
            done = await self._take_up(message, resume)
        if not done and message is not None and message.is_request:
            self._failed(message, f"{self._shown} ended its stream without an answer")

    async def _take_up(self, message: RpcMessage, resume: _Resume) -> bool:
        assert self._http is not None
        headers = {**self._get_headers(), "Last-Event-ID": resume.last}
        async with self._http.get(self._url, headers=headers) as answer:
            return answer.ok and await self._events_of(answer, message, resume)

    async def _events_of(self, answer: aiohttp.ClientResponse, message: RpcMessage | None, resume: _Resume) -> bool:
        """Deliver the messages of a stream; returns whether the answer to `message` was among them."""
        async for event in server_sent(answer.content.iter_any(), self._largest):
            resume.last = event.get("id", resume.last)
            if event.get("retry", "").isdigit():
                resume.seconds = int(event["retry"]) / 1000
            data = event.get("data", "").encode("utf-8", "surrogatepass")
            if not data.strip():
                continue
            await self._paused.wait()
            if self._deliver(data, message):
                return True
        return False

    def _deliver(self, data: bytes, message: RpcMessage | None) -> bool:
        """Pass a message on as one line; returns whether it answers `message`."""
        line = data if b"\n" not in data and b"\r" not in data else _one_line(data)
        answers = False
        try:
            found = json_rpc.decode(line)
        except Malformed:
            pass  # the listener reports what is wrong with it
        else:
            answers = message is not None and found.is_response and found.id == message.id
            if answers and message is not None and not found.failed:
                self._learn(message, found)
        assert self._events is not None
        self._events.from_server(self, line)
        return answers

    def _learn(self, message: RpcMessage, answer: RpcMessage) -> None:
        if message.method == "initialize":
            self._version = str(answer.result().get("protocolVersion", ""))
        elif message.method == "tools/list":
            for tool in answer.result().get("tools") or []:
                if isinstance(tool, dict) and (headers := header_paths(tool.get("inputSchema"))):
                    self._param_headers[str(tool.get("name"))] = headers

    def _failed(self, message: RpcMessage, text: str, code: int = json_rpc.SERVER_GONE) -> None:
        if message.is_request and message.id is not None and self._events is not None:
            self._events.from_server(self, json_rpc.error_response(message.id, code, text))

    def _expired(self) -> None:
        """The server forgot the session; the next request starts a new one."""
        if self.alive and self._events is not None:
            self.alive = False
            self._events.gone(self, "has ended the session")

    # What the server says on its own

    def _get_headers(self) -> dict[str, str]:
        headers = {**self._headers, "Accept": "text/event-stream", "MCP-Protocol-Version": self._version}
        return {**headers, "Mcp-Session-Id": self._session} if self._session else headers

    async def _listen(self) -> None:
        assert self._http is not None
        resume = _Resume()
        with contextlib.suppress(aiohttp.ClientError, OSError, TooLarge):
            while self.alive and self._version:
                last = {"Last-Event-ID": resume.last} if resume.last else {}
                async with self._http.get(self._url, headers={**self._get_headers(), **last}) as answer:
                    if not answer.ok:
                        return  # the server doesn't offer this optional stream
                    await self._events_of(answer, None, resume)
                await asyncio.sleep(resume.seconds)

    # The rest of an upstream

    def may_restart(self) -> bool:
        return True

    def pause(self) -> None:
        self._paused.clear()

    def resume(self) -> None:
        self._paused.set()

    async def stop(self) -> None:
        self.alive = False
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._http is not None:
            if self._session:
                with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
                    timeout = aiohttp.ClientTimeout(total=2)
                    await self._http.delete(self._url, headers=self._get_headers(), timeout=timeout)
            await self._http.close()
            self._http = None

    def kill(self) -> None:
        for task in list(self._tasks):
            task.cancel()


def _one_line(data: bytes) -> bytes:
    try:
        return json_rpc.dump(json_rpc.parse(data))
    except ValueError:
        return b" ".join(data.split())


def header_value(text: str) -> str:
    """A text encoded for an HTTP header. Example: "é" -> "=?base64?w6k=?=" """
    encoded = text.startswith("=?base64?") and text.endswith("?=")
    if _PLAIN.fullmatch(text) and not encoded:
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def header_paths(schema: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """The properties that a schema wants repeated in headers, reached only through `properties`."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    found: list[tuple[tuple[str, ...], str]] = []
    for name, below in (properties if isinstance(properties, dict) else {}).items():
        if isinstance(below, dict):
            header = below.get("x-mcp-header")
            if isinstance(header, str) and header:
                found.append(((*path, name), header))
            found += header_paths(below, (*path, name))
    return found
