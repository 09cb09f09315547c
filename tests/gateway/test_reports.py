"""What is told of turns later: the plan by which they were sent, never another one; and what it adds up to."""

from __future__ import annotations

import json

import pytest

from brim.gateway.observe import journal
from brim.testing import FakeProvider

from .conftest import Running, Start, long_chat
from .test_views import agent_run


def worked(running: Running, steps: int) -> str:
    run = agent_run(steps)
    for end in range(3, len(run) + 1, 2):
        assert running.chat({"messages": run[:end]}, x_brim_budget="4000", x_brim_session="run").status == 200
    return str(running.last.session)


def test_the_report_of_every_turn_has_the_size_that_was_sent(gateway: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_PLANS", 3)
    session = worked(gateway, 30)
    turns = gateway.get(f"/brim/v1/sessions/{session}")["turns"]
    assert len(turns) == 30
    for row in turns:
        turn = gateway.get(f"/brim/v1/sessions/{session}/turns/{row['number']}")
        report = turn["report"]
        assert report["after"] == row["tokens_after"] <= 4_000
        assert report["before"] == row["tokens_before"]
        assert sum(layer["after"] for layer in report["layers"]) == report["after"]
        assert report["kept"] == len(turn["after"])


def test_a_plan_that_is_not_known_any_more_is_not_replaced_by_another(gateway: Running) -> None:
    worked(gateway, 30)
    turn = gateway.last
    turn.fitted = turn.told = turn.made = None
    assert turn.original is not None
    assert turn.report is None


@pytest.mark.parametrize("policy", ["rolling", "concise", "layered"])
def test_plans_of_the_other_policies_are_told_later_too(
    start: Start, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setattr(journal, "MOST_PLANS", 1)
    running = start(policy={"name": policy})
    for turns in (40, 41, 42):
        running.chat({"messages": long_chat(turns)}, x_brim_budget="6000")
    running.settled()
    first = running.gateway.journal.recent[0]
    assert first.changed
    assert first.fitted is None
    assert first.report is not None
    assert first.report.after == first.after
    handles = {decision.handle for decision in first.report.decisions if decision.after < decision.before}
    assert all(running.gateway.views.archived(first.session, handle)["text"] for handle in handles)


def test_the_summary_of_a_session_is_what_stands_in_its_prompt(gateway: Running, fake: FakeProvider) -> None:
    found = gateway.gateway.views.session(worked(gateway, 40))
    summaries = [entry for entry in found["summaries"] if entry["kind"] == "summary"]
    assert summaries
    sent = [message["content"] for message in fake.posts[-1].json["messages"]]
    assert all(entry["text"] in sent and entry["end"] > entry["start"] for entry in summaries)


def test_money_paid_and_saved_are_of_the_same_requests(gateway: Running) -> None:
    worked(gateway, 20)
    gateway.settled()
    turns = list(gateway.gateway.journal.recent)
    gateway.gateway.journal.recent.clear()  # as after very many more
    told = gateway.get("/brim/v1/live")
    assert told["cost_usd"] == pytest.approx(sum(turn.cost or 0.0 for turn in turns), abs=1e-5)
    assert told["saved_usd"] == pytest.approx(sum(turn.saved or 0.0 for turn in turns), abs=1e-5)
    assert told["saved_usd"] != 0


def test_the_status_names_the_last_model_of_each_client(gateway: Running) -> None:
    hi = [{"role": "user", "content": "hi"}]
    gateway.chat({"messages": hi}, user_agent="codex/1.2")
    gateway.chat({"messages": hi, "model": "gpt-4o-mini"}, user_agent="codex/1.2")
    gateway.settled()
    assert "gpt-4o-mini" in gateway.get("/brim/v1/status")["last_models"].values()


def test_contents_that_are_held_are_weighed_as_they_came_not_as_they_were_sent(
    gateway: Running,
) -> None:
    chat = long_chat(40)
    came = len(json.dumps(chat))
    gateway.gateway.journal.hold(journal.MOST_CONTENTS, int(came * 2.5))
    for name in ("one", "two", "three", "four"):
        gateway.chat({"messages": chat}, x_brim_budget="3000", x_brim_session=name)
    gateway.settled()
    kept = [turn.original is not None for turn in gateway.gateway.journal.recent]
    assert kept == [False, False, True, True]
