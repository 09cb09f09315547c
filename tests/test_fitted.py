"""What `brim.fit` gives back: another budget, events, warnings, refusals."""

from __future__ import annotations

import copy
import json
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
    archived = next(event for event in seen if event.kind == "archived")
    assert fitted.report.archived
    assert str(fitted.report.archived) in " ".join(map(str, archived.numbers.values()))
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


def test_another_budget_keeps_the_reserve() -> None:
    fitted = brim.fit(chat(40), model="gpt-4o", budget=1_000, reserve=400)
    assert fitted.report.limit == fitted.at(1_000).report.limit == 600
    assert fitted.at(2_000).tokens <= 1_600
    with pytest.raises(brim.BadInput, match="reserve: 400 tokens leave nothing of the budget of 300"):
        fitted.at(300)
    session = brim.Session(model="gpt-4o", budget=1_000, reserve=400)
    assert session.fit(chat(40)).at(1_000).report.limit == 600


LARGE = [{"role": "user", "content": "word " * 30_000}, {"role": "user", "content": "So?"}]
SMALL_WINDOW = brim.Model("own-1", "me", 8_000, 1_000, "o200k", None, "openai_chat", "set by hand")


@pytest.mark.parametrize("make", [brim.fit, lambda request, **more: brim.Session(**more).fit(request)])
def test_a_budget_above_the_window_is_held_by_the_window_and_that_is_said(make: Any) -> None:
    seen: list[Any] = []
    fitted = make(LARGE, model=SMALL_WINDOW, budget=500_000, on_event=seen.append)
    assert fitted.report.limit == 8_000
    assert fitted.report.upper <= 8_000
    told = "the budget of 500,000 tokens is more than own-1 takes: its window leaves 8,000, which is the limit now"
    assert fitted.report.warnings[0] == told
    assert told in [event.message for event in seen if event.kind == "warning"]
    assert fitted.at(600_000).report.limit == 8_000


def test_a_budget_leaves_room_in_the_window_for_the_answer_that_is_asked_for() -> None:
    body = {"model": "own-1", "max_tokens": 3_000, "messages": LARGE}
    assert brim.fit(body, model=SMALL_WINDOW, budget=7_000).report.limit == 5_000
    assert brim.fit(body, model=SMALL_WINDOW, budget=500_000, reserve=4_000).report.limit == 4_000
    inside = brim.fit(body, model=SMALL_WINDOW, budget=5_000)
    assert (inside.report.limit, inside.report.warnings) == (5_000, ())
    policy = brim.Policy.rolling(budget=500_000)
    assert brim.fit(LARGE, model=SMALL_WINDOW, policy=policy).tokens <= 8_000


@pytest.mark.parametrize("budget", [None, 1_000])
@pytest.mark.parametrize("make", [brim.fit, lambda request, **more: brim.Session(**more).fit(request)])
def test_messages_that_can_be_read_only_once_come_back_as_a_list(make: Any, budget: int | None) -> None:
    messages = chat(40)
    fitted = make((message for message in messages), model="gpt-4o", budget=budget)
    assert fitted.messages == make(messages, model="gpt-4o", budget=budget).messages
    assert fitted.at(2_000).messages == make(messages, model="gpt-4o", budget=budget).at(2_000).messages


@pytest.mark.parametrize("make", [brim.fit, lambda request, **more: brim.Session(**more).fit(request)])
@pytest.mark.parametrize("kind", ["tuple", "bytes", "bytearray", "str"])
def test_a_request_keeps_its_type_and_its_messages_can_always_be_read(make: Any, kind: str) -> None:
    messages = chat(40)
    raw = json.dumps({"model": "gpt-4o", "messages": messages})
    request: Any = {
        "tuple": tuple(messages),
        "bytes": raw.encode(),
        "bytearray": bytearray(raw.encode()),
        "str": raw,
    }[kind]
    same, changed = make(request, model="gpt-4o"), make(request, model="gpt-4o", budget=1_000)
    assert same.body is request
    assert list(same.messages) == messages
    assert type(changed.body) is type(request)
    assert changed.messages[0] == messages[0]
    assert changed.tokens <= 1_000


USER = {"role": "user", "content": "hello"}
CHAT_TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
CLAUDE_TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]


def test_instructions_beside_a_list_are_its_first_message_where_they_are_one() -> None:
    for given in ([USER], json.dumps([USER]).encode()):
        fitted = brim.fit(given, model="gpt-4o", system="Be brief.", tools=CHAT_TOOLS)
        assert fitted.messages == [{"role": "system", "content": "Be brief."}, USER]
        assert type(fitted.body) is type(given)
        assert (fitted.system, fitted.tools) == (None, CHAT_TOOLS)
        assert fitted.tokens == brim.count(fitted.messages, model="gpt-4o", tools=fitted.tools).tokens


def test_instructions_beside_a_list_come_back_beside_it_where_they_are_no_message() -> None:
    messages = [USER]
    fitted = brim.fit(messages, model="claude-sonnet-4-5", system="Be brief.", tools=CLAUDE_TOOLS)
    assert fitted.body is messages or fitted.body == messages
    assert (fitted.system, fitted.tools) == ("Be brief.", CLAUDE_TOOLS)
    long = "Be brief.\n<notes>\n" + "A note on ropes. " * 900 + "\n</notes>"
    short = brim.fit([USER], model="claude-sonnet-4-5", system=long, budget=400)
    assert "Be brief." in short.system
    assert brim.count(short.messages, model="claude-sonnet-4-5", system=short.system).tokens == short.tokens <= 400


@pytest.mark.parametrize("as_bytes", [False, True])
@pytest.mark.parametrize(
    ("model", "body", "tools", "choice", "wanted"),
    [
        (
            "gpt-4o",
            {"messages": [USER]},
            CHAT_TOOLS,
            "auto",
            {"messages": [{"role": "system", "content": "Go."}, USER]},
        ),
        ("claude-sonnet-4-5", {"max_tokens": 9, "messages": [USER]}, CLAUDE_TOOLS, {"type": "any"}, {"system": "Go."}),
        ("gpt-4o", {"input": [USER]}, CHAT_TOOLS, "auto", {"instructions": "Go."}),
    ],
)
def test_what_is_given_beside_a_body_is_in_the_body(
    model: str, body: Any, tools: Any, choice: Any, wanted: Any, as_bytes: bool
) -> None:
    given = json.dumps(body).encode() if as_bytes else body
    fitted = brim.fit(given, model=model, system="Go.", tools=tools, tool_choice=choice)
    found = json.loads(fitted.body) if as_bytes else fitted.body
    assert found == {**body, **wanted, "tools": tools, "tool_choice": choice}
    assert brim.count(fitted.body, model=model).tokens == fitted.tokens
    assert "Go." not in str(body)


def test_a_session_sends_the_instructions_that_are_given_beside_its_messages() -> None:
    session = brim.Session(model="gpt-4o")
    first = session.fit([USER], system="Be brief.")
    assert first.messages == [{"role": "system", "content": "Be brief."}, USER]
    more = [USER, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "And now?"}]
    second = session.fit(more, system="Be brief.")
    assert second.messages == [{"role": "system", "content": "Be brief."}, *more]
    assert second.messages[1] is more[0]
    assert [step.item for step in second.plan] == ["system", "messages[0]", "messages[1]", "messages[2]"]
    assert second.at(500).messages == second.messages


def test_another_budget_of_a_turn_of_a_session_has_its_instructions_and_tools() -> None:
    session = brim.Session(model="claude-sonnet-4-5", system="Be brief.", tools=CLAUDE_TOOLS)
    for fitted in (session.say("hello"), session.fit([USER], system="Be brief.", tools=CLAUDE_TOOLS)):
        other = fitted.at(5_000)
        assert (other.system, other.tools, other.tokens) == (fitted.system, fitted.tools, fitted.tokens)
        assert fitted.system == "Be brief."
