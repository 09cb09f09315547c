"""Brim's own server, through the official client."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("tree_sitter")

from mcp.client import Client

from brim.mcp.results.compacting import count_tokens
from brim.mcp.server.sdk_server import build
from brim.mcp.transport.json_rpc import dump

pytestmark = pytest.mark.filterwarnings("ignore")


def served(root: Path, *calls: tuple[str, dict[str, Any]], mode: str = "auto") -> tuple[list[Any], list[Any]]:
    async def scene() -> tuple[list[Any], list[Any]]:
        async with Client(build(root, root / "docs", root / "learnings"), mode=mode) as client:
            tools = (await client.list_tools()).tools
            return list(tools), [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(asyncio.wait_for(scene(), 30))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "chat.md").write_text("# Chat\nKeep the history.\n")
    (tmp_path / "app.py").write_text("def start():\n    return 1\n\n\nstart()\n")
    return tmp_path


def test_tools_are_few_short_and_describe_what_they_return(root: Path) -> None:
    tools, _ = served(root)
    names = {tool.name for tool in tools}
    assert names >= {"count_tokens", "compact", "recall", "search_docs", "search_learnings", "context_report"}
    assert names >= {"map_repo", "search", "search_def_and_refs", "semantic_diff"}
    for tool in tools:
        assert tool.output_schema is not None, tool.name
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert count_tokens(tool.description or "") <= 30, tool.name


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_text_and_structured_content_say_the_same(root: Path, mode: str) -> None:
    _, (counted, docs, uses) = served(
        root,
        ("count_tokens", {"text": "hello world"}),
        ("search_docs", {"keywords": ["history"]}),
        ("search_def_and_refs", {"symbol": "start"}),
        mode=mode,
    )
    assert counted.structured_content["tokens"] == 2
    assert docs.content[0].text == docs.structured_content["text"]
    assert docs.structured_content["files"] == ["chat.md"]
    assert json.loads(uses.content[0].text) == uses.structured_content
    assert uses.structured_content["definitions"][0]["line"] == [1, 2]
    assert uses.structured_content["references"][0]["line"] == 5


def test_what_is_compacted_can_be_recalled(root: Path) -> None:
    async def scene() -> None:
        async with Client(build(root, root, root)) as client:
            text = "\n".join(f"entry {i}" for i in range(3_000))
            result = await client.call_tool("compact", {"text": text, "budget": 100})
            value = result.structured_content
            assert value["fidelity"] == "recoverable"
            assert value["tokens"] <= 100
            found = await client.call_tool("recall", {"handle": value["handle"], "query": "entry 1234"})
            assert "entry 1234" in found.content[0].text
            rows = dump([{"id": i, "state": "open", "owner": "someone"} for i in range(50)]).decode()
            lossless = (await client.call_tool("compact", {"text": rows})).structured_content
            assert lossless["fidelity"] == "lossless"
            assert lossless["tokens"] < lossless["of"]

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_a_conversation_is_reported_by_layer(root: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "word " * 3_000}]
    _, (report,) = served(root, ("context_report", {"messages": messages, "model": "gpt-4o"}))
    value = report.structured_content
    assert sum(layer["tokens"] for layer in value["layers"]) <= value["tokens"] <= value["limit"]
    assert value["tokens"] > 3_000


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("map_repo", {}),
        ("search", {"query": "start"}),
        ("search", {"query": "start", "mode": "references"}),
        ("search", {"query": "return", "mode": "lexical"}),
        ("search_def_and_refs", {"symbol": "start"}),
        ("semantic_diff", {"base": "HEAD"}),
    ],
)
def test_each_code_tool_has_four_levels_that_get_shorter_and_stay_valid(
    tool: str, arguments: dict[str, Any], root: Path
) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run([*git, *command], check=True)
    (root / "app.py").write_text("def start(x):\n    return x + 1\n\n\nstart(2)\n")
    levels = ("full", "standard", "compact", "minimal")
    # The client checks structured content against the tool's output schema, and fails where it does not hold.
    _, results = served(root, *((tool, {**arguments, "level": level}) for level in levels))
    sizes = [count_tokens(result.content[0].text) for result in results]
    assert not any(result.is_error for result in results)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[3] < sizes[0]
    assert (sizes[2] == sizes[0]) if tool.startswith("search") else (sizes[2] < sizes[0])  # hits are always compact
    assert "app.py" in results[3].content[0].text or tool == "map_repo"


def test_errors_are_results_that_say_what_is_wrong(root: Path) -> None:
    _, results = served(
        root,
        ("recall", {"handle": "brim:0"}),
        ("search", {"query": " "}),
        ("count_tokens", {"text": "x", "model": "no-such-model"}),
        ("semantic_diff", {"base": "--bad"}),
    )
    assert [result.is_error for result in results] == [True] * 4
    assert "nothing is kept" in results[0].content[0].text
    assert "not a revision" in results[3].content[0].text


def test_refused_arguments_are_told_with_what_the_tool_takes(root: Path) -> None:
    _, (missing, wrong) = served(root, ("count_tokens", {}), ("search", {"query": 3}))
    assert missing.is_error
    said = missing.content[0].text
    assert said.startswith("count_tokens: text: Field required. It takes {")
    assert json.loads(said.split("It takes ")[1])["required"] == ["text"]
    assert "https://" not in said
    assert "query: Input should be a valid string" in wrong.content[0].text


def test_a_diff_outside_of_git_says_what_to_do(root: Path) -> None:
    _, (result,) = served(root, ("semantic_diff", {}))
    assert result.is_error
    assert "is not in a git repository" in result.content[0].text
    assert "usage:" not in result.content[0].text


def test_the_server_tells_when_to_search_the_folders_that_are_there(root: Path) -> None:
    said = build(root, root / "docs", root / "learnings").instructions or ""
    assert "You have access to the search_docs tool" in said
    assert "search_learnings" not in said
