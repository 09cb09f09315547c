"""Context that is attached to a turn: it stands with its turn, and nothing of it is ever lost."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import brim
from brim.sessions.session import Session
from brim.stores.inmemory import InMemoryStore

HANDLE = re.compile(r"brim:[0-9a-f]{8,}")


def answer(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def words(tag: str, count: int) -> str:
    return " ".join(f"{tag}{number % 37}" for number in range(count))


def reachable(session: Session, messages: Any) -> str:
    """What stands in a request, and what its handles lead to."""
    found, seen = json.dumps(messages), set[str]()
    while handles := set(HANDLE.findall(found)) - seen:
        seen |= handles
        found += "".join(session.recall(handle) for handle in sorted(handles))
    return found


@pytest.mark.parametrize("budget", [3_000, 20_000])
def test_the_context_of_the_current_turn_is_in_every_request(budget: int) -> None:
    session = Session(model="gpt-4o", budget=budget)
    for turn in range(24):
        session.attach(f"# Notes {turn}\n{words('note', budget // 15)} CODE-{turn}", source=f"notes{turn}.md")
        fitted = session.say(f"Question {turn}: what do the notes say?")
        assert fitted.tokens <= budget
        assert f'source=\\"notes{turn}.md' in json.dumps(fitted.messages)
        assert any(layer.layer == 3 and layer.after for layer in fitted.report.layers)
        session.record(answer(words("answer", 40)))
    assert session.compactions > 1


@pytest.mark.parametrize("budget", [1_500, 4_000])
def test_context_of_long_ago_is_in_the_prompt_or_one_recall_away(budget: int) -> None:
    session = Session(model="gpt-4o", budget=budget)
    for turn in range(60):
        if turn < 2:
            session.attach(f"# Berths {turn}\n{words('berth', 200)} BERTHCODE-7{turn}", source=f"berths{turn}.md")
        fitted = session.say(f"Question {turn} {words(f'q{turn}x', 50)}")
        found = reachable(session, fitted.messages)
        assert "BERTHCODE-70" in found
        session.record(answer(words(f"a{turn}x", 50)))
    assert "BERTHCODE-71" in found


def test_a_search_and_an_export_hold_attached_context() -> None:
    session = Session(model="gpt-4o", budget=4_000)
    session.attach("The master key hangs in LOCKER-41.", source="keys.md")
    session.say("Where is the key?")
    assert session.search("LOCKER-41") == [(0, "The master key hangs in LOCKER-41.")]
    other = Session.import_(list(session.export()), store=InMemoryStore())
    assert other.search("LOCKER-41") == [(0, "The master key hangs in LOCKER-41.")]
    assert len(other.log) == 1


def test_a_message_that_is_edited_keeps_its_context() -> None:
    session = Session(model="gpt-4o")
    session.attach("SECRET-9", source="a.md")
    session.fit([{"role": "user", "content": "first"}])
    edited = session.fit([{"role": "user", "content": "first, in other words"}])
    assert json.dumps(edited.messages).count("SECRET-9") == 1


def test_an_edit_within_what_is_archived_keeps_the_context_before_it() -> None:
    session = Session(model="gpt-4o", budget=1_500)
    messages: list[dict[str, Any]] = []
    for turn in range(20):
        if turn == 1:
            session.attach("The code is SECRET-9. " + words("x", 60), source="a.md")
        messages += [{"role": "user", "content": f"Question {turn} {words('q', 60)}"}]
        session.fit(messages)
        messages += [{"role": "assistant", "content": words("a", 60)}]
    messages[10] = {"role": "user", "content": "Something else?"}
    fitted = session.fit(messages[:11])
    assert "SECRET-9" in reachable(session, fitted.messages)
    assert [at for at, _ in session.history.attached.pieces] == [2]


def test_context_waits_for_the_next_request_when_one_is_refused() -> None:
    session = Session(model="gpt-4o", budget=200)
    session.attach("SECRET-9", source="a.md")
    asked = {"role": "user", "content": "hello"}
    with pytest.raises(brim.BudgetTooSmall):
        session.fit([{"role": "system", "content": words("rule", 400)}, asked])
    session.configure(budget=3_000)
    for _ in range(2):
        fitted = session.fit([{"role": "system", "content": "Be brief."}, asked])
        assert json.dumps(fitted.messages).count("SECRET-9") == 1


def test_context_that_is_attached_before_a_request_is_sent_again_goes_with_it() -> None:
    session = Session(model="gpt-4o")
    messages = [{"role": "user", "content": "hello"}]
    session.fit(messages)
    session.attach("SECRET-9", source="a.md")
    assert json.dumps(session.fit(messages).messages).count("SECRET-9") == 1


def test_context_that_waits_for_a_message_survives_a_reload() -> None:
    store = InMemoryStore()
    session = Session(model="gpt-4o", store=store, id="s")
    session.say("hello")
    session.attach("SECRET-9", source="a.md")
    later = Session.load("s", store=store)
    assert "SECRET-9" in json.dumps(later.say("and now?").messages)


@pytest.mark.parametrize("policy", ["rolling", "concise", "layered"])
def test_under_every_policy_a_search_finds_context(policy: str) -> None:
    session = Session(model="gpt-4o", budget=2_000, policy=policy)
    session.attach("The master key hangs in LOCKER-41. " + words("x", 200), source="keys.md")
    for turn in range(10):
        session.say(f"Question {turn} {words('q', 60)}")
        session.record(answer(words("a", 60)))
    assert any("LOCKER-41" in text for _, text in session.search("LOCKER-41"))


def test_a_fork_has_the_context_of_what_it_begins_with_and_of_the_message_that_it_changes() -> None:
    session = Session(model="gpt-4o", budget=4_000)
    for turn in range(3):
        session.attach(f"SECRET-{turn}", source=f"{turn}.md")
        session.say(f"Question {turn}")
        if turn != 1:
            session.record(answer(f"Answer {turn}"))
    other = session.fork(3)  # question 0, its answer, question 1
    fitted = json.dumps(other.say("Question 2 in other words").messages)
    assert [fitted.count(f"SECRET-{turn}") for turn in range(3)] == [1, 1, 1]
    assert [at for at, _ in other.history.attached.pieces] == [0, 2, 3]
