"""Tool results behind the wrapper: steps of a budget, hints of a server, and what a model may ask for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import brim
from brim.cli.mcp import main
from brim.content.reshape import SHAPES
from brim.mcp.code.diffing import semantic_diff
from brim.mcp.code.repository import Repository
from brim.mcp.options import LEVELS, WrapperOptions
from brim.mcp.results.compacting import Compact, compact_text, count_tokens
from brim.mcp.results.server_hints import LONGEST, throttled
from brim.mcp.tools.tool_list import ToolList
from tests.mcp.conftest import connected, run, text_of
from tests.seeds.test_token_optimisation import hit

REJOINDER = "REJOINDER: search(), read_source, and read_scaffold replace grep/rg/find/cat/head/tail/sed/wc."


def hits(number: int) -> str:
    found = [
        hit(n) | {"path": f"src/{n * 7919 % 1013:x}/index.py", "symbol_id": f"f{n * 31 % 97}"} for n in range(number)
    ]
    for one in found:
        one["symbol"] = {"name": one["symbol_id"], "kind": "function", "qualified_name": None}
    return json.dumps({"results": found, "query_time_ms": 0})


def at(text: str, level: Any, budget: int) -> Compact:
    return compact_text(
        text, level, budget, tool="search", keep=lambda whole: "brim:00c0ffee", recall=True, shapes=SHAPES
    )


@pytest.mark.parametrize("level", LEVELS)
def test_search_results_are_compact_at_every_level_also_in_the_first_calls(level: str) -> None:
    short = at(hits(20), level, 8_000)
    assert len(short.text) <= 0.58 * len(hits(20))
    assert "query_time_ms" not in short.text
    assert "hit_id" not in short.text


@pytest.mark.parametrize("budget", range(60, 700, 40))
def test_a_budget_between_two_levels_steps_down_and_every_hit_keeps_path_line_kind_and_name(budget: int) -> None:
    short = at(hits(20), "compact", budget)
    assert short.tokens <= budget
    rows = [line for line in short.text.splitlines() if "index.py" in line]
    assert rows or "path" in short.text
    for row in rows:
        if row.startswith("{"):
            assert json.loads(row).keys() >= {"path", "line", "kind", "name"}


def test_minimal_at_330_tokens_shows_as_many_hits_as_fit_and_says_how_many_more() -> None:
    short = at(hits(60), "minimal", 330)
    rows = [json.loads(line) for line in short.text.splitlines() if line.startswith("{")]
    assert 5 < len(rows) < 60
    assert all(set(row) == {"path", "line", "kind", "name"} for row in rows)
    assert f"{60 - len(rows)} more of 60" in short.text
    assert "brim:00c0ffee" in short.text


def answer(hint: str) -> dict[str, Any]:
    body = {"results": [1, 2], "agentic_hint": hint, "fallback_reason": "bad syntax"}
    return {"content": [{"type": "text", "text": json.dumps(body)}]}


def test_a_hint_of_a_server_is_shown_now_and_then_and_in_short() -> None:
    names = WrapperOptions().hint_fields
    hidden = json.loads(throttled(answer(REJOINDER), names, show=False)["content"][0]["text"])
    assert hidden == {"results": [1, 2], "fallback_reason": "bad syntax"}
    shown = json.loads(throttled(answer(REJOINDER), names, show=True)["content"][0]["text"])
    assert shown["agentic_hint"].startswith("search(), read_source, and read_scaffold replace")
    assert len(shown["agentic_hint"]) <= LONGEST < len(REJOINDER)


@pytest.mark.parametrize("name", ["agentic_hint", "rejoinder", "suggested_workflow", "verification_context"])
def test_hints_come_with_every_tenth_call(name: str) -> None:
    from_server = {"content": [{"type": "text", "text": json.dumps({"n": 1, name: "Do this. " * 20})}]}
    options = WrapperOptions()
    assert name in options.hint_fields
    assert options.hint_every == 10
    assert name not in throttled(from_server, options.hint_fields, show=False)["content"][0]["text"]


def test_a_field_that_settings_do_not_name_stays() -> None:
    result = {"content": [{"type": "text", "text": json.dumps({"tip": "Stay."})}]}
    assert throttled(result, WrapperOptions().hint_fields, show=False) is result
    assert "tip" not in throttled(result, ("tip",), show=False)["content"][0]["text"]


def listed(schema: dict[str, Any]) -> ToolList:
    tools = ToolList(WrapperOptions(verbosity=True), count_tokens)
    tools.fill([("", [{"name": "lines", "description": "Lines.", "inputSchema": schema}])], prefixed=False)
    return tools


def test_every_wrapped_tool_takes_a_verbosity_which_its_server_never_sees() -> None:
    tools = listed({"type": "object", "properties": {"n": {"type": "integer"}}})
    shown = tools.shown(virtual=False, recall=False)[0]["inputSchema"]["properties"]
    assert shown["verbosity"]["enum"] == list(LEVELS)
    params, level = tools.without_verbosity("lines", {"name": "lines", "arguments": {"n": 3, "verbosity": "minimal"}})
    assert (params["arguments"], level) == ({"n": 3}, "minimal")


def test_a_verbosity_that_the_server_has_itself_is_passed_on() -> None:
    own = {"type": "object", "properties": {"verbosity": {"type": "string"}}}
    tools = listed(own)
    assert tools.shown(virtual=False, recall=False)[0]["inputSchema"]["properties"] == own["properties"]
    given = {"name": "lines", "arguments": {"verbosity": "minimal"}}
    assert tools.without_verbosity("lines", given) == (given, None)


def test_a_model_asks_for_the_level_of_one_result() -> None:
    async def scene() -> None:
        async with connected(verbosity=True) as client:
            long = await client.call("lines", n=4_000)
            short = await client.call("lines", n=4_000, verbosity="minimal")
            assert brim.count(text_of(short), model="gpt-4o").tokens < brim.count(text_of(long), model="gpt-4o").tokens

    run(scene())


def test_a_refusal_of_arguments_says_what_the_tool_takes() -> None:
    async def scene() -> None:
        async with connected() as client:
            refused = await client.ask("tools/call", {"name": "echo", "arguments": {"wrong": 1}})
            told = json.dumps(refused)
            assert "echo takes" in told
            assert "properties" in told

    run(scene())


def test_mcp_guide_prints_text_for_agents_md_that_recommends_compact(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guide"]) == 0
    text = capsys.readouterr().out
    assert "Ask for `compact` unless you are diagnosing a problem" in text
    assert all(f"`{level}`" in text for level in LEVELS)


def test_non_structural_changes_keep_their_change_also_in_minimal() -> None:
    change = {"path": "a.css", "status": "modified", "category": "other", "lines_changed": 3}
    answered = {"structural_changes": [], "non_structural_changes": [change]}
    short = brim.reshape(answered, "minimal", tool="semantic_diff")
    assert short["non_structural_changes"] == [{"path": "a.css", "change": "modified"}]


def repository(root: Path, files: dict[str, str]) -> Repository:
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "Begin"], check=True)
    return Repository(root)


def test_lines_of_untracked_files_are_counted(tmp_path: Path) -> None:
    some = repository(tmp_path, {"a.txt": "one\n"})
    (tmp_path / "new.txt").write_text("one\ntwo\nthree\n")
    changes = semantic_diff(some)["non_structural_changes"]
    assert [(change["path"], change["lines_changed"]) for change in changes] == [("new.txt", 3)]
