"""Digests follow what a message says, and nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim import apis
from tests.apis.bodies import BODIES, LISTS, PNG
from tests.apis.layouts import LAYOUTS
from tests.conversations import requests

EVERY_API = pytest.mark.parametrize("api", sorted(BODIES))


def digests(body: Any, api: str) -> list[bytes]:
    return [message.digest for message in apis.parse(body, api).messages]


def prefixes(body: Any, api: str) -> list[bytes]:
    return apis.parse(body, api).prefix_digests()


def one(api: str, message: Any) -> bytes:
    return apis.APIS[api].messages.get(json.dumps(message).encode(), "message").digest


@EVERY_API
@pytest.mark.parametrize("layout", ["spaced", "escaped", "plain", "doubled"])
def test_the_layout_of_a_body_does_not_matter(api: str, layout: str) -> None:
    raw = LAYOUTS[layout](BODIES[api])
    assert digests(raw, api) == digests(BODIES[api], api)


@EVERY_API
def test_the_order_of_a_messages_own_keys_does_not_matter(api: str) -> None:
    body = copy.deepcopy(BODIES[api])
    turned = {**body, LISTS[api]: [dict(reversed(message.items())) for message in body[LISTS[api]]]}
    assert digests(turned, api) == digests(body, api)


@EVERY_API
def test_the_place_of_a_message_does_not_matter(api: str) -> None:
    messages = BODIES[api][LISTS[api]]
    moved = [messages[-1], *messages]
    assert digests(moved, api)[0] == digests(messages, api)[-1] == digests(moved, api)[-1]


@given(requests(), st.data())
def test_an_edit_of_one_message_leaves_the_digests_of_the_others(
    request: tuple[str, dict[str, Any], str], data: Any
) -> None:
    api, body, _ = request
    before = digests(body, api)
    users = [n for n, message in enumerate(apis.parse(body, api).messages) if message.role == "user"]
    number = data.draw(st.sampled_from([n for n in users if not apis.parse(body, api).messages[n].answers]))
    edited = copy.deepcopy(body)
    edited[LISTS[api]][number] = apis.text_message(api, "user", "an entirely new message").value
    after = digests(edited, api)
    assert [n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]] == [number]


@given(requests(), st.data())
def test_prefix_digests_hold_up_to_an_edit_and_differ_after_it(
    request: tuple[str, dict[str, Any], str], data: Any
) -> None:
    api, body, _ = request
    messages = apis.parse(body, api).messages
    number = data.draw(
        st.sampled_from([n for n, message in enumerate(messages) if message.role == "user" and not message.answers])
    )
    edited = copy.deepcopy(body)
    edited[LISTS[api]][number] = apis.text_message(api, "user", "an entirely new message").value
    before, after = prefixes(body, api), prefixes(edited, api)
    assert before[: number + 1] == after[: number + 1]
    assert all(old != new for old, new in zip(before[number + 1 :], after[number + 1 :], strict=True))


@EVERY_API
def test_prefix_digests_differ_by_tools_system_and_order(api: str) -> None:
    body = BODIES[api]
    assert prefixes({**body, "tools": [{"name": "other"}]}, api)[0] != prefixes(body, api)[0]
    if apis.APIS[api].system_fields:
        field = apis.APIS[api].system_fields[0]
        assert prefixes({key: body[key] for key in body if key != field}, api)[0] != prefixes(body, api)[0]
    swapped = [*body[LISTS[api]][:-2], body[LISTS[api]][-1], body[LISTS[api]][-2]]
    assert prefixes({**body, LISTS[api]: swapped}, api)[-1] != prefixes(body, api)[-1]


def without_breakpoints(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_breakpoints(inner) for key, inner in value.items() if key != "cache_control"}
    return [without_breakpoints(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("api", ["openai_chat", "anthropic"])
def test_cache_breakpoints_do_not_matter(api: str) -> None:
    body = copy.deepcopy(BODIES[api])
    assert without_breakpoints(body) != body
    assert digests(without_breakpoints(body), api) == digests(body, api)
    bare, marked = apis.parse(without_breakpoints(body), api), apis.parse(body, api)
    assert (bare.system and bare.system.digest) == (marked.system and marked.system.digest)


def test_a_breakpoint_inside_a_document_or_a_result_does_not_matter() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    for make in (
        lambda more: {"type": "document", "source": {"type": "text", "data": "x"}, **more},
        lambda more: {"type": "search_result", "content": [{"type": "text", "text": "x", **more}]},
        lambda more: {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": {}, **more}]},
    ):
        bare, marked = ({"role": "user", "content": [make(more)]} for more in ({}, mark))
        assert one("anthropic", bare) == one("anthropic", marked)


Change = Callable[[dict[str, Any]], Any]
CHAT_CALL = {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}


def image(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def use(**more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"a": 1}, **more}]}


def result(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": content, **more}]}


@pytest.mark.parametrize(
    ("api", "message", "other"),
    [
        ("openai_chat", {"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}),
        ("openai_chat", {"role": "user", "content": "a"}, {"role": "user", "content": "a "}),
        ("openai_chat", {"role": "user", "content": "a"}, {"role": "user", "content": "a", "name": "ada"}),
        (
            "openai_chat",
            {"role": "assistant", "tool_calls": [CHAT_CALL]},
            {
                "role": "assistant",
                "tool_calls": [{**CHAT_CALL, "function": {"name": "write", "arguments": '{"path": "a"}'}}],
            },
        ),
        (
            "openai_chat",
            {"role": "assistant", "tool_calls": [CHAT_CALL]},
            {"role": "assistant", "tool_calls": [{**CHAT_CALL, "function": {"name": "read", "arguments": "{}"}}]},
        ),
        (
            "openai_chat",
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.org/1.png"}}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.org/2.png"}}]},
        ),
        (
            "openai_chat",
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": [{"type": "text", "text": "ab"}]},
        ),
        ("anthropic", use(), use(name="g")),
        ("anthropic", use(), use(input={"a": 2})),
        ("anthropic", use(), use(input={"a": "1"})),
        ("anthropic", result("x"), result("y")),
        ("anthropic", result("x"), result("x", is_error=True)),
        ("anthropic", result([image(PNG)]), result([image(PNG[:-4] + "AAAA")])),
        ("anthropic", {"role": "user", "content": [image(PNG)]}, {"role": "user", "content": [image(PNG[:-4])]}),
        (
            "anthropic",
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "s"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "t"}]},
        ),
        (
            "anthropic",
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "s"}]},
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "t"}]},
        ),
        (
            "openai_responses",
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "a"},
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "b"},
        ),
        (
            "openai_responses",
            {"type": "function_call_output", "call_id": "a", "output": "x"},
            {"type": "function_call_output", "call_id": "a", "output": "y"},
        ),
        (
            "gemini",
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 2}}}]},
        ),
        (
            "gemini",
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}, "parts": [{"text": "x"}]}}]},
        ),
        (
            "gemini",
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]},
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG[:-4]}}]},
        ),
    ],
)
def test_what_a_message_says_matters(api: str, message: Any, other: Any) -> None:
    assert one(api, message) != one(api, other)


def test_ids_of_calls_do_not_matter() -> None:
    assert one("anthropic", use()) == one("anthropic", use(id="b"))


def test_equal_messages_are_one_object_and_are_read_once() -> None:
    raw = json.dumps({"messages": [{"role": "user", "content": "the same"}] * 3}).encode()
    first, second, third = apis.parse(raw).messages
    assert first is second is third
    assert apis.parse(raw).messages[0] is first
