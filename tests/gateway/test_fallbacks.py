"""Another upstream where a request's own fails before its first byte: by setting, once, never with its key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from brim.errors import BadSetting
from brim.testing import Fail, FakeProvider, Overflow, Say

from .conftest import Running, Start, long_chat

KEYS = {"EAST": "east-key-1", "WEST": "west-key-1"}
NOBODY = "http://127.0.0.1:9"


# These two are named before `start` in every test: they end after the gateway, which has connections to them.
@pytest.fixture
def west() -> Iterator[FakeProvider]:
    with FakeProvider(default=Say("From the west.")) as provider:
        yield provider


@pytest.fixture
def small() -> Iterator[FakeProvider]:
    with FakeProvider(window=8_000) as provider:
        yield provider


def two(start: Start, east: str, west: str, *, fallback: str = "west", own_key: bool = True, **more: Any) -> Running:
    first = {"base_url": f"{east}/v1", "only": True, "fallback": fallback}
    if own_key:
        first["key_env"] = "EAST"
    second = {"base_url": f"{west}/v1", "key_env": "WEST", **more}
    return start(KEYS, own=True, upstreams={"east": first, "west": second})


def hello(running: Running, **headers: str) -> Any:
    return running.chat({"messages": [{"role": "user", "content": "hi"}]}, **headers)


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_a_request_goes_to_the_other_upstream_once_and_it_is_told(
    west: FakeProvider, start: Start, fake: FakeProvider, status: int
) -> None:
    running = two(start, fake.url, west.url)
    fake.script(Fail(status, "out of order"))
    answer = hello(running)
    assert answer.status == 200
    assert b"From the west." in answer.body
    assert (len(fake.posts), len(west.posts)) == (1, 1)
    assert answer.headers["x-brim-note"] == f"sent to 'west' too, 'east' failed: it answered {status}"
    assert 'brim_fallbacks_total{upstream="east",to="west"} 1' in running.ask("GET", "/metrics").body.decode()
    running.settled()
    assert running.get("/brim/v1/live")["turns"][0]["upstream"] == "west"


def test_one_that_cannot_be_reached_is_passed_over(west: FakeProvider, start: Start) -> None:
    answer = hello(two(start, NOBODY, west.url))
    assert answer.status == 200
    assert "'east' failed: the upstream cannot be reached" in answer.headers["x-brim-note"]


def test_a_fitted_request_arrives_as_it_was_fitted(west: FakeProvider, start: Start, fake: FakeProvider) -> None:
    running = two(start, fake.url, west.url)
    fake.script(Fail(503, "out of order"))
    assert running.chat({"messages": long_chat(30)}, x_brim_budget="6000").status == 200
    assert west.posts[-1].body == fake.posts[-1].body


def test_the_clients_key_stays_with_the_upstream_it_is_for(
    west: FakeProvider, start: Start, fake: FakeProvider
) -> None:
    running = two(start, fake.url, west.url, own_key=False)
    fake.script(Fail(503, "out of order"))
    assert hello(running, authorization="Bearer client-key", cookie="a=b").status == 200
    assert fake.posts[-1].headers["authorization"] == "Bearer client-key"
    assert west.posts[-1].headers["authorization"] == "Bearer west-key-1"
    assert "cookie" not in west.posts[-1].headers


@pytest.mark.parametrize("reply", [Fail(400, "no"), Fail(401, "no"), Fail(429, "slower"), Overflow()])
def test_what_an_upstream_refuses_is_refused(
    west: FakeProvider, start: Start, fake: FakeProvider, reply: Fail | Overflow
) -> None:
    running = two(start, fake.url, west.url)
    fake.script(reply, reply)
    assert hello(running).status in (400, 401, 429)
    assert not west.posts


def test_without_the_setting_a_failure_is_the_clients_to_see(
    west: FakeProvider, start: Start, fake: FakeProvider
) -> None:
    running = two(start, fake.url, west.url, fallback="")
    fake.script(Fail(503, "out of order"))
    assert hello(running).status == 503
    assert not west.posts


def test_an_upstream_without_the_model_gets_nothing(west: FakeProvider, start: Start, fake: FakeProvider) -> None:
    running = two(start, fake.url, west.url, models=["llama-*"])
    fake.script(Fail(503, "out of order"))
    assert hello(running).status == 503
    assert not west.posts


def test_an_upstream_whose_window_is_smaller_gets_nothing(
    small: FakeProvider, start: Start, fake: FakeProvider
) -> None:
    running = two(start, fake.url, small.url)
    # While only the smaller is known, the name alone means its window, and what is fitted to that may go there.
    for target, window in zip(running.gateway.options.targets, (128_000, 8_000), strict=False):
        running.gateway.discovery.learn(target, b'{"data":[{"id":"gpt-4o","context_window":%d}]}' % window)
    fake.script(Fail(503, "out of order"))
    assert hello(running).status == 503
    assert not small.posts


def test_when_both_fail_the_client_sees_the_second_failure_and_neither_was_asked_twice(
    west: FakeProvider, start: Start, fake: FakeProvider
) -> None:
    running = two(start, fake.url, west.url)
    fake.script(Fail(503, "out of order"))
    west.script(Fail(502, "out of order too"))
    assert hello(running).status == 502
    assert (len(fake.posts), len(west.posts)) == (1, 1)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (None, "is not another upstream"),
        ({"base_url": "http://x/v1"}, "needs a key of its own"),
        ({"base_url": "http://x", "key_env": "WEST", "api": "anthropic"}, "speaks anthropic"),
    ],
)
def test_a_fallback_that_could_never_be_used_is_an_error_at_the_start(start: Start, second: Any, told: str) -> None:
    first = {"base_url": "http://y/v1", "fallback": "west"}
    given = {"east": first} if second is None else {"east": first, "west": second}
    with pytest.raises(BadSetting, match=f"upstreams.east.fallback.*{told}"):
        start(KEYS, own=True, upstreams=given)
