"""Requests of every API, made by Hypothesis, and what makes one of them valid."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
VOCABULARY = (
    "the order 4417 shipped to Berlin; refund pending? ERROR timeout at /srv/app.py line 88 user_id=U-1029 "
    '日本語のテキスト 🎉🎉 def handler(event): return {"ok": true} <ctx> ``` - item one https://example.com/a/b?id=3'
).split(" ")
# From a seed rather than word by word: to draw them one by one takes longer than to fit what they make.
WORDS = st.builds(
    lambda seed, size: " ".join(random.Random(seed).choices(VOCABULARY, k=size * size)),
    st.integers(0, 2**16),
    st.integers(1, 16),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6) | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=15,
)
ROWS = st.integers(1, 60).map(
    lambda n: json.dumps([{"id": k, "name": f"item-{k}", "ok": k % 3 == 0, "note": "x" * (k % 17)} for k in range(n)])
)
CONTENT = st.one_of(TEXT, WORDS, ROWS, WORDS.map(lambda text: f"Please read this:\n```\n{text}\n```\nand say why."))
RESULT = st.one_of(CONTENT, JSON.map(json.dumps))
OBJECT = st.dictionaries(
    st.sampled_from(["path", "query", "content", "limit"]), st.one_of(TEXT, WORDS, st.integers()), max_size=4
)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@st.composite
def turns(draw: Any) -> list[dict[str, Any]]:
    """A neutral conversation: user, assistant and step (calls with results) turns, ending where a model must answer."""
    found: list[dict[str, Any]] = [{"kind": "user", "text": draw(CONTENT), "image": draw(st.integers(0, 9)) == 0}]
    for number in range(draw(st.integers(0, 10))):
        kind = draw(st.sampled_from(["user", "assistant", "step", "step"]))
        if kind == "step":
            calls = [
                {
                    "id": f"call_{number}_{k}",
                    "name": draw(st.sampled_from(["search", "read_file", "run"])),
                    "args": draw(OBJECT),
                    "result": draw(RESULT),
                }
                for k in range(draw(st.integers(1, 3)))
            ]
            found.append(
                {"kind": "step", "text": draw(st.none() | TEXT), "calls": calls, "thinking": draw(st.booleans())}
            )
        else:
            found.append({"kind": kind, "text": draw(CONTENT), "image": False})
    if found[-1]["kind"] == "assistant":
        found.append({"kind": "user", "text": draw(CONTENT), "image": False})
    return found


def openai_chat(turns: list[dict[str, Any]], system: str | None) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for turn in turns:
        if turn["kind"] == "step":
            calls = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}}
                for c in turn["calls"]
            ]
            messages.append({"role": "assistant", "content": turn["text"], "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": c["id"], "content": c["result"]} for c in turn["calls"]]
        elif turn["image"]:
            url = {"url": f"data:image/png;base64,{PNG}"}
            messages.append(
                {
                    "role": "user",
                    "content": [{"type": "text", "text": turn["text"]}, {"type": "image_url", "image_url": url}],
                }
            )
        else:
            messages.append({"role": turn["kind"], "content": turn["text"]})
    return {"model": "gpt-4o", "messages": messages, "temperature": 0.5}


def anthropic(turns: list[dict[str, Any]], system: str | None) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for turn in turns:
        if turn["kind"] == "step":
            blocks: list[dict[str, Any]] = []
            if turn["thinking"]:
                blocks.append({"type": "thinking", "thinking": "let me see " * 20, "signature": "c2lnbmVk"})
            if turn["text"]:
                blocks.append({"type": "text", "text": turn["text"]})
            blocks += [
                {"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["args"]} for c in turn["calls"]
            ]
            messages.append({"role": "assistant", "content": blocks})
            messages.append(
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": c["id"], "content": c["result"]} for c in turn["calls"]
                    ],
                }
            )
        elif turn["image"]:
            source = {"type": "base64", "media_type": "image/png", "data": PNG}
            messages.append(
                {
                    "role": "user",
                    "content": [{"type": "image", "source": source}, {"type": "text", "text": turn["text"]}],
                }
            )
        else:
            messages.append({"role": turn["kind"], "content": turn["text"]})
    body: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": messages}
    return (
        {**body, "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]}
        if system
        else body
    )


def openai_responses(turns: list[dict[str, Any]], system: str | None) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for turn in turns:
        if turn["kind"] == "step":
            if turn["thinking"]:
                items.append(
                    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5jcnlwdGVk" * 10}
                )
            items += [
                {"type": "function_call", "call_id": c["id"], "name": c["name"], "arguments": json.dumps(c["args"])}
                for c in turn["calls"]
            ]
            items += [
                {"type": "function_call_output", "call_id": c["id"], "output": c["result"]} for c in turn["calls"]
            ]
        else:
            kind = "output_text" if turn["kind"] == "assistant" else "input_text"
            items.append({"type": "message", "role": turn["kind"], "content": [{"type": kind, "text": turn["text"]}]})
    body: dict[str, Any] = {"model": "gpt-4.1", "input": items, "store": False}
    return {**body, "instructions": system} if system else body


def gemini(turns: list[dict[str, Any]], system: str | None) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    for turn in turns:
        if turn["kind"] == "step":
            calls = [{"functionCall": {"name": c["name"], "args": c["args"]}} for c in turn["calls"]]
            results = [
                {"functionResponse": {"name": c["name"], "response": {"output": c["result"]}}} for c in turn["calls"]
            ]
            contents += [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
        else:
            role = "model" if turn["kind"] == "assistant" else "user"
            contents.append({"role": role, "parts": [{"text": turn["text"]}]})
    body: dict[str, Any] = {"contents": contents}
    return {**body, "systemInstruction": {"parts": [{"text": system}]}} if system else body


MAKERS = {"openai_chat": openai_chat, "anthropic": anthropic, "openai_responses": openai_responses, "gemini": gemini}
MODELS = {
    "openai_chat": [
        "gpt-4o",
        "gpt-4",
        "llama-3.3-70b-versatile",
        "qwen3-235b-a22b",
        "deepseek-chat",
        "mistral-large-latest",
    ],
    "anthropic": ["claude-sonnet-4-5", "claude-3-5-haiku-latest"],
    "openai_responses": ["gpt-4.1", "gpt-5"],
    "gemini": ["gemini-2.5-pro"],
}


@st.composite
def requests(draw: Any) -> tuple[str, dict[str, Any], str]:
    """(API, body, model)"""
    api = draw(st.sampled_from(sorted(MAKERS)))
    system = draw(st.none() | st.sampled_from(["You are a careful assistant.", "Be brief. " * 8]))
    return api, MAKERS[api](draw(turns()), system), draw(st.sampled_from(MODELS[api]))


def problems(api: str, body: dict[str, Any]) -> list[str]:
    """What an API would refuse in a body: orphaned results, calls without results, empty or misplaced messages."""
    return {"openai_chat": _chat, "anthropic": _anthropic, "openai_responses": _responses, "gemini": _gemini}[api](body)


def _chat(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    talk = [message for message in body["messages"] if message["role"] not in ("system", "developer")]
    if talk and talk[0]["role"] != "user":
        found.append(f"starts on {talk[0]['role']}")
    for number, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                found.append(f"{number}: orphaned result")
            else:
                waiting.remove(message["tool_call_id"])
            if not isinstance(message["content"], (str, list)):
                found.append(f"{number}: result without content")
            continue
        if waiting:
            found.append(f"{number}: calls {waiting} unanswered")
        waiting = [call["id"] for call in message.get("tool_calls", [])]
        for call in message.get("tool_calls", []):
            json.loads(call["function"]["arguments"])
        if not message.get("content") and not waiting:
            found.append(f"{number}: empty")
    return found + ([f"end: calls {waiting} unanswered"] if waiting else [])


def _anthropic(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    waiting: set[str] = set()
    if body["messages"] and body["messages"][0]["role"] != "user":
        found.append("starts on assistant")
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            found.append(f"{number}: empty")
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if results != waiting:
            found.append(f"{number}: results {results} for calls {waiting}")
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
        found += [f"{number}: empty text" for block in blocks if block["type"] == "text" and not block["text"]]
        found += [
            f"{number}: input is no object"
            for block in blocks
            if block["type"] == "tool_use" and not isinstance(block["input"], dict)
        ]
        found += [
            f"{number}: altered thinking"
            for block in blocks
            if block["type"] == "thinking" and block["thinking"] != "let me see " * 20
        ]
        if message["role"] == "assistant" and all(block["type"] == "thinking" for block in blocks):
            found.append(f"{number}: only thinking")
    return found + ([f"end: calls {waiting} unanswered"] if waiting else [])


def _responses(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    items = [item for item in body["input"] if item.get("role") not in ("system", "developer")]
    if items and items[0].get("role") != "user":
        found.append(f"starts on {items[0]}")
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    if sorted(calls) != sorted(outputs):
        found.append(f"calls {calls} outputs {outputs}")
    for number, item in enumerate(items):
        if item.get("type") == "reasoning" and (
            number + 1 == len(items) or items[number + 1].get("type") != "function_call"
        ):
            found.append(f"{number}: reasoning without what followed it")
        if item.get("type") == "function_call":
            json.loads(item["arguments"])
    return found


def _gemini(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    if body["contents"] and body["contents"][0]["role"] != "user":
        found.append("starts on model")
    for number, content in enumerate(body["contents"]):
        results = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        if results != waiting:
            found.append(f"{number}: results {results} for calls {waiting}")
        waiting = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
        if not content["parts"]:
            found.append(f"{number}: empty")
        for part in content["parts"]:
            if "functionResponse" in part and not isinstance(part["functionResponse"]["response"], dict):
                found.append(f"{number}: response is no object")
            if "functionCall" in part and not isinstance(part["functionCall"]["args"], dict):
                found.append(f"{number}: args are no object")
    return found + ([f"end: calls {waiting} unanswered"] if waiting else [])
