"""Servers over streamable HTTP."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("aiohttp")

from aiohttp import web

from brim.mcp.options import WrapperOptions
from brim.mcp.results.archive import MemoryArchive
from brim.mcp.results.compacting import count_tokens
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.event_stream import server_sent
from brim.mcp.transport.http_refusals import refusal
from brim.mcp.transport.http_upstream import HttpUpstream, header_paths, header_value
from brim.mcp.transport.token_command import TokenCommand
from brim.mcp.wrapper.proxy import Wrapper

from .conftest import MODERN_META, Client, run, text_of

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


class Server:
    """A server in this process: sessions and streams as the handshake versions have them, headers for the other."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.begun = 0
        self.headers: list[dict[str, str]] = []
        self.deleted: list[str] = []
        self.dropped = 0

    async def post(self, request: web.Request) -> web.StreamResponse:
        message = await request.json()
        self.headers.append(dict(request.headers))
        if request.headers.get("Authorization") != "Bearer key":
            return web.Response(status=401, text="who are you?")
        params = message.get("params") or {}
        modern = "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {})
        if message.get("method") == "initialize":
            self.begun += 1
            self.sessions.add(f"s{self.begun}")
            result = {**HELLO, "capabilities": {"tools": {}}, "serverInfo": {"name": "h", "version": "1"}}
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            return web.json_response(reply, headers={"Mcp-Session-Id": f"s{self.begun}"})
        if not modern and request.headers.get("Mcp-Session-Id") not in self.sessions:
            return web.Response(status=404)
        if "id" not in message or "method" not in message:
            return web.Response(status=202)
        return await self.answer(request, message, params)

    async def answer(self, request: web.Request, message: dict[str, Any], params: dict[str, Any]) -> Any:
        name = params.get("name")
        if message["method"] == "tools/list":
            tools = [{"name": "pretty", "inputSchema": SCHEMA}, {"name": "stream", "inputSchema": {"type": "object"}}]
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools}})
        result = {"content": [{"type": "text", "text": f"{name} done"}]}
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if name == "pretty":
            return web.Response(text=json.dumps(reply, indent=2), content_type="application/json")
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        if name == "wait":
            try:
                while True:
                    await stream.write(b": still here\r\n\r\n")
                    await asyncio.sleep(0.02)
            except ConnectionError:
                self.dropped += 1
                raise
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        await stream.write(f"retry: 10\r\nid: 7\r\nevent: message\r\ndata: {json.dumps(note)}\r\n\r\n".encode())
        if name == "broken":
            return stream  # the answer is to be had by taking the stream up again
        if name == "large":
            reply["result"] = {"content": [{"type": "text", "text": "word and number 17\n" * 30_000}]}
        for line in json.dumps(reply, indent=1).splitlines():
            await stream.write(f"data: {line}\n".encode())
        await stream.write(b"\n")
        return stream

    async def get(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Last-Event-ID") != "7":
            return web.Response(status=405)
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        result = {"content": [{"type": "text", "text": "resumed"}]}
        reply = {"jsonrpc": "2.0", "id": self.resumed_id, "result": result}
        await stream.write(f"data: {json.dumps(reply)}\n\n".encode())
        return stream

    resumed_id = 0

    async def delete(self, request: web.Request) -> web.Response:
        self.deleted.append(request.headers["Mcp-Session-Id"])
        return web.Response(status=200)


@asynccontextmanager
async def serving(
    key: str = "key", *, login: TokenCommand | None = None, handshake: bool = True, **settings: Any
) -> AsyncIterator[tuple[Client, Server]]:
    server = Server()
    app = web.Application(client_max_size=1 << 26)
    app.add_routes([web.post("/mcp", server.post), web.get("/mcp", server.get), web.delete("/mcp", server.delete)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    headers = {"Authorization": f"Bearer {key}"} if login is None else {}
    upstream = HttpUpstream(f"http://127.0.0.1:{port}/mcp", headers=headers, login=login)
    client: Client
    archive = MemoryArchive()
    log = io.BytesIO()
    wrapper = Wrapper(
        [upstream], WrapperOptions(**settings), lambda line: client.received(line), log=ChildLog(log), archive=archive
    )
    client = Client(wrapper, log)
    await wrapper.start()
    try:
        if handshake:
            await client.result("initialize", HELLO)
            client.notify("notifications/initialized")
        yield client, server
    finally:
        await upstream.stop()
        await runner.cleanup()
        archive.close()


def test_answers_come_as_json_or_as_a_stream() -> None:
    async def scene() -> None:
        async with serving() as (client, server):
            assert text_of(await client.call("pretty")) == "pretty done"
            assert b"\n" not in client.lines[-1]
            assert text_of(await client.call("stream")) == "stream done"
            assert any(m.get("method") == "notifications/message" for m in client.messages)
            assert server.headers[-1]["Mcp-Session-Id"] == "s1"
            assert server.headers[-1]["MCP-Protocol-Version"] == "2025-11-25"
        assert server.deleted == ["s1"]

    run(scene())


def test_results_are_compacted_like_any_other() -> None:
    async def scene() -> None:
        async with serving(level="minimal") as (client, _):
            result = await client.call("large")
            assert count_tokens(result["content"][0]["text"]) <= 800

    run(scene())


def test_a_stream_that_breaks_is_taken_up_where_it_ended() -> None:
    async def scene() -> None:
        async with serving() as (client, server):
            id, waiting = client.post("tools/call", {"name": "broken"})
            server.resumed_id = id
            assert text_of((await asyncio.wait_for(waiting, 5))["result"]) == "resumed"

    run(scene())


def test_a_session_that_ended_is_begun_again() -> None:
    async def scene() -> None:
        async with serving() as (client, server):
            await client.names()
            server.sessions.clear()
            lost = await client.call("pretty")
            assert "has ended the session" in text_of(lost)
            assert text_of(await client.call("pretty")) == "pretty done"
            assert server.begun == 2

    run(scene())


def test_a_refusal_and_a_server_that_is_not_there_are_said_clearly() -> None:
    async def scene() -> None:
        async with serving("wrong", handshake=False) as (client, _):
            refused = await client.ask("initialize", HELLO)
            assert "HTTP 401: who are you?" in refused["error"]["message"]
            assert "--token-env" in refused["error"]["message"]
            client.wrapper.upstreams[0]._url += "/elsewhere"
            older = await client.ask("initialize", HELLO)
            assert "HTTP 404" in older["error"]["message"]
            assert "older SSE transport" in older["error"]["message"]
            client.wrapper.upstreams[0]._url = "http://127.0.0.1:9/mcp"
            absent = await client.ask("ping", {})
            assert "cannot be reached" in absent["error"]["message"]

    run(scene())


@pytest.mark.parametrize(
    ("status", "challenge", "with_token", "said"),
    [
        (401, "", False, ["wants a token (HTTP 401)", "--token-env", "npx -y mcp-remote https://x/mcp"]),
        (
            401,
            'Bearer resource_metadata="https://x/.well-known/oauth-protected-resource", scope="files:read"',
            False,
            ["scope 'files:read'", "said at https://x/.well-known/oauth-protected-resource"],
        ),
        (401, 'Bearer error="invalid_token", error_description="expired"', True, ["invalid_token, expired", "renew"]),
        (403, 'Bearer error="insufficient_scope", scope=admin', True, ["insufficient_scope", "scope 'admin'"]),
    ],
)
def test_a_refusal_says_what_to_do_and_no_secret(
    status: int, challenge: str, with_token: bool, said: list[str]
) -> None:
    text = refusal("https://me:pw@x/mcp?key=1", status, challenge, with_token=with_token)
    assert all(part in text for part in said), text
    assert "pw" not in text
    assert "key=1" not in text


def test_a_token_of_a_command_is_asked_for_again_when_it_is_refused(tmp_path: Path) -> None:
    times = tmp_path / "times"
    script = f"echo x >> {times}; if [ $(wc -l < {times}) -lt 2 ]; then echo old; else echo key; fi"

    async def scene() -> None:
        async with serving(login=TokenCommand(["sh", "-c", script])) as (client, _):
            results = await asyncio.gather(*(client.call("pretty") for _ in range(5)))
            assert [text_of(result) for result in results] == ["pretty done"] * 5
        assert times.read_text().count("x") == 2

    run(scene())


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo wrong", "does not accept the token"),
        ("echo signed out >&2; exit 3", "gave none (status 3): signed out"),
        ("true", "gave none (status 0)"),
    ],
)
def test_a_command_without_a_good_token_fails_the_call_clearly(script: str, said: str) -> None:
    async def scene() -> None:
        async with serving(login=TokenCommand(["sh", "-c", script]), handshake=False) as (client, _):
            refused = await client.ask("initialize", HELLO)
            assert said in refused["error"]["message"]

    run(scene())


@pytest.mark.parametrize("name", ["pretty", "large"])
def test_an_answer_above_the_limit_fails_its_call_only(name: str) -> None:
    async def scene() -> None:
        async with serving() as (client, _):
            client.wrapper.upstreams[0]._largest = 20  # type: ignore[attr-defined]
            over = await client.ask("tools/call", {"name": name})
            assert "over the limit of 20 bytes" in json.dumps(over)
            client.wrapper.upstreams[0]._largest = 1 << 20  # type: ignore[attr-defined]
            assert text_of(await client.call("pretty")) == "pretty done"

    run(scene())


def test_stateless_requests_carry_their_headers_and_closing_the_stream_cancels() -> None:
    async def scene() -> None:
        async with serving(handshake=False) as (client, server):
            await client.result("tools/list", {"_meta": MODERN_META})
            await client.call("pretty", meta=MODERN_META, region="Zürich")
            headers = server.headers[-1]
            assert headers["MCP-Protocol-Version"] == "2026-07-28"
            assert headers["Mcp-Method"] == "tools/call"
            assert headers["Mcp-Name"] == "pretty"
            await client.result("tasks/get", {"taskId": "t1", "_meta": MODERN_META})
            assert server.headers[-1]["Mcp-Name"] == "t1"
            assert headers["Mcp-Param-Region"] == "=?base64?WsO8cmljaA==?="
            assert "Mcp-Session-Id" not in headers
            id, _ = client.post("tools/call", {"name": "wait", "_meta": MODERN_META})
            await asyncio.sleep(0.1)
            client.notify("notifications/cancelled", {"requestId": id})
            for _ in range(100):
                await asyncio.sleep(0.02)
                if server.dropped:
                    break
            assert server.dropped == 1

    run(scene())


def test_header_values_are_plain_where_they_can_be() -> None:
    assert header_value("us-west1") == "us-west1"
    assert header_value(" padded ") == "=?base64?IHBhZGRlZCA=?="
    assert header_value("=?base64?literal?=") == "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="
    nested = {"properties": {"a": {"properties": {"b": {"x-mcp-header": "B"}}}, "c": {"items": {"x-mcp-header": "C"}}}}
    assert header_paths(nested) == [(("a", "b"), "B")]


@given(st.lists(st.integers(1, 9), min_size=1), st.sampled_from(["\n", "\r\n", "\r"]))
def test_events_are_read_from_any_pieces(cuts: list[int], end: str) -> None:
    text = (
        f": hello{end}id: 1{end}data: one{end}data: two{end}{end}event: x{end}data:three{end}{end}data: äöü{end}{end}"
    )
    data = text.encode()

    async def pieces() -> AsyncIterator[bytes]:
        at, place = 0, 0
        while at < len(data):
            step = cuts[place % len(cuts)]
            yield data[at : at + step]
            at, place = at + step, place + 1

    async def read() -> list[dict[str, str]]:
        return [event async for event in server_sent(pieces())]

    assert asyncio.run(read()) == [
        {"id": "1", "data": "one\ntwo"},
        {"event": "x", "data": "three"},
        {"data": "äöü"},
    ]
