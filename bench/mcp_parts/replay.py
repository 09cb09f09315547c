"""Recorded or made-up tool results, through the wrapper: what a model sees, and what is still there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brim.content import decode
from brim.errors import NotDecodable
from brim.mcp.options import WrapperOptions
from brim.mcp.results.archive import MemoryArchive
from brim.mcp.results.compacting import count_tokens
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.json_rpc import RpcMessage, dump
from brim.mcp.wrapper.proxy import Wrapper
from mcp_parts.rows import Row, load

Step = tuple[str, dict[str, Any], str]


class Replay:
    """An upstream that answers each call with a recorded text."""

    def __init__(self, steps: list[Step]) -> None:
        self.name = ""
        self.alive = True
        self._texts = [text for _, _, text in steps]
        self._next = 0
        self._events: Any = None

    async def start(self, events: Any) -> None:
        self._events = events

    def send(self, line: bytes, message: RpcMessage | None = None) -> None:
        body = json.loads(line)
        if body.get("method") == "initialize":
            result: Any = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}
        elif body.get("method") == "tools/call":
            result = {"content": [{"type": "text", "text": self._texts[self._next]}]}
            self._next += 1
        else:
            result = {"tools": []}
        self._events.from_server(self, dump({"jsonrpc": "2.0", "id": body["id"], "result": result}))

    def may_restart(self) -> bool:
        return False

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    async def stop(self) -> None: ...

    def kill(self) -> None: ...


async def wrapped(steps: list[Step], options: WrapperOptions) -> tuple[list[str], MemoryArchive]:
    """The texts that the model sees when the steps go through a wrapper."""
    answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    archive = MemoryArchive()
    upstream = Replay(steps)
    wrapper = Wrapper(
        [upstream], options, lambda line: answers.put_nowait(json.loads(line)), log=ChildLog(), archive=archive
    )
    await wrapper.start()
    wrapper.from_client(dump({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}))
    await answers.get()
    texts = []
    for number, (tool, arguments, _) in enumerate(steps, 1):
        params = {"name": tool, "arguments": arguments}
        wrapper.from_client(dump({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}))
        result = (await answers.get())["result"]
        texts.append("\n".join(block.get("text") or block.get("uri", "") for block in result["content"]))
    return texts, archive


def kept(steps: list[Step], texts: list[str], archive: MemoryArchive) -> tuple[int, int, int]:
    """Values of later calls that stood in an earlier raw result: all, seen now, seen or one recall away."""
    total = seen = reachable = 0
    for place, (_, arguments, _) in enumerate(steps):
        for value in literals(arguments):
            holders = [i for i in range(place) if value in steps[i][2]]
            if not holders:
                continue
            total += 1
            if any(value in texts[i] for i in holders):
                seen += 1
                reachable += 1
            elif any(_recalled(texts[i], value, archive) for i in holders):
                reachable += 1
    return total, seen, reachable


def _recalled(text: str, value: str, archive: MemoryArchive) -> bool:
    if value in _decoded(text):
        return True  # a lossless form may write a value as a template
    at = text.find("brim:")
    while at >= 0:
        handle = text[at : at + 37]
        try:
            if value in archive.get(handle):
                return True
        except LookupError:
            pass  # a word that only looks like a handle
        at = text.find("brim:", at + 5)
    return False


def _decoded(text: str) -> str:
    try:
        value = decode(text) if text.startswith("#brim ") else ""
    except NotDecodable:
        return ""  # an extract
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def literals(arguments: Any) -> list[str]:
    if isinstance(arguments, dict):
        return [value for item in arguments.values() for value in literals(item)]
    if isinstance(arguments, list):
        return [value for item in arguments for value in literals(item)]
    text = str(arguments)
    return [text] if isinstance(arguments, str) and 4 <= len(text) <= 200 and "\n" not in text else []


def runs(data: Path) -> Iterator[Row]:
    """Real agent runs against real servers, their results through the wrapper."""
    raw = sent = total = seen = reachable = 0
    for run in load(data / "livemcp_sonnet4.jsonl"):
        asked: dict[str, tuple[str, dict[str, Any]]] = {}
        steps: list[Step] = []
        for message in run["messages"]:
            for call in message.get("tool_calls") or []:
                asked[call["id"]] = (call["function"]["name"], json.loads(call["function"]["arguments"]))
            if message["role"] == "tool" and message.get("tool_call_id") in asked:
                name, arguments = asked[message["tool_call_id"]]
                steps.append((name, arguments, str(message["content"])))
        texts, archive = asyncio.run(wrapped(steps, WrapperOptions()))
        raw += sum(count_tokens(text) for _, _, text in steps)
        sent += sum(count_tokens(text) for text in texts)
        counts = kept(steps, texts, archive)
        total, seen, reachable = total + counts[0], seen + counts[1], reachable + counts[2]
        archive.close()
    yield "LiveMCP runs, tokens of results", f"{raw:,} -> {sent:,} ({1 - sent / raw:.1%} saved)", ""
    yield f"  {total} values of later calls: still there", f"{seen / max(total, 1):.1%}", ""
    yield "  still there or one recall away", f"{reachable / max(total, 1):.1%}", ""
