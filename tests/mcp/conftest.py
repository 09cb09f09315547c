"""A client that speaks to a wrapper in this process, and the wrapper's servers as real processes."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from brim.mcp.options import WrapperOptions
from brim.mcp.results.archive import MemoryArchive
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.upstream import StdioUpstream
from brim.mcp.wrapper.proxy import Wrapper

FAKE = Path(__file__).with_name("fake_server.py")
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Client:
    """Sends requests, collects what comes; `lines` are the bytes as they came."""

    def __init__(self, wrapper: Wrapper, log: io.BytesIO) -> None:
        self.wrapper = wrapper
        self.log = log
        self.lines: list[bytes] = []
        self.messages: list[dict[str, Any]] = []
        self._ids = 0
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self.on_request: Callable[[dict[str, Any]], dict[str, Any]] = lambda message: {"answered": message["method"]}

    def received(self, line: bytes) -> None:
        self.lines.append(line)
        message = json.loads(line)
        self.messages.append(message)
        if "method" in message and "id" in message:
            body = {"jsonrpc": "2.0", "id": message["id"], "result": self.on_request(message)}
            self.wrapper.from_client(json.dumps(body).encode())
        elif "method" not in message:
            waiting = self._waiting.pop(message.get("id"), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)

    def post(self, method: str, params: dict[str, Any] | None = None) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        self._ids += 1
        waiting = self._waiting[self._ids] = asyncio.get_running_loop().create_future()
        body = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params or {}}
        self.wrapper.from_client(json.dumps(body).encode())
        return self._ids, waiting

    async def ask(self, method: str, params: dict[str, Any] | None = None, *, wait: float = 20) -> dict[str, Any]:
        _, waiting = self.post(method, params)
        return await asyncio.wait_for(waiting, wait)

    async def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        message = await self.ask(method, params)
        assert "result" in message, message
        found: dict[str, Any] = message["result"]
        return found

    async def call(self, name: str, meta: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        if meta:
            params["_meta"] = meta
        return await self.result("tools/call", params)

    async def use(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.result("tools/call", {"name": name, "arguments": arguments})

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        body = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.wrapper.from_client(json.dumps(body).encode())

    async def names(self) -> list[str]:
        return [tool["name"] for tool in (await self.result("tools/list"))["tools"]]


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


@asynccontextmanager
async def connected(
    *server_arguments: str, names: tuple[str, ...] = ("",), version: str = "2025-11-25", **settings: Any
) -> AsyncIterator[Client]:
    """A client behind a wrapper around the fake server, after the handshake."""
    out = io.BytesIO()
    log = ChildLog(out)
    options = WrapperOptions(**settings)
    upstreams = [
        StdioUpstream(
            [sys.executable, str(FAKE), *server_arguments],
            name=name,
            env={"SERVER_NAME": name},
            log=log,
            largest=options.largest_message,
        )
        for name in names
    ]
    client: Client
    archive = MemoryArchive()
    wrapper = Wrapper(upstreams, options, lambda line: client.received(line), log=log, archive=archive)
    client = Client(wrapper, out)
    await wrapper.start()
    try:
        if version != "2026-07-28":
            hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            await client.result("initialize", hello)
            client.notify("notifications/initialized")
        yield client
    finally:
        await asyncio.gather(*(upstream.stop() for upstream in upstreams))
        archive.close()


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))
