"""Which session a request belongs to."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import brim
from brim.sessions.router import SessionRouter
from brim.stores.resilient import open_store


def chat(turns: int, name: str = "a", words: int = 40) -> list[dict[str, Any]]:
    found = []
    for number in range(turns):
        found.append({"role": "user", "content": f"{name} question {number}: " + "word " * words})
        found.append({"role": "assistant", "content": f"{name} answer {number}"})
    return found


def body(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": messages}


def test_a_client_without_an_id_is_followed_by_what_it_sent() -> None:
    sessions = SessionRouter(budget=2_000)
    one, two = chat(30, "a"), chat(30, "b")
    seen = set()
    for end in range(1, 60, 2):
        for messages in (one, two):
            session = sessions.of(body(messages[:end]))
            session.fit(body(messages[:end]))
            seen.add((session.id, messages[0]["content"]))
    assert len(seen) == 2
    assert len({id for id, _ in seen}) == 2


def test_a_clients_id_tells_conversations_apart_that_say_the_same() -> None:
    sessions = SessionRouter(budget=2_000)
    messages = chat(3)[:-1]
    ids = {sessions.of(body(messages), client).id for client in ("x", "y", "x")}
    assert len(ids) == 2
    assert all(id.startswith(("x.", "y.")) for id in ids)


def test_side_calls_under_one_id_are_sessions_of_their_own() -> None:
    sessions = SessionRouter(budget=2_000)
    main, title = chat(3)[:-1], [{"role": "user", "content": "Give this chat a title."}]
    assert sessions.of(body(main), "x").id != sessions.of(body(title), "x").id


def test_a_branch_leaves_the_first_session_as_it_was_and_keeps_the_common_part() -> None:
    sessions = SessionRouter(budget=10_000)
    messages = chat(60, words=300)
    for end in range(1, 120, 2):
        first = sessions.of(body(messages[:end]))
        first.fit(body(messages[:end]))
    assert first.compactions
    sent = [entry.message.raw for entry in first.view.entries]
    summary = next(number for number, entry in enumerate(first.view.entries) if entry.kind == "summary")
    at = max(entry.end for entry in first.view.entries[: summary + 1]) + 2  # what is older is told in the summary
    common = next(number for number, entry in enumerate(first.view.entries) if entry.start >= at)
    branch = [*messages[:at], {"role": "user", "content": "No, something else."}]
    second = sessions.of(body(branch))
    assert second.id != first.id
    fitted = second.fit(body(branch))
    assert [message.raw for message in fitted.conversation.messages][:common] == sent[:common]
    assert [entry.message.raw for entry in first.view.entries] == sent
    assert sessions.of(body([*messages, {"role": "user", "content": "Go on."}])).id == first.id
    assert sessions.of(body([*branch, {"role": "assistant", "content": "ok"}, *chat(1, "z")[:1]])).id == second.id


def test_an_edit_of_the_newest_turn_stays_in_its_session() -> None:
    sessions = SessionRouter(budget=2_000)
    messages = chat(6)[:-1]
    first = sessions.of(body(messages))
    first.fit(body(messages))
    edited = [*messages[:-1], {"role": "user", "content": "Or rather this."}]
    assert sessions.of(body(edited)).id == first.id


def test_conversations_that_only_begin_alike_are_strangers() -> None:
    sessions = SessionRouter(budget=2_000)
    hello = {"role": "user", "content": "hi"}
    for name in ("a", "b"):
        session = sessions.of(body([hello, *chat(5, name)[1:-1]]))
        session.fit(body([hello, *chat(5, name)[1:-1]]))
    assert len(sessions) == 2


def test_the_least_used_sessions_are_let_go_and_come_back(tmp_path: Path) -> None:
    store = open_store(tmp_path / "brim.db")
    sessions = SessionRouter(store, live=2, budget=1_200, model="gpt-4o")
    ids, sent = [], []
    for number in range(5):
        messages = chat(30, f"client {number}")[:-1]
        session = sessions.of(body(messages))
        sent.append(session.fit(body(messages)).messages)
        ids.append(session.id)
    assert len(sessions) == 2
    for number in (0, 3, 1):
        messages = chat(30, f"client {number}")[:-1]
        session = sessions.of(body(messages))
        assert session.id == ids[number]
        assert session.fit(body(messages)).messages == sent[number]
    assert sessions.get(ids[2]).id == ids[2]
    with pytest.raises(brim.NotFound):
        sessions.get("nobody")
    store.close()


def test_another_process_takes_up_a_conversation(tmp_path: Path) -> None:
    messages = chat(30)
    store = open_store(tmp_path / "brim.db")
    before = SessionRouter(store, budget=1_200).of(body(messages[:-1]))
    alone = SessionRouter(budget=1_200).of(body(messages[:-1]))
    assert before.fit(body(messages[:-1])).messages == alone.fit(body(messages[:-1])).messages
    store.close()
    again = open_store(tmp_path / "brim.db")
    longer = [*messages, {"role": "user", "content": "Thanks."}]
    after = SessionRouter(again, budget=1_200).of(body(longer))
    assert after.id == before.id
    assert after.fit(body(longer)).messages == alone.fit(body(longer)).messages
    again.close()


def test_many_threads_share_one_registry() -> None:
    sessions = SessionRouter(budget=1_500)
    problems: list[str] = []

    def client(name: str) -> None:
        messages = chat(25, name)
        ids = set()
        for end in range(1, 50, 2):
            session = sessions.of(body(messages[:end]))
            if session.fit(body(messages[:end])).tokens > 1_500:
                problems.append(f"{name} is over")
            ids.add(session.id)
        if len(ids) != 1:
            problems.append(f"{name} had {len(ids)} sessions")

    threads = [threading.Thread(target=client, args=(f"client {number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_tenants_with_the_same_id_and_messages_have_sessions_of_their_own(tmp_path) -> None:
    messages = chat(6, "a")
    store = open_store(tmp_path / "brim.db")
    for client in ("desk", None):
        sessions = SessionRouter(store, budget=1_200)
        ids = []
        for tenant in ("ann", "bob", ""):
            session = sessions.of(body(messages), client, tenant=tenant)
            session.fit(body(messages))
            ids.append(session.id)
        assert len(set(ids)) == 3
        assert not client or ids[-1].startswith("desk.")  # of no tenant: as files of earlier versions have it
        again = SessionRouter(store, budget=1_200)
        longer = [*messages, {"role": "user", "content": "Go on."}]
        assert [again.of(body(longer), client, tenant=tenant).id for tenant in ("ann", "bob", "")] == ids
        assert again.of(body(longer), client, tenant="eve").id not in ids


def test_a_client_cannot_spell_the_session_of_another_tenant() -> None:
    messages = chat(6, "a")
    sessions = SessionRouter(budget=1_200)
    theirs = sessions.of(body(messages), "desk", tenant="ann")
    theirs.fit(body(messages))
    assert sessions.of(body(messages), "ann~desk").id != theirs.id
    assert sessions.of(body(messages), "ann~desk", tenant="bob").id != theirs.id
