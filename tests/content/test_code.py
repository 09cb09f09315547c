from __future__ import annotations

import pytest
from hypothesis import given
from rooms import budgets, count, room, stays_inside, texts

from brim.content.code import language, outline, source

BODY = "".join(f"        value_{i} = compute(value_{i - 1}, {i})\n" for i in range(1, 12))
PYTHON = (
    '"""A store of things."""\n\nimport os\nfrom typing import Any\n\nLIMIT = 10\n\n\n@frozen\nclass Store:\n'
    '    """Keeps things by key."""\n\n'
    + "".join(
        f'    def method_{name}(self, key: str) -> int:\n        """Does {name}."""\n{BODY}        return {name!r}\n\n'
        for name in ("alpha", "beta", "gamma", "delta", "epsilon")
    )
    + "\ndef main(argv):\n    for one in argv:\n        print(one)\n    return 0\n"
)
JAVASCRIPT = "import fs from 'fs';\n" + "".join(
    f"/** Makes {n}. */\nexport function make{n}(a, b) {{\n" + "  const x = a + b;\n" * 12 + "  return x;\n}\n\n"
    for n in ("One", "Two", "Three")
)
GO = 'package main\n\nimport "fmt"\n\n' + "".join(
    f"// Run{n} runs.\nfunc (s *Server) Run{n}(x int) error {{\n" + "\tfmt.Println(x)\n" * 12 + "\treturn nil\n}\n\n"
    for n in ("One", "Two")
)
RUST = (
    "use std::fmt;\n\nimpl Store {\n"
    + "".join(
        f"    /// Gets {n}.\n    pub fn get_{n}(&self, key: u8) -> u8 {{\n"
        + "        let x = key + 1;\n" * 12
        + "        x\n    }\n\n"
        for n in ("one", "two")
    )
    + "}\n"
)
UNKNOWN = "program first;\n" + "".join(
    f"procedure do{n}(x)\n" + "    step one of it\n    step two of it\n" * 8 + "done\n" for n in ("A", "B", "C")
)


@given(texts, budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(source.extract, text, tokens, query[:30])


@given(budgets)
def test_kept_lines_are_verbatim(tokens):
    for text in (PYTHON, JAVASCRIPT, UNKNOWN):
        got = source.extract(text, room(tokens))
        left = iter(text.split("\n"))
        assert all(line in left for line in got.split("\n") if line.strip() and "…" not in line)


def test_signatures_stay_and_bodies_are_folded():
    got = source.extract(PYTHON, room(200))
    assert "@frozen\nclass Store:\n" in got
    for name in ("alpha", "beta", "gamma", "delta", "epsilon"):
        assert f"    def method_{name}(self, key: str) -> int:\n" in got
    assert "def main(argv):\n" in got
    assert "        … 13 lines\n" in got or "        … 14 lines\n" in got


def test_the_body_that_the_query_asks_for_is_kept_first():
    got = source.extract(PYTHON, room(350, query="what does method_gamma return?"))
    assert BODY + "        return 'gamma'\n" in got
    assert "return 'beta'" not in got
    assert "def method_beta" in got


@pytest.mark.parametrize(
    ("text", "name", "signature"),
    [
        (PYTHON, "python", "def method_delta(self, key: str) -> int:"),
        (JAVASCRIPT, "javascript", "export function makeThree(a, b) {"),
        (GO, "go", "func (s *Server) RunTwo(x int) error {"),
        (RUST, "rust", "pub fn get_two(&self, key: u8) -> u8 {"),
    ],
)
def test_the_language_is_told_and_its_signatures_found(text, name, signature):
    bare = text.split("\n")
    assert language.by_content(bare) == name
    assert signature in {bare[one.body - 1].strip() for one in outline.outline(bare, name).definitions}
    assert signature in source.extract(text, room(160))


@pytest.mark.parametrize(("path", "name"), [("a/b.tsx", "tsx"), ("x.PY", "python"), ("Makefile", ""), ("a.txt", "")])
def test_a_path_tells_the_language(path, name):
    assert language.by_path(path) == name


def test_an_unknown_language_is_folded_by_indentation():
    got = source.extract(UNKNOWN, room(60))
    for name in ("A", "B", "C"):
        assert f"procedure do{name}(x)\n" in got
    assert "    … " in got


def test_without_the_extra_indentation_tells_the_outline(monkeypatch):
    monkeypatch.setattr(outline, "get_parser", None)
    got = source.extract(PYTHON, room(200))
    assert "    def method_gamma(self, key: str) -> int:\n" in got
    assert "def main(argv):\n" in got


def test_a_language_that_no_grammar_knows_is_read_by_indentation():
    assert outline.outline(PYTHON.split("\n"), "klingon").definitions


def test_a_numbered_listing_keeps_its_numbers():
    text = "".join(f"{number:6}\t{line}\n" for number, line in enumerate(PYTHON.split("\n"), 1))
    got = source.extract(text, room(300))
    kept = [line for line in got.split("\n") if line and "…" not in line]
    assert any(line.endswith("\t    def method_beta(self, key: str) -> int:") for line in kept)
    assert all(line in text for line in kept)


def test_a_decorated_definition_begins_at_its_decorator_and_knows_its_docstring():
    bare = PYTHON.split("\n")
    found = outline.outline(bare, "python").definitions[0]
    assert bare[found.first] == "@frozen"
    assert bare[found.doc[0]] == '    """Keeps things by key."""'


def test_the_room_is_filled():
    assert count(source.extract(PYTHON, room(500))) >= 475
