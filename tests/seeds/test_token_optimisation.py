"""Scenarios of the proposals for frugal tool results, prompts that are pruned by priority, and budgets for tools."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import brim
from brim import Section, prompt
from brim.mcp.options import WrapperOptions
from brim.mcp.results.session_fill import FillSession
from brim.mcp.server.own_tools import Tools
from tests.content.test_reshape import CHANGE, HIT
from tests.mcp.conftest import connected, run, text_of

MODEL = "gpt-4o"


def hit(line: int) -> dict[str, Any]:
    span = {"start_line": line, "start_col": 0, "end_line": line, "end_col": 0}
    return {**HIT, "hit_id": f"lexical:{HIT['path']}:{line}:0", "span": span}


def change(number: int) -> dict[str, Any]:
    return {**CHANGE, "path": f"src/foo{number}.py", "risk_basis": "the body changed"}


def saved(before: Any, after: Any) -> float:
    """The share of bytes that a form saves, both written as the proposals write them."""
    return 1 - len(json.dumps(after, indent=2)) / len(json.dumps(before, indent=2))


# Compact formats


def test_twenty_search_hits_take_42_percent_less_at_every_level() -> None:
    answer = {"results": [hit(n) for n in range(20, 40)], "query_time_ms": 0}
    short = brim.reshape(answer, "compact")
    assert short["results"][0] == {
        "id": "lexical:src/codeplane/mcp/tools/index.py:20",
        "path": "src/codeplane/mcp/tools/index.py",
        "line": 20,
        "kind": "def",
        "name": "_serialize_tree",
        "preview": "(nodes: list[Any], *, include_line_counts: bool = True)",
    }
    assert "query_time_ms" not in short
    assert saved(answer, short) >= 0.42
    assert brim.reshape(answer, "standard")["results"] == short["results"]
    assert brim.reshape(answer, "full")["results"] == short["results"]


def test_the_enclosing_span_of_a_structural_hit_stays() -> None:
    span = {"start_line": 40, "end_line": 60}
    short = brim.reshape({"results": [hit(49) | {"enclosing_span": span}]}, "compact")["results"][0]
    assert short["enclosing_span"] == span
    assert short["line"] == 49


def test_a_diff_of_ten_changes_takes_69_percent_less() -> None:
    scope = {
        "base_sha": "abc123",
        "target_sha": "def456",
        "worktree_dirty": True,
        "mode": "worktree_vs_head",
        "entity_id_scheme": "kind:qualified_name",
        "files_parsed": 410,
        "files_no_grammar": [],
        "files_parse_failed": [],
        "languages_analyzed": ["python"],
    }
    answer = {"scope": scope, "structural_changes": [change(n) for n in range(10)]}
    short = brim.reshape(answer, "compact")
    assert short["scope"] == {"base": "abc123", "target": "def456", "dirty": True, "files": 410}
    assert short["structural_changes"][3] == {
        "path": "src/foo3.py",
        "kind": "function",
        "name": "handle_request",
        "change": "body_changed",
        "risk": "medium",
        "lines": 12,
        "span": [42, 78],
        "refs": 5,
        "tests": ["tests/test_foo.py"],
    }
    assert saved(answer["structural_changes"], short["structural_changes"]) >= 0.69


def test_existing_levels_of_a_diff_keep_every_field_that_says_something() -> None:
    answer = {"structural_changes": [change(1)]}
    assert brim.reshape(answer, "full") == answer
    (standard,) = brim.reshape(answer, "standard")["structural_changes"]
    assert set(answer["structural_changes"][0]) - set(standard) <= {"entity_id", "start_col", "end_col"}
    assert all(answer["structural_changes"][0][name] == value for name, value in standard.items() if name != "span")
    assert set(brim.reshape(answer, "minimal")["structural_changes"][0]) == {"path", "kind", "name", "change"}


def test_the_tree_of_a_hundred_files_takes_45_percent_less() -> None:
    folder = "src/codeplane/mcp/tools"
    files = [{"path": f"{folder}/file{n}.py", "is_dir": False} for n in range(100)]
    tree = {"path": folder, "is_dir": True, "file_count": 100, "children": files}
    short = brim.reshape({"tree": tree}, "compact")["tree"]
    assert short == {"d": folder, "n": 100, "c": [f"file{n}.py" for n in range(100)]}
    assert saved(tree, short) >= 0.45


def test_a_map_of_a_repository_has_names_and_counts_only() -> None:
    answer = {
        "languages": [{"language": "python", "files": 410, "lines": 90_112}],
        "dependencies": [{"module": name, "file": f"src/{n}.py"} for n, name in enumerate(("os", "re", "os"))],
        "test_layout": {
            "files": [
                {"path": "tests/test_a.py", "tests": ["test_one", "test_two"]},
                {"path": "tests/unit/test_b.py", "tests": ["test_three"]},
            ]
        },
    }
    short = brim.reshape(answer, "compact", tool="map_repo")
    assert short["languages"] == {"python": 410}
    assert short["dependencies"] == {"os": 2, "re": 1}
    assert short["test_layout"] == {"files": 2, "tests": 3, "paths": {"tests": 2}}


def test_compact_results_stay_whole_for_more_turns() -> None:
    def turns_until_one_is_shortened(level: str) -> int:
        session, chat = brim.Session(model=MODEL, budget=20_000), list[dict[str, Any]]()
        while not session.compactions:
            n = len(chat) // 4
            answer = {"results": [hit(line) | {"path": f"src/part{n}/file{line}.py"} for line in range(20)]}
            call = {"id": f"c{n}", "type": "function", "function": {"name": "search", "arguments": f'{{"n": {n}}}'}}
            chat += [
                {"role": "user", "content": f"Where is part {n}?"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{n}", "content": json.dumps(brim.reshape(answer, level))},
            ]
            session.fit(chat)
            chat.append({"role": "assistant", "content": f"In src/part{n}."})
        return len(chat) // 4

    given = {"results": [hit(line) for line in range(20)]}
    longer = len(json.dumps(given)) / len(json.dumps(brim.reshape(given, "minimal")))
    assert turns_until_one_is_shortened("minimal") >= 0.8 * longer / 2 * turns_until_one_is_shortened("compact")


def test_the_delivery_envelope_has_short_names_and_no_word_on_inline() -> None:
    envelope = {
        "resource_kind": "search_hits",
        "delivery": "inline",
        "inline_budget_bytes_used": 608,
        "inline_budget_bytes_limit": 8000,
    }
    short = brim.reshape(envelope, "compact")
    assert short == {"kind": "search_hits", "budget_used": 608, "budget_limit": 8000}
    assert len(json.dumps(envelope)) - len(json.dumps(short)) >= 55
    elsewhere = brim.reshape(envelope | {"delivery": "file"}, "compact")
    assert elsewhere["delivery"] == "file"


@pytest.mark.parametrize(("used", "shown"), [(10, False), (49, False), (51, True), (90, True)])
def test_scope_usage_is_left_out_while_more_than_half_remains(used: int, shown: bool) -> None:
    answer = {"results": [hit(1)], "scope_usage": {"read_bytes": {"used": used, "limit": 100}}}
    assert ("scope_usage" in brim.reshape(answer, "compact")) is shown


# Sessions and tools


def test_results_get_shorter_as_calls_go_on_and_a_level_may_be_fixed() -> None:
    session, seen = FillSession(WrapperOptions()), []
    for call in range(1, 47):
        session.calls = call
        seen.append(session.level)
    assert list(dict.fromkeys(seen)) == ["full", "standard", "compact", "minimal"]
    assert seen[20] in ("compact", "minimal")  # after twenty calls at the latest
    fixed = FillSession(WrapperOptions(level="standard"), calls=46)
    assert fixed.level == "standard"


def test_a_client_hands_a_token_budget_to_a_tool() -> None:
    async def scene() -> None:
        async with connected() as client:
            result = await client.call("lines", meta={"dev.brim/tokenBudget": 300}, n=2_000)
            assert brim.count(text_of(result), model=MODEL).tokens <= 300

    run(scene())


def test_tools_are_grouped_above_128_and_listed_up_to_that() -> None:
    async def scene() -> None:
        # The server has six tools of its own beside the numbered ones.
        async with connected("--tools", "100") as client:
            own = len([name for name in await client.names() if not name.startswith(("area", "brim_"))])
        async with connected("--tools", str(128 - own)) as client:
            assert len([name for name in await client.names() if name.startswith("area")]) == 128 - own
        async with connected("--tools", str(129 - own)) as client:
            assert not [name for name in await client.names() if name.startswith("area")]

    run(scene())


def test_calls_are_capped_at_25_where_that_is_set() -> None:
    async def scene() -> None:
        async with connected(max_calls=25, repeat_seconds=0.0) as client:
            for n in range(25):
                assert not (await client.call("echo", text=str(n))).get("isError")
            assert (await client.call("echo", text="one more"))["isError"] is True

    run(scene())


def test_one_call_finds_a_definition_and_its_references(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter")
    (tmp_path / "app.py").write_text("def handle_request():\n    return 1\n\n\nhandle_request()\n")
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    found = Tools(tmp_path, tmp_path, tmp_path).search_def_and_refs("handle_request", 20, "compact")
    assert [one["line"] for one in found["definitions"]] == [[1, 2]]
    assert [one["line"] for one in found["references"]] == [5]


# Prompts


def rendered(sections: list[Section | str], budget: int) -> str:
    return json.dumps(prompt.render(sections, model=MODEL, budget=budget).messages)


def test_the_lowest_priority_is_pruned_first() -> None:
    sections: list[Section | str] = [
        Section("Rules.", role="system"),
        Section("old " * 200, role="user", priority=1),
        Section("new " * 200, role="user", priority=5),
        Section("Ask.", role="user"),
    ]
    text = rendered(sections, 260)
    assert "new" in text
    assert "old" not in text
    assert "Ask." in text


def test_a_request_and_its_response_are_pruned_together() -> None:
    sections: list[Section | str] = [
        Section("call " * 5, role="assistant", priority=9, keep_with="c1"),
        Section("result " * 300, role="user", priority=1, keep_with="c1"),
        Section("Ask.", role="user"),
    ]
    text = rendered(sections, 100)
    assert "call" not in text
    assert "result" not in text


def test_a_section_that_grows_is_told_its_budget_and_how_to_count() -> None:
    told: list[tuple[int, int]] = []

    def fill(budget: prompt.Budget) -> str:
        told.append((int(budget), budget.count("hello world")))
        return "word " * 10_000

    text = rendered([Section(role="user", expand=fill, flex_grow=1), Section("Ask.", role="user")], 500)
    assert 400 < told[0][0] <= 500
    assert told[0][1] == 2
    assert text.count("word") > 300


def test_a_limit_is_a_hard_cap_and_a_chunk_is_cut_between_words() -> None:
    sections: list[Section | str] = [Section("alpha beta " * 500, role="user", limit=50, break_on=" ", priority=1)]
    shown = prompt.render(sections, model=MODEL, budget=5_000).messages[0]["content"]
    assert brim.count(shown, model=MODEL).tokens <= 50
    assert set(shown.split()) == {"alpha", "beta"}
