from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rooms import texts

import brim
from brim.content import KINDS
from brim.content.detect import Hint, detect, parts

SAMPLES: list[tuple[str, str]] = [
    ("json", '{"a": 1, "b": [true, null]}'),
    ("json", '[\n  {"id": 1},\n  {"id": 2}\n]'),
    ("json", "[1, 2, 3]"),
    ("json", "{}"),
    ("json", '{\n  "truncated": ["abc", "de'),
    ("jsonl", '{"a": 1}\n{"a": 2}\n{"a": 3}\n'),
    ("csv", "id,name,price\n1,apple,2.50\n2,pear,3.10\n3,plum,0.99\n"),
    ("csv", "id\tname\n1\tapple\n2\tpear\n3\tplum\n"),
    ("csv", 'name;note\n"a;b";x\nc;y\nd;z\ne;w\n'),
    ("log", "2026-01-02 10:00:00,123 INFO app - started\n2026-01-02 10:00:01,200 ERROR app - no disk\n"),
    ("log", "Jan  3 04:05:06 host sshd[12]: Accepted key\nJan  3 04:05:07 host cron[3]: job done\n"),
    ("log", "[2026-01-02T10:00:00Z] WARN slow query\n[2026-01-02T10:00:03Z] INFO done\n"),
    ("log", 'level=info ts=2026 msg="a"\nlevel=warn ts=2027 msg="b"\n'),
    ("log", '10.0.0.1 - - [02/Jan/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12\n' * 3),
    ("test", "=============== test session starts ====\na.py::t FAILED\n=== 1 failed in 0.1s ==="),
    ("test", "=== RUN   TestA\n--- FAIL: TestA (0.00s)\n    a_test.go:9: got 1\nFAIL\nFAIL\texample.com/a\t0.012s\n"),
    ("test", "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed;\n"),
    ("test", "PASS src/a.test.js\nFAIL src/b.test.js\n  ✕ adds (3 ms)\n\nTests:       1 failed, 1 passed, 2 total\n"),
    ("build", "src/a.c:12:3: error: expected ';'\nsrc/a.c:14:1: warning: unused\nmake: *** [all] Error 1\n"),
    ("trace", 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\nValueError: no\n'),
    ("trace", 'Exception in thread "main" java.lang.Error: x\n\tat com.a.B.c(B.java:12)\n\tat com.a.D.e(D.java:3)\n'),
    ("trace", "TypeError: x is not a function\n    at f (/a/b.js:1:2)\n    at g (/a/b.js:4:5)\n"),
    ("html", "<!DOCTYPE html>\n<html><head><title>x</title></head><body><p>Hi</p></body></html>"),
    ("html", "<div class='a'><p>One</p><p>Two</p><ul><li>x</li></ul></div>"),
    ("xml", '<?xml version="1.0"?>\n<feed><entry>1</entry></feed>'),
    ("xml", '<prior_context source="a.md" type="note">\nSome words here.\n</prior_context>'),
    ("code", "import os\n\ndef main(argv):\n    return os.getcwd()\n"),
    ("code", "package main\n\nfunc main() {\n\tfmt.Println(1)\n}\n"),
    ("code", "const a = require('a');\n\nmodule.exports = function () {\n  return a;\n};\n"),
    ("code", "#include <stdio.h>\nint main(void) {\n    return 0;\n}\n"),
    ("code", "SELECT id, name\nFROM users\nWHERE id = 4;\n"),
    ("code", "     1\timport os\n     2\t\n     3\tdef f(x):\n     4\t    return x\n"),
    ("code", "server:\n  port: 8080\n  hosts:\n    - a.example\n    - b.example\nname: app\n"),
    ("diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
    ("diff", "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
    ("tree", ".\n├── a\n│   └── b.py\n└── c.md\n"),
    ("tree", "src/a.py\nsrc/b/c.py\nREADME.md\nsrc/b/d.py\nsrc/e.py\ndocs/x.md\n"),
    ("tree", "total 8\ndrwxr-xr-x 2 a a 4096 Jan 1 10:00 src\n-rw-r--r-- 1 a a  120 Jan 1 10:00 a.py\n"),
    ("markdown", "# Title\n\nSome words.\n\n## More\n\n- one\n- two\n"),
    ("markdown", "Here is how:\n\n1. **First** do this\n2. **Then** that\n\n```sh\nmake\n```\n"),
    ("markdown", "I'll fix it like this:\n\n```py\nimport os\n\ndef f(x):\n    return os.name\n```\nDone.\n"),
    ("markdown", "Sure, here is a list:\n- Debt: check the levels\n- Cash: check the flow\n- People: ask around\n"),
    ("prose", "I live in York, near the river, in a small house.\nYou live in Bath, near a park, in a flat.\n"
              "They live in Rome, by a church, in a tower.\n"),
    ("snapshot", '- banner [ref=e1]:\n  - link "Home" [ref=e2]\n  - button "Menu" [ref=e3]\n- main [ref=e4]\n'),
    ("binary", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA"),
    ("binary", ("iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4w38GIAXDIBKE0DHx\n" * 20)),
    ("binary", "00000000: 7f45 4c46 0201 0100 0000 0000 0000 0000  .ELF............\n" * 8),
    ("binary", "\x00\x01\x02PK\x03\x04" * 30),
    ("prose", "We met on Tuesday and talked about the plan. Nobody was against it, so we will start in May."),
    ("prose", "你好，我们昨天讨论了这个计划。大家都同意。下周开始。"),
    ("text", ""),
    ("text", "ok"),
    ("text", "   \n \n"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), SAMPLES)
def test_a_content_is_told_by_its_shape(kind, text):
    assert detect(text) == kind


@given(st.integers(200, 300), st.sampled_from([" ", "\t", "\x0b", "\u3000"]), st.text(max_size=6))
@example(241, " ", "x\ny")
def test_a_line_indented_beyond_the_sample_has_a_kind(width, blank, rest):
    assert detect(blank * width + rest) in KINDS
    assert detect(f"a\n{blank * width}{rest}\nb") in KINDS


@given(texts)
def test_any_text_has_a_kind(text):
    assert detect(text) in KINDS
    assert detect(text, Hint(path="a.py", mime="text/csv")) in KINDS


@pytest.mark.parametrize(
    ("text", "hint", "kind"),
    [
        ("x", Hint(path="src/app.py"), "code"),
        ("just some words", Hint(path="notes.md"), "markdown"),
        ("a line\nanother\n", Hint(path="/var/log/app.log"), "log"),
        ("Error: no such file", Hint(path="data.json"), "prose"),
        ("Error: no such file", Hint(mime="application/json"), "prose"),
        ('{"a": 1}', Hint(mime="application/problem+json; charset=utf-8"), "json"),
        ("a,b", Hint(mime="text/csv"), "csv"),
        ("[DIR] src\n[FILE] a.py\n", Hint(tool="mcp__fs__list_directory"), "tree"),
        ("all good", Hint(tool="run_tests"), "test"),
        ('{"a": 1}', Hint(tool="run_tests"), "json"),
        ("diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", Hint(path="x.py"), "diff"),
        ("FROM python:3.12\nRUN pip install x\n", Hint(path="Dockerfile"), "code"),
    ],
)
def test_a_hint_decides_only_between_what_the_content_may_be(text, hint, kind):
    assert detect(text, hint) == kind


def test_a_mixed_text_is_routed_part_by_part():
    log = "".join(f"2026-01-02 10:00:{i:02d} INFO step {i} of the job is done\n" for i in range(20))
    answer = json.dumps({"log": log})
    text = f"Please explain this log. It is old.\n\n```\n{log}```\n\nand this answer:\n\n```json\n{answer}\n```\n"
    found = parts(text)
    assert [one.kind for one in found][1::2] == ["log", "json"]
    assert "".join(text[one.start : one.end] for one in found) == text
    assert text[found[1].start : found[1].end] == log


@given(texts)
def test_parts_cover_the_text_without_holes(text):
    assert "".join(text[one.start : one.end] for one in parts(text)) == text


def test_a_hundred_kilobytes_take_well_under_a_millisecond():
    for _, text in SAMPLES:
        large = text * (100_000 // max(1, len(text)))
        best = 1.0
        for _ in range(5):
            start = time.process_time()
            detect(large)
            best = min(best, time.process_time() - start)
        assert best < 0.003  # a slow machine's margin: it is about 0.2 ms


def test_a_large_single_line_takes_no_longer():
    for text in (
        "a" * 10_000_000,
        "(" * 10_000_000,
        "<a " * 3_000_000,
        "/a" * 5_000_000,
        "- " * 5_000_000,
        '{"a' * 3_000_000,
    ):
        start = time.process_time()
        detect(text)
        assert time.process_time() - start < 0.2


RUNS = {
    "phpunit": "PHPUnit 9.6.7 by Sebastian Bergmann.\n\n..F.E    5 / 5 (100%)\n\n1) BasketTest::testHarbour\n"
    "Failed asserting that two strings are equal.\n\nTests: 5, Assertions: 4, Errors: 1, Failures: 1.\n",
    "gtest": "[==========] Running 3 tests from 2 test suites.\n[ RUN      ] Harbour.Named\nb.cc:6: Failure\n"
    "Expected equality of these values:\n[  FAILED  ] Harbour.Named (0 ms)\n[  PASSED  ] 2 tests.\n 1 FAILED TEST\n",
    "coloured": "\x1b[32m✓\x1b[39m basket.test.js (9 tests)\n\x1b[31m✗\x1b[39m late.test.js\n  \x1b[31m→ no berth\n"
    "AssertionError: expected 9 to be 8\n\n Tests  \x1b[31m1 failed\x1b[39m | 9 passed (10)\n",
}
LAYOUTS = {
    "no time": "worker-{a} crane {a} lifted crate C-{b} in {b} ms",
    "time last": "berth {a} asked for by ship orca -- gate/{a} @ 9h{a}",
    "mainframe": "09.3{a}.1{a} JOB0{b}  $HASP{b} queue heron holds {b} items",
    "french": "{a} février 2026 à 09h1{a} : lock on shard {a} held {b} ms by vole",
}


@pytest.mark.parametrize("text", RUNS.values(), ids=RUNS)
def test_a_test_run_is_told_by_its_shape_whatever_the_runner(text):
    assert detect(text) == "test"


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_log_is_told_by_what_its_lines_repeat_whatever_its_layout(layout):
    lines = [layout.format(a=n % 9 + 1, b=n * 37 % 900 + 100) for n in range(60)]
    lines += [layout.format(a=n % 7, b=n).replace("crate", "case").replace("by", "for") for n in range(40)]
    assert detect("\n".join(lines)) == "log"


def test_prose_code_and_settings_that_repeat_themselves_are_no_logs():
    said = (
        "The captain sailed to the harbour at 9. Nobody asked why.\nThe captain stayed until 11, which was long.\n"
        "Nobody in the harbour knew the ship.\nIt left again before noon, and the captain slept.\n"
        "The owner wrote 3 letters about it.\nThe captain answered none of them.\n"
    )
    assert detect(said) == "prose"
    assert detect("".join(f"# The limit of crane {n}.\nlimit_{n} = {n}\n" for n in range(30))) == "code"
    assert detect("".join(f"- berth {n} is free and paid for\n" for n in range(30))) != "log"


def test_a_kind_has_a_confidence() -> None:
    log = "\n".join(f"2026-01-02 03:04:{n:02} INFO worker took {n} ms" for n in range(40))
    assert brim.compact(log).confidence > 0.9
    assert brim.compact("a b\nc d\n").confidence < 0.6
    assert brim.compact(log, kind="log").confidence == 1.0


SOURCES = {
    "a name and a colon": "{w}: sent {b} rows to node {a}",
    "a name with a number": "{w}/{a}: sent {b} rows to shard {w}",
    "a counter as a key": "seq={b} {w} sent rows to node {a}",
    "a hexadecimal number": "{h} {w} sent {b} rows to node {a}",
    "a number sign": "#{b} {w} sent rows to node {a}",
    "a letter and a number": "T{b} {w} sent rows to node {a}",
    "a process and a tab": "   20992:\t{w} sent {b} rows to node {a}",
}


@pytest.mark.parametrize("layout", SOURCES.values(), ids=SOURCES)
def test_a_source_in_front_of_each_line_makes_no_settings_of_a_log(layout):
    names = ("alpha", "bravo", "carbon", "alpha", "delta")
    lines = [
        layout.format(w=names[n * 7 % 5], a=n % 9 + 1, b=100 + n * 37 % 900, h=f"{n * 2654435761 % 2**32:08x}")
        for n in range(80)
    ]
    assert detect("\n".join(lines)) == "log"


def test_a_wide_table_that_repeats_words_is_no_log():
    lines = [f"ii  package-{n:<30} 1.{n}-1+deb12u{n:<14} amd64        (no description available)" for n in range(60)]
    assert detect("\n".join(lines)) == "table"
