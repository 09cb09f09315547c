"""Counting texts, messages and whole requests of every API."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given

import brim
from brim import apis, models
from brim.apis.anthropic import framing as anthropic
from brim.apis.gemini import framing as gemini
from brim.apis.openai_chat import framing as openai
from brim.apis.openai_chat import templates
from brim.apis.openai_responses import framing as responses
from brim.tokens.counter import Counter
from brim.tokens.tokenizers import tokenizer
from tests.conversations import PNG, requests

SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "a city"}}, "required": ["city"]}
CHAT_TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather now", "parameters": SCHEMA}}
RESPONSES_TOOL = {"type": "function", "name": "weather", "description": "Weather now", "parameters": SCHEMA}
CLAUDE_TOOL = {"name": "weather", "description": "Weather now", "input_schema": SCHEMA}
GEMINI_TOOL = {"functionDeclarations": [{"name": "weather", "description": "Weather now", "parameters": SCHEMA}]}
ACME = models.Model("acme-1", "acme", 100_000, None, "estimate", None, "openai_chat", "test")

CHAT = {
    "model": "gpt-4o",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "name": "ada", "content": "How is the weather in Oslo?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"sky":"clear"}'},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And here?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            ],
        },
    ],
    "tools": [CHAT_TOOL],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}},
}
RESPONSES = {
    "model": "gpt-4.1",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": "How is the weather in Oslo?"},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"sky":"clear"}'},
    ],
    "tools": [RESPONSES_TOOL],
    "tool_choice": "required",
    "text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}},
}
CLAUDE = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": "How is the weather in Oslo?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": '{"sky":"clear"}'}]},
    ],
    "tools": [CLAUDE_TOOL],
    "tool_choice": {"type": "any"},
    "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
}
GEMINI = {
    "contents": [
        {"role": "user", "parts": [{"text": "How is the weather in Oslo?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"sky": "clear"}}}]},
    ],
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [GEMINI_TOOL],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    "generationConfig": {"responseSchema": SCHEMA, "temperature": 0.1},
}
BODIES: dict[str, tuple[dict[str, Any], str]] = {
    "openai_chat": (CHAT, "gpt-4o"),
    "openai_responses": (RESPONSES, "gpt-4.1"),
    "anthropic": (CLAUDE, "claude-sonnet-4-5"),
    "gemini": (GEMINI, "gemini-2.5-pro"),
}
APIS = pytest.mark.parametrize("api", sorted(BODIES))


def framed(api: str, body: dict[str, Any], model: str) -> Any:
    count = tokenizer(models.find(model).family)
    if api == "openai_chat":
        return openai.chat_tokens(body, count, model=model)
    module: Any = {"openai_responses": responses, "anthropic": anthropic, "gemini": gemini}[api]
    return module.request_tokens(body, count, model)


def without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in names}


def test_a_text_of_a_known_vocabulary_is_counted_exactly() -> None:
    assert brim.count("hello world", model="gpt-4o") == brim.Count(2, 3, "exact")


def test_a_text_of_an_unknown_vocabulary_has_ten_percent_above_its_estimate() -> None:
    found = brim.count("hello world " * 50, model=ACME)
    assert found.source == "estimated"
    assert found.upper == pytest.approx(found.tokens * 1.1, abs=1)


def test_a_message_takes_its_text_its_frame_and_the_start_of_the_answer() -> None:
    assert brim.count([{"role": "user", "content": "hello"}], model="gpt-4o").tokens == 8


@APIS
def test_a_whole_body_takes_what_the_framing_of_its_api_says(api: str) -> None:
    body, model = BODIES[api]
    expected = framed(api, body, model)
    found = brim.count(body, model=model)
    assert found.tokens == expected.tokens
    assert found.upper >= expected.upper


@given(requests())
def test_the_sizes_of_messages_and_head_add_up_to_the_framing_of_any_request(
    request: tuple[str, dict[str, Any], str],
) -> None:
    api, body, model = request
    found = brim.count(body, model=model, api=api)
    assert found.head + sum(found.messages) == found.tokens
    own = framed(api, body, model).tokens
    assert found.tokens >= own if templates.is_open(api, model) else found.tokens == own
    assert found.upper >= found.tokens


@APIS
def test_bytes_text_and_objects_of_a_request_count_the_same(api: str) -> None:
    body, model = BODIES[api]
    raw = json.dumps(body, indent=2).encode()
    assert brim.count(raw, model=model) == brim.count(body, model=model)


@APIS
def test_counting_leaves_its_input_alone(api: str) -> None:
    body = copy.deepcopy(BODIES[api][0])
    brim.count(body, model=BODIES[api][1])
    assert body == BODIES[api][0]


@pytest.mark.parametrize(
    ("api", "field"),
    [
        ("openai_chat", "tools"), ("openai_chat", "response_format"), ("openai_chat", "tool_choice"),
        ("openai_responses", "instructions"), ("openai_responses", "tools"), ("openai_responses", "text"),
        ("anthropic", "system"), ("anthropic", "tools"), ("anthropic", "output_config"),
        ("gemini", "systemInstruction"), ("gemini", "tools"), ("gemini", "generationConfig"),
    ],
)  # fmt: skip
def test_what_a_model_is_shown_beside_its_messages_is_counted(api: str, field: str) -> None:
    body, model = BODIES[api]
    assert brim.count(body, model=model).tokens > brim.count(without(body, field), model=model, api=api).tokens


@pytest.mark.parametrize("name", ["responseSchema", "responseJsonSchema", "response_schema"])
def test_every_spelling_of_geminis_schema_is_counted(name: str) -> None:
    bare = without(GEMINI, "generationConfig")
    shown = {**bare, "generationConfig": {name: SCHEMA}}
    assert brim.count(shown, model="gemini-2.5-pro").tokens > brim.count(bare, model="gemini-2.5-pro").tokens + 20


def test_geminis_finer_media_resolution_raises_the_upper_bound() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    body = {"contents": [{"role": "user", "parts": [{"text": "What is this?"}, picture]}]}
    finer = {**body, "generationConfig": {"mediaResolution": "MEDIA_RESOLUTION_ULTRA_HIGH"}}
    assert (
        brim.count(finer, model="gemini-3-pro-preview").upper - brim.count(body, model="gemini-3-pro-preview").upper
        > 1_000
    )


def test_tools_system_and_tool_choice_may_be_given_beside_the_messages() -> None:
    beside = brim.count(
        CLAUDE["messages"],
        model="claude-sonnet-4-5",
        tools=[CLAUDE_TOOL],
        system=CLAUDE["system"],
        tool_choice={"type": "any"},
    )
    assert beside.tokens == brim.count(without(CLAUDE, "output_config"), model="claude-sonnet-4-5").tokens
    chat = brim.count(CHAT["messages"], model="gpt-4o", tools=[CHAT_TOOL], tool_choice=CHAT["tool_choice"])
    assert chat.tokens == brim.count(without(CHAT, "response_format"), model="gpt-4o").tokens


def test_instructions_beside_the_messages_count_as_the_first_message_where_an_api_has_no_field_for_them() -> None:
    asked = [{"role": "user", "content": "hello"}]
    beside = brim.count(asked, model="gpt-4o", system="Be brief.")
    assert beside == brim.count([{"role": "system", "content": "Be brief."}, *asked], model="gpt-4o")


def test_the_model_may_stand_in_the_body() -> None:
    assert brim.count(CHAT) == brim.count(CHAT, model="gpt-4o")


def test_an_unknown_model_is_refused_with_near_names_where_that_is_asked_for() -> None:
    with pytest.raises(brim.UnknownModel, match="gpt-4o"):
        brim.count("hello", model="gpt-4oo-nano-turbo", strict=True)


@pytest.mark.parametrize(
    ("model", "source"),
    [
        ("gpt-4o", "exact"),
        ("gpt-4", "exact"),
        ("claude-sonnet-4-5", "reconstructed"),
        ("gemini-2.5-pro", "reconstructed"),
        # Its vocabulary is known, but not how its server frames a chat.
        ("llama-3.3-70b-versatile", "reconstructed"),
        (ACME, "estimated"),
    ],
)
def test_a_count_says_where_it_comes_from(model: Any, source: str) -> None:
    assert brim.count([{"role": "user", "content": "hello"}], model=model).source == source


@pytest.mark.parametrize(("model", "share"), [("gpt-4o", 0.05), ("claude-sonnet-4-5", 0.05), (ACME, 0.10)])
def test_the_first_bound_is_five_percent_above_a_tokenizer_and_ten_above_an_estimate(model: Any, share: float) -> None:
    found = brim.count([{"role": "user", "content": "some words of a long text " * 2_000}], model=model)
    assert found.upper / found.tokens - 1 == pytest.approx(share, abs=0.005)


def test_an_image_inside_a_message_is_counted_by_its_size() -> None:
    small = brim.count(CHAT["messages"][-1:], model="gpt-4o").tokens
    words = brim.count([{"role": "user", "content": "And here?"}], model="gpt-4o").tokens
    assert small - words == 255


def test_the_parts_of_a_message_are_counted_one_by_one() -> None:
    counter = Counter(models.find("gpt-4o"), "openai_chat")
    message = apis.parse(CHAT["messages"]).messages[-1]
    text, picture = counter.parts(message)
    assert (text, picture) == (tokenizer("o200k")("And here?"), 255)


@pytest.mark.parametrize("text", ["\ud800 lone", "nul \x00 byte", "<|endoftext|>", "", "👨‍👩‍👧‍👦" * 50])
def test_any_text_can_be_counted(text: str) -> None:
    for model in ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", ACME):
        found = brim.count([{"role": "user", "content": text}], model=model)
        assert 0 < found.tokens <= found.upper


def test_a_bad_body_is_refused_with_the_place() -> None:
    with pytest.raises(brim.BadBody, match=r"messages\[1\]\.content\[0\]\.type"):
        brim.count([{"role": "user", "content": "a"}, {"role": "user", "content": [{"text": "b"}]}], model="gpt-4o")


def test_what_a_provider_reported_is_what_the_next_count_starts_from() -> None:
    actuals = brim.Actuals()
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    brim.record(messages, {"usage": {"prompt_tokens": 30}}, model="gpt-4o", actuals=actuals)
    more = [*messages, {"role": "user", "content": "and now?"}]
    counted = brim.count(more, model="gpt-4o", actuals=actuals)
    assert counted.source == "actual"
    assert 30 < counted.tokens < 40


def test_a_response_that_states_no_usage_cannot_be_recorded() -> None:
    with pytest.raises(brim.BadInput, match="usage"):
        brim.record([{"role": "user", "content": "hi"}], {"choices": []}, model="gpt-4o", actuals=brim.Actuals())
