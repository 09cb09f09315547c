"""Whatever a client and its servers send each other, the wrapper goes on and answers in JSON-RPC."""

from __future__ import annotations

import asyncio
import io
import json
from random import Random
from typing import Any

import pytest

from brim.mcp.options import WrapperOptions
from brim.mcp.results.archive import MemoryArchive
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.json_rpc import RpcMessage
from brim.mcp.transport.upstream import Events
from brim.mcp.wrapper.proxy import Wrapper

KEYS = """name description inputSchema outputSchema annotations _meta content structuredContent type text resource uri
isError task taskId resultType tools nextCursor properties required enum items anyOf $defs $ref default title
readOnlyHint dev.brim/roundTrip dev.brim/tokenBudget anthropic/maxResultSizeChars arguments handle offset query limit
progressToken capabilities protocolVersion result status tokens level cursor requestId""".split()
TEXTS = [
    "text",
    "object",
    "echo",
    "",
    "a" * 900,
    '{"a":1}',
    "[1,2",
    "x\n" * 400,
    "é漢字",
    "brim:" + "0" * 32,
    "task",
    "#brim x",
]
NAMES = ["echo", "lines", "brim_recall", "brim_find", "brim_call", "brim_describe", "one__echo", "brim_open_other"]
METHODS = """initialize tools/list tools/call tools/call tools/call resources/read resources/list tasks/result tasks/get
prompts/get completion/complete ping server/discover subscriptions/listen""".split()
NOTES = ["notifications/tools/list_changed", "notifications/progress", "notifications/cancelled", "unheard/of"]
STATELESS = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


class Chance:
    """Values that no specification allows, among those that one does; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def __call__(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, *options: Any) -> Any:
        return self.random.choice(options)

    def value(self, depth: int = 0) -> Any:
        if depth > 4 or self(0.35):
            return self.one(*TEXTS)
        if self(0.3):
            return self.one(None, True, False, 0, -1, 3, 1.5, 10**20, 800)
        if self(0.3):
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return self.fields(depth + 1)

    def fields(self, depth: int = 0) -> dict[str, Any]:
        return {self.one(*KEYS): self.value(depth) for _ in range(self.random.randrange(5))}

    def result(self, method: str) -> Any:
        some = range(self.random.randrange(5))
        if method == "tools/list" and not self(0.15):
            return {
                "tools": [{"name": self.one("echo", "lines", 5, None, "brim_recall"), **self.fields()} for _ in some]
            }
        if method in ("initialize", "server/discover") and not self(0.15):
            return {
                "protocolVersion": self.one("2025-11-25", self.value()),
                "capabilities": self.one({"tools": {}}, self.value()),
            }
        if method == "tools/call" and not self(0.15):
            text = {"type": "text", "text": self.one(*TEXTS) * self.one(1, 50)}
            resource = {"type": "resource", "resource": self.value()}
            return {"content": [self.one(text, resource, self.value()) for _ in some], **self.fields()}
        return self.value()

    def request(self, id: int) -> Any:
        if self(0.05):
            return {"jsonrpc": "2.0", "method": NOTES[2], "params": {"requestId": self.one(id - 1, "x", None)}}
        if self(0.04):
            return self.value()
        if self(0.03):
            return {"jsonrpc": "2.0", "id": self.one("brim/one/1", 1), "result": self.value()}
        call = {"name": self.one(*NAMES), "arguments": self.value()}
        params = self.one(self.value(), call, {**call, **STATELESS})
        return {"jsonrpc": "2.0", "id": id, "method": self.one(*METHODS), "params": params}


class Server:
    """An upstream that answers, in the end, and mostly with nonsense."""

    def __init__(self, name: str, chance: Chance) -> None:
        self.name = name
        self.alive = True
        self._chance = chance
        self._events: Events | None = None

    async def start(self, events: Events) -> None:
        self._events = events

    def send(self, line: bytes, message: RpcMessage | None = None) -> None:
        body = json.loads(line)
        if "id" in body and "method" in body:
            asyncio.get_running_loop().call_soon(self._answer, body)

    def _answer(self, body: dict[str, Any]) -> None:
        assert self._events is not None
        chance, said = self._chance, []
        if chance(0.03):
            said.append(b'{"id": 3, "result": ')
        if chance(0.03):
            said.append(json.dumps(chance.value()).encode())
        if chance(0.1):
            note = {"jsonrpc": "2.0", "method": chance.one(*NOTES), "params": chance.value()}
            said.append(json.dumps(note).encode())
        if chance(0.05):
            asked = {"jsonrpc": "2.0", "id": chance.one(1, "a"), "method": "roots/list", "params": chance.value()}
            said.append(json.dumps(asked).encode())
        outcome = {"error": chance.value()} if chance(0.05) else {"result": chance.result(body["method"])}
        said.append(json.dumps({"jsonrpc": "2.0", "id": body["id"], **outcome}).encode())
        said.append(json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": {}}).encode())
        for line in said:
            self._events.from_server(self, line)

    def may_restart(self) -> bool:
        return False

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    async def stop(self) -> None: ...

    def kill(self) -> None: ...


@pytest.mark.parametrize("seed", range(200))
def test_nonsense_is_answered_and_never_breaks_the_wrapper(seed: int) -> None:
    chance = Chance(seed)
    sent: list[bytes] = []
    broken: list[dict[str, Any]] = []

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: broken.append(context))
        servers = [Server(name, chance) for name in chance.one(("",), ("one", "two"))]
        options = WrapperOptions(
            grouping=chance.one("auto", "meta", "virtual", "off"),
            level=chance.one("auto", "minimal", "full"),
            tool_threshold=chance.one(1, 128),
            max_calls=chance.one(0, 0, 5),
        )
        archive = MemoryArchive()
        wrapper = Wrapper(servers, options, sent.append, log=ChildLog(io.BytesIO()), archive=archive)
        await wrapper.start()
        for id in range(40):
            wrapper.from_client(json.dumps(chance.request(id)).encode())
            await asyncio.sleep(0)
        while wrapper.busy:  # large results are compacted in a thread; what is never answered runs into the time limit
            await asyncio.sleep(0.001)
        archive.close()

    asyncio.run(asyncio.wait_for(scene(), 60))
    assert not broken
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in sent)
