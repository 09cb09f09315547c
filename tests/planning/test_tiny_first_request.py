"""A first request of a word, beside calls that take nearly all of the room."""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim.errors import BudgetTooSmall


@pytest.mark.parametrize("words", [1, 12, 30])
def test_a_first_request_of_which_nothing_is_left_is_no_empty_message(words: int) -> None:
    calls = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "search", "arguments": f'{{"path": "{"a b/" * 60 * n}"}}'},
        }
        for n in range(3)
    ]
    messages: list[dict[str, Any]] = [
        *[{"role": "user", "content": "go on " * words} for _ in range(5)],
        {"role": "assistant", "content": None, "tool_calls": calls},
        *[{"role": "tool", "tool_call_id": f"c{n}", "content": "0"} for n in range(3)],
    ]
    planned = 0
    for budget in range(90, 190, 3):
        try:
            found = brim.fit(messages, model="gpt-4o", budget=budget)
        except BudgetTooSmall:
            continue
        planned += 1
        assert all(message.get("content") or message.get("tool_calls") for message in found.messages), budget
    assert planned > 5
