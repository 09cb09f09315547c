"""`brim.find_tools`: the tools of a request that are best for what a query says."""

from __future__ import annotations

from typing import Any

import pytest

import brim

SAID = {"move_crane": "Move a crane to a berth.", "send_mail": "Send a letter.", "read_log": "Read the harbour's log."}


def listed(api: str) -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {}}
    if api == "openai_chat":
        functions = ({"name": name, "description": text, "parameters": schema} for name, text in SAID.items())
        return [{"type": "function", "function": function} for function in functions]
    if api == "openai_responses":
        tools = [{"type": "function", "name": name, "description": text} for name, text in SAID.items()]
        return [{"type": "tool_search"}, {"type": "namespace", "name": "harbour", "tools": tools}]
    if api == "gemini":
        return [{"functionDeclarations": [{"name": name, "description": text} for name, text in SAID.items()]}]
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    return [search, *({"name": name, "description": text, "input_schema": schema} for name, text in SAID.items())]


def name_of(tool: dict[str, Any]) -> str:
    return str(tool.get("function", tool)["name"])


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses", "anthropic", "gemini"])
def test_tools_are_found_in_the_form_of_every_api(api: str) -> None:
    assert [name_of(tool) for tool in brim.find_tools(listed(api), "move the crane", limit=1)] == ["move_crane"]
    assert name_of(brim.find_tools(listed(api), "post a letter")[0]) == "send_mail"


def test_a_query_that_no_tool_answers_finds_none() -> None:
    assert brim.find_tools(listed("anthropic"), "zzz") == []
    with pytest.raises(brim.BadInput):
        brim.find_tools([], "crane", limit=0)
