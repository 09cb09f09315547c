"""What is sent where hardly more than the question fits: the least that is a valid request, before any refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

import brim
from brim.content import arguments
from brim.content.types import Room

ASKED = {"role": "user", "content": "Move the report of the harbour to the archive."}


def step(*calls: dict[str, Any], said: str | None = None, result: str = "done") -> list[dict[str, Any]]:
    made = [
        {"id": f"c{n}", "type": "function", "function": {"name": "move", "arguments": json.dumps(call)}}
        for n, call in enumerate(calls)
    ]
    answers = [{"role": "tool", "tool_call_id": call["id"], "content": result} for call in made]
    return [{"role": "assistant", "content": said, "tool_calls": made}, *answers]


def needed(messages: list[dict[str, Any]]) -> int:
    with pytest.raises(brim.BudgetTooSmall) as refused:
        brim.fit(messages, model="gpt-4o", budget=5)
    return refused.value.needed


def test_what_a_model_said_beside_its_calls_goes_before_a_request_is_refused() -> None:
    said = "I will now move the report into the archive, since that is where reports of last year belong."
    messages = [ASKED, *step({"file": "report.md"}, said=said)]
    fitted = brim.fit(messages, model="gpt-4o", budget=37)
    assert fitted.tokens <= 37
    assert [message["role"] for message in fitted.messages] == ["user", "assistant", "tool"]
    assert fitted.messages[0] == ASKED
    assert fitted.messages[1]["tool_calls"] == messages[1]["tool_calls"]
    assert said not in (fitted.messages[1]["content"] or "")


def test_arguments_of_the_newest_call_shrink_before_a_request_is_refused() -> None:
    messages = [
        ASKED,
        *step({"file": "report.md", "to": "archive/2024/harbour/reports/of/last/year/report-of-the-harbour.md"}),
    ]
    fitted = brim.fit(messages, model="gpt-4o", budget=40)
    assert fitted.tokens <= 40
    assert json.loads(fitted.messages[1]["tool_calls"][0]["function"]["arguments"])["file"] == "report.md"


def test_archived_messages_go_unsaid_where_saying_so_does_not_fit() -> None:
    earlier = [
        {"role": "user", "content": "Hello there, old friend."},
        {"role": "assistant", "content": "Good day to you."},
    ]
    alone = brim.fit([ASKED], model="gpt-4o", budget=1_000).tokens
    fitted = brim.fit([*earlier, ASKED], model="gpt-4o", budget=alone + 1)
    assert fitted.messages == [ASKED]
    assert fitted.report.archived == 2


def test_a_session_answers_wherever_a_single_fit_does() -> None:
    messages = [ASKED, *step({"file": "report.md"}, said="Moving it.", result="moved " * 40)]
    for budget in range(needed(messages), 60):
        assert brim.Session(model="gpt-4o", budget=budget).fit(messages).tokens <= budget


def test_a_refusal_tells_the_least_that_would_do() -> None:
    messages = [ASKED, *step({"file": "report.md"}, {"file": "notes.md"}, said="Moving both.", result="moved " * 40)]
    least = needed(messages)
    assert brim.fit(messages, model="gpt-4o", budget=least).tokens <= least


@pytest.mark.parametrize(
    ("given", "tokens", "expected"),
    [
        ('{"from":"a.txt","to":"notes/archive/b.txt"}', 9, '{"from":"a.txt","to":"…"}'),
        ('{"from":"a.txt","amount":4096}', 4, '{"from":"…"}'),
        ('{"from":"a.txt","amount":4096}', 1, "{}"),
        ("[1,2,3,4,5,6,7,8]", 3, "[1,2,3,4]"),
        ("[1024,2048]", 1, "[]"),
        ("{}", 0, "{}"),
    ],
)
def test_arguments_stay_json_in_any_room(given: str, tokens: int, expected: str) -> None:
    assert arguments.extract(given, Room(tokens, lambda text: (len(text) + 2) // 3)) == expected


def test_the_user_still_speaks_first_where_archived_messages_go_unsaid() -> None:
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "search", "input": {"path": "a/b"}} for n in range(3)]
    answers = [{"type": "tool_result", "tool_use_id": call["id"], "content": "nothing"} for call in calls]
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "Look for the harbour master's report, wherever it may be."},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": [*answers, {"type": "text", "text": "Go on."}]},
        ],
    }
    whole = brim.count(body, model=body["model"]).tokens
    starts = set()
    for budget in range(20, whole):
        try:
            fitted = brim.fit(body, budget=budget)
        except brim.BudgetTooSmall:
            continue
        assert fitted.messages[0]["role"] == "user"
        starts.add(json.dumps(fitted.messages[0]["content"]))
    assert any("[\\u2026]" in start for start in starts)


def test_the_newest_result_in_little_room_is_a_field_of_it_and_not_only_a_mark() -> None:
    quote = {"price": 227.16, "percent_change": 0.17, "volume": 2.552, "MA(5)": 227.11, "MA(20)": 227.09}
    messages = [ASKED, *step({"file": "report.md"}, result=json.dumps(quote))]
    least = needed(messages)
    shown = []
    for budget in range(least + 16, least + 60):
        fitted = brim.fit(messages, model="gpt-4o", budget=budget)
        assert fitted.tokens <= budget
        shown.append(fitted.messages[-1]["content"])
    assert all("227.16" in text for text in shown)
    assert "price: 227.16 […]" in shown


def test_prose_in_little_room_is_not_torn_into_its_numbers() -> None:
    said = "The harbour master came in 1987, and 14 ships were in the port that day, more than ever before. " * 2
    messages = [ASKED, *step({"file": "report.md"}, result=said)]
    fitted = brim.fit(messages, model="gpt-4o", budget=needed(messages) + 10)
    assert fitted.messages[-1]["content"].startswith("[…")
