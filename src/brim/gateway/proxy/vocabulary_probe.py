"""Asks a server how it counts, to identify the vocabulary of an unknown model.

llama.cpp, vLLM, SGLang and TGI count texts at `/tokenize`. Only Brim's own texts are sent there, never a client's.
"""

from __future__ import annotations

from typing import Any

import msgspec

from brim.gateway.proxy.client import Client
from brim.gateway.proxy.faults import UpstreamFault
from brim.gateway.proxy.headers import Pairs
from brim.gateway.proxy.upstreams import Target
from brim.models.families import Family
from brim.tokens.fingerprints import PROBES, identify

LARGEST = 1 << 20


async def family_at(client: Client, target: Target, headers: Pairs, model: str) -> Family | None:
    """A model's family by its server's counts of a few texts; None if it doesn't say or no known family matches."""
    counts = []
    for text in PROBES:
        found = await _count(client, target, headers, model, text)
        if found is None:
            return None
        counts.append(found)
    return identify(counts)


async def _count(client: Client, target: Target, headers: Pairs, model: str, text: str) -> int | None:
    # Each server reads the field name it knows and ignores the others.
    asked = {"model": model, "content": text, "prompt": text, "inputs": text, "add_special_tokens": False}
    named = [*headers, (b"content-type", b"application/json")]
    try:
        async with await client.send("POST", target.root + "/tokenize", named, msgspec.json.encode(asked)) as answer:
            return counted(await answer.read(LARGEST)) if answer.status == 200 else None
    except UpstreamFault:
        return None


def counted(body: bytes) -> int | None:
    """The number of tokens in an answer. Example: b'{"tokens": [1, 2]}' -> 2; b'[{"id": 1}]' -> 1"""
    try:
        told: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(told, dict):
        if type(told.get("count")) is int:
            return int(told["count"])
        told = told.get("tokens")
    return len(told) if isinstance(told, list) else None
