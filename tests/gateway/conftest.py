"""A gateway and a fake provider on loopback, in a thread of their own; tests speak to them as clients do."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from brim import settings
from brim.gateway.server.app import Gateway
from brim.gateway.server.options import options_of
from brim.gateway.server.serving import Server, address, dashboard
from brim.stores.inmemory import InMemoryStore
from brim.testing import FakeProvider


@dataclass(frozen=True, slots=True)
class Got:
    """An answer, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def number(self, name: str) -> int:
        return int(self.headers[f"x-brim-{name}"])

    @property
    def events(self) -> list[dict[str, Any]]:
        """The data of server-sent events."""
        lines = [line[5:].strip() for line in self.body.decode().splitlines() if line.startswith("data:")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


class Running:
    """A gateway that runs, with a client for it."""

    def __init__(self, gateway: Gateway, url: str, call: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self.gateway = gateway
        self.url = url
        self.call = call
        self.port = urlsplit(url).port or 0

    def slow_reader(self, body: dict[str, Any]) -> socket.socket:
        """A connection with a small buffer on which a chat was asked for; nothing of the answer is read yet."""
        data = json.dumps(body).encode()
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.connect(("127.0.0.1", self.port))
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(data)
        connection.sendall(head + data)
        return connection

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Got:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        named = {"content-type": "application/json", **(headers or {})} if data is not None else headers or {}
        try:
            connection.request(method, path, data, named)
            answer = connection.getresponse()
            return Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def chat(self, body: dict[str, Any], **headers: str) -> Got:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", "/v1/chat/completions", {"model": "gpt-4o", **body}, named)

    def get(self, path: str, **headers: str) -> Any:
        return self.ask("GET", path, None, headers).json

    def raw(self, data: bytes) -> bytes:
        """Send bytes as they are; what comes back until the other side closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(data)
            found = b""
            while piece := connection.recv(65_536):
                found += piece
            return found

    def settled(self) -> None:
        """Return when no request is in work."""
        self.call(self.gateway.drained())

    @property
    def last(self) -> Any:
        self.settled()
        return self.gateway.journal.recent[-1]


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@pytest.fixture(scope="session")
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def fake(loop: Loop) -> Iterator[FakeProvider]:
    provider = FakeProvider()
    loop.call(provider.start())
    yield provider
    loop.call(provider.stop())


Start = Callable[..., Running]


@pytest.fixture
def start(loop: Loop, fake: FakeProvider, tmp_path: Path) -> Iterator[Start]:
    """Start a gateway in front of the fake provider; settings as for `settings.load`."""
    servers: list[tuple[Server, Any]] = []

    def made(
        env: dict[str, str] | None = None, *, own: bool = False, store: Any = None, group: str = "", **given: Any
    ) -> Running:
        gateway_settings = {"port": 0, **given.pop("gateway", {})}
        clear = given.pop("clear_tool_uses", ())
        pages = dashboard() if given.pop("pages", False) else None
        loaded = settings.load(tmp_path, {"HOME": str(tmp_path), **(env or {})}, gateway=gateway_settings, **given)
        options = options_of(loaded, upstream="" if own else fake.url, clear_tool_uses=clear)

        kept = store if store is not None else InMemoryStore()
        server = Server(Gateway(options, store=kept, dashboard=pages, group=group))

        async def begin() -> tuple[Any, str]:
            bound = server.listen()
            task = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]))
            await server.ready.wait()
            return task, address(bound)

        task, url = loop.call(begin())
        servers.append((server, task))
        return Running(server.gateway, url.replace("0.0.0.0", "127.0.0.1"), loop.call)

    yield made
    for server, task in servers:
        server.stop()
        loop.call(_ended(task))


async def _ended(task: asyncio.Task[Any]) -> None:
    await task


@pytest.fixture
def gateway(start: Start) -> Running:
    return start()


def words(count: int, salt: str = "") -> str:
    """A text of about so many tokens that says something else in every part."""
    return " ".join(f"item{salt}{number} costs {number * 7 % 1013} euros" for number in range(count // 7))


def long_chat(turns: int, each: int = 400) -> list[dict[str, str]]:
    """A conversation of so many turns of about so many tokens."""
    found = [{"role": "system", "content": "You are a helpful clerk."}]
    for number in range(turns):
        found.append({"role": "user", "content": f"Question {number}: {words(each, f'q{number}')}"})
        found.append({"role": "assistant", "content": f"Answer {number}: noted."})
    return [*found, {"role": "user", "content": "What did question 3 say?"}]
