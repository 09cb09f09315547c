"""Talks: what a question is about comes back, as far as the prices of the provider's cache allow."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

import brim
from brim import catalog
from brim.catalog.caching import Caching, caching_of
from brim.memory.recollection import HEADER
from brim.memory.session import Session
from brim.memory.talk import Talk, evidence_room

NOUNS = "kettle violin marble granite station ticket window garden engine carpet lantern pillow bridge".split()
SECRET = "The spare key of the lighthouse hangs behind the blue ladder."


def talk(turns: int, words: int = 60) -> list[dict[str, Any]]:
    """A long chat about many things; one of them is told in its third message."""
    rng = random.Random(5)
    messages: list[dict[str, Any]] = []
    for number in range(turns):
        said = SECRET if number == 1 else f"Entry {number}: " + " ".join(rng.choices(NOUNS, k=words))
        messages.append({"role": "user", "content": said})
        messages.append({"role": "assistant", "content": f"Noted entry {number}."})
    return messages


def asked(session: Session, messages: list[dict[str, Any]], question: str) -> list[str]:
    sent = session.fit([*messages, {"role": "user", "content": question}])
    assert session.budget is not None
    assert sent.tokens <= session.budget
    return [message.text for message in sent.conversation.messages]


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "gpt-4"])
@pytest.mark.parametrize("budget", [900, 3_000, 12_000])
def test_a_question_brings_back_what_answers_it_however_full_the_window_is(model: str, budget: int) -> None:
    messages = talk(300)
    session = Session(model=model, budget=budget, api="openai_chat")
    for end in range(1, len(messages), 2):
        session.fit(messages[:end])
    assert SECRET in "\n".join(asked(session, messages, "Where is the key of the lighthouse?"))


def test_a_history_that_is_sent_at_once_is_searched_for_the_question() -> None:
    session = Session(model="gpt-4o", budget=900)
    assert SECRET in "\n".join(asked(session, talk(300), "Where is the key of the lighthouse?"))


def test_evidence_that_is_too_much_together_is_shown_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Talk, "_size", lambda talk, line: int(talk.work.counter.text(line) * 0.9))
    question = "Where is the key of the lighthouse, the kettle and the violin?"
    sent = asked(Session(model="gpt-4o", budget=900), talk(300, words=12), question)
    recalled = next(text for text in sent if text.startswith(HEADER))
    assert SECRET in recalled
    assert recalled.count("\n") > 5


def test_evidence_stands_at_the_end_and_what_was_sent_before_it_stays() -> None:
    messages = talk(300)
    session = Session(model="claude-sonnet-4-5", budget=12_000, api="openai_chat")
    for end in range(1, len(messages), 2):
        before = session.fit(messages[:end])
    then = asked(session, messages, "Where is the key of the lighthouse?")
    sent = [message.text for message in before.conversation.messages]
    same = next((n for n, (one, two) in enumerate(zip(sent, then, strict=False)) if one != two), len(sent))
    assert sum(map(len, sent[:same])) > 0.5 * sum(map(len, sent))
    assert any(SECRET in text for text in then)
    assert then[-1] == "Where is the key of the lighthouse?"


def test_a_message_that_asks_for_nothing_only_extends_what_was_sent() -> None:
    messages = talk(120)
    session = Session(model="gpt-4o", budget=9_000)
    for end in range(1, len(messages), 2):
        before = session.fit(messages[:end])
    replans = session.replans
    sent = [message.raw for message in before.conversation.messages]
    thanks = session.fit([*messages, {"role": "user", "content": "Thanks!"}])
    if session.replans == replans:
        assert [message.raw for message in thanks.conversation.messages][: len(sent)] == sent
    assert thanks.tokens <= 9_000


def test_what_a_question_may_cost_is_what_another_turn_would() -> None:
    half, tenth, none = (caching_of(catalog.find(name)) for name in ("gpt-4o", "claude-sonnet-4-5", "gpt-4"))
    assert evidence_room(half, 5_000) == 5_000
    assert evidence_room(none, 50_000) == 50_000
    assert 2_000 < evidence_room(tenth, 20_000) < 5_000
    assert evidence_room(Caching(1_024, 0.0, 1.0, 0.0), 20_000) == 0


def test_folded_messages_are_found_by_the_handle_that_stands_for_them() -> None:
    messages = talk(300)
    session = Session(model="claude-sonnet-4-5", budget=12_000, api="openai_chat")
    for end in range(1, len(messages), 2):
        session.fit(messages[:end])
    (handle, *_), read = session.view.handles(), ""
    while handle:
        text = session.recall(handle)
        read += text
        head = text.partition("\n")[0]
        handle = head.partition("brim:")[2].rstrip("]") if head.startswith("[") else ""
    assert SECRET in read


def test_tools_end_a_talk() -> None:
    messages = talk(60)
    session = Session(model="gpt-4o", budget=2_000)
    session.fit(messages[:-1])
    function = {"name": "look", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function}
    acted = [
        *messages[:-1],
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"found": "ORD-17"}'},
    ]
    fitted = session.fit(acted)
    assert fitted.tokens <= 2_000
    assert "ORD-17" in fitted.messages[-1]["content"]
    assert isinstance(fitted, brim.Fitted)


def test_a_pasted_document_is_cut_to_its_room_and_stays_while_it_is_asked_about() -> None:
    log = "\n".join(
        f"2026-11-{n % 28 + 1:02d} {('INFO', 'WARN')[n % 2]} parcel {n * 7919 % 10_007} left" for n in range(5_000)
    )
    chat = [{"role": "user", "content": "Here is a log:\n" + log}, {"role": "assistant", "content": "Read."}]
    session = brim.Session(model="gpt-4o", budget=15_000)
    shown = []
    for question in ("What of it?", "And of the parcels?", "Which were late?"):
        chat.append({"role": "user", "content": question})
        fitted = session.fit(chat)
        assert 5_000 < fitted.tokens <= 15_000
        shown.append(fitted.messages[0]["content"])
        chat.append({"role": "assistant", "content": "None."})
    assert "Here is a log:" in shown[0]
    assert shown[0] == shown[1] == shown[2]
    assert any(session.recall(handle) == chat[0]["content"] for handle in re.findall(r"brim:[0-9a-f]+", shown[0]))


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_instructions_in_the_middle_of_a_talk_stay_in_every_request(model: str) -> None:
    session = Session(model=model, api="openai_chat", budget=3_000)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are helpful."}]
    for number in range(50):
        if number in (8, 20):
            messages.append({"role": "system", "content": f"From now on follow rule ZX-{number}."})
        messages.append({"role": "user", "content": f"Question {number}: " + f"what of item{number}? " * 15})
        fitted = session.fit(messages)
        assert fitted.tokens <= 3_000
        told = [message["content"] for message in fitted.messages if message["role"] == "system"]
        assert told == [message["content"] for message in messages if message["role"] == "system"]
        messages.append({"role": "assistant", "content": f"Answer {number}: " + f"it is thing{number}. " * 15})
    assert session.replans
