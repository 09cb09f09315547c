"""Arguments of calls: valid JSON in any room, as much of them as there is room for, whatever they are made of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim import tokens
from brim.content import arguments
from brim.content.types import Room

MODEL = "gpt-4o"
LOG = "\n".join(f"12:00:{n % 60:02} INFO worker {n} finished batch {n * 7919 % 10007}" for n in range(600))
MANY: dict[str, Any] = {
    "short values": {f"k{n}": f"v{n}" for n in range(300)},
    "numbers": {f"k{n}": n * 7919 for n in range(300)},
    "a list": list(range(1_200)),
    "a list of names": {"names": [f"name {n}" for n in range(400)]},
    "nested objects": {f"g{n}": {"a": n, "b": [{"c": f"x{m}"} for m in range(5)]} for n in range(40)},
    "a text": {"path": "/a", "content": LOG},
    "edits": {"path": "/a", "edits": [{"old": f"word {n} " * 30, "new": "term " * 60} for n in range(20)]},
}


def called(arguments: str) -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": arguments}}
    return [
        {"role": "user", "content": "What does it say?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]


def sent(fitted: brim.Fitted) -> str:
    return str(fitted.messages[1]["tool_calls"][0]["function"]["arguments"])


@pytest.mark.parametrize("given", MANY.values(), ids=MANY)
def test_a_budget_above_one_that_fits_fits_too(given: Any) -> None:
    messages = called(json.dumps(given))
    fitting = False
    for budget in [*range(25, 120, 5), *range(120, 3_000, 160)]:
        try:
            fitted = brim.fit(messages, model=MODEL, budget=budget)
        except brim.BudgetTooSmall:
            assert not fitting
            continue
        fitting = True
        assert fitted.tokens <= budget
        assert isinstance(json.loads(sent(fitted)), type(given))
    assert fitting


@pytest.mark.parametrize("given", MANY.values(), ids=MANY)
@pytest.mark.parametrize("budget", [400, 1_000, 1_600])
def test_arguments_fill_what_is_left_of_the_budget(given: Any, budget: int) -> None:
    assert brim.fit(called(json.dumps(given)), model=MODEL, budget=budget).tokens >= 0.9 * budget


def test_what_was_found_is_filled_before_what_was_asked_for() -> None:
    messages = called(json.dumps({"content": LOG * 5}))
    messages[2]["content"] = "\n".join(f"row {n} says {n * 31 % 997}" for n in range(2_000))
    fitted = brim.fit(messages, model=MODEL, budget=2_000)
    assert len(fitted.messages[2]["content"]) > 4 * len(sent(fitted))


@pytest.mark.parametrize("levels", [60, 500, 5_000])
@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]")])
@pytest.mark.parametrize("budget", [60, 600, 3_000])
def test_arguments_of_any_depth_stay_json_within_the_budget(
    levels: int, opening: str, closing: str, budget: int
) -> None:
    messages = called(opening * levels + json.dumps("deep words " * 2_500) + closing * levels)
    fitted = brim.fit(messages, model=MODEL, budget=budget)
    assert fitted.tokens <= budget
    assert isinstance(json.loads(sent(fitted)), dict if closing == "}" else list)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=120),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=12), inner, max_size=5),
        max_leaves=20,
    ),
    st.integers(1, 80),
)
@settings(deadline=None)
def test_arguments_are_json_of_the_same_type_in_any_room(value: Any, room: int) -> None:
    text = json.dumps(value)
    short = arguments.extract(text, Room(room, tokens.text_counter(MODEL)))
    made = json.loads(short)
    assert tokens.text_counter(MODEL)(short) <= room or not value or made in ("…", {}, [])
    if isinstance(value, (dict, list)):
        assert type(made) is type(value)
