"""Which keys later calls are likely to need."""

from __future__ import annotations

import json
from typing import Any

import brim
from brim import apis
from brim.planning.used_keys import used_keys


def call(number: int, name: str, arguments: dict[str, Any], result: Any) -> list[dict[str, Any]]:
    asked = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {
            "role": "tool",
            "tool_call_id": f"c{number}",
            "content": result if isinstance(result, str) else json.dumps(result),
        },
    ]


def test_the_keys_of_arguments_and_of_the_values_they_were_taken_from_are_used() -> None:
    messages = [
        {"role": "user", "content": "Which of my orders is late?"},
        *call(1, "find_user", {"email": "ada@example.com"}, {"name": "Ada", "open_orders": ["ORD-1001", "ORD-1002"]}),
        *call(2, "get_order", {"order": "ORD-1001"}, {"status": "shipped"}),
    ]
    assert used_keys(apis.parse(messages).messages) == {"email", "order", "openorder"}


def test_the_parameters_of_declared_tools_are_used() -> None:
    schema = {"type": "object", "properties": {"paymentId": {"type": "string"}, "lines": {"type": "array"}}}
    tools = json.dumps([{"type": "function", "function": {"name": "pay", "parameters": schema}}]).encode()
    assert used_keys([], tools) == {"paymentid", "line"}


def test_an_archived_list_keeps_what_the_next_call_needs() -> None:
    papers = "\n\n".join(
        f"{n}. A paper about subject {n}, with a title\n   ID: 2507.{n:05d}\n   Year: 2025" for n in range(40)
    )
    messages = [
        {"role": "user", "content": "Read the papers one by one."},
        *call(1, "find_papers", {"query": "subject"}, papers),
        *call(2, "read_paper", {"paper_id": "2507.00000"}, "Nothing new. " * 60),
        *call(3, "read_paper", {"paper_id": "2507.00001"}, "Nothing new. " * 60),
    ]
    sent = brim.fit(messages, model="gpt-4o", budget=700).messages
    assert "2507.00002" in json.dumps(sent)
