"""What `brim.fit` gives back: another budget, events, warnings, refusals."""

from __future__ import annotations

import copy
import logging
from typing import Any

import pytest

import brim


def chat(turns: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"What about order ORD-{turn:04d}? " + "Tell me more. " * 8})
        messages.append({"role": "assistant", "content": f"ORD-{turn:04d} left the warehouse. " * 9})
    return [*messages, {"role": "user", "content": "And which was the last one?"}]


def test_the_same_request_can_be_had_at_another_budget() -> None:
    messages = chat(40)
    before = copy.deepcopy(messages)
    fitted = brim.fit(messages, model="gpt-4o", budget=1_000)
    wider, back = fitted.at(3_000), fitted.at(3_000).at(1_000)
    assert fitted.tokens <= 1_000 < wider.tokens <= 3_000
    assert wider.messages == brim.fit(messages, model="gpt-4o", budget=3_000).messages
    assert back.messages == fitted.messages
    assert messages == before


def test_events_go_to_the_callback_and_to_the_log_with_their_numbers(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Any] = []
    with caplog.at_level(logging.INFO, "brim"):
        fitted = brim.fit(chat(40), model="gpt-4o", budget=1_000, on_event=seen.append)
    folded = next(event for event in seen if event.kind == "folded")
    assert fitted.report.folded
    assert str(fitted.report.folded) in " ".join(map(str, folded.numbers.values()))
    assert [record for record in caplog.records if record.name.startswith("brim")]


def test_a_turn_that_takes_nearly_all_of_the_budget_is_warned_of() -> None:
    asked = {"role": "user", "content": "Where is my parcel? " + " ".join(f"ORD-{n:05d}" for n in range(300))}
    size = brim.count([asked], model="gpt-4o").tokens
    assert not brim.fit([asked], model="gpt-4o", budget=2 * size).report.warnings
    (warning,) = brim.fit([asked], model="gpt-4o", budget=int(size / 0.96)).report.warnings
    assert warning == "the last turn alone takes 96% of the budget"


def test_a_refusal_lists_what_must_stay_with_its_tokens() -> None:
    with pytest.raises(brim.BudgetTooSmall) as caught:
        brim.fit(chat(3), model="gpt-4o", budget=8)
    refusal = caught.value
    assert refusal.needed > refusal.budget == 8
    assert sum(tokens for _, tokens in refusal.must_stay) == refusal.needed
    assert any("user" in name for name, _ in refusal.must_stay)
