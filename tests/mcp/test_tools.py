"""Tool lists: shrinking, searching, grouping."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.docsearch.tool_index import ToolIndex
from brim.mcp.options import WrapperOptions
from brim.mcp.results.compacting import count_tokens
from brim.mcp.tools import tool_groups
from brim.mcp.tools.audit import measure, render
from brim.mcp.tools.definition_shrinking import first_sentences, hoist, shrink, tidy
from brim.mcp.tools.tool_list import ToolList, tokens_of

from .conftest import MODERN_META, connected, run, text_of

TOOL = {
    "name": "copy",
    "title": "Copy",
    "description": "\n    Copy a file.\n\n    Args:\n        source: where it is\n        target: where it goes\n    ",
    "inputSchema": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "copyArguments",
        "type": "object",
        "properties": {
            "source": {"title": "Source", "type": "string"},
            "target": {"title": "Target", "anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "title": {"type": "string", "description": "a parameter that is called title"},
        },
        "required": ["source"],
    },
    "outputSchema": {"type": "object"},
}


def small(tool: dict[str, Any], limit: int = 100) -> dict[str, Any]:
    return shrink(tool, limit=limit, count=count_tokens).tool


def test_shrinking_drops_titles_and_keeps_what_is_called_so() -> None:
    assert small(TOOL) == {
        "name": "copy",
        "title": "Copy",  # what a person sees; no client sends it to a model
        "description": "Copy a file.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "source": {"type": "string", "description": "where it is"},
                "target": {"type": ["string", "null"], "description": "where it goes"},
                "title": {"type": "string", "description": "a parameter that is called title"},
            },
            "required": ["source"],
        },
    }


def test_a_long_description_is_cut_at_a_sentence_and_said_to_be_cut() -> None:
    tool = {"name": "a", "description": "It does this. " * 60, "inputSchema": {"type": "object"}}
    done = shrink(tool, limit=40, count=count_tokens)
    assert done.cut
    assert done.tool["description"].endswith("It does this. …")
    assert count_tokens(done.tool["description"]) <= 42


def test_subschemas_that_occur_again_move_to_defs() -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x", "y"]}
    schema = {"type": "object", "properties": dict.fromkeys(("from", "to", "via", "end"), point)}
    hoisted = hoist(schema)
    assert hoisted["properties"]["to"] == hoisted["properties"]["end"] == {"$ref": "#/$defs/s1"}
    assert hoisted["$defs"] == {"s1": point}
    assert len(json.dumps(hoisted)) < len(json.dumps(schema))


def expand(schema: Any, defs: dict[str, Any]) -> Any:
    if isinstance(schema, dict):
        if set(schema) == {"$ref"}:
            return expand(defs[schema["$ref"].removeprefix("#/$defs/")], defs)
        return {key: expand(value, defs) for key, value in schema.items() if key != "$defs"}
    return [expand(item, defs) for item in schema] if isinstance(schema, list) else schema


LEAVES = st.sampled_from(
    [{"type": "string"}, {"type": "object", "properties": {"a" * 30: {"type": "string"}, "b" * 30: {"type": "number"}}}]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(lambda items: {"anyOf": items}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda props: {"type": "object", "properties": props}, st.dictionaries(st.text("xyz"), inner)),
    ),
    max_leaves=12,
)


@given(SCHEMAS)
def test_hoisting_changes_no_meaning(schema: dict[str, Any]) -> None:
    hoisted = hoist(schema)
    assert expand(hoisted, hoisted.get("$defs", {})) == schema


@given(SCHEMAS)
def test_shrinking_never_makes_a_tool_larger(schema: dict[str, Any]) -> None:
    tool = {"name": "t", "inputSchema": schema}
    assert tokens_of(small(tool), count_tokens) <= tokens_of(tool, count_tokens) + 2


@given(st.text(max_size=400), st.integers(5, 60))
def test_first_sentences_stay_within_their_limit(text: str, limit: int) -> None:
    assert len(first_sentences(text, limit, len)) <= limit + 2


def test_indentation_of_docstrings_goes() -> None:
    assert tidy("\n    One.\n\n\n\n      Two\n    Three\n") == "One.\n\n  Two\nThree"


def tools(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "description": said, "inputSchema": {"type": "object"}} for name, said in pairs]


def test_tools_are_found_by_other_words_than_their_own() -> None:
    found = tools(
        ("send_mail", "Send an e-mail."),
        ("read_file", "Read a file from disk."),
        ("delete_rows", "Delete rows of a table."),
        ("get_weather", "Current weather of a city."),
    )
    index = ToolIndex(found)
    for query, name in [
        ("remove entries from database", "delete_rows"),
        ("load a document", "read_file"),
        ("forecast for Berlin", "get_weather"),
        ("please use send_mail", "send_mail"),
    ]:
        assert found[index.search(query)[0]]["name"] == name
    assert index.search("zzz") == []


@pytest.mark.parametrize("query", ["remvoe rows", "delet tabel", "deleterows", "delete-row", "DeleteRows"])
def test_a_tool_is_found_by_misspelt_words_and_words_run_together(query: str) -> None:
    found = tools(
        ("read_file", "Read the contents of a file."),
        ("send_mail", "Send an e-mail to somebody."),
        ("delete_rows", "Delete rows of a table."),
        ("get_weather", "Current weather of a city."),
    )
    assert found[ToolIndex(found).search(query)[0]]["name"] == "delete_rows"


def test_groups_come_from_servers_or_from_names() -> None:
    names = ["git_log", "git_diff", "git_add", "ping"]
    assert [(g.name, len(g.tools)) for g in tool_groups.groups(names)] == [("git", 3), ("other", 1)]
    owned = tool_groups.groups(["a__x", "b__y"], ["a", "b"])
    assert [(g.name, g.tools) for g in owned] == [("a", ("a__x",)), ("b", ("b__y",))]


def test_past_the_threshold_tools_are_reached_through_three_and_a_recall() -> None:
    async def scene() -> None:
        async with connected("--tools", "150") as client:
            assert await client.names() == ["brim_find", "brim_describe", "brim_call", "brim_recall", "brim_query"]
            found = text_of(await client.call("brim_find", query="does the thing 77"))
            assert "area7_do_77(p77?: string)" in found
            described = json.loads(text_of(await client.use("brim_describe", {"name": "area7_do_77"})))
            assert described["inputSchema"]["properties"]["p77"]["description"] == "The value 77"
            echoed = await client.use("brim_call", {"name": "echo", "arguments": {"text": "through"}})
            assert text_of(echoed) == "through"
            wrong = await client.use("brim_call", {"name": "nope", "arguments": {}})
            assert wrong["isError"] is True
            assert text_of(await client.call("echo", text="directly")) == "directly"

    run(scene())


def test_below_the_threshold_a_cut_description_is_one_call_away() -> None:
    async def scene() -> None:
        async with connected("--tools", "3", description_tokens=10) as client:
            assert "brim_describe" in await client.names()
            text = text_of(await client.use("brim_describe", {"name": "area1_do_1"}))
            assert json.loads(text)["description"].count("Does the thing 1") == 8

    run(scene())


def test_virtual_tools_open_and_close_for_handshake_clients_only() -> None:
    async def scene() -> None:
        async with connected("--tools", "40", grouping="virtual") as client:
            names = await client.names()
            assert "brim_open_area3" in names
            assert "area3_do_3" not in names
            opened = await client.call("brim_open_area3")
            assert "area3_do_33" in text_of(opened)
            assert client.messages[-2]["method"] == "notifications/tools/list_changed"
            names = await client.names()
            assert "area3_do_3" in names
            assert "brim_close_area3" in names
            await client.call("brim_close_area3")
            assert "area3_do_3" not in await client.names()
            modern = await client.result("tools/list", {"_meta": MODERN_META})
            assert [tool["name"] for tool in modern["tools"]][:3] == ["brim_find", "brim_describe", "brim_call"]

    run(scene())


def test_a_server_that_has_a_tool_of_the_same_name_keeps_it() -> None:
    held = ToolList(WrapperOptions(grouping="off"), count_tokens)
    held.fill([("", tools(("brim_recall", "The server's own.")))], prefixed=False)
    shown = held.shown(virtual=True, recall=True)
    assert [(tool["name"], tool["description"]) for tool in shown] == [("brim_recall", "The server's own.")]


@pytest.mark.parametrize("as_json", [True, False])
def test_an_audit_names_the_dearest_tool_first(as_json: bool) -> None:
    held = ToolList(WrapperOptions(), count_tokens)
    held.fill([("", [*tools(("a", "Short."), ("b", "Long text here. " * 40)), TOOL])], prefixed=False)
    report = measure(held)
    assert [cost.name for cost in report.tools] == ["b", "copy", "a"]
    assert report.shrunk < report.tokens == sum(cost.tokens for cost in report.tools)
    text = render(report, as_json=as_json)
    assert (json.loads(text)["tokens"] == report.tokens) if as_json else (f"{report.tokens:,} tokens" in text)
