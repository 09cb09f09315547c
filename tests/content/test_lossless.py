"""Every lossless result decodes to what was given, also where nothing was changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rooms import texts

import brim
from brim.errors import NotDecodable

HERE = Path(__file__).resolve().parent
SOURCES = {path.name: path.read_text() for path in sorted(HERE.glob("*.py"))[:12]}
ROWS = json.dumps([{"id": n, "city": "Oslo", "url": f"https://x.example/{n}"} for n in range(60)])
MADE = {
    **SOURCES,
    "rows": ROWS,
    "json lines": "\n".join(json.dumps({"id": n, "ok": True}) for n in range(40)),
    "log": "\n".join(f"2026-03-09 06:{n % 60:02d}:00 INFO tide gauge {n} ok" for n in range(300)),
    "scalar": "42",
    "brackets": "[INFO] not JSON\n[INFO] neither\n",
    "nothing": "",
    "form in a text": brim.compact(ROWS).text,
    "form of a form": brim.compact(brim.compact(ROWS).text).text,
}


def original(text: str) -> object:
    """What decode owes: the value of JSON objects and lists, one a line or one in all; else the text."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except ValueError:
        try:
            return [json.loads(line) for line in text.split("\n")]
        except ValueError:
            return text


@pytest.mark.parametrize("text", MADE.values(), ids=MADE)
def test_every_lossless_result_decodes_to_the_original(text):
    for budget in (None, 10, 100, 1_000, 100_000):
        made = brim.compact(text, budget)
        if made.lossless:
            assert brim.decode(made.text) == original(text)


@given(texts)
@settings(max_examples=200, deadline=None)
def test_any_text_that_stays_as_it_is_decodes_to_itself(text):
    made = brim.compact(text)
    assert made.lossless
    assert brim.decode(made.text) == original(text)


@given(st.sampled_from(["#brim ", "#brim text\n", "#brim json", "#brim log: a=", "#brim "]), texts)
@settings(max_examples=100, deadline=None)
def test_a_text_that_begins_like_a_form_comes_back_as_it_is(head, rest):
    made = brim.compact(head + rest)
    assert brim.decode(made.text) == head + rest


def test_a_result_with_something_left_out_is_not_lossless():
    assert not brim.compact(MADE["log"], 60).lossless


def test_an_unknown_form_is_refused():
    with pytest.raises(NotDecodable, match="no lossless form"):
        brim.decode("#brim poem: roses")
