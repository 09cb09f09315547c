"""Documents and search results: their texts are content like any other, in the block that they came in."""

from __future__ import annotations

from typing import Any

import pytest

import brim

TEXT = "".join(f"On day {n} the harbour took in {n * 37 % 101} ships. " for n in range(1_500))
BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"type": "document", "title": "Log", "source": {"type": "text", "media_type": "text/plain", "data": TEXT}},
    "content": {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": TEXT}]}},
    "content text": {"type": "document", "source": {"type": "content", "content": TEXT}},
    "hit": {"type": "search_result", "source": "log", "title": "Log", "content": [{"type": "text", "text": TEXT}]},
}
ASKED = {"type": "text", "text": "How many ships came?"}


def asked(block: dict[str, Any]) -> dict[str, Any]:
    return body([{"role": "user", "content": [block, ASKED]}])


def found(block: dict[str, Any]) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "c1", "name": "search", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [block]}
    return body(
        [
            {"role": "user", "content": [ASKED]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    )


def body(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages}


def shape(value: Any) -> Any:
    """A value without its texts."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value)


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("made", [asked, found])
def test_a_document_too_large_is_shortened_in_its_own_block(made: Any, block: dict[str, Any]) -> None:
    given = made(block)
    for budget in (300, 2_000, 9_000):
        fitted = brim.fit(given, budget=budget)
        assert 0.9 * budget <= fitted.tokens <= budget
        assert shape(fitted.messages) == shape(given["messages"])
        assert "ships" in str(fitted.messages)
        assert TEXT in fitted.archive.values()


def test_a_document_with_citations_stays_whole_or_goes() -> None:
    block = {**BLOCKS["text"], "citations": {"enabled": True}}
    whole = brim.count(asked(block)).tokens
    assert brim.fit(asked(block), budget=whole).messages[0]["content"] == [block, ASKED]
    for budget in (60, 2_000, whole - 1):
        stub, question = brim.fit(asked(block), budget=budget).messages[0]["content"]
        assert stub["text"].startswith("[… document, about ")
        assert question == ASKED


def test_an_image_in_an_output_of_the_responses_api_leaves_a_stub() -> None:
    image = {"type": "input_image", "image_url": "https://example.org/chart.png", "detail": "high"}
    given = {
        "model": "gpt-4o",
        "input": [
            {"role": "user", "content": "What does the chart say?"},
            {"type": "function_call", "call_id": "c1", "name": "draw", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": [image]},
        ],
    }
    fitted = brim.fit(given, budget=200)
    assert fitted.tokens <= 200 < brim.count(given).tokens
    assert fitted.body["input"][2]["output"][0]["type"] == "input_text"
