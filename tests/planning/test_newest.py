"""Rule 3: the newest step and the last answer stay, without loss; a newest step that is too large keeps its place."""

from __future__ import annotations

import json
from typing import Any

import brim

Messages = list[dict[str, Any]]


def step(number: int, result: str) -> Messages:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": f'{{"page": {number}}}'}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def listing(number: int) -> str:
    rows = [{"flight_number": f"HX{number}{row:02}", "status": "available", "seats": row + 3} for row in range(12)]
    return json.dumps(rows)


def fitted(messages: Messages, share: float) -> Messages:
    total = brim.count(messages, model="gpt-4o").tokens
    return list(brim.fit(messages, model="gpt-4o", budget=int(share * total)).messages)


def test_the_newest_result_is_written_densely_before_older_ones_are_lost() -> None:
    asked = [{"role": "user", "content": "Find me a flight."}]
    messages = [*asked, *(message for number in range(3) for message in step(number, listing(number)))]
    newest = fitted(messages, 0.4)[-1]["content"]
    assert newest != messages[-1]["content"]
    assert brim.decode(newest) == json.loads(messages[-1]["content"])


def test_the_newest_result_stays_as_it_came_where_there_is_room() -> None:
    asked = [{"role": "user", "content": "Find me a flight."}]
    messages = [*asked, *step(0, "word " * 900), *step(1, listing(1))]
    assert fitted(messages, 0.5)[-1] == messages[-1]


def test_a_newest_call_with_a_large_result_keeps_its_place() -> None:
    large = " ".join(f"Paragraph {number} says what was found." for number in range(300))
    answer = {"role": "assistant", "content": "Done."}
    messages = [{"role": "user", "content": "Read it."}, *step(0, "short"), *step(1, large), answer]
    messages.append({"role": "user", "content": "And now post it."})
    calls = [message for message in fitted(messages, 0.25) if message.get("tool_calls")]
    assert calls[-1] == messages[3]
