"""The worst bodies that a gateway can be sent: each is large in a way of its own."""

from __future__ import annotations

import base64
import gzip
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

MB = 1_000_000


@dataclass(frozen=True)
class Worst:
    """A body by name, with the headers that it needs."""

    name: str
    body: Callable[[], bytes]
    headers: dict[str, str] = field(default_factory=dict)


def chat(*messages: object, **fields: object) -> bytes:
    return json.dumps({"model": "gpt-4.1", "messages": list(messages), **fields}, separators=(",", ":")).encode()


def said(text: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": text}


@cache
def prose(size: int) -> str:
    rng = random.Random(3)
    words = ["".join(rng.choices("etaoinshrdlucmfwyp", k=rng.randrange(2, 10))) for _ in range(9_000)]
    return " ".join(rng.choices(words, k=size // 6))[:size]


def many_messages(count: int) -> bytes:
    rng = random.Random(4)
    return chat(
        *(said(f"note {n}: {rng.random()}", ("user", "assistant")[n % 2]) for n in range(count - 1)), said("So?")
    )


def history(size: int) -> bytes:
    """An agent's steps with results of 20 KB, of which most does not fit."""
    text = prose(2 * MB)
    messages: list[object] = [said("Find the order that was paid twice.")]
    for n in range(size // 20_000):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": f'{{"page":{n}}}'}}
        begin = n * 20_000 % (len(text) - 20_000)
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": text[begin : begin + 20_000]})
    return chat(*messages)


def rows(count: int) -> str:
    rng = random.Random(6)
    return json.dumps([{"id": n, "paid": rng.random() < 0.5, "sum": rng.randrange(9_999)} for n in range(count)])


def tools(count: int) -> bytes:
    given = [
        {
            "type": "function",
            "function": {
                "name": f"tool_{n}",
                "description": f"Looks for what is about {n}.",
                "parameters": {"type": "object", "properties": {f"p{n}": {"type": "string", "description": "what"}}},
            },
        }
        for n in range(count)
    ]
    return chat(said("Which one?"), tools=given)


def deep(count: int) -> bytes:
    """Tools that hold each other so many times over."""
    begin = b'{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}],"tools":['
    return begin + b'{"a":' * count + b"1" + b"}" * count + b"]}"


def packed(size: int) -> bytes:
    return gzip.compress(chat(said("a" * size)))


def encoded(size: int) -> str:
    return base64.b64encode(random.Random(5).randbytes(size)).decode()


BUDGET = {"x-brim-budget": "8000"}
LATER = (said("noted", "assistant"), said("So?"))
WORST = (
    Worst("5.2 MB of one letter", lambda: chat(said("a" * 5_200_000))),
    Worst("60 MB of one letter in gzip", lambda: packed(60 * MB), {"content-encoding": "gzip"}),
    Worst("60 MB of prose", lambda: chat(said(prose(2 * MB) * 30))),
    Worst("40,000 messages", lambda: many_messages(40_000)),
    Worst("40,000 messages to 8,000 tokens", lambda: many_messages(40_000), BUDGET),
    Worst("a million brackets", lambda: b'{"model":"gpt-4.1","messages":' + b"[" * MB + b"]" * MB + b"}"),
    Worst("tools nested 100,000 deep", lambda: deep(100_000)),
    Worst("one string of 20 MB", lambda: chat(said(prose(2 * MB) * 10))),
    Worst("one string of 20 MB to 8,000 tokens", lambda: chat(said(prose(2 * MB) * 10), *LATER), BUDGET),
    Worst("20 MB of base64", lambda: chat(said(encoded(15 * MB)))),
    Worst("20,000 tools", lambda: tools(20_000)),
    Worst("5 MB of JSON rows to 8,000 tokens", lambda: chat(said(rows(110_000)), said("So?")), BUDGET),
    Worst("a history of 2 MB to 8,000 tokens", lambda: history(2 * MB), BUDGET),
    Worst("a history of 42 KB to 8,000 tokens", lambda: history(42_000), BUDGET),
)
