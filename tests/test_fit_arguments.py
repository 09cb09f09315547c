"""What `brim.fit` refuses before it plans anything, and the short ways to say things."""

from __future__ import annotations

from typing import Any

import pytest

import brim

MESSAGES = [{"role": "user", "content": "hello " * 50}]


@pytest.mark.parametrize("budget", [0, -5, 8_000.5, "8000", True])
def test_a_budget_that_is_no_number_of_tokens_is_refused(budget: Any) -> None:
    with pytest.raises(brim.BadInput, match=r"budget: .* is not a number of tokens"):
        brim.fit(MESSAGES, model="gpt-4o", budget=budget)


@pytest.mark.parametrize("budget", [None, 100])
def test_a_negative_reserve_never_raises_the_limit(budget: int | None) -> None:
    with pytest.raises(brim.BadInput, match="reserve: -50 is not a number of tokens"):
        brim.fit(MESSAGES, model="gpt-4o", budget=budget, reserve=-50)


def test_a_policy_may_be_given_by_its_name() -> None:
    assert brim.fit(MESSAGES, model="gpt-4o", policy="rolling").report.policy == "rolling"
    with pytest.raises(brim.BadSetting, match="'roling' is not one of agent, rolling, concise, layered"):
        brim.fit(MESSAGES, model="gpt-4o", policy="roling")


def test_a_model_that_is_not_named_is_asked_for() -> None:
    with pytest.raises(brim.UnknownModel, match="no model is named"):
        brim.fit(MESSAGES)


def test_a_model_of_ones_own_goes_by_what_is_said_of_it() -> None:
    own = brim.Model("own-1", "me", 4_000, 1_000, "llama-3", None, "openai_chat", "set by hand")
    assert brim.fit(MESSAGES, model=own).report.limit == 3_000


@pytest.mark.parametrize("piece", ["A text.", brim.Attachment("A text.", source="a.md")])
def test_one_piece_of_context_need_not_stand_in_a_list(piece: Any) -> None:
    alone = brim.fit(MESSAGES, model="gpt-4o", context=piece, carried=piece)
    assert alone.messages == brim.fit(MESSAGES, model="gpt-4o", context=[piece], carried=[piece]).messages


@pytest.mark.parametrize("text", [b"bytes", {"a": 1}, None])
def test_what_is_no_text_is_not_compacted(text: Any) -> None:
    with pytest.raises(brim.BadInput, match="must be text"):
        brim.compact(text)


def test_a_session_takes_a_policy_by_its_name_and_refuses_what_is_none() -> None:
    assert brim.Session(model="gpt-4o", policy="rolling").fit(MESSAGES).report.policy == "rolling"
    for given in ("roling", 3):
        with pytest.raises(brim.BadSetting):
            brim.Session(model="gpt-4o", policy=given)  # type: ignore[arg-type]
        with pytest.raises(brim.BadSetting):
            brim.fit(MESSAGES, model="gpt-4o", policy=given)  # type: ignore[arg-type]


def test_a_session_refuses_a_way_of_recall_that_there_is_not() -> None:
    with pytest.raises(brim.BadInput, match="auto, tool, off"):
        brim.Session(model="gpt-4o", recall="maybe")


@pytest.mark.parametrize("budget", [0, -5, "8k"])
def test_another_budget_that_is_no_number_of_tokens_is_refused_too(budget: Any) -> None:
    with pytest.raises(brim.BadInput, match=r"budget: .* is not a number of tokens"):
        brim.fit(MESSAGES, model="gpt-4o").at(budget)


def test_a_window_that_the_answer_takes_all_of_says_what_would_have_to_stay() -> None:
    body = {"model": "gpt-4o", "max_tokens": 128_000, "messages": MESSAGES}
    with pytest.raises(brim.BudgetTooSmall) as refused:
        brim.fit(body, reserve=200_000)
    assert refused.value.budget <= 0
    assert [what for what, _ in refused.value.must_stay] == ["user messages[0]", "tools and framing"]


@pytest.mark.parametrize("name", ["context", "carried"])
@pytest.mark.parametrize(
    ("given", "at"),
    [(3, ""), (b"abc", ""), ({"text": "A text."}, ""), (0, ""), ([None], "[0]"), (["A text.", 5], "[1]")],
)
def test_context_that_is_no_text_is_refused_with_its_place(name: str, given: Any, at: str) -> None:
    with pytest.raises(brim.BadInput, match=r"must be a text or a brim\.Attachment") as refused:
        brim.fit(MESSAGES, model="gpt-4o", **{name: given})
    assert refused.value.at == name + at


@pytest.mark.parametrize("settings", [{"text": None}, {"text": "x", "source": None}, {"text": "x", "type": 3}])
def test_an_attachment_is_made_of_texts(settings: Any) -> None:
    with pytest.raises(brim.BadInput, match=r"Attachment\.\w+: must be text"):
        brim.Attachment(**settings)


@pytest.mark.parametrize("model", [3, 0, ["gpt-4o"], b"gpt-4o"])
def test_what_is_no_model_is_refused(model: Any) -> None:
    for call in (brim.fit, brim.count):
        with pytest.raises(brim.BadInput, match=r"model: .* is neither the name of a model"):
            call(MESSAGES, model=model)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"name": "zzz"}, "policy.name"),
        ({"name": []}, "policy.name"),
        ({"name": "agent", "compact_at": "x"}, "policy.compact_at"),
        ({"name": "agent", "compact_at": None}, "policy.compact_at"),
        ({"name": "concise", "system_role": 1}, "policy.system_role"),
        ({"name": "agent", "budget": 100, "reserve": 200}, "policy.reserve"),
    ],
)
def test_a_policy_is_checked_when_it_is_made(settings: Any, name: str) -> None:
    with pytest.raises(brim.BadSetting) as refused:
        brim.Policy.named(settings["name"], {key: value for key, value in settings.items() if key != "name"})
    assert refused.value.name == name


def test_a_policy_refuses_the_settings_of_another_and_says_whose_they_are() -> None:
    with pytest.raises(brim.BadSetting) as refused:
        brim.Policy.agent(history_chars=50_000)
    assert str(refused.value) == "policy.history_chars: agent has no such setting: it is one of concise"
    with pytest.raises(brim.BadSetting, match="did you mean compact_to"):
        brim.Policy.agent(compact_too=0.5)
    with pytest.raises(brim.BadSetting, match=r"make one with Policy\.agent"):
        brim.Policy()


def test_a_policy_whose_reserve_leaves_nothing_of_the_budget_is_refused() -> None:
    with pytest.raises(brim.BadSetting, match=r"policy\.reserve: 200 tokens leave nothing of the budget of 100"):
        brim.fit(MESSAGES, model="gpt-4o", budget=100, policy=brim.Policy.agent(reserve=200))
