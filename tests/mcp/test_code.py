"""Code tools on a small repository."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tree_sitter")

from brim.errors import BadInput
from brim.mcp.code.diffing import semantic_diff
from brim.mcp.code.languages import definitions
from brim.mcp.code.mapping import map_repo
from brim.mcp.code.repository import Repository, is_test
from brim.mcp.code.search import references, search, search_def_and_refs
from brim.mcp.server.own_tools import Tools

SHOP = '''"""A shop."""
import json
from decimal import Decimal

RATE = 3


class Cart:
    def total(self, items):
        return sum(price(item) for item in items)

    def clear(self):
        self.items = []


def price(item):
    """price of an item"""
    label = "price"
    return f"{price_of(item)}"


def price_of(item):
    return item.cost
'''
TESTS = "from shop import price\n\n\ndef test_price():\n    assert price(1)\n"


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_shop.py").write_text(TESTS)
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "app.ts").write_text("export const load = (url: string) => fetch(url);\n")
    (tmp_path / "README.md").write_text("# Shop\nThe price list.\n")
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "shop.py").write_text("def price(): pass\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "First")
    return tmp_path


def lines(hits: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(hit["path"], hit["span"]["start_line"]) for hit in hits]


def test_definitions_are_found_exact_names_first(root: Path) -> None:
    hits = search(Repository(root), "price")["results"]
    assert [(hit["symbol"]["name"], hit["path"]) for hit in hits] == [
        ("price", "shop.py"),
        ("price_of", "shop.py"),
        ("test_price", "tests/test_shop.py"),
    ]
    qualified = search(Repository(root), "Cart.total")["results"][0]
    assert qualified["symbol"] == {"name": "total", "kind": "method", "qualified_name": "Cart.total"}
    assert qualified["preview_line"] == "def total(self, items)"


def test_references_are_uses_in_code_only(root: Path) -> None:
    assert lines(references(Repository(root), "price")) == [
        ("shop.py", 10),
        ("tests/test_shop.py", 1),
        ("tests/test_shop.py", 5),
    ]
    assert lines(references(Repository(root), "price_of")) == [("shop.py", 19)]


def test_text_is_found_anywhere_once_a_line(root: Path) -> None:
    found = search(Repository(root), "PRICE", "lexical", limit=3)
    assert lines(found["results"]) == [("README.md", 2), ("shop.py", 10), ("shop.py", 16)]
    assert found["total"] > 3


def test_one_call_gives_definition_and_uses(root: Path) -> None:
    found = search_def_and_refs(Repository(root), "price")
    assert lines(found["definitions"]) == [("shop.py", 16)]
    assert len(found["references"]) == 3


def test_the_map_leaves_out_what_git_ignores(root: Path) -> None:
    found = map_repo(Repository(root))
    assert found["files"] == 5
    assert found["languages"][0] == {"language": "python", "files": 2, "lines": 28}
    assert {one["module"] for one in found["dependencies"]} >= {"json", "decimal", "shop"}
    assert found["test_layout"] == {"files": [{"path": "tests/test_shop.py", "tests": ["test_price"]}]}
    assert [child["path"] for child in found["tree"]["children"]][:2] == ["tests", "web"]
    assert map_repo(Repository(root), "web")["files"] == 1


def test_a_diff_speaks_of_definitions(root: Path) -> None:
    changed = SHOP.replace("def price(item)", "def price(item, rate=RATE)").replace(
        "self.items = []", "self.items = ()"
    )
    changed = changed.replace("def price_of(item):\n    return item.cost\n", "def fresh():\n    return 1\n")
    (root / "shop.py").write_text(changed)
    (root / "README.md").write_text("# Shop\nOther.\n")
    found = semantic_diff(Repository(root))
    changes = {change["name"]: change for change in found["structural_changes"]}
    assert {name: change["change"] for name, change in changes.items()} == {
        "clear": "body_changed",
        "price": "signature_changed",
        "fresh": "added",
        "price_of": "removed",
    }
    assert changes["price"]["behavior_change_risk"] == "high"
    assert changes["price"]["impact"]["affected_test_files"] == ["tests/test_shop.py"]
    assert changes["fresh"]["behavior_change_risk"] == "low"
    assert found["non_structural_changes"] == [
        {"path": "README.md", "status": "modified", "category": "other", "lines_changed": 2}
    ]
    assert found["scope"]["files_no_grammar"] == ["README.md"]
    assert found["scope"]["worktree_dirty"] is True


def test_a_diff_lists_the_constants_of_a_module(root: Path) -> None:
    (root / "shop.py").write_text(SHOP.replace("RATE = 3", "RATE = 4\nFEE: int = 1"))
    (root / "web" / "app.ts").write_text("export const load = (url: string) => fetch(url);\nexport const LIMIT = 9;\n")
    changes = semantic_diff(Repository(root))["structural_changes"]
    assert {(change["name"], change["kind"], change["change"]) for change in changes} == {
        ("RATE", "constant", "body_changed"),
        ("FEE", "constant", "added"),
        ("LIMIT", "constant", "added"),
    }


def test_a_diff_counts_the_uses_of_a_definition_and_not_of_its_name(root: Path) -> None:
    (root / "uses.py").write_text("import shop as s\n\nprint(s.price(2), other.price(3))\n")
    (root / "game.py").write_text("def price(x):\n    return x\n\n\nshop = price(1) + price(2)\n")
    (root / "notes.py").write_text("def note(price):\n    return price\n")
    (root / "tests" / "test_game.py").write_text("from game import price\n\n\ndef test_it():\n    assert price(1)\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "More")
    (root / "shop.py").write_text(SHOP.replace("def price(item)", "def price(item, rate=RATE)"))
    (change,) = semantic_diff(Repository(root))["structural_changes"]
    assert (
        change["impact"]["reference_count"] == 4
    )  # in Cart.total, in uses.py, and the import and the call of the test
    assert change["impact"]["referencing_files"] == ["shop.py", "uses.py"]
    assert change["impact"]["affected_test_files"] == ["tests/test_shop.py"]


def test_a_method_is_used_where_its_class_or_module_is_named(root: Path) -> None:
    (root / "uses.py").write_text("from shop import Cart\n\nCart().clear()\nclear = 1\n")
    (root / "game.py").write_text("class Board:\n    def clear(self):\n        self.clear()\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "More")
    (root / "shop.py").write_text(SHOP.replace("self.items = []", "self.items = ()"))
    (change,) = semantic_diff(Repository(root))["structural_changes"]
    assert change["name"] == "clear"
    assert change["impact"]["reference_count"] == 1
    assert change["impact"]["referencing_files"] == ["uses.py"]


def test_each_level_of_a_diff_says_less_than_the_one_above(root: Path) -> None:
    (root / "shop.py").write_text(SHOP.replace("RATE = 3", "RATE = 4"))
    tools = Tools(root, root / "docs", root / "learnings")
    full, standard = (tools.semantic_diff("HEAD", "", level)["structural_changes"][0] for level in ("full", "standard"))
    assert set(full) - set(standard) == {"entity_id", "start_col", "end_col"}
    assert {key: full[key] for key in standard} == standard


def test_renames_are_told_and_revisions_can_be_compared(root: Path) -> None:
    (root / "shop.py").write_text(SHOP.replace("def clear", "def empty"))
    git(root, "commit", "-qam", "Rename")
    found = semantic_diff(Repository(root), "HEAD~1", "HEAD")
    assert [(change["name"], change["change"]) for change in found["structural_changes"]] == [("empty", "renamed")]
    assert found["scope"]["mode"] == "revisions"


@pytest.mark.parametrize("revision", ["--output=/tmp/x", "HEAD; ls", "no-such-branch"])
def test_a_revision_that_is_none_is_refused(root: Path, revision: str) -> None:
    with pytest.raises(BadInput):
        semantic_diff(Repository(root), revision)


def test_a_path_outside_of_the_repository_is_not_read(root: Path) -> None:
    (root / "link.py").symlink_to("/etc/hostname")
    assert Repository(root).data("link.py") == b""
    assert Repository(root).data("../x.py") == b""


def test_levels_get_smaller_and_keep_what_is_acted_on(root: Path) -> None:
    tools = Tools(root, root / "docs", root / "learnings")
    sizes = [len(str(tools.search("price", "references", 20, level))) for level in ("full", "standard", "minimal")]
    assert sizes == sorted(sizes, reverse=True)
    assert tools.search("price", "references", 20, "minimal")["results"][0]["line"] == 10
    tree = tools.map_repo("", "compact")["tree"]
    assert tree["c"][0] == {"d": "tests", "n": 1, "c": ["test_shop.py"]}
    assert "test_layout" not in tools.map_repo("", "minimal")


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("javascript", "class B { m() {} }\nconst c = (x) => x;\n", ["class B", "method m", "function c"]),
        ("go", "package x\nfunc F() {}\ntype S struct{}\nfunc (s *S) M() {}\n", ["function F", "type S", "method M"]),
        ("rust", "struct S;\nimpl S { fn m(&self) {} }\n", ["struct S", "method m"]),
        ("c", "struct s *p;\nint f(int a) { return a; }\n", ["function f"]),
        ("cpp", "int A::q() { return 2; }\n", ["function q"]),
        ("java", "class A { A() {} int f() { return 1; } }", ["class A", "method A", "method f"]),
        ("kotlin", "class A { fun m() {} }\n", ["class A", "method m"]),
        ("bash", "f() { echo; }\n", ["function f"]),
    ],
)
def test_definitions_of_other_languages(language: str, source: str, expected: list[str]) -> None:
    assert [f"{symbol.kind} {symbol.name}" for symbol in definitions(source.encode(), language)] == expected


def test_files_with_tests_are_told_by_their_names() -> None:
    named = ["tests/a.py", "a_test.go", "a.spec.ts", "test_a.py", "contest.py", "src/latest/x.py"]
    assert [is_test(name) for name in named] == [True, True, True, True, False, False]
