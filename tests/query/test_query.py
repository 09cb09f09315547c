"""Expressions about an archived text: what they answer, and what hostile ones cannot do."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.errors import BadInput
from brim.query import query
from brim.query.expression import parse

pytest.importorskip("jq", reason="pip install 'brim[query]'")

ORDERS = json.dumps(
    {"orders": [{"id": n, "city": ("Oslo", "Lyon")[n % 2], "buyer": {"name": f"b{n % 3}"}} for n in range(60)]}
)
LOG = "".join(f"06:{n:02} {('INFO', 'WARN')[n % 5 == 0]} berth {n % 4} took {n} ms\n" for n in range(60))
CSV = "id,city\n" + "".join(f"{n},{('Oslo', 'Lyon', 'Graz')[n % 3]}\n" for n in range(30))


@pytest.mark.parametrize(
    ("text", "expression", "answer"),
    [
        (LOG, "lines 2-3", "[lines 2-3 of 60]\n06:01 INFO berth 1 took 1 ms\n06:02 INFO berth 2 took 2 ms"),
        (LOG, "line 60", "[lines 60-60 of 60]\n06:59 INFO berth 3 took 59 ms"),
        (LOG, "lines 59-90", "[lines 59-60 of 60]\n06:58 INFO berth 2 took 58 ms\n06:59 INFO berth 3 took 59 ms"),
        (LOG, "lines 70-90", "[there are 60 lines: line 70 is not one of them]"),
        (LOG, "head 1", "[lines 1-1 of 60]\n06:00 WARN berth 0 took 0 ms"),
        (LOG, "tail 1", "[lines 60-60 of 60]\n06:59 INFO berth 3 took 59 ms"),
        (LOG, "count", "[60 lines, 1,790 characters]"),
        (LOG, "count by /(INFO|WARN)/", "[2 values of count by /(INFO|WARN)/]\n48\tINFO\n12\tWARN"),
        (LOG, "/warn .* 5 ms/i", "[1 matching line of /warn .* 5 ms/i]\n6: 06:05 WARN berth 1 took 5 ms"),
        (LOG, "took 7 ms", "[1 matching line of took 7 ms]\n8: 06:07 INFO berth 3 took 7 ms"),
        (CSV, "count by city", "[3 values of city, 30 rows]\n10\tGraz\n10\tLyon\n10\tOslo"),
        (ORDERS, "count by city", "[2 values of city, 60 rows]\n30\tLyon\n30\tOslo"),
        (ORDERS, "count by buyer.name", "[3 values of buyer.name, 60 rows]\n20\tb0\n20\tb1\n20\tb2"),
        (
            ORDERS,
            ".orders[] | select(.id > 57) | .city",
            "[2 results of .orders[] | select(.id > 57) | .city]\nOslo\nLyon",
        ),
        (ORDERS, "$.orders[?(@.id > 58)].buyer", '[1 result of $.orders[?(@.id > 58)].buyer]\n{"name": "b2"}'),
        (ORDERS, "$.orders[0]['city']", "[1 result of $.orders[0]['city']]\nOslo"),
        (ORDERS, "[.orders[] | .id] | add", "[1 result of [.orders[] | .id] | add]\n1770"),
        ('{"a": 1}\n{"a": 2}\n', "map(.a) | add", "[1 result of map(.a) | add]\n3"),
    ],
)
def test_an_expression_is_answered(text, expression, answer):
    assert query(text, expression) == answer


@pytest.mark.parametrize(
    "hostile",
    ["range(1e12)", "[range(1e9)]", "def f: f; f", "def f: [f]; f", '"x" * 2000000000 | length', "last(repeat(1))"],
)
def test_a_program_without_end_or_bounds_is_stopped(hostile):
    begun = time.process_time()
    with pytest.raises(BadInput, match="took longer than"):
        query(ORDERS, hostile)
    assert time.process_time() - begun < 1  # the work is the child's, whose own clock ends it


def test_a_catastrophic_regular_expression_is_stopped():
    with pytest.raises(BadInput, match="took longer than"):
        query("a" * 60 + "b\n", "/(a+)+$/")


def test_a_program_sees_no_environment_and_no_file(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-models")
    (tmp_path / "keys.json").write_text('"a secret"')
    assert "sk-not" not in query(ORDERS, "env")
    assert "sk-not" not in query(ORDERS, "$ENV")
    for program in ('import "keys" as $k; $k', ". | input_filename", 'if true then import "keys" as $k; $k else 1 end'):
        try:
            said = query(ORDERS, program)
        except BadInput as refused:
            said = str(refused)
        assert "a secret" not in said


@pytest.mark.parametrize(
    ("text", "expression", "said"),
    [
        (LOG, ".a", "the text is none: use /regex/"),
        (ORDERS, ".orders[", "cannot be used"),
        (LOG, "/(/", "cannot be used"),
        (LOG, "lines 9-3", "they count from 1"),
        (LOG, "", "is empty"),
        (LOG, "x" * 5_000, "the most is 4,000"),
        (ORDERS, "count by town", "the first has id, city, buyer"),
        (LOG, "count by town", "count by /regex/ with a group"),
        (ORDERS, "$.orders[(@.length-1)]", "write it in jq"),
    ],
)
def test_what_is_wrong_says_what_to_write(text, expression, said):
    with pytest.raises(BadInput, match=said.replace("(", r"\(").replace(")", r"\)")):
        query(text, expression)


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_expression_is_told_or_refused(written):
    with contextlib.suppress(BadInput):
        assert parse(written).way
