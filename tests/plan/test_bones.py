"""Skeletons of results are kept within a memory that claims what they really take."""

from __future__ import annotations

import gc
import json
import sys
import types
from typing import Any

import pytest

from brim.plan import bones
from brim.recent import Recent

SHARED = type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType


def count(text: str) -> int:
    return len(text) // 4 + 1


def taken(thing: Any) -> int:
    """The bytes of an object and of all that it alone refers to."""
    seen: set[int] = set()
    waiting, total = [thing], 0
    while waiting:
        one = waiting.pop()
        if id(one) not in seen and not isinstance(one, SHARED):
            seen.add(id(one))
            total += sys.getsizeof(one)
            waiting += gc.get_referents(one)
    return total


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"id": f"HAT{n:03}", "seats": n, "price": n * 1.5, "open": True} for n in range(200)]),
        json.dumps({"log": "The ship left the port and came back. " * 200, "code": "4WQ150"}),
    ],
    ids=["many leaves", "few leaves"],
)
def test_a_skeleton_claims_about_the_memory_that_it_takes(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    memory: Recent[Any, Any] = Recent(64 << 20)
    monkeypatch.setattr(bones, "_bones", memory)
    found = bones.bones(text, "o200k", count)
    assert found is not None
    assert 0.5 * taken(found) <= memory.size <= 3 * taken(found)


def test_in_little_room_what_the_question_names_comes_first_but_not_before_identifiers() -> None:
    report = {"region": 41, "order_id": "A-4417", "revenue": 5000, "expenses": 3000, "margin": 12}
    found = bones.bones(json.dumps(report), "o200k", count)
    assert found is not None
    skeleton = found[0]
    assert bones.filled(skeleton, 9, count, "") == "region:41,order_id:A-4417"
    assert bones.filled(skeleton, 9, count, "", query="What is the expense?") == "order_id:A-4417,expenses:3000"
    everything = bones.filled(skeleton, 99, count, "", query="What is the expense?")
    assert everything == bones.filled(skeleton, 99, count, "")


def test_a_value_that_is_too_long_is_begun_but_no_word_is_cut() -> None:
    marks = "John: 100 Jane: 95 Alice: 85 Bob: 90 Tom: 88 Olivia: 92"
    found = bones.bones(json.dumps({"content": marks}), "o200k", count)
    assert found is not None
    assert bones.filled(found[0], 10, count, "") == ""
    assert bones.begun(found[0], 10, count) == "content:John: 100 Jane: 95 Alice: […]"
    word = bones.bones(json.dumps({"content": "x" * 60 + "1"}), "o200k", count)
    assert word is not None
    assert bones.begun(word[0], 10, count) == ""
