"""Bytes that the compact forms of known shapes save on records like those of a code server."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from brim.content import reshape

_HIT = {
    "hit_id": "lexical:src/codeplane/mcp/tools/index.py:49:0",
    "path": "src/codeplane/mcp/tools/index.py",
    "span": {"start_line": 49, "start_col": 0, "end_line": 49, "end_col": 0},
    "kind": "def",
    "symbol_id": "_serialize_tree",
    "preview_line": "(nodes: list[Any], *, include_line_counts: bool = True)",
    "symbol": {"name": "_serialize_tree", "kind": "function", "qualified_name": None},
}
_CHANGE = {
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
_SCOPE = {
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
_FOLDER = "src/codeplane/mcp/tools"
_FILES = ("__init__", "base", "diff", "files", "git", "index", "init", "lint", "map", "mutate", "test", "write")
_TREE = {
    "path": _FOLDER,
    "is_dir": True,
    "file_count": 12,
    "children": [{"path": f"{_FOLDER}/{name}.py", "is_dir": False} for name in _FILES],
}
_DELIVERY = {
    "resource_kind": "search_hits",
    "delivery": "inline",
    "inline_budget_bytes_used": 608,
    "inline_budget_bytes_limit": 8000,
}


def _saved(value: Any, shape: reshape.Shape, indent: int | None) -> float:
    separators = (",", ":") if indent is None else None
    before, after = (
        len(json.dumps(one, indent=indent, separators=separators).encode())
        for one in (value, reshape.apply(value, shape, "compact"))
    )
    return 1 - after / before


def rows(data_dir: pathlib.Path) -> list[tuple[str, str, str]]:
    """Share of bytes saved, as written by an indenting server and minified; needs no data."""
    measured = []
    for name, value, shape, bar in (
        ("search hit", _HIT, reshape.SEARCH_HITS, "≥ 42%"),
        ("20 search hits in an envelope", {**_DELIVERY, "results": [_HIT] * 20}, reshape.SEARCH_HITS, "≥ 42%"),
        ("semantic diff change", _CHANGE, reshape.SEMANTIC_DIFF, "≥ 69%"),
        (
            "10 changes with scope",
            {"structural_changes": [_CHANGE] * 10, "scope": _SCOPE},
            reshape.SEMANTIC_DIFF,
            "≥ 69%",
        ),
        ("repo tree of 12 files", _TREE, reshape.REPO_MAP, "≥ 45%"),
        ("delivery envelope", _DELIVERY, reshape.ENVELOPE, ""),
    ):
        for form, indent in (("indented", 2), ("minified", None)):
            measured.append((f"shapes: {name}, {form}, bytes saved", f"{_saved(value, shape, indent):.1%}", bar))
    return measured
