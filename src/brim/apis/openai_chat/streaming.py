"""Puts a chat completion that was streamed in chunks back together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.apis.event_fields import inner, number_of, objects, text_of


def whole(chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Example: chunks with "All", " right." -> {"choices": [{"message": {…, "content": "All right."}}], …}"""
    texts: dict[str, str] = {}
    calls: dict[int, dict[str, Any]] = {}
    finish, usage = None, None
    for chunk in (inner(chunk, "chunk") or chunk for chunk in chunks):  # the SDK's own helper wraps them
        usage = chunk.get("usage") or usage
        for choice in objects(chunk, "choices"):
            if number_of(choice, "index"):
                continue  # other answers to the same prompt
            finish = choice.get("finish_reason") or finish
            delta = inner(choice, "delta")
            for key, value in delta.items():
                if isinstance(value, str) and key != "role":
                    texts[key] = texts.get(key, "") + value
            for call in objects(delta, "tool_calls"):
                _gather(calls, call)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None,
        **{key: text for key, text in texts.items() if text},
    }
    if calls and finish:  # a call that was cut off cannot be answered
        message["tool_calls"] = [calls[number] for number in sorted(calls)]
    said = any(value for key, value in message.items() if key != "role")
    choices = [{"index": 0, "message": message, "finish_reason": finish}] if said else []
    return {"choices": choices, "usage": usage}


def _gather(calls: dict[int, dict[str, Any]], piece: dict[str, Any]) -> None:
    function = inner(piece, "function")
    call = calls.setdefault(
        number_of(piece, "index"), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    )
    call["id"] = text_of(piece, "id") or call["id"]
    call["function"]["name"] += text_of(function, "name")
    call["function"]["arguments"] += text_of(function, "arguments")
