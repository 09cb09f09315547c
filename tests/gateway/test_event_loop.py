"""The store is never asked on the event loop, whatever a gateway does: a slow one holds up no other request."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from brim.gateway.limits.virtual_keys import create_key
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import StoreAdmin
from brim.testing import Call, Calls, FakeProvider, Say

from .conftest import Loop, Running, Start, long_chat, words

# What every store answers at once, by the protocol: tests/stores has proofs of it.
AT_HAND = {"degraded", "remote", "get_actual", "put_actual"}


class Watched:
    """A store that notes what it is asked for on an event loop, and how often it is asked at all."""

    def __init__(self, *, remote: bool) -> None:
        self._store = InMemoryStore()
        self.remote = remote
        self.on_the_loop: list[str] = []
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in AT_HAND:
            return found

        def noted(*given: Any, **beside: Any) -> Any:
            self.asked[name] += 1
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                return found(*given, **beside)
            self.on_the_loop.append(name)
            return found(*given, **beside)

        return noted


def conversations(gateway: Running, **headers: str) -> None:
    """Chats of every API that outgrow their windows, one after another and once more."""
    chat = long_chat(8)
    for end in (3, 9, 15, len(chat), len(chat)):
        for session in ("", "desk"):
            named = {**headers, "x_brim_session": session} if session else headers
            gateway.chat({"messages": chat[:end], "max_tokens": 50}, x_brim_budget="2000", **named)
    talk = [message for message in chat if message["role"] != "system"]
    shapes: dict[str, dict[str, Any]] = {
        "/v1/messages": {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": talk},
        "/v1/responses": {"model": "gpt-4o", "input": talk},
        "/v1beta/models/gemini-2.5-pro:generateContent": {
            "contents": [
                {"role": "model" if one["role"] == "assistant" else "user", "parts": [{"text": one["content"]}]}
                for one in talk
            ]
        },
    }
    for path, body in shapes.items():
        for _ in range(2):
            assert gateway.ask("POST", path, body, {"x-brim-budget": "2000"}).status == 200
    gateway.settled()


def everything(gateway: Running) -> None:
    """Every page and every call of the JSON API."""
    for path in ("", "/sessions", "/models", "/settings", "/live.json", "/glossary"):
        assert gateway.ask("GET", f"/brim/{path.lstrip('/')}").status == 200, path
    for path in ("live", "status", "sessions", "models", "usage", "settings"):
        assert gateway.ask("GET", f"/brim/v1/{path}").status == 200, path
    for row in gateway.get("/brim/v1/sessions")["sessions"]:
        place = f"/brim/v1/sessions/{row['id']}"
        found = gateway.get(place)
        for turn in found["turns"][-1:]:
            gateway.ask("GET", f"{place}/turns/{turn['number']}")
            gateway.ask("POST", f"{place}/turns/{turn['number']}/plan", {"budget": 1_500})
            gateway.ask("GET", f"/brim/sessions/{row['id']}/turns/{turn['number']}")
        for one in found["archive"][:1]:
            gateway.ask("GET", f"{place}/archive/{one['handle']}")
        gateway.ask("GET", f"/brim/sessions/{row['id']}")
    text = {"model": "gpt-4o", "messages": long_chat(3)}
    gateway.ask("POST", "/brim/v1/count", {"request": text})
    gateway.ask("POST", "/brim/v1/fit", {"request": text, "budget": 600, "session": "by hand"})
    gateway.ask("POST", "/brim/v1/compact", {"text": words(3_000), "budget": 200})
    shortened = gateway.ask("POST", "/v1/compress", {**text, "config": {"target_ratio": 0.2}})
    assert shortened.status == 200
    assert gateway.ask("GET", "/readyz").status == 200
    assert gateway.ask("GET", "/metrics").status == 200


LIMITS = {"tenant_rate": "100k/minute", "tenant_budget": "9G/day", "tenant_requests": 99}


@pytest.fixture(params=[False, True], ids=["file", "database"])
def store(request: pytest.FixtureRequest) -> Watched:
    return Watched(remote=request.param)


def test_no_request_and_no_page_asks_the_store_on_the_event_loop(start: Start, store: Watched) -> None:
    gateway = start(store=store, pages=True, gateway=LIMITS)
    conversations(gateway, authorization="Bearer sk-one")
    everything(gateway)
    assert store.asked["commit"] > 5
    assert store.on_the_loop == []


def test_no_request_asks_what_only_administration_needs(start: Start, store: Watched) -> None:
    gateway = start(store=store, gateway=LIMITS)
    conversations(gateway, authorization="Bearer sk-one")
    assert store.asked["commit"] > 5
    administration = {name for name in vars(StoreAdmin) if not name.startswith("_")}
    assert administration & set(store.asked) <= {"usage"}
    assert store.asked["usage"] <= 1  # when the gateway started, for its history


def test_neither_a_recall_nor_a_virtual_key_does(start: Start, fake: FakeProvider, store: Watched) -> None:
    secret, _ = create_key(store, "provider", budget="9G/day", rate="100k/minute")
    upstream = {"base_url": fake.url, "key_env": "PROVIDER_KEY", "api": "openai_chat"}
    given = {"upstreams": {"provider": upstream}, "gateway": {"recall": "tool"}}
    gateway = start({"PROVIDER_KEY": "sk-of-the-provider"}, own=True, store=store, **given)
    for look_up in (
        Calls((Call("brim_recall", {"query": "Question 3"}), Call("brim_search", {"query": "item"}))),
        Call("brim_query", {"handle": "0" * 8, "query": "lines 1-2"}),
    ):
        fake.script(look_up, Say("It said item three."))
        answer = gateway.chat({"messages": long_chat(9)}, authorization=f"Bearer {secret}", x_brim_budget="3000")
        assert answer.status == 200
    gateway.settled()
    assert store.asked["find_blob"] + store.asked["get_blob"] + store.asked["records"] > 0
    assert store.on_the_loop == []


def test_neither_the_start_nor_the_end_of_a_gateway_does(start: Start, loop: Loop, store: Watched) -> None:
    conversations(start(store=store))
    again = start(store=store)
    loop.call(again.gateway.close())
    assert store.asked["close"] == 1
    assert store.on_the_loop == []
