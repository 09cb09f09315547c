"""The same file read again and again: only the newest copy takes room."""

from __future__ import annotations

import json
from typing import Any

import pytest

import brim

SOURCE = "\n".join(
    f"def handler_{n}(request, store):\n    return store.fetch('{n * 7919}', request.user_{n})" for n in range(60)
)


def read(number: int, path: str, content: str) -> list[dict[str, Any]]:
    function = {"name": "read_file", "arguments": json.dumps({"path": path})}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": content},
    ]


def other(number: int) -> str:
    return "\n".join(f"value_{number}_{n} = compute({n * number % 97}, '{n * 31 % 1009}')" for n in range(60))


def run() -> list[dict[str, Any]]:
    """One file read four times, and five others between."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why handler_7 fails."}]
    for number in range(9):
        path, content = (
            ("src/handlers.py", SOURCE) if number % 2 == 0 and number < 8 else (f"o{number}.py", other(number))
        )
        messages += read(number, path, content)
    return messages


@pytest.mark.parametrize("share", [0.4, 0.5, 0.65])
def test_only_the_newest_copy_of_a_file_is_whole(share: float) -> None:
    messages = run()
    budget = int(share * brim.count(messages, model="gpt-4o").tokens)
    fitted = brim.fit(messages, model="gpt-4o", budget=budget)
    whole = [place for place, message in enumerate(fitted.messages) if message.get("content") == SOURCE]
    assert len(whole) <= 1
    last = max(place for place, message in enumerate(messages) if message.get("content") == SOURCE)
    if whole:
        assert fitted.messages[whole[0]]["tool_call_id"] == messages[last]["tool_call_id"]


def test_an_older_copy_says_that_it_came_again_and_can_be_recalled() -> None:
    messages = run()
    budget = int(0.65 * brim.count(messages, model="gpt-4o").tokens)
    session = brim.Session(model="gpt-4o", budget=budget)
    for end in range(3, len(messages) + 1, 2):
        sent = str(session.fit(messages[:end]).messages)
    assert session.compactions
    assert sent.count("def handler_7(") <= 2
    fitted = brim.fit(messages, model="gpt-4o", budget=budget)
    marks = [message["content"] for message in fitted.messages if "returned the same" in str(message.get("content"))]
    for mark in marks:
        assert SOURCE in fitted.archive.values()
        assert mark.startswith("[… a later call returned the same, brim:")


def test_what_changed_between_two_reads_is_no_repeat() -> None:
    messages = run()
    messages[2]["content"] = SOURCE.replace("handler_7", "handler_7_old")
    budget = int(0.8 * brim.count(messages, model="gpt-4o").tokens)
    fitted = brim.fit(messages, model="gpt-4o", budget=budget)
    first = next(message for message in fitted.messages if message.get("tool_call_id") == "c0")
    assert "returned the same" not in first["content"]
