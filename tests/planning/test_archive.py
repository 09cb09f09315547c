"""Nothing is lost: what leaves a request is in the archive, under the handle that stands in its place."""

from __future__ import annotations

import json
import re

import brim
from tests.conversations import PNG


def picture() -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "high"}}


def test_every_handle_in_a_fitted_request_leads_to_its_original() -> None:
    log = "\n".join(f"2026-01-01 10:00:{n % 60:02d} INFO request {n} took {n % 97} ms" for n in range(400))
    rows = json.dumps([{"id": n, "name": f"item-{n}", "state": "open", "note": "x" * 30} for n in range(200)])
    messages = [
        {"role": "user", "content": "Look at the log and the rows."},
        {"role": "assistant", "content": None, "tool_calls": [call("a", "read_log"), call("b", "list_rows")]},
        {"role": "tool", "tool_call_id": "a", "content": log},
        {"role": "tool", "tool_call_id": "b", "content": rows},
        {"role": "assistant", "content": "Both are read."},
        {"role": "user", "content": "What is item 17 called?"},
    ]
    fitted = brim.fit(messages, model="gpt-4o", budget=900)
    handles = set(re.findall(r"brim:[0-9a-f]{8}", json.dumps(fitted.messages)))
    assert handles
    assert handles <= set(fitted.archive)
    assert log in fitted.archive.values()


def test_a_picture_that_leaves_is_kept_and_named() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture(), picture(), picture()]},
        {"role": "assistant", "content": "A dot."},
        {"role": "user", "content": "And what did I ask before? " + "Say it in detail. " * 20},
    ]
    whole = brim.count(messages, model="gpt-4o").tokens
    fitted = brim.fit(messages, model="gpt-4o", budget=whole // 2)
    kept = [json.loads(text) for text in fitted.archive.values() if text.startswith("{")]
    shown = json.dumps(fitted.messages)
    assert shown.count(PNG) < 3
    assert picture() in kept or any(PNG in text for text in fitted.archive.values())


def call(id: str, name: str) -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def test_a_signed_thought_is_kept_whole_or_goes() -> None:
    thought = {"type": "thinking", "thinking": "step by step " * 60, "signature": "c2lnbmVk"}
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "a.txt"}}
    messages = [
        {"role": "user", "content": "Read it. " + "Please. " * 40},
        {"role": "assistant", "content": [thought, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "line of text\n" * 200}]},
        {"role": "assistant", "content": "It is read."},
        {"role": "user", "content": "What does it say?"},
    ]
    whole = brim.count(messages, model="claude-sonnet-4-5").tokens
    for budget in range(60, whole, 7):
        try:
            fitted = brim.fit(messages, model="claude-sonnet-4-5", budget=budget)
        except brim.BudgetTooSmall:
            continue
        blocks = [b for m in fitted.messages if isinstance(m["content"], list) for b in m["content"]]
        assert all(block == thought for block in blocks if block["type"] == "thinking")
        assert all(isinstance(block, dict) for block in blocks)
