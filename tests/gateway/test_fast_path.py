"""Requests that their bytes alone show to fit: passed on unread, told by their size, and still known later."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from brim import apis
from brim.gateway.fitting.conversations import Live
from brim.gateway.fitting.fast_path import MOST_KNOWN, Glances, Known, chain_of, glance
from brim.gateway.fitting.unread import ENOUGH, SOME
from brim.models import Catalog
from brim.planning.policies.policy import Policy
from brim.testing import FakeProvider

from .conftest import Running, Start, long_chat, words

BODIES: dict[str, dict[str, Any]] = {
    "openai_chat": {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 50},
    "openai_responses": {"input": [{"role": "user", "content": "hi"}], "instructions": "Be short."},
    "anthropic": {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "system": "Be short.",
        "max_tokens": 50,
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
    },
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": {"maxOutputTokens": 50}},
}
UNBOUNDED: list[tuple[str, dict[str, Any]]] = [
    ("openai_chat", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}),
    ("openai_responses", {"input": [{"role": "user", "content": "hi"}], "previous_response_id": "r1"}),
    ("openai_responses", {"input": "hi"}),
    ("anthropic", {"messages": [{"role": "user", "content": [{"type": "document", "source": {}}]}]}),
    ("anthropic", {"messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "bash_20250124"}]}),
    ("gemini", {"contents": [{"role": "user", "parts": [{"fileData": {"fileUri": "x"}}]}]}),
    ("gemini", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "cachedContent": "c1"}),
]


def learnt_from(running: Running, requests: int) -> None:
    """Let so many requests have been learnt from."""
    nobody = running.gateway.tenants.of({"headers": [], "query_string": b""}, running.gateway.options)
    fitter = running.gateway.fitter
    fitter.unread.heard(fitter.learned.of("upstream", nobody), "o200k").reports = requests


def taught(start: Start, **given: Any) -> Running:
    """A gateway that has read so many requests of a vocabulary that it need not read every one more."""
    running = start(**given)
    fitter, waited = running.gateway.fitter, 0
    while (found := fitter.models.find("gpt-4o", "upstream")) and found.source != "discovered" and waited < 500:
        time.sleep(0.01)
        waited += 1
    learnt_from(running, ENOUGH + SOME + 1)
    return running


def chat(turns: int) -> dict[str, Any]:
    """A conversation that each longer one goes on from."""
    return {"model": "gpt-4o", "messages": long_chat(turns, 60)[:-2]}


@pytest.mark.parametrize("api", BODIES)
def test_a_look_finds_the_places_that_reading_finds(api: str) -> None:
    raw = json.dumps(BODIES[api]).encode()
    seen, read = glance(raw, api, "s"), apis.parse(raw, api)
    assert seen is not None
    assert seen.chain == chain_of(read, "s")
    assert seen.asked == read.max_output


@pytest.mark.parametrize(("api", "body"), UNBOUNDED)
def test_what_is_more_than_its_bytes_is_read(api: str, body: dict[str, Any]) -> None:
    assert glance(json.dumps(body).encode(), api, "") is None


def test_a_name_in_escapes_hides_nothing() -> None:
    hidden = rb'{"messages":[{"role":"user","content":[{"\u0074ype":"image_url","image_url":{"url":"x"}}]}]}'
    assert glance(hidden, "openai_chat", "") is None


def test_a_conversation_that_goes_on_far_below_its_limit_passes_unread(start: Start, fake: FakeProvider) -> None:
    running = taught(start)
    first = running.chat(chat(4))
    second = running.chat(chat(5))
    assert "x-brim-count" not in first.headers
    assert second.headers["x-brim-count"] == "about"
    assert second.headers["x-brim-session"] == first.headers["x-brim-session"]
    assert json.loads(fake.posts[-1].body) == chat(5)
    counted = running.gateway.fitter.counter(running.last.found, "openai_chat", None).total(running.last.original)
    assert second.number("tokens-before") == pytest.approx(counted, rel=0.15)
    assert running.last.usage.input <= running.last.upper


def test_what_was_not_read_is_read_when_someone_looks(start: Start) -> None:
    running = taught(start)
    running.chat(chat(4))
    session = running.chat(chat(5)).headers["x-brim-session"]
    turn = running.last
    assert turn.about
    assert turn.error is None  # nothing was counted, so no count can be off
    assert [message.value for message in turn.original.messages] == chat(5)["messages"]
    assert turn.sent is turn.original
    assert turn.report is not None
    assert turn.session == session


def test_requests_that_differ_in_their_last_message_pass_unread_as_conversations_of_their_own(start: Start) -> None:
    running = taught(start)
    asked = [{**chat(4), "messages": [*chat(4)["messages"], {"role": "user", "content": text}]} for text in "abc"]
    answers = [running.chat(body) for body in asked]
    assert [answer.headers.get("x-brim-count") for answer in answers] == [None, "about", "about"]
    assert len({answer.headers["x-brim-session"] for answer in answers}) == 3


def test_a_conversation_that_began_unread_is_known_when_it_has_grown_over_its_limit(start: Start) -> None:
    running = taught(start)
    running.chat({**chat(4), "messages": [*chat(4)["messages"], {"role": "user", "content": "a"}]})
    grown = [*chat(4)["messages"], {"role": "user", "content": "b"}]
    first = running.chat({**chat(4), "messages": grown})
    assert first.headers["x-brim-count"] == "about"
    for number in range(3):
        grown = [
            *grown,
            {"role": "assistant", "content": words(45_000, f"{number}")},
            {"role": "user", "content": "on"},
        ]
    answer = running.chat({**chat(4), "messages": grown})
    assert answer.number("tokens-before") > running.last.limit >= answer.number("tokens-after")
    turns = running.get(f"/brim/v1/sessions/{answer.headers['x-brim-session']}")["turns"]
    assert len(turns) == 2


def fresh(name: str, **more: Any) -> dict[str, Any]:
    """A conversation that nobody has seen."""
    return {"messages": [{"role": "user", "content": words(300, name)}], **more}


def test_a_conversation_that_nobody_has_seen_is_told_by_what_the_provider_said_of_others(
    start: Start, fake: FakeProvider
) -> None:
    running = taught(start)
    first, second = running.chat(fresh("a")), running.chat(fresh("b"))
    assert "x-brim-count" not in first.headers
    assert second.headers["x-brim-count"] == "about"
    assert second.headers["x-brim-session"] != first.headers["x-brim-session"]
    assert json.loads(fake.posts[-1].body) == {"model": "gpt-4o", **fresh("b")}
    assert second.number("tokens-before") == pytest.approx(running.last.usage.input, rel=0.15)


def test_what_the_provider_says_replaces_what_was_told_by_the_size(start: Start) -> None:
    running = taught(start)
    running.chat(fresh("a"))
    running.chat(fresh("b"))
    turn = running.last
    assert turn.about
    assert turn.before == turn.after == turn.usage.input


def test_new_text_of_a_known_conversation_is_told_too_and_stays_in_it(start: Start) -> None:
    running = taught(start)
    first = running.chat(chat(1))
    second = running.chat({**chat(1), "messages": [*chat(1)["messages"], *long_chat(9)[1:]]})
    assert second.headers["x-brim-count"] == "about"
    assert second.headers["x-brim-session"] == first.headers["x-brim-session"]


@pytest.mark.parametrize(
    ("more", "headers"),
    [
        ({"max_tokens": 100}, {}),
        ({"model": "gpt-4.1"}, {}),
        ({}, {"authorization": "Bearer another"}),
        ({}, {"x-brim-session": "s1"}),
    ],
    ids=["another limit", "another model", "another tenant", "a session of its own"],
)
def test_a_new_conversation_of_another_kind_is_counted(
    start: Start, more: dict[str, Any], headers: dict[str, str]
) -> None:
    running = taught(start)
    running.chat(fresh("a"))
    body = {"model": "gpt-4o", **fresh("b", **more)}
    assert "x-brim-count" not in running.ask("POST", "/v1/chat/completions", body, headers).headers


def test_a_new_conversation_near_its_limit_is_counted(start: Start) -> None:
    running = taught(start)
    running.chat(fresh("a"))
    large = {"messages": [{"role": "user", "content": words(15_000, "b")}]}
    assert "x-brim-count" not in running.chat(large).headers


@pytest.mark.parametrize(
    "headers",
    [{"x-brim-budget": "90000"}, {"x-brim-dry-run": "1"}, {"x-brim-policy": "rolling"}, {"x-brim-pin": "berth"}],
    ids=str,
)
def test_who_asks_for_something_of_brim_is_read(start: Start, headers: dict[str, str]) -> None:
    running = taught(start)
    running.chat(chat(4))
    assert "x-brim-count" not in running.ask("POST", "/v1/chat/completions", chat(5), headers).headers


def test_one_in_some_is_counted_all_the_same(start: Start) -> None:
    running = taught(start)
    learnt_from(running, 2 * SOME - 6)
    told = []
    for turns in range(4, 16):
        told.append("x-brim-count" in running.chat(chat(turns)).headers)
        running.settled()
    assert told[0] is False
    assert told[1:].count(False) == 1


def test_the_requests_that_can_be_gone_on_from_are_bounded() -> None:
    model, policy = Catalog().find("gpt-4o"), Policy.named("agent")
    known, glances = Known(Live("a"), model, policy, None, 1_000, 100, 20), Glances()
    for number in range(MOST_KNOWN + 50):
        glances.keep([number, number + 1], known)
    assert len(glances) == MOST_KNOWN
    assert glances.before([0, 1]) == (None, 0)
    assert glances.before([0, MOST_KNOWN + 50]) == (known, 1)
