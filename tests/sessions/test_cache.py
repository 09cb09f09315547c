"""The provider's prompt cache: when it is cold a compaction is free and comes first; what breaks it is told."""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim import models
from brim.conversation import encode
from brim.models.caching import caching_of, kept_for
from brim.planning.reports.decisions import CacheBreak
from brim.stores.inmemory import InMemoryStore

NOTE = "The tide turns at noon and the pilot boards off the outer buoy. "


def chat(turns: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are the harbour's clerk. " * 20}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Turn {turn}: what is new at berth {turn * 37 % 101}?"})
        messages.append({"role": "assistant", "content": f"Berth {turn * 37 % 101}: " + NOTE * 20})
    return [*messages, {"role": "user", "content": "And now?"}]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def compactions_after(pause: float, model: str = "claude-sonnet-4-5", **body: Any) -> int:
    """How many compactions a session of 85% of its budget makes when its client comes back after so many seconds."""
    clock = Clock()
    session = brim.Session(model=model, budget=8_000, clock=clock)
    for end in range(2, 44, 2):
        session.fit({"model": model, "messages": chat(21)[1:end], "max_tokens": 100, **body})
    assert session.compactions == 0
    clock.now += pause
    messages = [*chat(21)[1:43], {"role": "user", "content": "Hello?"}]
    session.fit({"model": model, "messages": messages, "max_tokens": 100, **body})
    return session.compactions


def test_a_compaction_comes_first_when_the_cache_is_cold() -> None:
    assert compactions_after(30) == 0
    assert compactions_after(299) == 0
    assert compactions_after(301) == 1


def test_a_longer_lifetime_that_the_client_asked_for_counts() -> None:
    hour = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    assert compactions_after(600, system=hour) == 0
    assert compactions_after(3_601, system=hour) == 1


@pytest.mark.parametrize(("model", "lasts"), [("gpt-4o", 3_600), ("claude-sonnet-4-5", 300), ("gemini-2.5-pro", 3_600)])
def test_lifetimes_are_the_providers_own(model: str, lasts: float) -> None:
    assert caching_of(models.find(model)).lasts == lasts


def test_a_day_is_asked_for_in_a_field_of_its_own() -> None:
    caching = caching_of(models.find("gpt-5.1"))
    assert kept_for(caching, b'"24h"') == 86_400
    assert kept_for(caching, b'{"description":"a 24h clock, \\"24h\\""}') == 3_600


def test_without_a_clock_no_pause_is_seen() -> None:
    session = brim.Session(model="claude-sonnet-4-5", budget=8_000, clock=None)
    session.fit(chat(21)[1:])
    assert session.history.state.asked_at == 0


def test_a_pause_that_a_restart_lies_in_is_seen() -> None:
    clock, store = Clock(), InMemoryStore()
    session = brim.Session(model="claude-sonnet-4-5", budget=8_000, clock=clock, store=store, id="s")
    for end in range(2, 44, 2):
        session.fit(chat(21)[1:end])
    clock.now += 500
    again = brim.Session.load("s", store=store, clock=clock)
    again.fit([*chat(21)[1:43], {"role": "user", "content": "Hello?"}])
    assert (session.compactions, again.compactions) == (0, 1)


def breaks(requests: list[dict[str, Any]], **settings: Any) -> list[CacheBreak | None]:
    session = brim.Session(**{"model": "gpt-4o", "budget": 50_000} | settings)
    return [session.fit(request).report.cache_break for request in requests]


def test_a_request_that_only_grows_breaks_nothing() -> None:
    requests = [{"model": "gpt-4o", "messages": chat(20)[:end]} for end in range(22, 42, 2)]
    assert breaks(requests) == [None] * len(requests)


def test_a_message_that_the_client_edited_is_named_with_its_byte() -> None:
    messages = chat(20)
    edited = [*messages[:3], {**messages[3], "content": "Turn 1: what is OLD at berth 37?"}, *messages[4:]]
    before = {"model": "gpt-4o", "messages": messages[:38]}
    found = breaks([before, {"model": "gpt-4o", "messages": edited[:40]}])[1]
    assert found is not None
    assert found.why == "message 3 was edited by the client"
    assert found.at == "messages[3]"
    raw = [encode(message) for message in before["messages"]]
    assert found.byte == len(b"".join(raw[:3])) + raw[3].index(b"new at")
    sizes = [brim.count([message], model="gpt-4o").tokens for message in before["messages"]]
    assert found.tokens == pytest.approx(sum(sizes[3:]), rel=0.05)


def test_changed_tools_and_instructions_are_named() -> None:
    tool = {"type": "function", "function": {"name": "berths", "parameters": {"type": "object"}}}
    messages = chat(20)
    first = {"model": "gpt-4o", "messages": messages, "tools": [tool]}
    found = breaks([first, {**first, "tools": [tool, {**tool, "function": {"name": "tides"}}]}])[1]
    assert found is not None
    assert (found.at, found.why) == ("tools", "tools changed")
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages[1:], "system": "Be exact."}
    found = breaks([asked, {**asked, "system": "Be brief."}], model="claude-sonnet-4-5")[1]
    assert found is not None
    assert (found.at, found.why) == ("system", "the instructions changed")


def test_a_compaction_is_the_reason_where_it_is() -> None:
    events: list[Any] = []
    session = brim.Session(model="gpt-4o", budget=6_000, on_event=events.append)
    reports = [session.fit(chat(40)[:end]).report for end in range(2, 82, 2)]
    found = [report.cache_break for report in reports if report.cache_break]
    assert {one.why for one in found} == {"compaction"}
    assert len(found) == session.compactions
    assert [event.message for event in events if event.kind == "cache"] == [str(one) for one in found]
    assert "cache bust: compaction" in str(found[0])


def test_cache_breakpoints_that_move_break_nothing() -> None:
    messages = chat(20)[1:]
    requests = []
    for end in (33, 35, 37):
        marked = {"role": "user", "content": [{"type": "text", "text": messages[end - 1]["content"]}]}
        marked["content"][0]["cache_control"] = {"type": "ephemeral"}  # type: ignore[index]
        requests.append({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [*messages[: end - 1], marked]})
    assert breaks(requests, model="claude-sonnet-4-5") == [None] * 3


def test_what_is_too_short_for_a_cache_breaks_none() -> None:
    requests = [{"model": "gpt-4o", "messages": [{"role": "user", "content": text}]} for text in ("a", "b")]
    assert breaks(requests) == [None, None]


def test_sessions_of_the_same_requests_send_the_same_whatever_the_time() -> None:
    sent = []
    for start in (0.0, 5e8):
        clock = Clock()
        clock.now += start
        session = brim.Session(model="gpt-4o", budget=6_000, clock=clock)
        sent.append([session.fit(chat(30)[:end]).messages for end in range(2, 60, 2)])
    assert sent[0] == sent[1]
