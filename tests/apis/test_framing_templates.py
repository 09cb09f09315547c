"""Open models are shown tools and calls as JSON by the template of their server."""

from __future__ import annotations

import json
from typing import Any

import pytest

import brim
from brim.apis.openai_chat import templates
from brim.models import Model
from brim.tokens.tokenizers import tokenizer

COUNT = tokenizer("o200k")
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file to read", "minLength": 1},
        "range": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 2},
    },
    "required": ["path"],
    "additionalProperties": False,
}
TOOLS = {
    "openai_chat": [{"type": "function", "function": {"name": "read", "description": "Read", "parameters": SCHEMA}}],
    "openai_responses": [{"type": "function", "name": "read", "description": "Read", "parameters": SCHEMA}],
    "anthropic": [{"name": "read", "description": "Read", "input_schema": SCHEMA}],
}
HI = [{"role": "user", "content": "hello"}]


def model(name: str) -> Model:
    return Model(name, "", 16_384, 512, "o200k", None, "openai_chat", "settings")


def head(api: str, name: str) -> int:
    body: dict[str, Any] = {"input" if api == "openai_responses" else "messages": HI, "tools": TOOLS[api]}
    return brim.count(body, model=model(name), api=api).head


@pytest.mark.parametrize("api", TOOLS)
def test_the_tools_of_an_open_model_take_at_least_their_json(api: str) -> None:
    assert head(api, "my-own-model") >= COUNT(json.dumps(TOOLS["openai_chat"]))


def test_the_models_of_openai_are_shown_a_shorter_form() -> None:
    assert head("openai_chat", "gpt-4o") < COUNT(json.dumps(TOOLS["openai_chat"])) < head("openai_chat", "tiny")


CALLED = [
    {"id": "call_1", "type": "function", "function": {"name": "write", "arguments": '{"text": "a \\"b\\"\\n\\tc\\n"}'}}
]
MESSAGES: dict[str, Any] = {
    "openai_chat": {"role": "assistant", "content": "So.", "tool_calls": CALLED},
    "openai_responses": {"type": "function_call", "call_id": "call_1", **CALLED[0]["function"]},  # type: ignore[dict-item]
    "anthropic": {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "So."},
            {"type": "tool_use", "id": "call_1", "name": "write", "input": {"text": 'a "b"\n\tc\n'}},
        ],
    },
}


@pytest.mark.parametrize("api", MESSAGES)
def test_a_call_of_an_open_model_takes_at_least_the_json_around_it(api: str) -> None:
    listed = "input" if api == "openai_responses" else "messages"
    found = brim.count({listed: [*HI, MESSAGES[api]]}, model=model("tiny"), api=api)
    assert found.messages[1] >= COUNT(json.dumps(CALLED))


def test_tools_of_every_api_count_alike() -> None:
    assert len({templates.tools_tokens(tools, COUNT) for tools in TOOLS.values()}) == 1


def test_what_is_no_tool_is_counted_all_the_same() -> None:
    assert templates.tools_tokens([{"type": "web_search"}, "x", None], COUNT) > 8
    assert templates.tools_tokens(None, COUNT) == 0
