"""Tools that a provider holds back until a search finds them are counted as what the model sees of them."""

from __future__ import annotations

from typing import Any

import pytest

import brim

CLAUDE = "claude-sonnet-4-5"
SCHEMA = {"type": "object", "properties": {"berth": {"type": "string", "description": "the berth's number " * 40}}}
SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
ASKED = {"role": "user", "content": "Move the crane."}


def tool(number: int, **more: Any) -> dict[str, Any]:
    return {"name": f"tool_{number}", "description": "Moves something.", "input_schema": SCHEMA, **more}


def anthropic(*messages: Any, tools: list[Any]) -> int:
    return brim.count({"messages": [ASKED, *messages], "tools": tools}, model=CLAUDE, api="anthropic").tokens


def found(*names: str) -> list[dict[str, Any]]:
    """A client's own search, and the tools that it names."""
    references = [{"type": "tool_reference", "tool_name": name} for name in names]
    called = {"type": "tool_use", "id": "c1", "name": "find_tools", "input": {"query": "crane"}}
    answered = {"type": "tool_result", "tool_use_id": "c1", "content": references}
    return [{"role": "assistant", "content": [called]}, {"role": "user", "content": [answered]}]


def test_a_deferred_tool_of_anthropic_counts_nothing_until_it_is_referred_to() -> None:
    own = {"name": "find_tools", "input_schema": {"type": "object"}}
    deferred = [tool(number, defer_loading=True) for number in range(50)]
    assert anthropic(tools=[own, *deferred]) == anthropic(tools=[own])
    one, both = anthropic(*found("tool_3"), tools=[own, *deferred]), anthropic(*found("tool_3"), tools=[own, tool(3)])
    assert one == both
    twice = anthropic(*found("tool_3", "tool_4"), tools=[own, *deferred])
    assert twice > one + 100


def test_what_anthropics_own_search_found_is_counted_too() -> None:
    tools = [SEARCH, *(tool(number, defer_loading=True) for number in range(3))]
    called = {"type": "server_tool_use", "id": "s1", "name": "tool_search_tool_bm25", "input": {"query": "crane"}}
    reference = {"type": "tool_reference", "tool_name": "tool_1"}
    content = {"type": "tool_search_tool_search_result", "tool_references": [reference]}
    result = {"type": "tool_search_tool_result", "tool_use_id": "s1", "content": content}
    said = {"role": "assistant", "content": [called, result]}
    assert anthropic(said, tools=tools) == anthropic(said, tools=[SEARCH, tool(1)])


def test_many_deferred_tools_leave_the_window_to_the_conversation() -> None:
    tools = [SEARCH, *(tool(number, defer_loading=True) for number in range(200))]
    body = {"model": CLAUDE, "max_tokens": 100, "messages": [ASKED], "tools": tools}
    assert brim.fit(body, budget=4_000, api="anthropic").body == body


def test_a_model_that_is_no_claude_is_shown_every_tool() -> None:
    deferred = [tool(number, defer_loading=True) for number in range(50)]
    body = {"messages": [ASKED], "tools": deferred}
    assert brim.count(body, model="qwen3-32b", api="anthropic").tokens > 50 * 100


def test_a_number_that_was_learnt_does_not_hide_a_tool_that_was_found_since() -> None:
    actuals = brim.Actuals()
    own = {"name": "find_tools", "input_schema": {"type": "object"}}
    body = {"messages": [ASKED], "tools": [own, tool(1, defer_loading=True)]}
    usage = {"input_tokens": anthropic(tools=body["tools"]), "output_tokens": 1}
    brim.record(body, {"usage": usage, "content": []}, model=CLAUDE, api="anthropic", actuals=actuals)
    later = {**body, "messages": [ASKED, *found("tool_1")]}
    counted = brim.count(later, model=CLAUDE, api="anthropic", actuals=actuals)
    assert counted.tokens == anthropic(*found("tool_1"), tools=body["tools"])


@pytest.mark.parametrize("searching", [True, False])
def test_of_a_deferred_function_of_openai_the_model_sees_what_it_is_for(searching: bool) -> None:
    function = {"type": "function", "name": "move", "description": "Moves a crane.", "parameters": SCHEMA}
    listed = [{**function, "defer_loading": True}, *([{"type": "tool_search"}] if searching else [])]

    def size(tools: list[Any]) -> int:
        return brim.count({"input": "hi", "tools": tools}, model="gpt-5", api="openai_responses").tokens

    bare = {key: function[key] for key in ("type", "name", "description")}
    assert (size(listed) < size([function])) is searching
    if searching:
        assert size(listed) == size([bare, {"type": "tool_search"}])
        space = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [listed[0]] * 20}
        assert size([space, listed[1]]) == size([{**space, "tools": []}, listed[1]])
