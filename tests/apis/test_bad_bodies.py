"""What is no request gives one typed error that names the place; nothing gives any other exception."""

from __future__ import annotations

import copy
import json
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim import BadBody, apis
from brim.conversation import Conversation
from tests.apis.bodies import BODIES, LISTS
from tests.conversations import JSON, MAKERS, turns

MANY = 2_500 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 200
USER = {"role": "user", "content": "hi"}


def refusal(body: Any, api: str | None = None) -> BadBody:
    with pytest.raises(BadBody) as refused:
        apis.parse(body, api)
    return refused.value


def reading(body: Any, api: str | None = None) -> Conversation | None:
    """What a body is read as, or None after a refusal that says where and why."""
    try:
        return apis.parse(body, api)
    except BadBody as refused:
        if not refused.at or not refused.problem:
            raise
        return None


def chat(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


def call(name: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b" ", b"hello", b"{", b'{"messages": [}', b"\x00", b'{"messages": []} x', b"[1, 2", b"17", b"null"),
        *(b'{"messages": [NaN]}', b'"text"', b"true", b'{"messages": [{"role": "user", "content": "a\x00b"}]}'),
    ],
)
def test_what_is_not_json_or_no_object_is_refused(raw: bytes) -> None:
    assert refusal(raw).at in ("body", "messages", "messages[0]")


@pytest.mark.parametrize("value", [None, 17, 1.5, True, object(), {1, 2}, b"{}", {}, "", {"model": "gpt-4o"}])
def test_what_is_no_body_at_all_is_refused(value: Any) -> None:
    assert refusal(value).at in ("body", "messages", "messages[0]")


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (chat(USER, 5), "messages[1]"),
        (chat(USER, None), "messages[1]"),
        (chat({"content": "hi"}), "messages[0].role"),
        (chat({"role": "wizard", "content": "hi"}), "messages[0].role"),
        (chat({"role": ["user"], "content": "hi"}), "messages[0].role"),
        (chat({"role": "user"}), "messages[0].content"),
        (chat({"role": "user", "content": 5}), "messages[0].content"),
        (chat({"role": "user", "content": {"text": "x"}}), "messages[0].content"),
        (chat(USER, USER, USER, {"role": "user", "content": [{"text": "hi"}]}), "messages[3].content[0].type"),
        (chat({"role": "user", "content": [{"type": "text", "text": 5}]}), "messages[0].content[0].text"),
        (chat({"role": "user", "content": [{"type": "text"}]}), "messages[0].content[0].text"),
        (chat({"role": "user", "content": [None]}), "messages[0].content[0]"),
        (chat({"role": "tool", "content": "x"}), "messages[0].tool_call_id"),
        (chat({"role": "assistant", "tool_calls": "x"}), "messages[0].tool_calls"),
        (chat({"role": "assistant", "tool_calls": [5]}), "messages[0].tool_calls[0]"),
        (chat({"role": "assistant", "tool_calls": [{"function": {}}]}), "messages[0].tool_calls[0].id"),
        (
            chat({"role": "assistant", "tool_calls": [{"id": "a", "function": {}}]}),
            "messages[0].tool_calls[0].function.name",
        ),
        (
            chat({"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {}}}]}),
            "messages[0].tool_calls[0].function.arguments",
        ),
        ({"messages": "hi"}, "messages"),
        ({"messages": {"0": USER}}, "messages"),
        ({**chat(USER), "tools": "all"}, "tools"),
        ({**chat(USER), "tools": [None]}, "tools[0]"),
        ({"input": 5}, "input"),
        ({"input": [{"type": 7}]}, "input[0].type"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]}, "input[0].call_id"),
        ({"input": [{"type": "function_call_output", "output": ""}]}, "input[0].call_id"),
        ({"input": [USER], "instructions": 7}, "instructions"),
        ({"contents": [{"role": "wizard", "parts": []}]}, "contents[0].role"),
        ({"contents": [{"role": "user"}]}, "contents[0].parts"),
        ({"contents": [{"parts": ["hi"]}]}, "contents[0].parts[0]"),
        ({"contents": [{"parts": [{"functionCall": {"args": {}}}]}]}, "contents[0].parts[0].functionCall.name"),
        ({"contents": [], "systemInstruction": []}, "systemInstruction"),
        ({"system": 5, "messages": []}, "system"),
        ({"system": [{"text": "x"}], "messages": []}, "system[0].type"),
        ({"system": "s", "messages": [{"role": "user", "content": None}]}, "messages[0].content"),
        (
            {"system": "s", "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}]},
            "messages[0].content[0].name",
        ),
        (
            {"system": "s", "messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
            "messages[0].content[0].tool_use_id",
        ),
    ],
)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_the_refusal_names_the_place(body: Any, at: str, as_bytes: bool) -> None:
    refused = refusal(json.dumps(body).encode() if as_bytes else body)
    assert refused.at == at
    assert str(refused).startswith(f"{at}: ")


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (chat(USER, {"role": "tool", "tool_call_id": "a", "content": "x"}), "messages[1]"),
        (chat({"role": "assistant", "tool_calls": [call("a"), call("a")]}), "messages[0].tool_calls[1]"),
        (
            chat(
                {"role": "assistant", "tool_calls": [call("a")]},
                {"role": "tool", "tool_call_id": "a", "content": "x"},
                {"role": "tool", "tool_call_id": "a", "content": "y"},
            ),
            "messages[2]",
        ),
        ({"input": [{"type": "function_call_output", "call_id": "a", "output": "x"}]}, "input[0]"),
        (
            {"contents": [{"parts": [{"functionResponse": {"name": "f", "response": {}}}]}]},
            "contents[0].parts[0]",
        ),
        (
            {
                "system": "s",
                "messages": [
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}] * 2},
                ],
            },
            "messages[1].content[1]",
        ),
    ],
)
def test_orphaned_results_and_duplicate_ids_are_refused_with_their_place(body: Any, at: str) -> None:
    assert refusal(body).at == at


@pytest.mark.parametrize("depth", [50, 200, 900, 5_000, 200_000])
@pytest.mark.parametrize("where", ["content", "tools", "system", "extra"])
def test_what_is_nested_too_deep_is_refused_or_passes_through(depth: int, where: str) -> None:
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    fields = {
        "content": b'"messages":[{"role":"user","content":[{"type":"x","x":%b}]}]',
        "tools": b'"messages":[],"tools":[%b]',
        "system": b'"messages":[],"system":[{"type":"x","x":%b}]',
        "extra": b'"messages":[],"extra":%b',
    }
    raw = b"{" + fields[where] % deep + b"}"
    if where == "extra" and depth < 900:
        assert apis.render(apis.parse(raw), raw) == raw
    elif depth < 5_000 and where != "extra":
        assert refusal(raw).at.startswith({"content": "messages[0].content[0].x"}.get(where, where))
    else:
        found = reading(raw)
        assert found is None or apis.render(found, raw) == raw


def test_an_object_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {"type": "x"}
    loop["x"] = loop
    assert refusal(chat({"role": "user", "content": [loop]})).at == "messages"


def test_invalid_utf8_is_refused_where_it_is_read() -> None:
    assert refusal(b'{"messages": [{"role": "user", "content": "\xff"}]}').at == "messages[0]"
    assert refusal(b'{"mess\xffages": []}').at == "body"


@pytest.mark.parametrize("odd", ["\ud800", "\udfff x", "a\x00b", "😀", "\U0010ffff", "\u2028"])
@pytest.mark.parametrize("api", sorted(MAKERS))
def test_lone_surrogates_and_nul_are_text_like_any_other(api: str, odd: str) -> None:
    step = {"id": "c", "name": "f", "args": {odd: odd}, "result": odd}
    talk = [
        {"kind": "user", "text": odd, "image": False},
        {"kind": "step", "text": odd, "calls": [step], "thinking": False},
    ]
    body = MAKERS[api](talk, odd)
    raw = json.dumps(body).encode()
    from_bytes, from_dict = apis.parse(raw, api), apis.parse(body, api)
    assert apis.render(from_bytes, raw) == raw
    assert apis.render(from_dict, body) is body
    assert from_bytes.prefix_digests() == from_dict.prefix_digests()
    assert any(part.text == odd for message in from_bytes.messages for part in message.parts)


def test_numbers_that_no_machine_holds_are_passed_through() -> None:
    raw = b'{"messages": [{"role": "user", "content": [{"type": "x", "n": 1' + b"0" * 400 + b"}]}]}"
    assert apis.render(apis.parse(raw), raw) is raw


def test_an_unknown_api_is_refused_with_the_names_of_those_that_are_known() -> None:
    with pytest.raises(BadBody, match="openai_chat, openai_responses, anthropic, gemini"):
        apis.parse(chat(USER), "cohere")


def test_instructions_with_the_role_of_somebody_else_are_refused() -> None:
    with pytest.raises(BadBody, match="must be that of instructions"):
        apis.parse(chat(USER), "openai_chat", system=USER)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, inner in pairs for path in paths(inner, (*at, key)))]


WRONG = st.one_of(
    JSON,
    st.sampled_from([None, True, -1, 1e308, 10**40, "", "tool", "tool_result", "\ud800", [], {}, [[]], {"": 0}]),
)


@st.composite
def broken(draw: Any) -> tuple[str, Any]:
    """A valid body with a few of its values replaced, removed, doubled or moved."""
    api = draw(st.sampled_from(sorted(BODIES)))
    recorded = draw(st.booleans())
    body = copy.deepcopy(BODIES[api]) if recorded else MAKERS[api](draw(turns()), draw(st.none() | st.text()))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.sampled_from(paths(body)[1:] or [()]))
        if not at:
            continue
        holder = body
        for step in at[:-1]:
            holder = holder[step]
        act = draw(st.sampled_from(["replace", "remove", "double", "wrap", "text"]))
        if act == "replace":
            holder[at[-1]] = draw(WRONG)
        elif act == "remove":
            del holder[at[-1]]
        elif act == "double" and isinstance(holder, list):
            holder.insert(at[-1], copy.deepcopy(holder[at[-1]]))
        elif act == "wrap":
            holder[at[-1]] = [holder[at[-1]]]
        else:
            holder[at[-1]] = json.dumps(holder[at[-1]])
    return api, body


@given(broken(), st.booleans(), st.booleans())
@settings(max_examples=MANY)
def test_a_broken_body_gives_one_refusal_or_a_clean_reading(case: tuple[str, Any], named: bool, as_bytes: bool) -> None:
    api, body = case
    given_body = json.dumps(body).encode() if as_bytes else body
    found = reading(given_body, api if named else None)
    assert found is None or apis.render(found, given_body) == given_body
    assert found is None or len(found.prefix_digests()) == len(found.messages) + 1


@given(broken(), st.data())
@settings(max_examples=MANY)
def test_bytes_cut_or_flipped_anywhere_give_one_refusal_or_a_clean_reading(case: tuple[str, Any], data: Any) -> None:
    raw = bytearray(json.dumps(case[1], ensure_ascii=False).encode("utf-8", "surrogatepass"))
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(raw) - 1))
        if data.draw(st.booleans()):
            raw[place] = data.draw(st.integers(0, 255))
        else:
            del raw[place : place + data.draw(st.integers(1, 40))]
        if not raw:
            break
    body = bytes(raw)
    found = reading(body)
    assert found is None or apis.render(found, body) == body


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=MANY)
def test_any_bytes_at_all_give_one_refusal_or_a_clean_reading(raw: bytes) -> None:
    found = reading(raw)
    assert found is None or apis.render(found, raw) == raw


@given(broken())
@settings(max_examples=MANY)
def test_whatever_can_be_read_can_be_counted(case: tuple[str, Any]) -> None:
    api, body = case
    model = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}.get(api, "gpt-4o")
    assert reading(body, api) is None or brim.count(body, model=model, api=api).tokens > 0


@pytest.mark.parametrize("api", sorted(BODIES))
def test_refusals_of_a_long_conversation_name_the_message(api: str) -> None:
    body = copy.deepcopy(BODIES[api])
    body[LISTS[api]] += [copy.deepcopy(body[LISTS[api]][-1]) for _ in range(40)] + [7]
    assert refusal(body, api).at == f"{LISTS[api]}[{len(body[LISTS[api]]) - 1}]"


def test_a_block_inside_a_result_whose_type_is_no_text_passes_through() -> None:
    body = copy.deepcopy(BODIES["anthropic"])
    holder = next(
        block
        for message in body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else ())
        if block["type"] == "tool_result" and isinstance(block.get("content"), list)
    )
    holder["content"][0]["type"] = ["text"]
    found = reading(body, "anthropic")
    assert found is not None
    assert apis.render(found, body) == body
