from __future__ import annotations

import copy
import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.content.reshape import ENVELOPE, LEVELS, REPO_MAP, SEARCH_HITS, SEMANTIC_DIFF, Shape, apply, shape_for
from brim.errors import BadSetting

HIT = {
    "hit_id": "lexical:src/codeplane/mcp/tools/index.py:49:0",
    "path": "src/codeplane/mcp/tools/index.py",
    "span": {"start_line": 49, "start_col": 0, "end_line": 49, "end_col": 0},
    "kind": "def",
    "symbol_id": "_serialize_tree",
    "preview_line": "(nodes: list[Any], *, include_line_counts: bool = True)",
    "symbol": {"name": "_serialize_tree", "kind": "function", "qualified_name": None},
}
COMPACT_HIT = {
    "id": "lexical:src/codeplane/mcp/tools/index.py:49",
    "path": "src/codeplane/mcp/tools/index.py",
    "line": 49,
    "kind": "def",
    "name": "_serialize_tree",
    "preview": "(nodes: list[Any], *, include_line_counts: bool = True)",
}
CHANGE = {
    "path": "src/foo.py",
    "kind": "function",
    "name": "handle_request",
    "change": "body_changed",
    "structural_severity": "moderate",
    "behavior_change_risk": "medium",
    "classification_confidence": 0.85,
    "qualified_name": "module.handle_request",
    "entity_id": "function:module.handle_request",
    "start_line": 42,
    "start_col": 4,
    "end_line": 78,
    "end_col": 0,
    "lines_changed": 12,
    "delta_tags": ["logic_change"],
    "impact": {
        "reference_count": 5,
        "ref_tiers": {"direct": 3, "transitive": 2},
        "referencing_files": ["src/a.py", "src/b.py"],
        "importing_files": ["src/c.py"],
        "affected_test_files": ["tests/test_foo.py"],
        "confidence": "high",
        "visibility": "public",
        "is_static": False,
    },
}
COMPACT_CHANGE = {
    "path": "src/foo.py",
    "kind": "function",
    "name": "handle_request",
    "change": "body_changed",
    "risk": "medium",
    "lines": 12,
    "span": [42, 78],
    "refs": 5,
    "tests": ["tests/test_foo.py"],
}
SCOPE = {
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
COMPACT_SCOPE = {"base": "abc123", "target": "def456", "dirty": True, "files": 410}
FOLDER = "src/codeplane/mcp/tools"
TREE = {
    "path": FOLDER,
    "is_dir": True,
    "file_count": 3,
    "children": [{"path": f"{FOLDER}/{name}", "is_dir": False} for name in ("__init__.py", "base.py", "diff.py")],
}
COMPACT_TREE = {"d": FOLDER, "n": 3, "c": ["__init__.py", "base.py", "diff.py"]}
DELIVERY = {
    "resource_kind": "search_hits",
    "delivery": "inline",
    "inline_budget_bytes_used": 608,
    "inline_budget_bytes_limit": 8000,
}
COMPACT_DELIVERY = {"kind": "search_hits", "budget_used": 608, "budget_limit": 8000}


@pytest.mark.parametrize(
    ("shape", "full", "compact"),
    [
        (SEARCH_HITS, HIT, COMPACT_HIT),
        (SEMANTIC_DIFF, CHANGE, COMPACT_CHANGE),
        (SEMANTIC_DIFF, SCOPE, COMPACT_SCOPE),
        (REPO_MAP, TREE, COMPACT_TREE),
        (REPO_MAP, {"path": "src/codeplane/mcp/tools/index.py", "is_dir": False}, "src/codeplane/mcp/tools/index.py"),
        (ENVELOPE, DELIVERY, COMPACT_DELIVERY),
    ],
)
def test_a_known_record_takes_its_compact_form_field_by_field(shape, full, compact):
    got = apply(full, shape, "compact")
    assert got == compact
    assert json.dumps(got) == json.dumps(compact)  # in the same order of fields


@pytest.mark.parametrize(
    ("shape", "full", "saved"), [(SEARCH_HITS, HIT, 0.42), (SEMANTIC_DIFF, CHANGE, 0.69), (REPO_MAP, TREE, 0.45)]
)
def test_the_compact_form_saves_its_share_of_bytes(shape, full, saved):
    before, after = (len(json.dumps(one, indent=2).encode()) for one in (full, apply(full, shape, "compact")))
    assert after <= (1 - saved) * before


def test_a_whole_answer_is_compacted_with_its_envelope_and_its_value_is_left_alone():
    answer = {**DELIVERY, "results": [HIT, HIT], "query_time_ms": 0, "pagination": {"next": "c2"}}
    before = copy.deepcopy(answer)
    got = apply(answer, SEARCH_HITS)
    assert got == {**COMPACT_DELIVERY, "results": [COMPACT_HIT, COMPACT_HIT], "pagination": {"next": "c2"}}
    assert answer == before


def test_a_diff_answer_compacts_changes_scope_and_non_structural_changes_alike():
    plain = {"path": "README.md", "status": "modified", "category": "docs", "language": None, "reason": "no grammar"}
    got = apply({"structural_changes": [CHANGE], "non_structural_changes": [plain], "scope": SCOPE}, SEMANTIC_DIFF)
    assert got == {
        "structural_changes": [COMPACT_CHANGE],
        "non_structural_changes": [{"path": "README.md", "kind": "docs", "change": "modified"}],
        "scope": COMPACT_SCOPE,
    }


def test_what_went_wrong_stays_in_a_compact_scope():
    got = apply({**SCOPE, "files_parse_failed": ["a.py"]}, SEMANTIC_DIFF)
    assert got == {**COMPACT_SCOPE, "parse_failed": ["a.py"]}


def test_a_hit_over_several_lines_keeps_both_and_an_enclosing_span_stays():
    span = {"start_line": 3, "start_col": 0, "end_line": 9, "end_col": 0}
    got = apply({**HIT, "span": span, "enclosing_span": {"start_line": 1, "end_line": 30}}, SEARCH_HITS)
    assert got["line"] == [3, 9]
    assert got["enclosing_span"] == {"start_line": 1, "end_line": 30}


def test_a_hit_id_keeps_a_column_that_is_not_zero():
    assert apply({**HIT, "hit_id": "structural:a.py:49:12"}, SEARCH_HITS)["id"] == "structural:a.py:49:12"


def test_a_qualified_name_stays_when_there_is_one():
    symbol = {"name": "f", "kind": "function", "qualified_name": "m.f"}
    assert apply({**HIT, "symbol": symbol}, SEARCH_HITS)["qualified_name"] == "m.f"


def test_directories_inside_a_tree_are_named_from_their_parent():
    inner = {"path": "src/a", "is_dir": True, "file_count": 1, "children": [{"path": "src/a/b.py", "is_dir": False}]}
    outer = {"path": "src", "is_dir": True, "file_count": 2, "children": [inner, {"path": "src/c.py", "is_dir": False}]}
    assert apply(outer, REPO_MAP) == {"d": "src", "n": 2, "c": [{"d": "a", "n": 1, "c": ["b.py"]}, "c.py"]}


def test_dependencies_become_names_with_counts():
    imports = [{"module": "os", "file": "a.py"}, {"module": "re", "file": "a.py"}, {"module": "os", "file": "b.py"}]
    assert apply({"dependencies": imports}, REPO_MAP) == {"dependencies": {"os": 2, "re": 1}}
    assert apply({"dependencies": ["os", "re"]}, REPO_MAP) == {"dependencies": ["os", "re"]}


def test_a_test_layout_becomes_counts_and_top_level_paths():
    layout = {
        "test_files": [
            {"path": "tests/unit/test_a.py", "tests": ["test_x", "test_y"]},
            {"path": "tests/test_b.py", "tests": ["test_z"]},
        ],
        "framework": "pytest",
    }
    assert apply({"test_layout": layout}, REPO_MAP) == {
        "test_layout": {"framework": "pytest", "files": 2, "tests": 3, "paths": {"tests": 2}}
    }


@pytest.mark.parametrize(
    ("usage", "stays"),
    [
        ({"reads": {"used": 2, "limit": 20}}, False),
        ({"reads": {"used": 12, "limit": 20}}, True),
        ({"reads_used": 1, "reads_limit": 10, "bytes_remaining": 10, "bytes_limit": 100}, True),
        ({"note": "no numbers"}, True),
    ],
)
def test_scope_usage_is_told_only_when_a_budget_runs_low(usage, stays):
    assert ("scope_usage" in apply({**DELIVERY, "scope_usage": usage}, ENVELOPE)) is stays
    assert ("scope_usage" in apply({"results": [HIT], "scope_usage": usage}, SEARCH_HITS)) is stays


def test_a_delivery_that_is_not_inline_is_told():
    assert apply({**DELIVERY, "delivery": "file"}, ENVELOPE)["delivery"] == "file"


def test_the_levels_go_from_everything_to_little():
    sizes = [
        len(json.dumps(apply(CHANGE, SEMANTIC_DIFF, level))) for level in ("full", "standard", "compact", "minimal")
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert apply(CHANGE, SEMANTIC_DIFF, "full") is CHANGE


def test_a_shape_is_found_by_its_records_and_by_its_tool():
    assert shape_for({"results": [HIT]}) is SEARCH_HITS
    assert shape_for({"structural_changes": [CHANGE]}, "mcp__codeplane__semantic_diff") is SEMANTIC_DIFF
    assert shape_for([TREE]) is REPO_MAP
    assert shape_for(DELIVERY) is ENVELOPE
    assert shape_for({"a": [1, 2]}, "search") is None


def test_a_shape_of_ones_own_comes_from_a_toml_table():
    table = tomllib.loads("""
        tools = ["find_tickets"]
        match = ["ticket_id"]
        [compact]
        fields = { id = "ticket_id", who = "requester.email", lines = ["span.a", "span.b"] }
        drop = ["debug"]
        omit_null = true
    """)
    shape = Shape.from_dict("tickets", table)
    ticket = {"ticket_id": 7, "requester": {"email": "a@b"}, "span": {"a": 1, "b": 5}, "debug": 1, "x": None, "y": 2}
    assert shape_for([ticket], "find_tickets", (shape,)) is shape
    assert apply([ticket], shape) == [{"id": 7, "who": "a@b", "lines": [1, 5], "y": 2}]


def test_a_new_name_never_hides_a_field_that_stays():
    shape = Shape.from_dict("x", {"match": ["old"], "compact": {"fields": {"kind": "old"}}})
    assert apply({"old": 1, "kind": 2}, shape) == {"old": 1, "kind": 2}


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ({"match": ["a"], "tiny": {}}, "shapes.x.tiny"),
        ({"match": ["a"], "compact": {"renames": {}}}, "shapes.x.compact.renames"),
        ({"match": ["a"], "compact": {"drop": "b"}}, "shapes.x.compact.drop"),
        ({"match": ["a"], "compact": {"fields": {"s": ["one"]}}}, "shapes.x.compact.fields.s"),
        ({"compact": {}}, "shapes.x.match"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(table, place):
    with pytest.raises(BadSetting) as caught:
        Shape.from_dict("x", table)
    assert caught.value.name == place


keys = st.sampled_from(["hit_id", "path", "span", "is_dir", "children", "change", "name", "resource_kind",
                        "scope_usage", "dependencies", "test_layout", "base_sha", "symbol", "impact", "a"])  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=25,
)


@given(values, st.sampled_from([SEARCH_HITS, SEMANTIC_DIFF, REPO_MAP, ENVELOPE]), st.sampled_from(LEVELS))
def test_any_value_gets_through_every_shape_unchanged_itself(value, shape, level):
    before = copy.deepcopy(value)
    json.dumps(apply(value, shape, level))
    assert value == before


MAP = {
    "languages": [{"language": "python", "file_count": 3}, {"language": "toml", "file_count": 1}],
    "tree": {"path": "src", "is_dir": True, "file_count": 1, "children": [{"path": "src/a.py", "is_dir": False}]},
    "dependencies": [{"module": "os", "files": 5}, {"module": "json", "files": 2}],
    "test_layout": {"test_files": ["tests/test_a.py", "tests/test_b.py"], "test_functions": ["test_x", "test_y", "z"]},
}


def test_a_map_names_languages_and_modules_with_their_counts() -> None:
    short = apply(MAP, REPO_MAP)
    assert short["languages"] == {"python": 3, "toml": 1}
    assert short["dependencies"] == {"os": 5, "json": 2}


def test_names_of_tests_in_a_layout_are_not_taken_for_files() -> None:
    assert apply(MAP, REPO_MAP)["test_layout"] == {"files": 2, "tests": 3, "paths": {"tests": 2}}


def test_no_level_of_a_map_is_larger_than_the_one_above_it() -> None:
    sizes = [len(json.dumps(apply(MAP, REPO_MAP, level))) for level in ("full", "standard", "compact", "minimal")]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] < sizes[1]
    assert sizes[3] < sizes[2]
