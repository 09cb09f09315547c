"""A session and its store: several holders of one session, rows that are gone, models that change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import brim
from brim import models
from brim.content import handle_of
from brim.sessions.router import SessionRouter
from brim.sessions.session import Session
from brim.stores.inmemory import InMemoryStore
from brim.stores.resilient import open_store


def answer(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def calls(name: str) -> dict[str, Any]:
    call = {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}


def agent(steps: int, size: int = 60) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look everything up."}]
    for step in range(steps):
        reply = calls(f"c{step}")["choices"][0]["message"]
        said = " ".join(f"row {step}.{n} of the 請求書" for n in range(size))
        messages += [reply, {"role": "tool", "tool_call_id": f"c{step}", "content": said}]
    return messages


def texts(session: Session) -> list[str]:
    return [message.text for message in session.log]


def test_what_another_holder_finished_is_read_before_the_next_message(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    first = Session(model="gpt-4o", store=path, id="x")
    first.say("one")
    first.record(answer("1"))
    second = Session.load("x", store=path)
    for number, holder in enumerate((first, second, first, second)):
        holder.say(f"question {number}")
        holder.record(answer(f"answer {number}"))
    assert second.id == first.id == "x"
    said = [f"{what} {number}" for number in range(4) for what in ("question", "answer")]
    assert texts(Session.load("x", store=path)) == ["one", "1", *said]


def test_a_holder_that_others_went_on_without_goes_on_as_a_session_of_its_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "b.db"
    start = Session(model="gpt-4o", store=path, id="x")
    start.say("first question")
    ours, theirs = Session.load("x", store=path), Session.load("x", store=path)
    ours.record(calls("c1"))
    theirs.record(calls("c2"))
    ours.say({"role": "tool", "tool_call_id": "c1", "content": "r1"})
    theirs.say({"role": "tool", "tool_call_id": "c2", "content": "r2"})
    assert ours.id == "x"
    assert theirs.id != "x"
    assert theirs.id in caplog.text
    for session, result in ((ours, "r1"), (theirs, "r2")):
        kept = Session.load(session.id, store=path)
        assert texts(kept) == ["first question", "{}", result]
        assert len(kept.say("and now?").messages) == 4


def test_workers_that_share_a_store_send_what_one_alone_would_send(tmp_path: Path) -> None:
    messages = agent(30)
    workers = [SessionRouter(tmp_path / "b.db", budget=3_000) for _ in range(2)]
    alone = SessionRouter(None, budget=3_000)
    for turn, end in enumerate(range(1, len(messages) + 1, 2)):
        body = {"model": "gpt-4o", "messages": messages[:end]}
        shared = workers[turn % 2].of(body).fit(body)
        assert shared.messages == alone.of(body).fit(body).messages
    assert len(brim.list_sessions(tmp_path / "b.db")) == 1


@pytest.mark.parametrize("how", ["evicted", "deleted"])
def test_a_session_whose_rows_are_gone_is_written_again(
    how: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path / "b.db")
    session = Session(model="gpt-4o", budget=2_000, store=store, id="x")
    messages = agent(12)
    session.fit(messages)
    assert session.compactions
    if how == "evicted":
        store.delete_session("x")
    else:
        for file in tmp_path.iterdir():
            file.unlink()
    more = [*messages, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks."}]
    fitted = session.fit(more)
    assert "written again" in caplog.text
    kept = Session.load("x", store=store)
    assert texts(kept) == texts(session)
    for handle in session.view.handles():
        assert session.recall(handle)
    assert fitted.tokens <= 2_000


def test_a_recall_finds_what_is_in_the_log_when_the_store_has_lost_it() -> None:
    store = InMemoryStore()
    session = Session(model="gpt-4o", store=store, id="x")
    session.attach("A long text. " * 100, source="a.md")
    session.say("hello")
    store.delete_session("x")
    assert session.recall(handle_of("A long text. " * 100)) == "A long text. " * 100


@pytest.mark.parametrize("other", ["claude-sonnet-4-5", "gpt-4", "gemini-2.5-pro"])
def test_a_model_that_counts_otherwise_is_sent_no_more_than_the_budget(other: str) -> None:
    messages = agent(40, 12)
    while int(brim.count(messages, model="gpt-4o")) > 3_900:
        messages = messages[:-2]
    more = [*messages, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go on"}]
    store = InMemoryStore()
    session = Session(model="gpt-4o", budget=4_000, store=store, id="x")
    session.fit(messages)
    loaded = Session.load("x", store=store, model=other)
    session.configure(model=models.find(other))
    for one in (loaded, session):
        fitted = one.fit(more)
        assert fitted.tokens == int(brim.count(fitted.messages, model=other)) <= 4_000


def test_the_window_is_that_of_the_model_that_a_request_names() -> None:
    messages: list[dict[str, Any]] = []
    for number in range(60):
        messages += [{"role": "user", "content": f"Question {number}: " + "what is that? " * 60}]
        messages += [{"role": "assistant", "content": "It is this. " * 40}]
    first = {"model": "gpt-4o", "messages": [*messages, {"role": "user", "content": "q"}]}
    then = {"model": "gpt-4", "messages": [*first["messages"], *agent(1)]}
    sessions = SessionRouter(None)
    session = sessions.of(first)
    assert session.fit(first).tokens > 20_000
    assert sessions.of(then).model.name == "gpt-4"
    assert session.fit(then).tokens < 8_192
    alone = Session(model="gpt-4o")
    assert alone.fit(then).tokens < 8_192


def test_a_model_that_was_given_as_an_object_holds_whatever_a_body_names() -> None:
    model = models.find("gpt-4o")
    session = Session(model=model)
    session.fit({"model": "gpt-4", "messages": [{"role": "user", "content": "hi"}]})
    assert session.model is model


def test_a_body_that_names_an_unknown_model_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    session = Session(model="gpt-4o")
    for _ in range(3):
        session.fit({"model": "harbour-9000", "messages": [{"role": "user", "content": "hi"}]})
    assert session.model.name == "gpt-4o"
    assert caplog.text.count("harbour-9000") == 1


def test_a_new_session_with_the_id_of_a_stored_one_goes_on_with_it() -> None:
    store = InMemoryStore()
    first = Session(model="gpt-4o", store=store, id="x")
    first.say("one")
    first.record(answer("1"))
    again = Session(model="gpt-4o", store=store, id="x")
    assert len(again.say("two").messages) == 3
    assert texts(Session.load("x", store=store)) == ["one", "1", "two"]
