"""`brim serve --demo`: a gateway in front of the fake provider, and a sample conversation that outgrows its window."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

from brim.gateway.observe.logs import set_up
from brim.gateway.proxy.client import Client
from brim.gateway.proxy.faults import UpstreamFault
from brim.gateway.server.app import Gateway
from brim.gateway.server.options import options_of
from brim.gateway.server.serving import Server, address, dashboard
from brim.settings import Settings
from brim.stores.inmemory import InMemoryStore
from brim.testing import Call, FakeProvider, Say

MODEL = "gpt-4o-mini"
WINDOW = 16_000
TURNS = 48
PAUSE, SOON = 1.0, 56
_CITIES = ("Berlin", "Lagos", "Osaka", "Quito", "Oslo", "Pune", "Lima", "Turin")
_STATES = ("open", "packed", "shipped", "delivered", "returned")


def orders(turn: int) -> str:
    """What the sample's tool answers: a list as an API gives it."""
    rows = [
        {
            "id": f"ORD-{turn:03d}{number:02d}",
            "customer": {"id": 4_000 + turn * 7 + number, "city": _CITIES[(turn + number) % len(_CITIES)]},
            "status": _STATES[(turn * 3 + number) % len(_STATES)],
            "total": f"{(turn * 37 + number * 113) % 900 + 20}.50",
            "url": f"https://shop.example/api/orders/ORD-{turn:03d}{number:02d}",
            "note": None if number % 4 else "fragile: call before delivery",
        }
        for number in range(14)
    ]
    return json.dumps({"orders": rows, "page": turn, "next": f"https://shop.example/api/orders?page={turn + 1}"})


def log_lines(turn: int) -> str:
    """And a log, with one line that matters."""
    lines = [
        f"2026-03-0{turn % 9 + 1}T10:{number:02d}:17Z INFO worker-{number % 4} processed batch {turn * 60 + number}"
        for number in range(60)
    ]
    lines[41] = (
        f"2026-03-0{turn % 9 + 1}T10:41:17Z ERROR worker-1 payment gateway timeout for ORD-{turn:03d}07 (code 504)"
    )
    return "\n".join(lines)


def conversation() -> Iterator[list[dict[str, Any]]]:
    """The requests of the sample, each with the whole history, as clients send them."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are the assistant of a shop's support desk. Use the tools; be brief."}
    ]
    for turn in range(1, TURNS + 1):
        asked = f"Turn {turn}: which orders of page {turn} still need work, and did any payment fail?"
        if turn % 8 == 0:
            asked += f" And remind me: what was wrong with ORD-{turn // 2:03d}07?"
        messages.append({"role": "user", "content": asked})
        yield list(messages)
        tool = "read_log" if turn % 3 == 0 else "list_orders"
        call = {"name": tool, "arguments": json.dumps({"page": turn})}
        calls = [{"id": f"call_{turn}", "type": "function", "function": call}]
        result = log_lines(turn) if turn % 3 == 0 else orders(turn)
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": result})
        yield list(messages)
        messages.append(
            {"role": "assistant", "content": f"Page {turn}: three orders are open; ORD-{turn:03d}07 failed."}
        )


def run(settings: Settings) -> None:
    """Serve the demo until a signal ends it."""
    asyncio.run(_run(settings))


async def _run(settings: Settings) -> None:
    async with FakeProvider(window=WINDOW, model=MODEL, default=Say("Done.")) as provider:
        options = options_of(settings, upstream=provider.url)
        gateway = Gateway(options, store=InMemoryStore(), dashboard=dashboard())
        gateway.fitter.catalog.override(MODEL, {"window": WINDOW, "max_output": 1_000})
        server = Server(gateway)
        bound = server.listen()
        set_up(gateway.redact, logging.WARNING)  # the page tells what happens; the address should stay in sight
        base = address(bound)
        print(f"Brim shows a sample conversation at {base}/brim/  (API: {base}/v1)", file=sys.stderr)
        print("Its provider is a fake one and needs no key. Ctrl-C stops it.", file=sys.stderr, flush=True)
        replaying = asyncio.get_running_loop().create_task(replay(server, provider, base))
        await server.run_on(bound)
        replaying.cancel()
        await asyncio.gather(replaying, return_exceptions=True)


async def replay(server: Server, provider: FakeProvider, base: str, pause: float = PAUSE) -> int:
    """Send the sample through the gateway; how many of its requests were answered."""
    await server.ready.wait()
    client = Client(connect_timeout=5, read_timeout=30, connections=4)
    headers = [
        (b"content-type", b"application/json"),
        (b"user-agent", b"brim-demo/1"),
        (b"x-brim-session", b"demo"),
    ]
    answered = 0
    try:
        for messages in conversation():
            calling = messages[-1]["role"] == "user"
            provider.script(Call("list_orders", {"page": 1}) if calling else Say("Three orders are open.", pieces=6))
            streaming = {"stream": True, "stream_options": {"include_usage": True}}
            body = json.dumps({"model": MODEL, "messages": messages, **streaming}).encode()
            async with await client.send("POST", f"{base}/v1/chat/completions", headers, body) as answer:
                await answer.read(1 << 20)
                answered += answer.status == 200
            # The first turns pass in a moment, so that there is something to see at once.
            await asyncio.sleep(pause if answered > SOON else pause / 20)
    except UpstreamFault:
        return answered  # the gateway is being stopped
    finally:
        await client.close()
    return answered
