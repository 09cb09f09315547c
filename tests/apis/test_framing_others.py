"""Anthropic, Gemini and the Responses API: what is published holds, and the rest is on the high side and total."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
import brim.tokens
from brim.apis.anthropic import framing as anthropic
from brim.apis.gemini import framing as gemini
from brim.apis.json_values import json_text
from brim.apis.opaque_tokens import MediaRules, file_tokens, opaque_tokens
from brim.apis.openai_responses import framing as responses
from brim.tokens.tokenizers import tokenizer

claude = tokenizer("claude-3")
gemma = tokenizer("gemma-3")
o200k = tokenizer("o200k")
RULES = MediaRules(
    image=lambda size: 1000 if size is None else size[0] * size[1], page=500, audio_second=10, video_second=100
)


@pytest.mark.parametrize(
    ("model", "frame"),
    [("claude-sonnet-4-5", 7), ("claude-opus-4-7", 11), ("claude-opus-4-8", 6), ("claude-opus-5", 6)],
)
def test_a_request_with_one_message_has_the_frame_that_the_api_reports(model: str, frame: int) -> None:
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
    assert anthropic.request_tokens(body, claude, model).tokens - claude("hi") == frame
    assert brim.count(body, api="anthropic").tokens - brim.tokens.text_counter(model)("hi") == frame


def test_the_published_examples_of_anthropic_are_not_undercounted() -> None:
    hello = {"system": "You are a scientist", "messages": [{"role": "user", "content": "Hello, Claude"}]}
    assert 14 <= anthropic.request_tokens(hello, claude, "claude-sonnet-4-5").tokens <= 18


def test_tools_bring_the_documented_system_prompt() -> None:
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    own = claude(json_text(tools[0])) + 8
    assert anthropic.tools_tokens(tools, None, claude, "claude-sonnet-4-5") == 346 + own
    assert anthropic.tools_tokens(tools, {"type": "any"}, claude, "claude-sonnet-4-5") == 313 + own
    assert anthropic.tools_tokens(tools, None, claude, "claude-3-opus-20240229") == 530 + own
    assert anthropic.tools_tokens([], None, claude, "claude-sonnet-4-5") == 0


def test_a_call_and_its_result_cost_more_than_their_text() -> None:
    call = {"type": "tool_use", "id": "1", "name": "read_file", "input": {"path": "/etc/hosts"}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "127.0.0.1 localhost"}]}
    assert anthropic.block_tokens(call, claude, "") > claude('{"path":"/etc/hosts"}') + claude("read_file")
    assert anthropic.block_tokens(result, claude, "") > claude("127.0.0.1 localhost")


def test_thinking_costs_what_its_signature_hides_where_that_is_more() -> None:
    short = {"type": "thinking", "thinking": "hm", "signature": "A" * 4000}
    assert anthropic.block_tokens(short, claude, "") >= 1000
    long = {"type": "thinking", "thinking": "word " * 300, "signature": "A" * 40}
    assert anthropic.block_tokens(long, claude, "") >= claude("word " * 300)


def test_a_text_document_costs_its_text_and_a_pdf_its_pages() -> None:
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hello " * 50}}
    assert claude("hello " * 50) < anthropic.block_tokens(text, claude, "") < claude("hello " * 50) + 40
    pdf = base64.b64encode(b"%PDF-1.4 << /Type /Pages /Count 2 >> << /Type /Page >> << /Type /Page >>").decode()
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": pdf}}
    assert 6_000 <= anthropic.block_tokens(document, claude, "claude-sonnet-4-5") <= 12_000


def test_cache_control_costs_nothing() -> None:
    tool = {"name": "f", "input_schema": {"type": "object"}}
    marked = {**tool, "cache_control": {"type": "ephemeral"}}
    assert anthropic.tools_tokens([tool], None, claude) == anthropic.tools_tokens([marked], None, claude)
    block = {"type": "text", "text": "hello"}
    assert anthropic.block_tokens({**block, "cache_control": {"type": "ephemeral"}}, claude, "") == claude("hello")


def test_gemini_adds_little_to_the_text_of_a_chat() -> None:
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi my name is Bob"}]},
            {"role": "model", "parts": [{"text": "Hi Bob!"}]},
        ]
    }
    text = gemma("Hi my name is Bob") + gemma("Hi Bob!")
    assert text <= gemini.request_tokens(body, gemma).tokens <= text + 5


def test_gemini_reads_both_spellings_of_its_fields() -> None:
    camel = {"functionCall": {"name": "f", "args": {"a": 1}}}
    snake = {"function_call": {"name": "f", "args": {"a": 1}}}
    assert gemini.part_tokens(camel, gemma) == gemini.part_tokens(snake, gemma) > gemma('{"name":"f","args":{"a":1}}')
    gif = "R0lGODlhAgADAA=="
    assert gemini.part_tokens({"inlineData": {"mimeType": "image/gif", "data": gif}}, gemma, "gemini-2.5-pro") == 258
    assert gemini.part_tokens({"inline_data": {"mime_type": "image/gif", "data": gif}}, gemma, "gemini-3-pro") == 1120


def test_gemini_declarations_cost_their_json() -> None:
    declaration = {"name": "f", "description": "Find it", "parameters": {"type": "object"}}
    tools = [{"functionDeclarations": [declaration]}]
    assert gemini.tools_tokens(tools, None, gemma) > gemma(json_text(declaration))
    assert gemini.tools_tokens([], None, gemma) == 0


def test_a_responses_message_costs_what_a_chat_message_costs() -> None:
    assert responses.request_tokens({"input": "hello"}, o200k).tokens == 8
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    assert responses.request_tokens({"input": [item]}, o200k).tokens == 8
    assert responses.request_tokens({"instructions": "Be brief.", "input": "hello"}, o200k).tokens == 15


def test_encrypted_reasoning_counts_by_its_length_and_not_twice() -> None:
    item = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "thought"}],
        "encrypted_content": "A" * 4000,
    }
    assert 1000 <= responses.item_tokens(item, o200k) < 1100


def test_responses_calls_and_outputs_cost_more_than_their_text() -> None:
    call = {"type": "function_call", "name": "get_weather", "arguments": '{"city":"Oslo"}', "call_id": "1"}
    assert responses.item_tokens(call, o200k) > 2 * o200k("get_weather") + o200k('{"city":"Oslo"}')
    output = {"type": "function_call_output", "call_id": "1", "output": "rain"}
    assert responses.item_tokens(output, o200k) > o200k("rain")
    shot = {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": "https://x/y.png"}}
    assert responses.item_tokens(shot, o200k, "gpt-4o") > 1000


@pytest.mark.parametrize(
    ("head", "media_type", "expected"),
    [
        (b"GIF89a" + bytes([2, 0, 3, 0]) + bytes(10), None, 6),
        (b"\x01\x02" * 50, "image/avif", 1000),
        (b"%PDF-1.7 /Type /Page ", None, 500),
        (b"ID3" + bytes(9_997), None, 30),
        (b"\x00\x00\x00\x18ftypmp42" + bytes(31_988), None, 100),
        (b"\x01\x00" * 8_000, "audio/opus", 40),
        (b"plain words " * 10, None, 20),
        (b"\x01\x00" * 5_000, None, 81),
    ],
)
def test_files_are_sized_by_their_kind(head: bytes, media_type: str | None, expected: int) -> None:
    assert file_tokens(base64.b64encode(head).decode(), media_type, lambda text: len(text.split()), RULES) == expected


def test_files_inside_an_unknown_block_are_found() -> None:
    gif = "data:image/gif;base64," + base64.b64encode(b"GIF89a" + bytes([2, 0, 3, 0]) + bytes(900)).decode()
    block = {"type": "new", "picture": {"src": gif}}
    assert opaque_tokens(block, len, RULES) == len('{"type":"new","picture":{"src":""}}') + 6


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=10)
    | st.sampled_from(["text", "image", "document", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "content",
                    "source",
                    "data",
                    "input",
                    "parts",
                    "text",
                    "functionCall",
                    "inlineData",
                    "output",
                    "name",
                    "summary",
                    "image_url",
                    "functionDeclarations",
                    "thinking",
                    "signature",
                    "encrypted_content",
                    "role",
                    "media_type",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(JSON, JSON, JSON, JSON)
def test_any_json_gets_a_size_in_every_format(system: Any, content: Any, tools: Any, choice: Any) -> None:
    body = {
        "system": system,
        "messages": [{"role": "user", "content": content}, content],
        "tools": tools,
        "tool_choice": choice,
    }
    assert anthropic.request_tokens(body, len).tokens >= anthropic.BASE
    google = {
        "systemInstruction": system,
        "contents": [{"parts": content}, content],
        "tools": tools,
        "toolConfig": choice,
    }
    assert gemini.request_tokens(google, len).tokens >= gemini.BASE
    given_input = {
        "instructions": system,
        "input": content,
        "tools": tools,
        "tool_choice": choice,
        "text": {"format": choice},
    }
    assert responses.request_tokens(given_input, len).tokens >= 3
