"""Text is counted as text wherever a provider tokenizes it, whatever it spells and whatever stands around it."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.apis.anthropic import framing as by_anthropic
from brim.apis.framed import Framed
from brim.apis.gemini import framing as by_gemini
from brim.apis.openai_chat import framing as by_openai
from brim.apis.openai_responses import framing as by_responses
from brim.tokens import text_counter

MODELS = {
    "openai_chat": "gpt-4o",
    "openai_responses": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8) + bytes([0, 0, 0, 1, 0, 0, 0, 1])


def encoded(size: int, seed: int) -> str:
    return base64.b64encode(random.Random(seed).randbytes(size)).decode()


# What looks like a file, and what does not.
TEXTS = st.one_of(
    st.builds(encoded, st.integers(0, 3_000), st.integers(0, 9)),
    st.builds(lambda size: base64.b64encode(PNG + bytes(size)).decode(), st.integers(0, 3_000)),
    st.builds(
        lambda kind, size, seed: f"data:{kind};base64,{encoded(size, seed)}",
        st.sampled_from(["image/png", "application/pdf", "audio/wav", "text/plain"]),
        st.integers(0, 3_000),
        st.integers(0, 9),
    ),
    st.text(max_size=200),
)
# Free-form JSON may use the names that the APIs use for media and for what they encrypt.
FREE = st.recursive(
    TEXTS.map(lambda text: {"text": text}),
    lambda inner: st.one_of(
        st.builds(
            lambda key, value: {key: value},
            st.sampled_from(["image", "source", "inlineData", "file", "content", "input_image", "encrypted_content"]),
            inner,
        ),
        st.builds(lambda value: {"type": "image", "media_type": "image/png", "source": value}, inner),
        st.lists(inner, max_size=2).map(lambda values: {"parts": values}),
    ),
    max_leaves=3,
)
KEYS = st.sampled_from(["data", "url", "image_url", "encrypted_content", "signature", "file_data", "text", "blob"])


def wrapped(key: str, text: str) -> dict[str, Any]:
    """Free-form JSON that is shaped like a media part."""
    return {"type": "image", "media_type": "image/png", "mimeType": "image/png", key: text}


def chat(text: str, free: Any) -> list[dict[str, Any]]:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": json.dumps(free, ensure_ascii=False)}}
    return [
        {"messages": [{"role": "user", "content": text}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]},
        {"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]},
        {"messages": [{"role": "tool", "tool_call_id": "1", "content": text}]},
        {"messages": [{"role": "user", "content": "hi", "name": text}]},
        {"messages": [{"role": "user", "content": [{"type": "note", "body": text}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_use", "input": free}]}]},
    ]


def responses(text: str, free: Any) -> list[dict[str, Any]]:
    arguments = json.dumps(free, ensure_ascii=False)
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": arguments},
        {"type": "function_call_output", "call_id": "1", "output": text},
        {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": text}]},
        {"type": "custom_tool_call", "call_id": "1", "name": "f", "input": text},
        {"type": "custom_tool_call_output", "call_id": "1", "output": text},
        {"type": "local_shell_call_output", "id": "1", "output": text},
        {"type": "local_shell_call", "id": "1", "action": {"type": "exec", "command": ["echo", text]}},
        {"type": "shell_call_output", "call_id": "1", "output": [{"stdout": text, "stderr": ""}]},
        {"type": "apply_patch_call", "call_id": "1", "operation": {"type": "update_file", "diff": text}},
        {"type": "mcp_call", "id": "1", "name": "f", "arguments": arguments, "output": text},
        {"type": "mcp_approval_request", "id": "1", "name": "f", "arguments": arguments},
        {"type": "mcp_list_tools", "id": "1", "tools": [{"name": "f", "input_schema": free, "description": text}]},
        {"type": "code_interpreter_call", "id": "1", "code": text, "outputs": [{"type": "logs", "logs": text}]},
        {"type": "file_search_call", "id": "1", "results": [{"text": text, "attributes": free}]},
        {"type": "web_search_call", "id": "1", "action": {"type": "open_page", "url": text}},
        {"type": "tool_search_output", "call_id": "1", "output": free},
    ]
    return [{"input": [item]} for item in items] + [{"input": text}, {"instructions": text, "input": "hi"}]


def anthropic(text: str, free: Any) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": text},
        {"type": "tool_use", "id": "1", "name": "f", "input": free},
        {"type": "server_tool_use", "id": "1", "name": "f", "input": free},
        {"type": "tool_result", "tool_use_id": "1", "content": text},
        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": text}]},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}},
        {"type": "search_result", "source": "a", "title": "b", "content": [{"type": "text", "text": text}]},
        {"type": "code_execution_tool_result", "content": {"type": "code_execution_result", "stdout": text}},
        {"type": "bash_code_execution_tool_result", "content": {"stdout": "", "stderr": text}},
    ]
    return [
        {"messages": [{"role": "user", "content": text}]},
        {"system": text, "messages": [{"role": "user", "content": "hi"}]},
        *({"messages": [{"role": "user", "content": [block]}]} for block in blocks),
    ]


def gemini(text: str, free: Any) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [
        {"text": text},
        {"functionCall": {"name": "f", "args": free}},
        {"function_call": {"name": "f", "args": free}},
        {"functionResponse": {"name": "f", "response": free}},
        {"function_response": {"name": "f", "response": {"output": text}}},
        {"functionResponse": {"name": "f", "response": {"result": [text]}, "parts": [{"text": text}]}},
        {"executableCode": {"language": "PYTHON", "code": text}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": text}},
        {"text": "", "functionResponse": {"name": "f", "response": {"output": text}}},
    ]
    system = {"systemInstruction": {"parts": [{"text": text}]}, "contents": [{"parts": [{"text": "hi"}]}]}
    return [system, *({"contents": [{"role": "user", "parts": [part]}]} for part in parts)]


def counted(api: str, body: dict[str, Any]) -> int:
    model, count = MODELS[api], text_counter(MODELS[api])
    found: dict[str, Callable[[], Framed]] = {
        "openai_chat": lambda: by_openai.chat_tokens(body, count, model=model),
        "openai_responses": lambda: by_responses.request_tokens(body, count, model),
        "anthropic": lambda: by_anthropic.request_tokens(body, count, model),
        "gemini": lambda: by_gemini.request_tokens(body, count, model),
    }
    return found[api]().tokens


PLACES = {"openai_chat": chat, "openai_responses": responses, "anthropic": anthropic, "gemini": gemini}


@pytest.mark.parametrize("api", list(PLACES))
@settings(max_examples=60, deadline=None)
@given(text=TEXTS, key=KEYS, outer=FREE)
def test_text_is_never_counted_below_the_tokenizers_count(api: str, text: str, key: str, outer: Any) -> None:
    count = text_counter(MODELS[api])
    least = count(text)
    for body in PLACES[api](text, {"a": wrapped(key, text), "b": outer}):
        assert counted(api, body) >= least, body


@pytest.mark.parametrize("api", list(PLACES))
def test_four_thousand_base64_characters_are_text_in_arguments_and_results(api: str) -> None:
    text = encoded(3_000, 1)
    least = text_counter(MODELS[api])(text)
    for body in PLACES[api](text, {"data": text}):
        assert least <= counted(api, body) <= 2.5 * least + 100, body


def test_media_of_a_function_response_are_charged_as_media() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(PNG + bytes(9_000)).decode()}}
    part = {"functionResponse": {"name": "f", "response": {"ok": True}, "parts": [image]}}
    assert 258 < counted("gemini", {"contents": [{"role": "user", "parts": [part]}]}) < 400
