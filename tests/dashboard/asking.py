"""A client for the dashboard without a server, and a parser that sees what a browser would."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp

from brim.dashboard.app import create
from brim.dashboard.data import DashboardData
from brim.dashboard.html import VOID


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def seen(self) -> Seen:
        made = Seen()
        made.feed(self.text)
        made.close()
        return made


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Seen(HTMLParser):
    """The elements of a page with the text inside each."""

    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_endtag(self, tag: str) -> None:
        closed = self.open.pop()
        assert closed.name == tag, f"</{tag}> closes <{closed.name}>"

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def all(self, *names: str) -> list[Element]:
        return [element for element in self.elements if element.name in names]

    def by_id(self, id: str) -> Element:
        return next(element for element in self.elements if element.attributes.get("id") == id)


class Client:
    """Asks the application as a server would, mounted under /brim."""

    def __init__(self, data: DashboardData, root: str = "/brim") -> None:
        self.app: ASGIApp = create(data)
        self.root = root

    def get(self, path: str, method: str = "GET") -> Got:
        return asyncio.run(self._ask(path, method))

    async def _ask(self, target: str, method: str) -> Got:
        path, _, query = (self.root + target).partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "root_path": self.root,
            "query_string": query.encode(),
            "headers": [],
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", 1),
        }
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Got(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]))
