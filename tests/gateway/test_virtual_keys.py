"""Virtual keys: clients never hold the provider's key, and stay within their budgets on any gateway of a store."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from brim.errors import BadSetting, NotFound
from brim.gateway.limits.allowance import Allowance, allowance
from brim.gateway.limits.spending import spent
from brim.gateway.limits.tenant_limits import UNLIMITED
from brim.gateway.limits.virtual_keys import create_key, find_key, revoke_key, virtual_keys
from brim.stores.inmemory import InMemoryStore
from brim.stores.resilient import open_store
from brim.testing import FakeProvider

from .conftest import Got, Running, Start
from .test_faults import until

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Is 7 even?"}]}
SHAPES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("openai_chat", "/v1/chat/completions", "authorization", CHAT),
    ("anthropic", "/v1/messages", "x-api-key", {**CHAT, "model": "claude-sonnet-4-5", "max_tokens": 50}),
    (
        "gemini",
        "/v1beta/models/gemini-2.5-pro:generateContent",
        "x-goog-api-key",
        {"contents": [{"parts": [{"text": "Hi"}]}]},
    ),
]


@pytest.fixture
def keyed(start: Start, fake: FakeProvider) -> Any:
    """Makes gateways whose one upstream has a key of its own."""

    def made(store: Any, api: str = "openai_chat", **given: Any) -> Running:
        upstream = {"base_url": fake.url, "key_env": "PROVIDER_KEY", "api": api}
        env = {"PROVIDER_KEY": "sk-of-the-provider", "TOKEN": "t" * 32}
        return start(env, own=True, store=store, upstreams={"provider": upstream}, **given)

    return made


def asked(
    gateway: Running, secret: str, path: str = SHAPES[0][1], header: str = "authorization", body: Any = CHAT
) -> Got:
    value = f"Bearer {secret}" if header == "authorization" else secret
    return gateway.ask("POST", path, body, {header: value})


@pytest.mark.parametrize(("api", "path", "header", "body"), SHAPES)
def test_a_virtual_key_works_in_every_api_and_the_provider_sees_only_its_own(
    keyed: Any, fake: FakeProvider, api: str, path: str, header: str, body: dict[str, Any]
) -> None:
    store = InMemoryStore()
    secret, _ = create_key(store, "provider")
    gateway = keyed(store, api)
    assert asked(gateway, secret, path, header, body).status == 200
    in_query = gateway.ask("POST", f"{path}?key={secret}&alt=json", body)
    assert in_query.status == 200
    for seen in fake.posts:
        assert "sk-of-the-provider" in str(seen.headers)
        assert secret not in f"{seen.headers} {seen.query} {seen.body.decode()}"


def test_a_key_that_was_revoked_or_never_given_is_refused_in_the_providers_words(
    keyed: Any, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brim.gateway.limits.admission.FRESH_SECONDS", 0.0)
    store = InMemoryStore()
    secret, key = create_key(store, "provider", name="alice")
    gateway = keyed(store)
    assert asked(gateway, secret).status == 200
    revoke_key(store, "alice")
    for told in (asked(gateway, secret), asked(gateway, "brim-vk-guessed")):
        assert told.status == 401
        assert told.json["error"]["code"] == "invalid_api_key"
    assert len(fake.posts) == 1
    with pytest.raises(NotFound, match="no key has"):
        revoke_key(store, key.id)


def test_a_key_stands_for_the_access_token_and_opens_nothing_of_brims_own(keyed: Any) -> None:
    store = InMemoryStore()
    secret, _ = create_key(store, "provider")
    gateway = keyed(store, gateway={"access_token_env": "TOKEN"})
    assert asked(gateway, secret).status == 200
    assert asked(gateway, "sk-anything").status == 401
    for path in ("/brim/v1/sessions", "/brim/v1/usage", "/metrics", "/brim/"):
        assert gateway.ask("GET", path, None, {"authorization": f"Bearer {secret}"}).status == 401


def test_the_store_holds_no_key(tmp_path: Path) -> None:
    store = open_store(tmp_path / "brim.db")
    secret, key = create_key(store, "provider", budget=allowance("5M/month", "budget"))
    assert find_key(store, secret) == key
    assert virtual_keys(store) == [key]
    assert find_key(store, f"{secret}x") is None
    store.close()
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in written
    assert secret.removeprefix("brim-vk-").encode() not in written


def test_a_budget_holds_over_two_gateways_on_one_store(keyed: Any, fake: FakeProvider) -> None:
    store = InMemoryStore()
    secret, key = create_key(store, "provider", budget=Allowance(200, "month"))
    gateways = [keyed(store), keyed(store)]
    statuses, used = [], 0
    for number in range(40):
        told = asked(gateways[number % 2], secret)
        statuses.append(told.status)
        if told.status != 200:
            break
        # What one has used the other knows a moment later.
        used += sum(told.json["usage"][name] for name in ("prompt_tokens", "completion_tokens"))
        until(lambda used=used: spent(store, key.id, "tokens", Allowance(200, "month")) >= used)  # type: ignore[misc]
        for gateway in gateways:
            gateway.gateway.admission.spending._read.clear()
    assert statuses[-1] == 429
    assert statuses.count(200) == len(fake.posts) > 1
    assert spent(store, key.id, "tokens", Allowance(200, "month")) <= 200
    told = asked(gateways[0], secret)
    assert told.json["error"]["code"] == "insufficient_quota"
    assert "200 tokens in a month" in told.json["error"]["message"]
    assert 0 < int(told.headers["retry-after"]) <= 31 * 86_400


def test_what_is_under_way_counts_against_the_budget(keyed: Any) -> None:
    store = InMemoryStore()
    secret, _ = create_key(store, "provider", budget=Allowance(1_000, "day"))
    gateway = keyed(store)

    async def both() -> tuple[int, str]:
        first, second = [await gateway.gateway.admission.admit(secret, "", UNLIMITED) for _ in range(2)]
        await first.reserve(700)
        try:
            await second.reserve(700)
        except Exception as problem:
            first.settle(650)
            await second.reserve(300)
            second.settle(0)
            return len(gateway.gateway.admission.spending._held), str(problem)
        return -1, ""

    assert gateway.call(both())[0] == 0


def test_a_rate_is_refused_with_the_seconds_until_it_is_not(keyed: Any, fake: FakeProvider) -> None:
    store = InMemoryStore()
    secret, _ = create_key(store, "provider", rate=Allowance(3, "day"))
    gateway = keyed(store, "anthropic")
    told = [asked(gateway, secret, *SHAPES[1][1:]) for _ in range(5)]
    assert [one.status for one in told] == [200, 200, 200, 429, 429]
    assert told[-1].json["error"]["type"] == "rate_limit_error"
    assert 0 < int(told[-1].headers["retry-after"]) <= 86_400
    assert len(fake.posts) == 3


def test_a_key_is_for_its_upstream_alone_and_never_goes_to_one_without_a_key_of_brims(
    keyed: Any, start: Start, fake: FakeProvider
) -> None:
    store = InMemoryStore()
    secret, _ = create_key(store, "provider")
    elsewhere, _ = create_key(store, "openai")
    without = start(own=True, store=store, upstreams={"provider": {"base_url": fake.url, "api": "openai_chat"}})
    for told in (asked(without, secret), asked(without, elsewhere), asked(keyed(store), elsewhere)):
        assert told.status == 503
        assert "key_env" in told.json["error"]["message"]
    assert asked(keyed(store), secret, "/up/openai/v1/chat/completions").status == 403
    assert fake.posts == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/files"),
        ("DELETE", "/v1/files/file-1"),
        ("GET", "/v1/chat/completions"),
        ("GET", "/v1/responses/resp_1"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/threads/thread_1/messages"),
        ("POST", "/v1/batches"),
        ("GET", "/v1/messages/batches"),
        ("GET", "/v1beta/cachedContents"),
        ("DELETE", "/v1/models/ft-1"),
        ("POST", "/api/delete"),
        ("GET", "/v1/organization/usage"),
        ("POST", "/v1/files%2f..%2fembeddings"),
    ],
)
def test_a_key_opens_nothing_that_all_keys_of_an_upstream_share(
    keyed: Any, fake: FakeProvider, method: str, path: str
) -> None:
    store = InMemoryStore()
    secret, _ = create_key(store, "provider")
    told = keyed(store).ask(method, path, {"x": 1} if method == "POST" else None, {"authorization": f"Bearer {secret}"})
    assert told.status in (400, 403)
    assert [seen.path for seen in fake.requests if "models" not in seen.path] == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"),
        ("POST", "/v1/embeddings"),
        ("POST", "/openai/v1/embeddings"),
        ("POST", "/openai/deployments/small/embeddings"),
        ("POST", "/v1/messages/count_tokens"),
        ("POST", "/v1/images/generations"),
        ("POST", "/v1beta/models/gemini-2.5-pro:countTokens"),
        ("POST", "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:countTokens"),
        ("POST", "/v1/completions"),
        ("POST", "/api/embed"),
    ],
)
def test_a_key_opens_what_models_answer(keyed: Any, fake: FakeProvider, method: str, path: str) -> None:
    store = InMemoryStore()
    secret, _ = create_key(store, "provider")
    told = keyed(store).ask(method, path, {"x": 1} if method == "POST" else None, {"authorization": f"Bearer {secret}"})
    assert told.status != 403
    assert path.rpartition("/")[2] in {seen.path.rpartition("/")[2] for seen in fake.requests}


@pytest.mark.parametrize(
    ("text", "most", "period"),
    [("5M/month", 5_000_000, "month"), ("1.5k/day", 1_500, "day"), ("60/minute", 60, "minute")],
)
def test_an_allowance_is_read_as_people_write_it(text: str, most: int, period: str) -> None:
    found = allowance(text, "budget")
    assert found == Allowance(most, period)
    assert 0 < found.seconds_left(time.time()) <= 31 * 86_400


@pytest.mark.parametrize("text", ["", "5M", "0/day", "-1/day", "5M/year", "month", "5 M/month"])
def test_what_is_no_allowance_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(BadSetting, match="budget"):
        allowance(text, "budget")


def test_a_month_ends_when_the_next_begins() -> None:
    assert Allowance(1, "month").seconds_left(1_798_761_599.0) == 1  # the last second of 2026
    assert Allowance(1, "month").slot(1_798_761_599.0) == "202612"
