"""A replay tells what each policy at each budget would have done, and holds every ceiling while it does."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

import brim
from brim import replays
from brim.replays.parts import PARTS
from brim.replays.result import percentile
from brim.replays.trial import LIVE
from tests.replays.chats import chat, claude, gemini, responses

POLICIES = ["agent", "rolling", "concise", "layered"]


def interleaved(*talks: list[Any]) -> list[Any]:
    return [body for bodies in zip(*talks, strict=True) for body in bodies]


@pytest.mark.parametrize("sessions", [True, False])
@pytest.mark.parametrize("talk", [chat(9), claude(9), responses(9), gemini(9)], ids=["chat", "claude", "resp", "gem"])
def test_no_policy_at_any_budget_leaves_a_request_over(talk: list[Any], sessions: bool) -> None:
    model = None if "model" in talk[0] else "gemini-2.5-pro"
    found = brim.replay(talk, budget=[1_500, None], policy=POLICIES, model=model, sessions=sessions)
    assert found.held
    assert (found.requests, found.left_out, found.problems) == (9, 0, ())
    assert len(found.outcomes) == 8
    for outcome in found.outcomes:
        assert outcome.over_after == 0
        assert outcome.requests == 9
        if outcome.budget == 1_500:
            assert outcome.over_before > 5
            assert outcome.tokens_after <= 1_500 * 9


def test_requests_that_fit_pass_as_they_are() -> None:
    outcome = brim.replay(chat(5)).outcomes[0]
    assert (outcome.changed, outcome.over_before, outcome.refused) == (0, 0, 0)
    assert outcome.tokens_before == outcome.tokens_after == sum(brim.count(body).tokens for body in chat(5))
    assert (outcome.usd_before, outcome.reused_before) == (outcome.usd_after, outcome.reused_after)


def test_a_request_that_no_window_takes_is_replayed_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "word " * 130_000}]}
    outcome = brim.replay([*chat(1), body]).outcomes[0]
    assert (outcome.requests, outcome.over_before, outcome.over_after) == (2, 1, 0)
    assert not [one for one in caplog.records if "is the limit now" in one.message]


def test_over_before_counts_the_requests_above_the_budget() -> None:
    sizes = [brim.count(body).tokens for body in chat(8)]
    for budget in (sizes[2], sizes[5] - 1):
        outcome = brim.replay(chat(8), budget=budget).outcomes[0]
        assert outcome.over_before == sum(size > budget for size in sizes)


def test_a_refused_request_is_counted_and_stays_out_of_the_sums() -> None:
    rules = {"role": "system", "content": "Rule: be exact. " * 500}
    body = {"model": "gpt-4o", "messages": [rules, {"role": "user", "content": "Which rule?"}]}
    outcome = brim.replay([body, *chat(1)], budget=1_000).outcomes[0]
    assert (outcome.requests, outcome.refused, outcome.over_before) == (2, 1, 1)
    assert outcome.tokens_before == brim.count(chat(1)[0]).tokens


def test_sessions_keep_more_of_the_prefix_than_fits_by_themselves() -> None:
    followed = brim.replay(chat(25), budget=4_000).outcomes[0]
    alone = brim.replay(chat(25), budget=4_000, sessions=False).outcomes[0]
    assert followed.reuse_after > alone.reuse_after
    assert followed.usd_after is not None
    assert alone.usd_after is not None
    assert followed.usd_after < alone.usd_after
    assert 0 < followed.compactions < 25


def test_conversations_are_told_apart_when_they_are_mixed() -> None:
    mixed = brim.replay(interleaved(chat(6), chat(6, topic="lake")))
    assert mixed.conversations == 2
    apart = [brim.replay(chat(6, topic=topic)).outcomes[0] for topic in ("harbour", "lake")]
    assert mixed.outcomes[0].reused_before == sum(one.reused_before for one in apart)
    assert mixed.outcomes[0].usd_before == pytest.approx(sum(one.usd_before or 0 for one in apart))


def test_a_session_id_keeps_conversations_apart_that_begin_alike() -> None:
    given = [{"session": name, "body": chat(1)[0]} for name in ("a", "b")]
    assert brim.replay(given).conversations == 2
    assert brim.replay(given).outcomes[0].reused_before == 0


def test_what_was_archived_is_counted_once_however_often_it_is_left_out() -> None:
    outcome = brim.replay(chat(20), budget=3_000).outcomes[0]
    assert outcome.changed > 10
    # Nineteen results and nineteen calls came in; each has one form in the end.
    assert outcome.compacted + outcome.archived <= 2 * 19 + 2
    kinds = {use.kind: use for use in outcome.kinds}
    assert kinds["log result"].compacted + kinds["log result"].archived >= 15
    assert outcome.largest[0].kind == "log result"
    assert outcome.largest[0].tool == "read_log"
    assert outcome.largest[0].place.startswith("requests[")
    assert all(change.after < change.before for change in outcome.largest)


def test_money_is_none_where_no_price_is_known() -> None:
    model = brim.Model("own", "own", 32_000, None, "o200k", None, "openai_chat", "set by hand")
    outcome = brim.replay(chat(3), model=model).outcomes[0]
    assert (outcome.usd_before, outcome.usd_after, outcome.usd_saved, outcome.unpriced) == (None, None, None, 3)


def test_a_model_that_is_not_known_is_told_with_the_way_out() -> None:
    told: list[brim.replays.Problem] = []
    found = brim.replay([*chat(2, model="harbor-9"), *chat(1)], on_problem=told.append)
    assert (found.requests, found.left_out) == (1, 2)
    assert "no model 'harbor-9' is known" in told[0].problem
    assert "--model" in told[0].problem
    assert brim.replay(chat(2, model="harbor-9"), model="gpt-4o").requests == 2


def test_a_request_without_a_model_says_how_to_name_one() -> None:
    found = brim.replay([chat(1)[0]["messages"]])
    assert "names no model: say which with model= (--model)" in found.problems[0].problem


def test_a_bad_body_is_told_with_the_place_inside_it() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}, {"role": "tool", "content": "x"}]}
    found = brim.replay([body, *chat(1)])
    assert found.requests == 1
    assert str(found.problems[0]).startswith("requests[0]: messages[1]")


def test_strict_stops_at_the_first_problem() -> None:
    with pytest.raises(brim.BadInput, match=r"requests\[1\]"):
        brim.replay([*chat(1), {"nothing": 1}], strict=True)


@pytest.mark.parametrize("given", [{"budget": 0}, {"budget": []}, {"policy": []}, {"policy": "gentle"}])
def test_settings_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(brim.BadSetting):
        brim.replay(chat(1), **given)


def test_the_same_traffic_gives_the_same_numbers() -> None:
    def numbers() -> list[dict[str, Any]]:
        found = brim.replay(claude(7, marks=True), budget=2_000, policy=POLICIES)
        return [{**one.as_dict(), "ms_p50": 0, "ms_p95": 0} for one in found.outcomes]

    assert numbers() == numbers()


def test_progress_tells_requests_and_bytes(tmp_path: Any) -> None:
    file = tmp_path / "traffic.jsonl"
    file.write_text("".join(json.dumps(body) + "\n" for body in chat(4)))
    told: list[replays.Progress] = []
    brim.replay(file, file, on_progress=told.append)
    assert [one.requests for one in told] == list(range(1, 9))
    assert told[-1].size == 2 * file.stat().st_size
    assert [one.read for one in told] == sorted(one.read for one in told)
    assert told[-1].read == told[-1].size


def test_the_result_is_json_and_reads_as_text() -> None:
    found = brim.replay(chat(6), budget=[2_000, None])
    data = json.loads(json.dumps(found.as_dict()))
    assert data["held"] is True
    assert [one["budget"] for one in data["outcomes"]] == [2_000, None]
    assert str(found).splitlines()[0] == "6 requests of 1 conversation"
    assert "agent at 2,000: 4 of 6 requests over -> 0" in str(found)


def test_the_chart_is_a_picture_with_a_row_for_each_outcome() -> None:
    found = brim.replay(chat(6), budget=[2_000, None], policy=["agent", "rolling"])
    root = ElementTree.fromstring(replays.chart(found))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for outcome in found.outcomes:
        assert outcome.label in texts
    for title in ("Tokens sent", "Input cost", "Prefix reused"):
        assert title in texts


@pytest.mark.parametrize(("share", "value"), [(0.5, 2), (0.95, 4), (0.01, 1), (1.0, 4)])
def test_a_percentile_is_one_of_the_values(share: float, value: int) -> None:
    assert percentile([4, 1, 3, 2], share) == value


def test_more_conversations_than_are_held_at_once_come_back_when_they_go_on() -> None:
    many = LIVE * PARTS + 6
    talks = [chat(3, topic=f"pier {number}") for number in range(many)]
    found = brim.replay(interleaved(*talks), budget=2_000)
    assert found.conversations == many
    one = brim.replay(talks[0], budget=2_000).outcomes[0]
    outcome = found.outcomes[0]
    assert outcome.over_before == many * one.over_before > 0
    assert outcome.reuse_before == pytest.approx(one.reuse_before, abs=0.01)
    assert outcome.reuse_after == pytest.approx(one.reuse_after, abs=0.01)
