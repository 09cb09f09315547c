"""The plain planner, and what stands around it: it fits by sizes alone, and a session survives a turn that fails."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim import apis, models
from brim.deadline import OutOfTime, run_within
from brim.head_tail import head_and_tail
from brim.planning.plain import plain_plan
from brim.planning.policies import strategies
from brim.planning.request import size_of
from brim.planning.state import PlanState
from brim.tokens.counter import Counter
from tests.conversations import problems
from tests.sabotage import agent_run, chat
from tests.test_fit_properties import measured
from tests.wide_requests import altered, wide_requests


@given(wide_requests(), st.integers(20, 6_000))
def test_any_request_is_fitted_and_valid_or_refused_with_its_numbers(request: Any, budget: int) -> None:
    api, body, model = request
    given_conversation = apis.parse(body, api)
    counter = Counter(models.find(model), api)
    number = len(given_conversation.messages)
    plan, refusal = None, None
    try:
        plan = plain_plan(given_conversation, budget, counter, lambda tokens: size_of(counter, tokens, number, False))
    except brim.BudgetTooSmall as problem:
        refusal = problem
    if plan is None:
        assert refusal is not None
        assert refusal.needed > refusal.budget == budget
        assert refusal.must_stay
        return
    out = apis.render(plan.conversation, body, given_conversation)
    assert measured(api, out, model) <= budget
    assert problems(api, out) == []
    assert altered(api, body, out) == []


def planned(messages: list[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    conversation = apis.parse(messages, "openai_chat")
    plan = plain_plan(conversation, limit, Counter(models.find("gpt-4o"), "openai_chat"))
    return apis.render(plan.conversation, messages, conversation), plan.archive


def test_a_text_of_many_times_the_window_fills_what_its_margin_leaves() -> None:
    conversation = apis.parse([{"role": "user", "content": "a berth is free. " * 10_000}], "openai_chat")
    plan = plain_plan(
        conversation, 1_000, Counter(models.find("gpt-4o"), "openai_chat"), lambda tokens: tokens * 21 // 20
    )
    assert 900 <= plan.total <= 1_000


def test_the_current_message_the_first_request_and_the_newest_steps_stay() -> None:
    messages = [*agent_run(1), {"role": "assistant", "content": "Done."}, {"role": "user", "content": "And now?"}]
    out, _ = planned(messages, 2_000)
    assert out[:2] == messages[:2]
    assert out[-2:] == messages[-2:]
    kept = [message["tool_call_id"] for message in out if message["role"] == "tool"]
    assert kept == [f"c{number}" for number in range(14 - len(kept), 14)]


def test_what_leaves_is_in_the_archive_under_the_id_that_stands_in_its_place() -> None:
    messages = agent_run(2)
    out, archive = planned(messages, 1_500)
    shown = json.dumps(out)
    assert archive
    assert all(handle in shown for handle in archive)
    texts = " ".join(archive.values())
    gone = [message for message in messages if message["role"] == "tool" and message not in out]
    written = [json.dumps(message["content"], ensure_ascii=False)[1:-1] for message in gone]
    assert all(text in texts or json.loads(f'"{text}"') in texts for text in written)


def test_a_text_is_cut_to_its_beginning_and_end_within_its_tokens() -> None:
    count = Counter(models.find("gpt-4o"), "openai_chat").text
    text = "\n".join(f"line {number} of the story" for number in range(4_000))
    for tokens in (1, 3, 40, 700):
        assert count(head_and_tail(text, tokens, count, "brim:3f2a9c01")) <= tokens
    short = head_and_tail(text, 200, count, "brim:3f2a9c01")
    assert short.startswith("line 0 of")
    assert short.endswith("line 3999 of the story")
    assert "characters left out, brim:3f2a9c01]" in short
    assert count(short) > 150


def test_work_that_loops_is_ended_and_work_that_is_over_is_left_alone() -> None:
    def loops() -> None:
        while True:
            time.sleep(0.001)

    with pytest.raises(OutOfTime):
        run_within(0.05, loops)
    assert run_within(0.02, lambda: 7) == 7
    time.sleep(0.06)  # nothing arrives late


def fails(*_: object, **__: object) -> None:
    raise KeyError("secret content")


def test_a_fault_is_told_by_its_place_and_never_by_content(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(strategies.agent, "plan", fails)
    fitted = brim.fit(chat(3), model="gpt-4o", budget=900)
    assert "KeyError at planning/policies/strategies.py:" in str(fitted.report)
    told = [record.getMessage() for record in caplog.records if "inside Brim" in record.getMessage()]
    assert len([text for text in told if text.startswith("a fault")]) >= 1
    assert "secret content" not in caplog.text


@pytest.mark.parametrize("made", [agent_run, chat])
def test_a_session_goes_on_from_a_turn_that_failed_halfway(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = brim.Session(model="gpt-4o", budget=900)
    messages = made(4)
    with monkeypatch.context() as patch:
        patch.setattr(PlanState, "rank", fails)
        failed = session.fit(messages)
        assert failed.tokens <= 900
        assert any("plain planner" in warning for warning in failed.report.warnings)
    assert len(session.log) == len(messages)
    more = [*messages, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "What else?"}]
    again = session.fit(more)
    assert again.tokens <= 900
    assert not any("inside Brim" in warning for warning in again.report.warnings)
    loaded = brim.Session.load(session.id, store=session.store)
    assert [message.raw for message in loaded.log] == [message.raw for message in session.log]
    assert loaded.view.messages() == session.view.messages()
    assert problems("openai_chat", {"messages": again.messages}) == []


def test_what_the_plain_planner_archives_can_be_recalled_from_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlanState, "rank", fails)
    session = brim.Session(model="gpt-4o", budget=900)
    fitted = session.fit(agent_run(5))
    assert fitted.archive
    for handle, text in fitted.archive.items():
        assert session.recall(handle) == text


def test_a_refusal_is_no_fault() -> None:
    with pytest.raises(brim.BudgetTooSmall):
        brim.Session(model="gpt-4o", budget=20).fit([{"role": "system", "content": "word " * 400}, *chat(6)])
