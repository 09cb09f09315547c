from __future__ import annotations

from hypothesis import given
from rooms import budgets, count, room, stays_inside, texts

import brim
from brim.content import record_list

TOOLS = "success: true\nmatched_tools:\n" + "".join(
    f"- server_name: server{n}\n  tool_name: tool_{n}\n  tool_description: Do the thing number {n} in a way that takes"
    f"\n    several lines to describe, as such descriptions do.\n  inputschema:\n    path: (string) Where it is.\n"
    for n in range(12)
)


@given(texts, budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(record_list.extract, text, tokens, query[:30])


def test_every_record_keeps_its_first_line_and_short_labels_before_any_keeps_its_prose():
    got = brim.compact(TOOLS, 260)
    assert got.kind == "records"
    for n in range(12):
        assert f"- server_name: server{n}\n  tool_name: tool_{n}\n" in got.text
    assert got.text.startswith("12 records, 74 lines [… ")
    assert got.text.count("…") == 1


def test_records_that_do_not_fit_are_counted():
    got = record_list.extract(TOOLS, room(70))
    assert "records not shown" in got
    assert "server0\n" in got
    assert count(got) <= 70


def test_numbered_steps_of_one_line_are_no_records():
    assert not record_list.is_record_list("".join(f"{n}. Do the thing.\n" for n in range(1, 20)))


def test_what_the_query_names_comes_before_labels():
    text = TOOLS.replace("thing number 7", "thing of frobnication")
    assert "frobnication" in record_list.extract(text, room(200, query="frobnication"))


def test_a_numbered_list_inside_a_record_is_no_list_of_records():
    steps = "".join(f"    {n}. Do step {n} of the plan,\n       then look.\n" for n in range(1, 9))
    text = "".join(f"- tool: tool{n}\n  about: 'What it does:\n{steps}    '\n  kind: plain\n" for n in range(3))
    got = record_list.extract(text, room(60))
    assert [f"tool{n}" in got for n in range(3)] == [True, True, True]


def test_a_line_inside_a_text_is_never_shown_without_the_lines_before_it():
    text = TOOLS.replace("such descriptions do.", "such descriptions do,\n    at times.")
    for tokens in range(60, 600, 20):
        got = record_list.extract(text, room(tokens))
        if not got.startswith("12 records"):
            continue
        lines = got.split("\n")
        for at, line in enumerate(lines):
            assert line.strip() != "at times." or "several lines" in lines[at - 1]
            assert "several lines" not in line or "tool_description" in lines[at - 1]


def test_a_label_is_not_shown_without_what_stands_below_it():
    for tokens in range(60, 600, 20):
        lines = record_list.extract(TOOLS, room(tokens)).split("\n")
        assert all("path:" in lines[at + 1] for at, line in enumerate(lines) if line.strip() == "inputschema:")
