"""How often a request asks its store: once before it is fitted, and once after, if anything changed."""

from __future__ import annotations

from typing import Any

import pytest

from brim import models
from brim.sessions.router import SessionRouter
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Store
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

# Answered from memory by every store.
AT_HAND = {"get_actual", "put_actual", "degraded", "remote"}


class Watched:
    """A store that notes what it is asked for."""

    def __init__(self, store: Store, *, remote: bool) -> None:
        self._store = store
        self.remote = remote
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in AT_HAND:
            return found

        def noted(*given: Any, **beside: Any) -> Any:
            self.calls.append(name)
            return found(*given, **beside)

        return noted

    def taken(self) -> list[str]:
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture(params=[False, True], ids=["local", "remote"])
def store(request: pytest.FixtureRequest) -> Watched:
    return Watched(InMemoryStore(), remote=request.param)


def body(steps: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look everything up."}]
    for step in range(steps):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "look", "arguments": f'{{"n": {step}}}'}}
        said = " ".join(f"row {step}.{n} of the invoice" for n in range(80))
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": said})
    return {"model": "gpt-4o", "messages": messages}


def fitted(router: SessionRouter, steps: int, client: str | None, actuals: Actuals) -> int:
    """Fit a request as the gateway does, and learn from what its provider says."""
    model = models.find("gpt-4o")
    session = router.of(body(steps), client, tenant="t", model=model, actuals=actuals)
    fit = session.fit(body(steps))
    Counter(model, "openai_chat", actuals).record(fit.conversation, fit.tokens + 3)
    return session.compactions


@pytest.mark.parametrize("client", ["desk", None])
def test_a_request_loads_once_and_commits_once(store: Watched, client: str | None) -> None:
    router, actuals = SessionRouter(store, budget=3_000), Actuals(store, "t~openai")
    compactions = 0
    for steps in range(1, 30):
        compactions = fitted(router, steps, client, actuals)
        assert store.taken() == ["load", "commit"]
    assert compactions > 1


def test_a_request_that_is_sent_again_only_loads(store: Watched) -> None:
    router, actuals = SessionRouter(store, budget=3_000), Actuals(store, "t~openai")
    for _ in range(3):
        fitted(router, 12, "desk", actuals)
    store.taken()
    fitted(router, 12, "desk", actuals)
    assert store.taken() == ["load"]


def test_gateways_that_take_turns_ask_no_more_often(store: Watched) -> None:
    routers = [SessionRouter(store, budget=3_000) for _ in range(2)]
    actuals = [Actuals(store, "t~openai") for _ in routers]
    for steps in range(1, 30):
        fitted(routers[steps % 2], steps, "desk", actuals[steps % 2])
        assert store.taken() == ["load", "commit"]
    assert len(store.sessions()) == 1
