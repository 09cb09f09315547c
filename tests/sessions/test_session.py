"""The promises of sessions, on arbitrary conversations of every API that grow, are edited and branch."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim import apis, models
from brim.sessions.session import Session
from brim.sessions.view import Entry
from brim.stores.inmemory import InMemoryStore
from brim.tokens.counter import Counter
from tests.conversations import MAKERS, MODELS, problems, turns

BUDGETS = st.integers(150, 3_000)
HANDLE = re.compile(r"brim:[0-9a-f]{8,}")


@st.composite
def growing(draw: Any) -> tuple[str, str, list[dict[str, Any]]]:
    """(API, model, bodies): the requests of one conversation, which now and then is edited or taken up earlier."""
    api = draw(st.sampled_from(sorted(MAKERS)))
    system = draw(st.none() | st.just("You are a careful assistant."))
    said = draw(turns())
    bodies = []
    for length in range(1, len(said) + 1):
        if said[length - 1]["kind"] == "assistant":
            continue
        bodies.append(MAKERS[api](said[:length], system))
        if draw(st.integers(0, 4)) == 0:  # the user edits a message, or goes on from an earlier one
            at = draw(st.integers(0, length - 1))
            text = draw(st.sampled_from(["No, wait.", "other " * 50]))
            bodies.append(MAKERS[api]([*said[:at], {"kind": "user", "text": text, "image": False}], system))
    return api, draw(st.sampled_from(MODELS[api])), bodies


def measured(api: str, body: Any, model: str) -> int:
    return Counter(models.find(model), api).total(apis.parse(body, api))


def fitted(session: Session, body: dict[str, Any], api: str) -> brim.Fitted | None:
    """The fitted body; None if it was refused, as it may be."""
    try:
        return session.fit_parsed(body, apis.parse(body, api))
    except brim.BudgetTooSmall:
        return None


def said(body: dict[str, Any], api: str) -> list[bytes]:
    return [message.raw for message in apis.parse(body, api).messages]


# Each of these plans every conversation twice.
FEWER = settings(max_examples=settings().max_examples * 2 // 5)


@given(growing(), BUDGETS)
def test_every_request_of_a_growing_conversation_is_within_its_budget_and_valid(
    conversation: tuple[str, str, list[dict[str, Any]]], budget: int
) -> None:
    api, model, bodies = conversation
    session = Session(model=model, budget=budget, api=api)
    for body in bodies:
        before = json.dumps(body)
        found = fitted(session, body, api)
        assert json.dumps(body) == before
        if found is not None:
            assert measured(api, found.body, model) <= budget
            assert found.tokens == measured(api, found.body, model)
            assert problems(api, found.body) == []


@given(growing(), BUDGETS)
def test_the_next_turn_only_extends_the_prefix_already_sent(
    conversation: tuple[str, str, list[dict[str, Any]]], budget: int
) -> None:
    api, model, bodies = conversation
    session = Session(model=model, budget=budget, api=api, breakpoints=False)
    sent: list[bytes] = []
    log: list[bytes] = []
    for body in bodies:
        compactions, given_messages = session.compactions, said(body, api)
        found = fitted(session, body, api)
        if found is None:
            sent, log = [], given_messages
            continue
        now = [message.raw for message in found.conversation.messages]
        if session.compactions == compactions and given_messages[: len(log)] == log:
            assert now[: len(sent)] == sent
        sent, log = now, given_messages


@given(growing())
def test_an_untouched_request_is_forwarded_byte_for_byte(
    conversation: tuple[str, str, list[dict[str, Any]]],
) -> None:
    api, model, bodies = conversation
    boundless = dataclasses.replace(models.find(model), window=10_000_000, input_limit=None)
    session = Session(model=boundless, budget=10_000_000, api=api)
    for body in bodies:
        raw = json.dumps(body, indent=1).encode()
        assert session.fit_parsed(raw, apis.parse(raw, api)).body is raw


@FEWER
@given(growing(), BUDGETS)
def test_an_edit_leaves_what_stands_before_it_as_it_was_sent(
    conversation: tuple[str, str, list[dict[str, Any]]], budget: int
) -> None:
    api, model, bodies = conversation
    session = Session(model=model, budget=budget, api=api)
    for body in bodies:
        common = apis.parse(body, api).messages
        same, compactions = _same(session, common), session.compactions
        before = _covered(session, same)
        if fitted(session, body, api) is not None and session.compactions == compactions:
            kept = [entry.message.raw for entry in session.view.entries[: len(before)]]
            assert kept == [entry.message.raw for entry in before]
        assert [message.digest for message in session.log] == [message.digest for message in common]


def _covered(session: Session, length: int) -> list[Entry]:
    """What stands in the view for the first messages alone."""
    return list(itertools.takewhile(lambda entry: entry.start < length >= entry.end, session.view.entries))


def _same(session: Session, messages: Any) -> int:
    pairs = zip(session.log, messages, strict=False)
    return len(list(itertools.takewhile(lambda pair: pair[0].digest == pair[1].digest, pairs)))


@FEWER
@given(growing(), BUDGETS)
def test_the_same_requests_give_the_same_bytes(
    conversation: tuple[str, str, list[dict[str, Any]]], budget: int
) -> None:
    api, model, bodies = conversation
    one, two = (Session(model=model, budget=budget, api=api) for _ in range(2))
    for body in bodies:
        first, second = fitted(one, body, api), fitted(two, json.loads(json.dumps(body)), api)
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            assert json.dumps(first.body) == json.dumps(second.body)


@FEWER
@given(growing(), BUDGETS, st.integers(0, 30))
def test_a_reloaded_session_sends_what_it_would_have_sent(
    conversation: tuple[str, str, list[dict[str, Any]]], budget: int, at: int
) -> None:
    api, model, bodies = conversation
    store = InMemoryStore()
    kept = Session(model=model, budget=budget, api=api, id="kept")
    gone = Session(model=model, budget=budget, api=api, store=store, id="gone")
    for number, body in enumerate(bodies):
        if number == at % len(bodies) and number:
            gone = Session.load("gone", store=store)
            assert gone.compactions == kept.compactions
            assert [entry.message.raw for entry in gone.view.entries] == [e.message.raw for e in kept.view.entries]
        first, second = fitted(kept, body, api), fitted(gone, body, api)
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            assert json.dumps(first.body) == json.dumps(second.body)


@pytest.mark.parametrize("way", ["load", "import"])
def test_breakpoints_stand_where_the_last_request_ended_after_a_reload_too(way: str) -> None:
    rows = json.dumps([{"id": k, "name": f"item-{k}", "ok": True, "note": "x" * k} for k in range(40)])
    said: list[dict[str, Any]] = [{"role": "user", "content": "List them."}, {"role": "assistant", "content": rows}]
    bodies = []
    for n in range(4):
        said = [*said, {"role": "user", "content": f"And {n}?"}]
        bodies.append({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": said})
        said = [*said, {"role": "assistant", "content": f"It is {n}."}]
    store = InMemoryStore()
    session = Session(model="claude-sonnet-4-5", budget=600, api="anthropic")
    stored = Session(model="claude-sonnet-4-5", budget=600, api="anthropic", store=store, id="one")
    for body in bodies[:-1]:
        session.fit(body)
        stored.fit(body)
    again = Session.load("one", store=store) if way == "load" else Session.import_(session.export())
    sent = session.fit(bodies[-1]).body
    assert json.dumps(sent).count("cache_control") == 3
    assert again.fit(bodies[-1]).body == sent


@given(growing(), BUDGETS)
def test_every_handle_that_is_sent_brings_its_content_back(
    conversation: tuple[str, str, list[dict[str, Any]]], budget: int
) -> None:
    api, model, bodies = conversation
    session = Session(model=model, budget=budget, api=api, recall="tool")
    for body in bodies:
        found = fitted(session, body, api)
        if found is None:
            continue
        said = json.dumps(body)  # what looks like a handle may be a user's own words
        for handle in HANDLE.findall("\n".join(message.text for message in found.conversation.messages)):
            if handle in said:
                continue
            content = session.recall(handle)
            assert brim.content.handle_of(content).startswith(handle[:13])


@settings(max_examples=40)
@given(growing(), BUDGETS)
def test_what_was_archived_is_in_the_log_and_in_its_export(
    conversation: tuple[str, str, list[dict[str, Any]]], budget: int
) -> None:
    api, model, bodies = conversation
    session = Session(model=model, budget=budget, api=api)
    for body in bodies:
        fitted(session, body, api)
    lines = list(session.export())
    again = Session.import_(lines)
    assert [message.raw for message in again.log] == [message.raw for message in session.log]
    assert list(again.export()) == lines


def test_a_fork_has_the_clock_and_the_time_limit_of_the_session_that_it_leaves() -> None:
    asked: list[float] = []

    def clock() -> float:
        asked.append(7.0)
        return 7.0

    session = brim.Session(model="gpt-4o", budget=2_000, clock=clock, fit_timeout=None)
    session.fit([{"role": "user", "content": "hello"}])
    fork = session.fork(1)
    asked.clear()
    fork.fit([{"role": "user", "content": "hello"}, {"role": "user", "content": "and goodbye"}])
    assert asked
    assert fork.settings.fit_timeout is None
