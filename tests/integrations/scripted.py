"""The run of every adapter: a scripted model calls a tool until its history is far past 8k tokens.

A test hands the requests that the model got to `check`, as OpenAI chat messages that it made without the adapter.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import brim

MODEL = "gpt-4o"
BUDGET = 8_000
STEPS = 12
SYSTEM = "You look after the harbour's bookings."
FIRST = "Find out why berth_12 is booked twice. The contract is KX-4471, and the owner must not be told yet."
ANSWER = "The crane was moved on Tuesday."


def output(step: int) -> str:
    """What the tool says at a step: about 1,100 tokens, no two alike."""
    lines = (
        f"{step:02}-{line:03} berth_{(step * 7 + line) % 40} ship S{step * 131 + line * 17} dues {line * 3}.5"
        for line in range(60)
    )
    return f"log of day {step}\n" + "\n".join(lines)


def read_log(day: int) -> str:
    """Read the harbour's log of a day."""
    return output(day)


def check(requests: list[list[dict[str, Any]]], *, steps: int = STEPS, tools: Any = None, system: bool = True) -> None:
    """Every request is within the window, is valid, and has what the user asked for."""
    whole = sum(brim.count(output(step), model=MODEL).tokens for step in range(steps))
    assert whole > 1.25 * BUDGET, "the run does not go past the window"
    assert len(requests) == steps + 1
    for number, request in enumerate(requests):
        counted = brim.count(request, model=MODEL, tools=tools, api="openai_chat")  # refuses results without a call
        assert counted.tokens <= BUDGET, (number, counted)
        said = [text(message) for message in request if message["role"] == "user"]
        assert any(FIRST in one for one in said), (number, said)
        if system:
            assert SYSTEM in text(request[0])
        answered(request)
    last = "\n".join(text(message) for message in requests[-1])
    assert output(steps - 1) in last, "the newest result was shortened"
    assert not all(output(step) in last for step in range(steps)), "nothing was shortened"


def answered(request: list[dict[str, Any]]) -> None:
    """Every call has its result right behind it."""
    for number, message in enumerate(request):
        calls = {call["id"] for call in message.get("tool_calls") or ()}
        behind = request[number + 1 : number + 1 + len(calls)]
        assert calls == {result.get("tool_call_id") for result in behind}, (calls, behind)


def text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content)


def call(step: int) -> dict[str, Any]:
    """An OpenAI tool call of `read_log`."""
    return {
        "id": f"call_{step}",
        "type": "function",
        "function": {"name": "read_log", "arguments": f'{{"day": {step}}}'},
    }


def example(name: str, **given: Any) -> dict[str, Any]:
    """Run the example of a framework's page with what the page says that you have; what it defines."""
    path = Path(__file__).parents[2] / "docs/examples/integrations" / f"{name}.py"
    return runpy.run_path(str(path), given)
