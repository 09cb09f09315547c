"""Broken requests by the thousand, against the gateway in this process: nothing may fail inside it.

    python bench/gateway_fuzz.py --count 10000 --seed 1

For each API `count` bodies: valid requests with parts of them dropped, doubled, swapped, retyped or cut, some of them
long enough to be fitted, in each recall mode. The provider's answers are broken in the same way (some of its own are
500s). Told at the end: faults inside the gateway, failed open or not, and where they happened.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import copy
import json
import logging
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from brim import settings
from brim.gateway.observe.logs import trace_of
from brim.gateway.server.app import Gateway
from brim.gateway.server.options import options_of

APIS = ("openai_chat", "openai_responses", "anthropic", "gemini")
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-2.5-flash:generateContent",
}
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5e308, 10**40, "", "x", "\ud800", "brim:00000000", [], {}, [[]], [None], {"": 0},
)  # fmt: skip
WORDS = (
    "order invoice status shipped error /src/app/main.py id=4711 total 12.50 where was the second parcel left".split()
)


def prose(rng: random.Random, most: int) -> str:
    text = " ".join(rng.choice(WORDS) + str(rng.randrange(50)) for _ in range(rng.randrange(1, most)))
    if rng.random() < 0.2:
        return json.dumps([{"id": n, "text": text[:40]} for n in range(rng.randrange(1, 20))])
    return text


def chat(rng: random.Random, turns: int, most: int) -> dict[str, Any]:
    messages: list[Any] = [{"role": "system", "content": prose(rng, 20)}]
    for number in range(turns):
        messages.append({"role": "user", "content": prose(rng, most)})
        if rng.random() < 0.4:
            call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": prose(rng, most)})
        messages.append({"role": "assistant", "content": prose(rng, 20)})
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages.append({"role": "user", "content": [{"type": "text", "text": prose(rng, most)}, image]})
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
    return {"model": "gpt-4o", "messages": messages, "tools": tools, "max_tokens": 100, "stream": rng.random() < 0.4}


def responses(rng: random.Random, turns: int, most: int) -> dict[str, Any]:
    items: list[Any] = []
    for number in range(turns):
        items.append({"role": "user", "content": [{"type": "input_text", "text": prose(rng, most)}]})
        items.append({"type": "reasoning", "id": f"r{number}", "summary": [], "encrypted_content": "abc"})
        items.append({"type": "function_call", "call_id": f"c{number}", "name": "look", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": prose(rng, most)})
    items.append({"type": "message", "role": "user", "content": prose(rng, most)})
    tools = [{"type": "function", "name": "look", "parameters": {"type": "object"}}]
    body = {"model": "gpt-4o", "instructions": "Be brief.", "input": items, "tools": tools}
    return {**body, "stream": rng.random() < 0.4}


def anthropic(rng: random.Random, turns: int, most: int) -> dict[str, Any]:
    messages: list[Any] = []
    for number in range(turns):
        use = {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {"path": "/src/a.py"}}
        thought = {"type": "thinking", "thinking": prose(rng, 10), "signature": "c2ln"}
        messages.append({"role": "user", "content": [{"type": "text", "text": prose(rng, most)}]})
        messages.append({"role": "assistant", "content": [thought, {"type": "text", "text": prose(rng, 10)}, use]})
        told = [{"type": "text", "text": prose(rng, most)}]
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": told}]}
        )
        messages.append({"role": "assistant", "content": prose(rng, 20)})
    marked = {"type": "text", "text": prose(rng, most), "cache_control": {"type": "ephemeral"}}
    messages.append({"role": "user", "content": [marked]})
    system = [{"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}}]
    tools = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "system": system, "messages": messages, "tools": tools}
    return {**body, "stream": rng.random() < 0.4}


def gemini(rng: random.Random, turns: int, most: int) -> dict[str, Any]:
    contents: list[Any] = []
    for _ in range(turns):
        contents.append({"role": "user", "parts": [{"text": prose(rng, most)}]})
        contents.append({"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"a": 1}}}]})
        answer = {"functionResponse": {"name": "look", "response": {"text": prose(rng, most)}}}
        contents.append({"role": "user", "parts": [answer]})
        contents.append({"role": "model", "parts": [{"text": prose(rng, 20)}]})
    contents.append({"role": "user", "parts": [{"text": prose(rng, most)}]})
    tools = [{"functionDeclarations": [{"name": "look", "parameters": {"type": "OBJECT"}}]}]
    return {"contents": contents, "systemInstruction": {"parts": [{"text": "Be brief."}]}, "tools": tools}


MADE = {"openai_chat": chat, "openai_responses": responses, "anthropic": anthropic, "gemini": gemini}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [at] if at else []
    for key, inner in pairs:
        found += places(inner, (*at, key))
    return found


def broken(value: Any, rng: random.Random, times: int) -> Any:
    """A value with some of its parts changed."""
    for _ in range(times):
        known = places(value)
        if not known:
            break
        *way, last = rng.choice(known)
        holder = value
        for step in way:
            holder = holder[step]
        kind = rng.randrange(6)
        if kind == 0:
            del holder[last]
        elif kind == 1:
            holder[last] = copy.deepcopy(rng.choice(ODD))
        elif kind == 2:
            holder[last] = [holder[last]]
        elif kind == 3 and isinstance(holder, list):
            holder.insert(last, json.loads(json.dumps(holder[last])))
        elif kind == 4 and isinstance(holder, list):
            rng.shuffle(holder)
        elif isinstance(holder, dict):
            holder[f"{last}_"] = holder[last]
    return value


def body_of(api: str, rng: random.Random) -> bytes:
    made = MADE[api](rng, rng.choice((0, 1, 3, 8)), rng.choice((8, 60, 400)))
    value = broken(made, rng, rng.choice((0, 1, 1, 2, 5)))
    raw = json.dumps(value).encode()
    if rng.random() < 0.1 and raw:
        cut = rng.randrange(len(raw))
        raw = raw[:cut] + rng.choice((b"", b"\x00", b"\xff", b"}", b'"')) + raw[cut + rng.randrange(3) :]
    return raw


def asking(api: str, rng: random.Random) -> dict[str, Any]:
    """An answer in which the model recalls."""
    wanted = rng.choice(({"handle": "brim:00000000"}, {"query": "the second parcel"}, {"lines": "1-5"}, {}, [], "x"))
    if api == "openai_chat":
        call = {"id": "r1", "type": "function", "function": {"name": "brim_recall", "arguments": json.dumps(wanted)}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "delta": message, "finish_reason": "tool_calls"}
        return {"choices": [choice], "usage": {"prompt_tokens": 9}}
    if api == "openai_responses":
        item = {"type": "function_call", "call_id": "r1", "name": "brim_recall", "arguments": json.dumps(wanted)}
        told = {"type": "response.output_item.done", "item": item, "output_index": 0}
        return {**told, "id": "x", "output": [item], "usage": {"input_tokens": 9, "output_tokens": 3}}
    if api == "anthropic":
        use = {"type": "tool_use", "id": "r1", "name": "brim_recall", "input": wanted}
        told = {"type": rng.choice(("content_block_start", "content_block_stop")), "index": 0, "content_block": use}
        return {**told, "content": [use], "stop_reason": "tool_use", "usage": {"input_tokens": 9, "output_tokens": 3}}
    part = {"functionCall": {"name": "brim_recall", "args": wanted}}
    return {"candidates": [{"content": {"role": "model", "parts": [part]}}], "usageMetadata": {"promptTokenCount": 9}}


class Answer:
    """What the provider says: something broken, sometimes too long, sometimes a recall."""

    def __init__(self, api: str, rng: random.Random) -> None:
        self.waiting = False
        self.status = rng.choice((200, 200, 200, 200, 400, 500))
        value: Any = asking(api, rng) if rng.random() < 0.5 else {"ok": True}
        if rng.random() < 0.6:
            value = broken(value, rng, rng.choice((1, 2)))
        if self.status == 400 and rng.random() < 0.7:
            value = {"error": {"message": "prompt is too long: 5000 tokens > 3000 maximum", "code": rng.choice(ODD)}}
        body = json.dumps(value).encode()
        self._kind = "application/json"
        if rng.random() < 0.3:
            self._kind, body = "text/event-stream", b"event: x\ndata: " + body + b"\n\ndata: [DONE]\n\n"
        cut = rng.randrange(len(body) + 1)
        self._pieces = [body[:cut], body[cut:]] if rng.random() < 0.5 else [body]
        self.headers = ((b"content-type", self._kind.encode()), (b"x-odd", b"1"))

    def header(self, name: str) -> str:
        return self._kind if name == "content-type" else ""

    async def next(self) -> bytes:
        while self._pieces:
            if piece := self._pieces.pop(0):
                return piece
        return b""

    def at_end(self) -> bool:
        return not any(self._pieces)

    async def chunks(self) -> Any:
        while piece := await self.next():
            yield piece

    async def read(self, limit: int) -> bytes:
        return b"".join([piece async for piece in self.chunks()])

    def faults(self) -> Answer:
        return self

    def close(self) -> None:
        self._pieces = []

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def __aenter__(self) -> Answer:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


class Client:
    """Stands in for the connections to upstreams."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.api = ""

    async def send(self, method: str, url: str, headers: Any, body: Any) -> Answer:
        return Answer(self.api, self.rng)

    async def close(self) -> None:
        return None


class Traces(logging.Handler):
    """Where things failed, and how often."""

    def __init__(self) -> None:
        super().__init__()
        self.found: collections.Counter[str] = collections.Counter()

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.found["\n      ".join([record.getMessage(), *trace_of(record.exc_info[1])])] += 1


async def ask(gateway: Gateway, api: str, body: bytes, headers: dict[str, str]) -> int:
    """The status of the answer to one request."""
    told: list[int] = []
    given = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if given.is_set():
            await asyncio.Event().wait()  # the client stays
        given.set()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    pairs = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
    where = {"path": PATHS[api], "raw_path": PATHS[api].encode(), "query_string": b""}
    await gateway({"type": "http", "method": "POST", **where, "headers": pairs}, receive, send)  # type: ignore[arg-type]
    return told[0] if told else 0


async def fuzz(api: str, recall: str, count: int, seed: int, traces: Traces) -> collections.Counter[str]:
    rng = random.Random(f"{seed}{api}{recall}")
    found: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        loaded = settings.load(Path(folder), {"HOME": folder}, gateway={"recall": recall})
        gateway = Gateway(options_of(loaded, upstream="http://127.0.0.1:9"))
        await gateway.start()
        await gateway.discovery.close()
        await gateway.client.close()
        gateway.client = client = Client(rng)  # type: ignore[assignment]
        client.api = api
        for _ in range(count):
            headers = {"x-brim-budget": str(rng.choice((300, 1_000, 5_000)))} if rng.random() < 0.7 else {}
            headers |= {"x-brim-session": f"s{rng.randrange(20)}"} if rng.random() < 0.5 else {}
            before = sum(traces.found.values())
            status = await ask(gateway, api, body_of(api, rng), headers)
            found["requests"] += 1
            found["faults inside"] += sum(traces.found.values()) > before
            found["no answer"] += status == 0
            found[f"{status // 100}xx"] += 1
        await gateway.close()
    return found


async def main(args: argparse.Namespace) -> int:
    traces = Traces()
    logger = logging.getLogger("brim")
    logger.addHandler(traces)
    logger.propagate = False
    total: collections.Counter[str] = collections.Counter()
    for api in args.api or APIS:
        for recall in ("auto", "tool", "off"):
            found = await fuzz(api, recall, args.count // 3 + 1, args.seed, traces)
            print(f"{api:18}{recall:6}", dict(sorted(found.items())), flush=True)
            total += found
    for trace, times in traces.found.most_common():
        print(f"{times} ×", trace)
    return int(bool(total["faults inside"] or total["no answer"]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="bodies for each API")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--api", choices=APIS, action="append")
    sys.exit(asyncio.run(main(parser.parse_args())))
