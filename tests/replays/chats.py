"""Recorded conversations for the tests: an agent that reads logs, as the requests that its client sent."""

from __future__ import annotations

import json
from typing import Any

Body = dict[str, Any]
LOG = "".join(f"10:{n % 60:02d}:07 INFO worker {n} took job {n * 37}\n" for n in range(120))


def chat(turns: int, model: str = "gpt-4o", topic: str = "harbour") -> list[Body]:
    """The requests of one conversation of OpenAI Chat: each has the history of the one before, and more."""
    messages: list[Body] = [
        {"role": "system", "content": f"You watch the {topic}."},
        {"role": "user", "content": f"Look after the {topic}."},
    ]
    requests = []
    for turn in range(turns):
        requests.append({"model": model, "messages": json.loads(json.dumps(messages))})
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "read_log", "arguments": json.dumps({"day": turn, "of": topic})},
        }
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": f"day {turn}\n{LOG}"})
    return requests


def claude(turns: int, marks: bool = False) -> list[Body]:
    """The same chat with Anthropic; with `marks` each request has a cache breakpoint at its end."""
    messages: list[Body] = [{"role": "user", "content": [{"type": "text", "text": "Look after the harbour."}]}]
    requests = []
    for turn in range(turns):
        sent = json.loads(json.dumps(messages))
        if marks:
            sent[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        body = {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "system": "You watch.", "messages": sent}
        requests.append(body)
        use = {"type": "tool_use", "id": f"t{turn}", "name": "read_log", "input": {"day": turn}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": f"day {turn}\n{LOG}"}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return requests


def responses(turns: int) -> list[Body]:
    """The same chat with OpenAI Responses."""
    items: list[Body] = [{"type": "message", "role": "user", "content": "Look after the harbour."}]
    requests = []
    for turn in range(turns):
        requests.append({"model": "gpt-4o", "instructions": "You watch.", "input": json.loads(json.dumps(items))})
        items.append({"type": "function_call", "call_id": f"c{turn}", "name": "read_log", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": f"c{turn}", "output": f"day {turn}\n{LOG}"})
    return requests


def gemini(turns: int) -> list[Body]:
    """The same chat with Gemini, whose bodies name no model."""
    contents: list[Body] = [{"role": "user", "parts": [{"text": "Look after the harbour."}]}]
    requests = []
    for turn in range(turns):
        requests.append({"contents": json.loads(json.dumps(contents))})
        call = {"functionCall": {"name": "read_log", "args": {"day": turn}}}
        answer = {"functionResponse": {"name": "read_log", "response": {"log": f"day {turn}\n{LOG}"}}}
        contents += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]
    return requests


def lines(values: list[Any]) -> bytes:
    """JSON lines."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)
