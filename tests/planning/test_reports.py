"""What a report says: all that was given, what became of it, under the caller's own numbers, and what to know."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

import brim
from brim import Attachment, BudgetTooSmall, Policy
from tests.planning.chats import MODEL, SYSTEM, assistant, chat, size, user, words

POLICIES = ["agent", "rolling", "concise", "layered"]
NOTES = {
    "context": [Attachment(words(30_000, "[new]"), "new.md"), Attachment(words(3_000, "[more]"), "more.md")],
    "carried": [Attachment(words(9_000, "[old]"), "old.md")],
}
CLAUDE = "claude-sonnet-4-5"


def fit(messages: Any, policy: str = "agent", **more: Any) -> brim.Fitted:
    return brim.fit(messages, model=more.pop("model", MODEL), policy=policy, **more)


def given(messages: Any, **pieces: list[Attachment]) -> int:
    """The tokens of messages and of all context beside them."""
    return size(messages) + sum(
        brim.count(piece.text, model=MODEL).tokens for each in pieces.values() for piece in each
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("budget", [2_000, 4_000, 100_000])
def test_before_is_all_that_was_given_context_included(policy: str, budget: int) -> None:
    messages = [SYSTEM, *chat(20, 1_000)]
    report = fit(messages, policy, budget=budget, **NOTES).report
    whole = given(messages, **NOTES)
    assert whole <= report.before <= whole + 150
    assert report.after <= budget
    layers = {use.layer: use for use in report.layers}
    assert sum(use.before for use in report.layers) == report.before
    assert sum(use.after for use in report.layers) == report.after
    assert layers[2].before > 1_500
    assert layers[3].before > 5_000
    assert layers[4].before > 7_000


@pytest.mark.parametrize("policy", ["rolling", "concise", "layered"])
def test_a_session_counts_all_that_was_given_too(policy: str) -> None:
    session = brim.Session(model=MODEL, policy=policy, budget=3_000)
    session.attach(Attachment(words(20_000), "a.md"))
    report = session.say("What does it say?").report
    assert report.before > 4_000 > report.after


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("system", [None, "Be brief."])
def test_a_number_of_a_message_is_its_place_in_the_callers_own_list(policy: str, system: str | None) -> None:
    messages = [*chat(12, 1_500), assistant(words(9_000, "[long]")), user("And then?")]
    if system is None:
        messages = [SYSTEM, *messages]
    fitted = fit(messages, policy, budget=3_000, system=system, **NOTES)
    numbers = set()
    for decision in fitted.plan:
        found = re.match(r"messages\[(\d+)\]", decision.item)
        if found is None:
            assert decision.item.split()[0].partition(".")[0] in ("system", "context", "summary", "notice")
            continue
        message = messages[int(found.group(1))]
        numbers.add(int(found.group(1)))
        assert decision.role == message["role"]
        assert decision.preview[:20] in " ".join(message["content"].split())
    assert numbers == set(range(len(messages)))
    assert any("new.md" in decision.item for decision in fitted.plan)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_refusal_names_the_callers_own_messages(policy: str) -> None:
    held = Attachment(words(3_000), "selection.txt", recoverable=False)
    with pytest.raises(BudgetTooSmall) as refused:
        fit([SYSTEM, *chat(3, 900), user("Why? " * 40)], policy, budget=100, context=[held])
    names = [name for name, _ in refused.value.must_stay]
    assert {"user messages[8]", "system messages[0]", "user context selection.txt"} <= set(names)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_request_that_fits_has_a_form_and_a_reason_for_every_item(policy: str) -> None:
    messages = [SYSTEM, *chat(2, 800)]
    fitted = fit(messages, policy, context=[Attachment("The boat is red.", "boat.md")])
    assert [decision.form for decision in fitted.plan] == ["full"] * len(fitted.plan)
    assert all(decision.reason and decision.before == decision.after > 0 for decision in fitted.plan)
    assert {f"messages[{n}].parts[0]" for n in range(6)} | {"context boat.md"} == {one.item for one in fitted.plan}
    assert (fitted.report.compacted, fitted.report.archived, fitted.report.turns_dropped) == (0, 0, False)
    assert len(fitted.report.biggest) == 5
    assert [row["item"] for row in fitted.report.as_dict()["biggest"]] == [one.item for one in fitted.report.biggest]


def test_the_plan_of_a_request_that_fits_is_made_only_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    whole = brim.planning.reports.from_plan.Itemizer
    monkeypatch.setattr("brim.planning.reports.from_plan.Itemizer", lambda *a, **k: made.append(1) or whole(*a, **k))
    fitted = fit(chat(2, 800))
    assert not made
    assert fitted.plan
    assert made


def test_every_message_of_a_very_long_history_has_a_reason() -> None:
    messages = [message for n in range(1_000) for message in (user(f"[q{n}] " * 9), assistant(f"[a{n}] " * 9))]
    fitted = fit([*messages, user("And now?")], budget=2_000)
    assert len({decision.item for decision in fitted.plan}) == 2_001
    archived = {decision.item for decision in fitted.plan if decision.form == "archived"}
    assert len(archived) == fitted.report.archived


def test_only_messages_of_the_chat_count_as_archived() -> None:
    thought = {"type": "thinking", "thinking": words(6_000), "signature": "s"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "It is red."}]}
    body = {"model": CLAUDE, "max_tokens": 9, "messages": [user("What colour?"), answer, user("Sure?")]}
    report = brim.fit(body, budget=200).report
    assert (report.archived, report.turns_dropped, report.compacted) == (0, False, 1)
    for policy in POLICIES:
        report = fit([user("What colour?")], policy, budget=60, context=[words(9_000)]).report
        assert (report.archived, report.turns_dropped) == (0, False)
        assert report.compacted
        assert fit(chat(20, 1_000), policy, budget=900).report.turns_dropped


def test_long_instructions_are_warned_of_for_every_api() -> None:
    text = "Follow the rule. " * 120
    chat_form = fit([{"role": "system", "content": text}, user("hi")], budget=600)
    body = {"model": CLAUDE, "max_tokens": 9, "system": text, "messages": [user("hi")]}
    for fitted in (chat_form, brim.fit(body, budget=600), fit([user("hi")], system=text, budget=600)):
        assert fitted.report.warnings == ("instructions and tools take 81% of the budget",)


@pytest.mark.parametrize(
    ("turns", "words_of_it"), [(2, "the oldest turn (2 messages) was dropped"), (9, "oldest turns (")]
)
def test_layered_says_how_many_turns_went_in_good_words(turns: int, words_of_it: str) -> None:
    messages = chat(turns, 1_200)
    fitted = fit(messages, "layered", budget=size(messages) - 200 if turns == 2 else 1_000)
    assert words_of_it in fitted.report.warnings[0]
    assert "1 oldest" not in fitted.report.warnings[0]


def test_warnings_of_the_report_are_told_with_their_numbers(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[brim.Event] = []
    asked = user("Where is my parcel? " + " ".join(f"ORD-{n:05d}" for n in range(300)))
    budget = int(size([asked]) / 0.96)
    with caplog.at_level(logging.INFO, "brim"):
        fitted = fit([asked], budget=budget, on_event=seen.append)
    assert [(event.kind, event.message) for event in seen] == [("warning", fitted.report.warnings[0])]
    assert seen[0].numbers["budget"] == budget
    assert (
        f"the last turn alone takes 96% of the budget tokens={seen[0].numbers['tokens']} budget={budget}" in caplog.text
    )
    session_seen: list[brim.Event] = []
    brim.Session(model=MODEL, budget=budget, on_event=session_seen.append).fit([asked])
    assert session_seen == seen


@pytest.mark.parametrize("policy", POLICIES)
def test_what_a_policy_shortens_is_told(policy: str) -> None:
    seen: list[brim.Event] = []
    messages = [user("Tell me."), assistant(words(40_000)), user("Shorter?")]
    fitted = fit(messages, policy, budget=3_000, context=[Attachment(words(60_000), "a.md")], on_event=seen.append)
    kinds = {event.kind: event.numbers for event in seen}
    assert kinds["compacted"]["before"] > kinds["compacted"]["after"] > 0
    assert all(event.numbers for event in seen)
    assert [event.message for event in seen if event.kind == "warning"] == list(fitted.report.warnings)


HELD = Attachment(words(2_400, "[mine]"), "selection.txt", recoverable=False)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("way", ["context", "carried"])
def test_what_cannot_be_fetched_again_stays_as_it_is_or_the_fit_is_refused(policy: str, way: str) -> None:
    messages = [SYSTEM, *chat(12, 1_500)]
    other = {"context": [Attachment(words(60_000, "[doc]"), "doc.md")]}
    other[way] = [*other.get(way, []), HELD]
    for budget in (4_000, 1_200, 700, 610):
        fitted = fit(messages, policy, budget=budget, **other)
        assert fitted.tokens <= budget
        assert HELD.text in "\n".join(message["content"] for message in fitted.messages)
        held = [decision for decision in fitted.plan if "selection.txt" in decision.item]
        assert [decision.form for decision in held] == ["full"]
    with pytest.raises(BudgetTooSmall):
        fit(messages, policy, budget=400, **other)


def test_what_cannot_be_fetched_again_stays_beside_a_very_long_history() -> None:
    messages = [message for n in range(1_000) for message in (user(f"[q{n}] " * 9), assistant(f"[a{n}] " * 9))]
    fitted = fit([*messages, user("And now?")], budget=2_000, carried=[HELD])
    assert HELD.text in "\n".join(message["content"] for message in fitted.messages)


@pytest.mark.parametrize(
    ("policy", "given", "limit"),
    [
        (Policy.rolling(), {}, 7_680),
        (Policy.rolling(), {"budget": 20_000}, 7_680),
        (Policy.rolling(), {"budget": 20_000, "reserve": 2_000}, 6_192),
        (Policy.rolling(), {"reserve": 2_000}, 6_192),
        (Policy.rolling(), {"budget": 5_000}, 5_000),
        (Policy.rolling(), {"budget": 5_000, "reserve": 1_000}, 4_000),
        (Policy.rolling(reserve=2_000), {}, 6_192),
        (Policy.rolling(max_prompt_tokens=30_000), {"budget": 20_000}, 20_000),
        (Policy.layered(total_budget=10_000), {"budget": 20_000}, 5_904),
        (Policy.layered(), {"reserve": 28_000}, 100_000),
        (Policy.agent(), {"budget": 20_000, "reserve": 500}, 19_500),
        (Policy.agent(), {"reserve": 28_000}, 100_000),
    ],
)
def test_the_smaller_limit_holds_and_a_reserve_always_counts(policy: Policy, given: Any, limit: int) -> None:
    assert brim.fit([user("hello")], model=MODEL, policy=policy, **given).report.limit == limit


def test_another_budget_has_the_same_reserve_and_the_same_window() -> None:
    fitted = brim.fit([user("hello")], model=MODEL, policy="rolling", budget=5_000, reserve=1_000)
    assert (fitted.at(3_000).report.limit, fitted.at(90_000).report.limit) == (2_000, 7_192)
