"""What is pinned stays verbatim through every compaction, in every API, in `fit`, in sessions and by patterns."""

from __future__ import annotations

import json
from typing import Any

import pytest

import brim
from brim import apis
from brim.pins import matches
from brim.planning.state import PlanState
from brim.stores.inmemory import InMemoryStore

RULE = "The harbour master wants fees rounded up to whole euros; see the tariff of March. " * 3
MODELS = {
    "openai_chat": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "openai_responses": "gpt-4.1",
    "gemini": "gemini-2.5-pro",
}


def said(api: str, role: str, text: str) -> dict[str, Any]:
    return apis.text_message(api, role, text).value


def chat(api: str, turns: int, at: int) -> list[dict[str, Any]]:
    """A chat in which one answer, long ago, is pinned: by itself it would be the first to go."""
    messages = []
    for turn in range(turns):
        messages.append(said(api, "user", f"Turn {turn}: what about boat {turn * 37}? " + "And the weather? " * 20))
        answer = RULE if turn == at else f"Boat {turn * 37} left. " + "Calm sea all day. " * 40
        messages.append(said(api, "assistant", answer))
    messages[2 * at + 1] = brim.pin(messages[2 * at + 1])
    return [*messages, said(api, "user", "Where is boat 5?")]


def texts(fitted: brim.Fitted) -> list[str]:
    return [message.text for message in fitted.conversation.messages]


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize("budget", [700, 1_500, 4_000])
def test_a_pinned_message_is_in_every_fit(api: str, budget: int) -> None:
    messages = chat(api, 40, at=9)
    fitted = brim.fit(messages, model=MODELS[api], api=api, budget=budget)
    assert RULE in texts(fitted)
    assert fitted.tokens <= budget
    without = [dict(message) for message in messages]
    assert RULE not in texts(brim.fit(without, model=MODELS[api], api=api, budget=700))
    assert any(step.reason == "must stay: pinned" for step in fitted.plan)


@pytest.mark.parametrize("api", MODELS)
def test_a_session_keeps_what_was_pinned_once(api: str) -> None:
    store = InMemoryStore()
    session = brim.Session(model=MODELS[api], api=api, budget=2_500, store=store, id="s")
    messages = chat(api, 40, at=1)
    for end in range(5, len(messages), 2):
        given = messages if end == 5 else [dict(message) for message in messages]  # clients resend plain JSON
        assert RULE in texts(session.fit(given[:end]))
    assert session.compactions >= 3
    again = brim.Session.load("s", store=store)
    assert RULE in texts(again.fit([*map(dict, messages), said(api, "user", "And boat 7? " * 300)]))
    assert RULE in texts(session.fork(30).say("And then? " * 500))


def test_what_is_said_may_be_pinned() -> None:
    session = brim.Session(model="gpt-4o", budget=1_200)
    session.say(brim.pin("Note for later: berth 12 has no shore power."))
    for number in range(60):
        session.record(f"Noted, number {number}. " + "Fine. " * 20)
        sent = texts(session.say(f"Message {number}: " + "the tide is high and the wind is low. " * 4))
        assert "Note for later: berth 12 has no shore power." in sent
    assert session.compactions


def tool_run(turns: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Check the pages."}]
    for turn in range(turns):
        function = {"name": "page", "arguments": json.dumps({"number": turn})}
        call = {"id": f"c{turn}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        rows = [{"id": turn * 100 + k, "state": "open", "note": "nothing special"} for k in range(12)]
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": json.dumps(rows)})
    return [*messages, {"role": "user", "content": "Which page was the third?"}]


def test_a_pinned_result_stays_with_its_call() -> None:
    messages = tool_run(30)
    messages[6] = brim.pin(messages[6])
    fitted = brim.fit(messages, model="gpt-4o", budget=1_500)
    assert messages[6] in fitted.messages
    place = fitted.messages.index(messages[6])
    assert fitted.messages[place - 1]["tool_calls"][0]["id"] == "c2"
    session = brim.Session(model="gpt-4o", budget=1_500)
    for end in range(7, len(messages) + 1, 2):
        sent = session.fit(messages[:end]).messages
        assert dict(messages[6]) in [dict(message) for message in sent]


def test_patterns_of_the_policy_pin_what_they_match() -> None:
    policy = brim.Policy.agent(pin=["fees rounded*whole EUROS"])
    messages = [dict(message) for message in chat("openai_chat", 40, at=9)]
    assert RULE in texts(brim.fit(messages, model="gpt-4o", budget=900, policy=policy))
    session = brim.Session(model="gpt-4o", budget=2_500, policy=policy)
    assert all(RULE in texts(session.fit(messages[:end])) for end in range(21, len(messages) + 1, 2))


def test_a_pattern_is_looked_for_in_what_is_said_and_not_in_results() -> None:
    user = apis.text_message("openai_chat", "user", "Please NEVER edit anything under migrations/.")
    result = apis.APIS["openai_chat"].messages.get(
        b'{"role":"tool","tool_call_id":"c","content":"never edit migrations"}', "message"
    )
    assert matches(user, ["never edit*migrations"])
    assert not matches(user, ["migrations*never"])
    assert not matches(result, ["never edit"])


@pytest.mark.parametrize("session", [True, False])
def test_a_pin_that_does_not_fit_is_named_with_its_size(session: bool) -> None:
    messages = [said("openai_chat", "user", "Read this."), brim.pin(said("openai_chat", "assistant", "word " * 3_000))]
    messages.append(said("openai_chat", "user", "And now?"))
    fit: Any = brim.Session(model="gpt-4o", budget=1_000).fit if session else brim.fit
    more = {} if session else {"model": "gpt-4o", "budget": 1_000}
    with pytest.raises(brim.BudgetTooSmall, match=r"pinned assistant messages\[1\]") as refused:
        fit(messages, **more)
    name, tokens = refused.value.must_stay[0]
    assert name == "pinned assistant messages[1]"
    assert 3_000 <= tokens <= 3_100


def test_the_plain_planner_keeps_what_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(state: PlanState, room: int) -> None:
        raise RuntimeError("a fault inside the planner")

    monkeypatch.setattr(PlanState, "rank", fails)
    messages = chat("openai_chat", 40, at=9)
    fitted = brim.fit(messages, model="gpt-4o", budget=900)
    assert RULE in texts(fitted)
    assert fitted.report.warnings
    session = brim.Session(model="gpt-4o", budget=1_500)
    assert RULE in texts(session.fit(messages))


@pytest.mark.parametrize("name", ["rolling", "concise", "layered"])
def test_a_policy_that_keeps_no_pins_says_so(name: str) -> None:
    messages = chat("openai_chat", 3, at=1)
    with pytest.raises(brim.BadInput, match="`agent` keeps what is pinned"):
        brim.fit(messages, model="gpt-4o", policy=name)
    with pytest.raises(brim.BadInput, match="`agent` keeps what is pinned"):
        brim.Session(model="gpt-4o", policy=name).fit(messages)
    with pytest.raises(brim.BadSetting, match="it is one of agent"):
        brim.Policy.named(name, {"pin": ["never edit"]})


@pytest.mark.parametrize("pattern", ["*", "a*", "  ", "x" * 501, 5, ["y"]])
def test_a_pattern_that_would_pin_everything_or_nothing_is_refused(pattern: Any) -> None:
    with pytest.raises(brim.BadSetting, match=r"policy\.pin"):
        brim.Policy.agent(pin=[pattern])


def test_what_cannot_be_pinned_is_refused() -> None:
    with pytest.raises(brim.BadInput, match="pin: must be a message or a text"):
        brim.pin(5)  # type: ignore[call-overload]


def test_a_marked_message_is_the_dict_that_it_was() -> None:
    message = {"role": "user", "content": "Hello."}
    assert brim.pin(message) == message
    assert json.dumps(brim.pin(message)) == json.dumps(message)
    assert brim.fit([brim.pin(message)], model="gpt-4o").messages == [message]
