"""LiteLLM's own `headroom` guardrail asks a running gateway, and LiteLLM sends on what came back."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import litellm
import pytest
from litellm.proxy.guardrails.guardrail_hooks.headroom.headroom import HeadroomGuardrail

from brim.testing import FakeProvider

WINDOW = 8_000
FIRST = "Find out which berth the Aurora may use, and never move the Borealis."
# What the gateway writes where it shortened a message.
MARK = re.compile(r"hash=([0-9a-f]+)")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[str]:
    """`brim serve`; BRIM_PYTHON names a Python that has what the gateway needs where this one has not."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    (tmp_path / "brim.toml").write_text(f'[models."small"]\nwindow = {WINDOW}\nfamily = "o200k"\n')
    python = os.environ.get("BRIM_PYTHON", sys.executable)
    command = [python, "-m", "brim", "serve", "--port", str(port), "--config", str(tmp_path / "brim.toml")]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    process = subprocess.Popen(command, cwd=tmp_path, env=env)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{url}/healthz").close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def conversation(results: int) -> list[dict[str, Any]]:
    """The user's request, and calls of a tool with what came back; the newest is still to be answered."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": FIRST}]
    for number in range(results):
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        rows = "\n".join(f"berth {number}-{row}: {row * 7919 % 1013} cm free" for row in range(60))
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": rows})
    return messages


def guardrail(url: str, key: str = "ada") -> HeadroomGuardrail:
    return HeadroomGuardrail(api_base=url, api_key=key, model="small", guardrail_name="brim")


async def fitted(guard: HeadroomGuardrail, messages: list[dict[str, Any]], call: str = "call-1") -> dict[str, Any]:
    request = {"model": "small", "messages": messages, "litellm_call_id": call}
    return await guard.apply_guardrail({"structured_messages": messages}, request, "request")


async def retrieved(guard: HeadroomGuardrail, hash: str) -> str:
    """What LiteLLM gives the model for a hash; newer versions also name the session."""
    names = inspect.signature(guard._call_retrieve).parameters
    return await guard._call_retrieve(hash, **({"affinity": None} if "affinity" in names else {}))


def test_litellm_sends_on_what_the_gateway_shortened(gateway: str) -> None:
    """Past the window without Brim, within it with what its own guardrail got from Brim."""

    async def ask(fake: FakeProvider, messages: Any) -> Any:
        where = {"api_base": f"{fake.url}/v1", "api_key": "any", "max_tokens": 200, "num_retries": 0}
        return await litellm.acompletion(model="openai/gpt-4o", messages=messages, **where)

    async def run() -> None:
        with FakeProvider(window=WINDOW) as fake:
            messages = conversation(16)
            with pytest.raises(litellm.ContextWindowExceededError):
                await ask(fake, messages)
            found = await fitted(guardrail(gateway), messages)
            sent = found["structured_messages"]
            answer = await ask(fake, sent)
            assert answer.choices[0].message.content == "All right."
            assert sent[0] == messages[0]
            assert sent[-2:] == messages[-2:]  # the newest step is held back by LiteLLM, and whole
            assert [row["role"] for row in sent] == [row["role"] for row in messages]
            assert FIRST in fake.posts[-1].body.decode()
            assert found["tools"][0]["function"]["name"] == "headroom_retrieve"

    asyncio.run(run())


def test_litellm_gets_the_original_back_by_its_hash(gateway: str) -> None:
    async def run() -> None:
        guard, messages = guardrail(gateway), conversation(16)
        sent = (await fitted(guard, messages))["structured_messages"]
        hashes = {hash for row in sent for hash in MARK.findall(str(row["content"]))}
        originals = {await retrieved(guard, hash) for hash in hashes}
        assert originals
        assert originals <= {row["content"] for row in messages}
        assert "not found" in await retrieved(guardrail(gateway, "ben"), next(iter(hashes)))

    asyncio.run(run())


def test_what_fits_is_left_alone(gateway: str) -> None:
    async def run() -> None:
        messages = conversation(2)
        found = await fitted(guardrail(gateway), messages)
        assert found["structured_messages"] == messages
        assert "tools" not in found

    asyncio.run(run())
