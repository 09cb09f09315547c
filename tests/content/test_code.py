from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from rooms import budgets, count, room, stays_inside, texts

import brim
from brim.content.code import grammars, language, outline
from brim.content.code import source as code
from brim.content.code.recognition import is_source

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
    stays_inside(code.extract, text, tokens, query[:30])


@given(budgets)
def test_every_number_is_that_of_the_line_it_stands_before(tokens):
    for text in (PYTHON, JAVASCRIPT, UNKNOWN):
        lines = text.split("\n")
        for shown in code.extract(text, room(tokens)).split("\n")[1:]:
            match = re.match(r"\s*(\d+) (?!imports)(.*)$", shown)
            if match and "…" not in shown:
                assert re.findall(r"\w+", match[2])[0] in " ".join(lines[max(0, int(match[1]) - 2) : int(match[1])])


def test_signatures_stay_with_their_line_numbers_and_one_line_says_what_is_missing():
    got = code.extract(PYTHON, room(140, handle="brim:1234"))
    assert re.match(r"Python, 92 lines \[… \d+ lines, brim:1234\]\n", got)
    assert got.count("…") == 1
    assert "\n10 @frozen class Store" in got
    for number, name in enumerate(("alpha", "beta", "gamma", "delta", "epsilon")):
        assert f"  {13 + 15 * number} def method_{name}(self, key: str) -> int" in got
    assert "value_1" not in got
    assert "imports os, typing" in got


def test_names_stay_under_their_class_when_signatures_have_no_room():
    got = code.extract(PYTHON, room(60))
    held = got[got.index("class Store") :] if "class Store" in got else got[got.index("10 Store") :]
    assert all(f"{13 + 15 * n} method_{name}" in held for n, name in enumerate(("alpha", "beta", "gamma", "delta")))


def test_the_first_line_says_the_name_of_a_file_where_it_is_known():
    assert code.extract(PYTHON, replace(room(140), name="src/store.py")).startswith("store.py, 92 lines ")


def test_the_body_that_the_query_asks_for_is_kept_first():
    got = code.extract(PYTHON, room(350, query="what does method_gamma return?"))
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
    assert signature.rstrip(" {:") in code.extract(text, room(100))


@pytest.mark.parametrize(("path", "name"), [("a/b.tsx", "tsx"), ("x.PY", "python"), ("Makefile", ""), ("a.txt", "")])
def test_a_path_tells_the_language(path, name):
    assert language.by_path(path) == name


def test_an_unknown_language_is_outlined_by_indentation():
    got = code.extract(UNKNOWN, room(60))
    for name in ("A", "B", "C"):
        assert f"do{name}" in got
    assert got.startswith("Source, 55 lines [… ")


def test_without_the_extra_indentation_tells_the_outline(monkeypatch):
    monkeypatch.setattr(grammars, "parser", lambda language: None)
    got = code.extract(f"{PYTHON}\n", room(200))
    assert "43 def method_gamma(self, key: str) -> int\n" in got
    assert "89 def main(argv)" in got


def test_a_language_that_no_grammar_knows_is_read_by_indentation():
    assert outline.outline(PYTHON.split("\n"), "klingon").definitions


def test_a_numbered_listing_keeps_its_numbers():
    text = "".join(f"{number:6}\t{line}\n" for number, line in enumerate(PYTHON.split("\n"), 101))
    got = code.extract(text, room(140))
    assert "128 def method_beta(self, key: str) -> int" in got


def test_a_decorated_definition_begins_at_its_decorator_and_knows_its_docstring():
    bare = PYTHON.split("\n")
    found = outline.outline(bare, "python").definitions[0]
    assert bare[found.first] == "@frozen"
    assert bare[found.doc[0]] == '    """Keeps things by key."""'


def test_the_room_is_filled():
    assert count(code.extract(PYTHON, room(500))) >= 475


def test_long_comments_do_not_make_prose_of_a_module():
    text = '"""Rules.\n\n1. One thing first. Then another.\n2. More words follow here, and here.\n"""\n\n' + "".join(
        f"# What stage {n} does is said here in a sentence. It goes on for a while, as such comments do.\n"
        f"# A second line of it says why. A third one would say more.\n\ndef stage_{n}(task):\n    task.run({n})\n\n"
        for n in range(12)
    )
    made = brim.compact(text, 120)
    assert made.kind == "code"
    assert all(f"stage_{n}" in made.text for n in range(12))


def test_words_about_code_are_not_code():
    text = "The function below opens a file. It is short.\n\n    def read(path):\n        return open(path)\n" * 6
    assert not is_source(text)


def test_a_language_without_its_grammar_has_no_parser():
    assert grammars.lacking("klingon")
    assert grammars.parser("klingon") is None
    assert not grammars.lacking("python")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bash", "greet() {\n  echo hi\n}\n"),
        ("c", "int greet(void) {\n  return 1;\n}\n"),
        ("csharp", "class Greeter {\n  int greet() { return 1; }\n}\n"),
        ("cpp", "int Greeter::greet() {\n  return 1;\n}\n"),
        ("go", "package a\nfunc greet() int {\n\treturn 1\n}\n"),
        ("java", "class Greeter {\n  int greet() { return 1; }\n}\n"),
        ("javascript", "function greet() {\n  return 1;\n}\n"),
        ("kotlin", "class Greeter {\n  fun greet(): Int {\n    return 1\n  }\n}\n"),
        ("lua", "function greet()\n  return 1\nend\n"),
        ("php", "<?php\nfunction greet() {\n  return 1;\n}\n"),
        ("python", "def greet():\n    return 1\n"),
        ("ruby", "class Greeter\n  def greet\n    1\n  end\nend\n"),
        ("rust", "fn greet() -> i32 {\n    1\n}\n"),
        ("tsx", "const greet = () => {\n  return <b/>;\n};\n"),
        ("typescript", "function greet(): number {\n  return 1;\n}\n"),
    ],
)
def test_every_grammar_of_the_extra_finds_a_definition(name, text):
    found = outline.outline(text.split("\n"), name)
    assert found.parsed
    assert "greet" in [one.name.rpartition("::")[2] for one in found.definitions]


def test_settings_are_outlined_by_section_and_tables_by_what_names_them():
    lock = "version = 3\n" + "".join(
        f'\n[[package]]\nname = "crate-{n}"\nversion = "1.{n}.0"\nchecksum = "{n:064x}"\n' for n in range(20)
    )
    got = brim.compact(lock, 260)
    assert got.kind == "code"
    assert all(f"[[package]] crate-{n}" in got.text or f'"crate-{n}"' in got.text for n in range(20))
    settings = "".join(f"[part.{n}]\nlimit = {n}\nname_of_owner = 'nobody in particular'\n\n" for n in range(20))
    shown = brim.compact(settings, 200).text
    assert all(f"{1 + 4 * n} [part.{n}]" in shown for n in range(20))


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("def far(a, b):", "far"),
        ("export async function far(a) {", "far"),
        ("pub(crate) fn far(a: u8) -> u8 {", "far"),
        ("func (s *Server) Far(x int) error {", "Far"),
        ("static int far(const char *name,", "far"),
        ("class Far:", "Far"),
    ],
)
def test_a_definition_beyond_what_the_grammar_reads_is_found_where_it_begins_a_line(head, name):
    lines = [*PYTHON.split("\n"), "x = 1", head, "    pass", "return far(1)", "}"]
    found = outline.outline(lines, "python", most=len(PYTHON) - 40).definitions
    assert found[-1].name == name
    assert lines[found[-1].at] == head
    assert "method_alpha" in [one.name for one in found]


def test_a_large_module_names_what_is_at_the_margin_of_its_far_end():
    text = PYTHON + "".join(f"\n\ndef part_{n}(a, b):\n{BODY}    return a\n" for n in range(400))
    made = code.extract(text, room(1_500))
    assert "class Store" in made
    assert re.search(r"\d+ part_3\d\d\b|\d+ part_[12]\d\d\b", made)
    assert count(made) >= 0.9 * 1_500


def test_parameters_that_definitions_in_a_row_share_are_written_once():
    text = "class Visitor:\n" + "".join(
        f"    def visit_{name}(self, node, context):\n        total = node.{name} + context.depth\n"
        f"        self.seen.append(total)\n        return self.walk(node, total)\n\n"
        for name in ("name", "call", "list", "dict", "tuple", "starred", "slice", "lambda_", "await_", "yield_")
    )
    made = brim.compact(text, 80).text
    assert made.count("(self, node, context)") == 1
    assert all(f"visit_{name}" in made for name in ("name", "yield_"))


def test_a_comment_inside_a_signature_is_no_parameter():
    text = "".join(
        f"def load_{n}(  # type: ignore[misc]\n    path,  # where it is\n    mode=None,\n):\n"
        + f"    return open_{n}(path, mode, encoding='utf-8', errors='replace')\n" * 6
        for n in range(12)
    )
    made = brim.compact(text, 120).text
    assert "load_3(path, mode=None)" in made
    assert "# type" not in made


UNDER = "".join(
    f"{when}:\n    def find_{n}(name):\n        said = os.popen(name)\n        if not said:\n            return None\n"
    f"        return said\n\n    def find_library_{n}(name):\n        return find_{n}(name) or os.environ.get(name)\n\n"
    for n, when in enumerate(("if os.name == 'nt'", "elif sys.platform == 'darwin'", "else"))
)
ABOUT = "'Files.\n\nFiles\n=====\n\n- **Open**: it.\n\nMore\n----\n\n" + "- A word on it.\n" * 20 + "'\n"


def test_a_program_that_writes_a_page_is_code():
    rows = "".join(f"<tr><td>{n}</td><td><b>row {n}</b></td></tr>\\n" for n in range(40))
    functions = "".join(
        f"def page_{n}(rows):\n    head = TOP + rows\n    return head + '</table>'\n\n" for n in range(9)
    )
    assert brim.compact(f'"""Pages."""\n\nTOP = "<table>{rows}"\n\n\n{functions}').kind == "code"


@pytest.mark.parametrize("text", [f"import os\nimport sys\n\n{UNDER}", f"{ABOUT}import os\n\n{UNDER}"])
def test_functions_under_conditions_are_code_and_no_records_or_markdown(text):
    assert brim.compact(text).kind == "code"


DECLARED = {
    "SQL": ["CREATE TABLE part_{n} (", "    id BIGSERIAL PRIMARY KEY,", "    name TEXT NOT NULL", ");", ""],
    "Protocol Buffers": ["message Part{n} {{", "  string name = 1;", "  repeated int64 ids = 2;", "}}", ""],
    "GraphQL": ["type Part{n} {{", "  id: ID!", "  name: String", "}}", ""],
}


@pytest.mark.parametrize("block", DECLARED.values(), ids=DECLARED)
def test_declarations_are_named_with_their_lines(block):
    lines = [line.format(n=n) for n in range(30) for line in block]
    got = brim.compact("\n".join(lines), 400, "code").text
    assert all(f"{5 * n + 1} {lines[5 * n].rstrip(' {(')}" in got for n in range(30))


def test_the_calls_of_a_service_stand_below_it():
    calls = "".join(
        f"  // Gets it.\n  rpc Get{n}(Ask{n}) returns (Told{n}) {{\n    option deep = {n};\n  }}\n" for n in range(9)
    )
    got = brim.compact(
        f'syntax = "proto3";\nservice Store {{\n{calls}}}\nmessage Ask {{\n  int64 id = 1;\n}}\n', 200
    ).text
    assert "\n2 service Store" in got
    assert all(re.search(rf"\n *{4 * n + 4} +rpc Get{n}\(Ask{n}\)", got) for n in range(9))


def test_the_packages_of_a_lock_file_are_named_with_their_versions():
    blocks = [
        f'pack-{n}@^{n}.0.0:\n  version "{n}.4.1"\n  resolved "https://host/pack-{n}.tgz#a{n:039x}"\n'
        for n in range(60)
    ]
    got = brim.compact("\n".join(blocks), 1200)
    assert got.kind == "code"
    assert all(re.search(rf"pack-{n}@\^{n}\.0\.0\S*\s+(?:version \")?{n}\.4\.1", got.text) for n in range(60))
