"""Requests with all that an API takes: tools, media, thoughts, blocks, fields that nobody knows, huge instructions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

import brim
from tests.conversations import CONTENT, MAKERS, MODELS, PNG, WORDS, turns

Json = dict[str, Any]
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "where"}, "limit": {"type": "integer"}},
    "required": ["path"],
}
NAMES = ("search", "read_file", "run")
MORE_MODELS = {
    "openai_chat": ["kimi-k2", "glm-4.6", "phi-4", "gemma-3-27b-it", "gpt-oss-120b", "grok-4"],
    "anthropic": ["claude-opus-4-1", "claude-3-opus-20240229"],
    "openai_responses": ["o3", "gpt-5-codex"],
    "gemini": ["gemini-2.0-flash", "gemini-1.5-pro"],
}
SYSTEMS = st.one_of(
    st.none(),
    st.sampled_from(["You are a careful assistant.", "Be brief. " * 8]),
    WORDS.map(lambda text: f"Follow these rules.\n<project_context>\n{text}\n{text}\n</project_context>\nBe kind."),
)
ATTACHED = st.none() | st.lists(
    st.one_of(
        CONTENT,
        st.builds(
            brim.Attachment,
            text=CONTENT,
            source=st.sampled_from(["a.py", 'say "hi" & <go>', ""]),
            type=st.sampled_from(["file", "selection"]),
            recoverable=st.booleans(),
        ),
    ),
    max_size=3,
)


def tools_of(api: str) -> list[Json]:
    """The tools that the calls name, as each API writes them."""
    described = [{"name": name, "description": f"Use {name} on a path. " * 3} for name in NAMES]
    if api == "openai_chat":
        return [{"type": "function", "function": {**tool, "parameters": SCHEMA}} for tool in described]
    if api == "anthropic":
        return [{**tool, "input_schema": SCHEMA} for tool in described]
    if api == "openai_responses":
        return [{"type": "function", **tool, "parameters": SCHEMA} for tool in described]
    return [{"functionDeclarations": [{**tool, "parameters": SCHEMA} for tool in described]}]


def halves(text: str) -> list[str]:
    """A text in two, where it has two characters."""
    middle = len(text) // 2
    return [text[:middle], text[middle:]] if middle else [text]


def wide_chat(message: Json, rnd: random.Random) -> Iterator[Json]:
    content, role = message.get("content"), message["role"]
    if isinstance(content, str) and content and rnd.random() < 0.3:
        blocks: list[Json] = [{"type": "text", "text": half} for half in halves(content)]
        if role == "user" and rnd.random() < 0.5:
            blocks.insert(0, {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}})
        message["content"] = blocks
    if role == "user" and rnd.random() < 0.1:
        yield {"role": rnd.choice(["system", "developer"]), "content": "From now on answer in German."}
    if role == "user" and rnd.random() < 0.1:
        message["name"] = "ann"
    if role == "assistant" and rnd.random() < 0.2:
        message["reasoning_content"] = "let me see " * 20
    if rnd.random() < 0.1:
        message["x_meta"] = {"seen": [1, None, "é"]}
    yield message


def wide_anthropic(message: Json, rnd: random.Random) -> Iterator[Json]:
    content = message["content"]
    blocks = [{"type": "text", "text": half} for half in halves(content)] if isinstance(content, str) else content
    if isinstance(content, str) and rnd.random() < 0.6:
        yield message
        return
    if message["role"] == "assistant" and rnd.random() < 0.3:
        blocks.insert(0, {"type": "redacted_thinking", "data": "b3BhcXVl" * 12})
    results = [block for block in blocks if block["type"] == "tool_result"]
    for block in results:
        if rnd.random() < 0.3:
            image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
            block["content"] = [{"type": "text", "text": block["content"]}, image][rnd.randint(0, 1) :]
        if rnd.random() < 0.2:
            block["is_error"] = True
    if results and rnd.random() < 0.3:
        blocks.append({"type": "text", "text": "Go on, and be quick about it."})
    if rnd.random() < 0.2 and blocks[-1]["type"] not in ("thinking", "redacted_thinking"):
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
    yield {**message, "content": blocks}


def wide_responses(item: Json, rnd: random.Random) -> Iterator[Json]:
    if item["type"] == "function_call_output" and rnd.random() < 0.3:
        picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
        item["output"] = [{"type": "input_text", "text": item["output"]}, picture][: rnd.randint(1, 2)]
    if item["type"] == "message" and item["role"] == "user":
        if rnd.random() < 0.2:
            item["content"].append({"type": "input_image", "image_url": "https://example.com/b.png", "detail": "high"})
        elif rnd.random() < 0.3:
            item = {"role": "user", "content": item["content"][0]["text"]}
    if item.get("type") == "reasoning" and rnd.random() < 0.5:
        item["summary"] = [{"type": "summary_text", "text": "I looked at it."}]
    yield item


def wide_gemini(content: Json, rnd: random.Random) -> Iterator[Json]:
    parts = content["parts"]
    if content["role"] == "user" and rnd.random() < 0.2 and "text" in parts[0]:
        parts.append({"inlineData": {"mimeType": "image/png", "data": PNG}})
    if content["role"] == "model":
        if "functionCall" in parts[0] and rnd.random() < 0.5:
            parts[0]["thoughtSignature"] = "c2lnbmVk" * 8
        if rnd.random() < 0.3:
            parts.insert(0, {"text": "let me see " * 20, "thought": True})
    yield content


WIDE: dict[str, tuple[str, Callable[[Json, random.Random], Iterator[Json]]]] = {
    "openai_chat": ("messages", wide_chat),
    "anthropic": ("messages", wide_anthropic),
    "openai_responses": ("input", wide_responses),
    "gemini": ("contents", wide_gemini),
}


@st.composite
def wide_requests(draw: Any) -> tuple[str, Json, str]:
    """(API, body, model)"""
    api = draw(st.sampled_from(sorted(MAKERS)))
    body = MAKERS[api](draw(turns()), draw(SYSTEMS))
    rnd = draw(st.randoms(use_true_random=False))
    if draw(st.booleans()):
        field, widen = WIDE[api]
        body[field] = [new for message in json.loads(json.dumps(body[field])) for new in widen(message, rnd)]
    if draw(st.booleans()):
        body["tools"] = tools_of(api)
    if draw(st.integers(0, 4)) == 0:
        body["x_extra"] = {"trace": "01H", "tags": ["a", None]}
    return api, body, draw(st.sampled_from(MODELS[api] + MORE_MODELS[api]))


def altered(api: str, before: Json, after: Json) -> list[str]:
    """What may never change and has: settings, tools, and blocks that are signed or that only their API can write."""
    field = WIDE[api][0]
    shown = {"system", "instructions", "systemInstruction", field}
    found = [name for name in {**before, **after} if name not in shown and before.get(name) != after.get(name)]
    known = {json.dumps(block, sort_keys=True) for block in _signed(before[field])}
    found += [
        f"a thought: {block}" for block in _signed(after[field]) if json.dumps(block, sort_keys=True) not in known
    ]
    return found


def _signed(messages: list[Json]) -> Iterator[Any]:
    for message in messages:
        if "reasoning_content" in message:
            yield message["reasoning_content"]
        if message.get("type") == "reasoning":
            yield message
        blocks = message.get("content") or message.get("parts") or []
        for block in blocks if isinstance(blocks, list) else []:
            if block.get("type") in ("thinking", "redacted_thinking") or block.get("thought"):
                yield block
            elif "thoughtSignature" in block:
                yield block["thoughtSignature"]
