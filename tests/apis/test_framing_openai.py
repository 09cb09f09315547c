from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.apis.openai_chat import framing
from brim.apis.openai_chat.framing import chat_tokens, message_tokens, tools_slack, tools_tokens
from brim.apis.openai_chat.typescript import render_functions
from brim.tokens.tokenizers import tokenizer

count = tokenizer("o200k")


def tool(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name, "parameters": {"type": "object", "properties": properties}}
    if description:
        function["description"] = description
    return {"type": "function", "function": function}


def test_one_short_message_has_the_size_that_the_api_reports() -> None:
    assert chat_tokens({"messages": [{"role": "user", "content": "hello"}]}, count).tokens == 8


def test_a_name_costs_its_text_and_one_more() -> None:
    plain = message_tokens({"role": "system", "content": "hello"}, count)
    assert message_tokens({"role": "system", "name": "example_user", "content": "hello"}, count) == plain + 3


def test_the_parts_add_up_to_the_request() -> None:
    body: dict[str, Any] = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is the weather?"},
            {"role": "assistant", "content": None, "tool_calls": [_call("1", "get_weather", '{"city":"Oslo"}')]},
            {"role": "tool", "tool_call_id": "1", "content": "rain"},
        ],
        "tools": [tool("get_weather", "Get the weather", city={"type": "string", "description": "A city"})],
        "tool_choice": "none",
    }
    framed = chat_tokens(body, count)
    assert framed.messages == tuple(message_tokens(message, count) for message in body["messages"])
    system = framing.first_system_text(body["messages"])
    assert framed.tools == tools_tokens(body["tools"], "none", None, count, "tools", system)
    assert framed.tokens == framing.BASE + sum(framed.messages) + framed.tools
    assert framed.upper == framed.tokens + framed.slack


def test_tools_are_rendered_as_typescript_without_indentation() -> None:
    address = {
        "type": "object",
        "description": "Where",
        "properties": {"zip": {"type": "string", "description": "Code"}},
    }
    function = tool("find", "Find a\nplace", address=address, limit={"type": "integer", "default": 5})["function"]
    function["parameters"]["required"] = ["address"]
    assert render_functions([function], "tools") == (
        "namespace functions {\n\n// Find a\n// place\ntype find = (_: {\n// Where\naddress: {\n"
        "// Code\nzip?: string,\n},\n"
        "limit?: number, // default: 5\n}) => any;\n\n} // namespace functions"
    )


def test_an_object_without_any_description_stands_on_one_line() -> None:
    function = tool("find", where={"type": "string"}, kind={"enum": ["a", 2]})["function"]
    assert 'type find = (_: { where?: string, kind?: "a" | 2 }) => any;' in render_functions([function], "tools")


def test_the_older_rendering_indents_and_drops_deep_descriptions() -> None:
    inner = {"type": "object", "description": "kept", "properties": {"zip": {"type": "string", "description": "lost"}}}
    text = render_functions([tool("find", address=inner)["function"]], "functions")
    assert "// kept\naddress?: {\n  zip?: string,\n},\n" in text
    assert "lost" not in text


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "array", "items": {"type": "number"}}, "number[]"),
        ({"type": "array"}, "any[]"),
        ({"anyOf": [{"type": "string", "const": "x"}, {"type": "null"}]}, "string | null"),
        ({"type": ["string", "null"]}, "string | null"),
        ({}, "any"),
        ({"type": "boolean"}, "boolean"),
    ],
)
def test_types_are_rendered_as_typescript_types(schema: dict[str, Any], expected: str) -> None:
    assert f"x?: {expected} }}" in render_functions([tool("f", x=schema)["function"]], "tools")


def test_tools_share_the_frame_of_a_system_message() -> None:
    tools = [tool("foo")]
    alone = tools_tokens(tools, None, None, count)
    assert tools_tokens(tools, None, None, count, "tools", "Hello") < alone


def test_choosing_a_tool_costs_more_than_leaving_the_choice() -> None:
    tools = [tool("foo")]
    free = tools_tokens(tools, "auto", None, count)
    assert tools_tokens(tools, None, None, count) == free
    assert tools_tokens(tools, "none", None, count) == free + 1
    named = {"type": "function", "function": {"name": "foo"}}
    assert tools_tokens(tools, named, None, count) == free + 8
    functions = [tool("foo")["function"]]
    free = tools_tokens(None, None, functions, count, "functions")
    assert tools_tokens(None, {"name": "foo"}, functions, count, "functions") == free + 5


def test_a_single_call_costs_its_name_twice_and_a_parallel_one_once() -> None:
    one = message_tokens({"role": "assistant", "tool_calls": [_call("1", "get_weather", "{}")]}, count)
    name = count("get_weather")
    assert one == 3 + 1 + 3 + 2 * name + count("{}")
    two = message_tokens({"role": "assistant", "tool_calls": [_call(i, "get_weather", "{}") for i in "12"]}, count)
    three = message_tokens({"role": "assistant", "tool_calls": [_call(i, "get_weather", "{}") for i in "123"]}, count)
    assert three - two == 10 + name + count("{}")


def test_slack_covers_the_other_rendering_and_unknown_keywords() -> None:
    plain = tools_slack([tool("f", x={"type": "string", "description": "d"})], None, None, count)
    odd = {"type": "string", "description": "d", "pattern": "^[a-z]+$"}
    assert plain == 0
    assert tools_slack([tool("f", x=odd)], None, None, count) >= count('{"pattern":"^[a-z]+$"}')
    nested = [tool("f", x={"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}})]
    here = tools_tokens(nested, None, None, count) + tools_slack(nested, None, None, count)
    assert here >= tools_tokens(nested, None, None, count, "functions")


def test_slack_covers_a_definition_as_often_as_it_is_referred_to() -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "title": "Point"}

    def slack(*names: str) -> int:
        one = tool("move", "", **{name: {"$ref": "#/$defs/Point", "description": "d"} for name in names})
        one["function"]["parameters"]["$defs"] = {"Point": point}
        return tools_slack([one], None, None, count)

    assert slack("a", "b", "c") - slack("a", "b") == slack("a", "b") - slack("a") > 20


def test_an_image_costs_by_its_own_size_and_a_linked_one_the_most() -> None:
    gif = "data:image/gif;base64,R0lGODlhAgADAA=="
    small = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": gif}}]}
    linked = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}
    low = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": gif, "detail": "low"}}]}
    assert message_tokens(small, count, model="gpt-4o") == 4 + 85 + 170
    assert message_tokens(low, count, model="gpt-4o") == 4 + 85
    assert message_tokens(linked, count, model="gpt-4o") == 4 + 85 + 8 * 170


def test_a_structured_output_schema_is_counted_and_plain_json_mode_is_free() -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
    plain = chat_tokens(body, count)
    assert chat_tokens({**body, "response_format": {"type": "json_object"}}, count) == plain
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object", "properties": {}}}}
    assert chat_tokens({**body, "response_format": schema}, count).tokens > plain.tokens


def test_a_megabyte_of_a_file_is_not_counted_as_text_where_its_part_says_what_it_is() -> None:
    blob = "AAEC" * 250_000
    url = {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{blob}"}}
    assert message_tokens({"role": "user", "content": [url]}, count) < 100_000
    unknown = {"type": "hologram", "data": blob}
    assert message_tokens({"role": "user", "content": [unknown]}, count) > count(blob)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["type", "properties", "items", "anyOf", "enum", "description", "required", "default", "role", "content",
     "name", "tool_calls", "function", "function_call", "arguments", "text", "image_url", "url", "file",
     "parameters", "input_audio"]
)  # fmt: skip
ODD = st.recursive(
    JSON
    | st.sampled_from(["object", "array", "string", "text", "image_url", "file", "input_audio", "tool", "function"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("tools", "functions", "tool_choice", "response_format"), ODD)),
    ODD,
)
def test_any_json_gets_a_size(body: dict[str, Any], messages: Any) -> None:
    framed = chat_tokens({**body, "messages": messages if isinstance(messages, list) else [messages]}, count)
    assert framed.upper >= framed.tokens >= framing.BASE


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_longer_messages_are_not_smaller_than_their_text(first: str, second: str) -> None:
    body = {"messages": [{"role": "user", "content": first}, {"role": "assistant", "content": second}]}
    assert chat_tokens(body, count).tokens == 3 + 8 + count(first) + count(second)


def _call(id_: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
