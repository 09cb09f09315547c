"""Requests that ask for more output than their window holds: they are sent with what there is room for."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import brim
from brim import models
from brim.testing import FakeProvider, Overflow

from .conftest import Running, Start, long_chat

HI = [{"role": "user", "content": "hi"}]
GEMINI = "/v1beta/models/gemini-2.5-pro:generateContent"
ASKING: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    ("/v1/chat/completions", "gpt-4o", {"messages": HI}, ("max_tokens",)),
    ("/v1/chat/completions", "gpt-4o", {"messages": HI}, ("max_completion_tokens",)),
    ("/v1/responses", "gpt-4o", {"input": "hi"}, ("max_output_tokens",)),
    ("/v1/messages", "claude-sonnet-4-5", {"messages": HI}, ("max_tokens",)),
    (GEMINI, "gemini-2.5-pro", {"contents": [{"parts": [{"text": "hi"}]}]}, ("generationConfig", "maxOutputTokens")),
    (GEMINI, "gemini-2.5-pro", {"contents": [{"parts": [{"text": "hi"}]}]}, ("generation_config", "max_output_tokens")),
    ("/api/chat", "qwen3:8b", {"messages": HI, "stream": False}, ("options", "num_predict")),
]


def put(body: dict[str, Any], path: tuple[str, ...], value: int, **beside: Any) -> dict[str, Any]:
    *first, last = path
    return {**body, **({first[0]: {**beside, last: value}} if first else {last: value})}


def at(body: dict[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = body
    for key in path:
        found = found[key]
    return found


@pytest.mark.parametrize(("path", "model", "body", "where"), ASKING, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("times", [1, 5])
def test_an_answer_of_a_whole_window_becomes_what_there_is_room_for(
    start: Start,
    fake: FakeProvider,
    caplog: pytest.LogCaptureFixture,
    path: str,
    model: str,
    body: dict[str, Any],
    where: tuple[str, ...],
    times: int,
) -> None:
    caplog.set_level(logging.WARNING)
    running = start()
    fake.window = window = models.find(model).window
    asked = {"model": model, **put(body, where, window * times, temperature=0)}
    if path == GEMINI:
        del asked["model"]
    answer = running.ask("POST", path, asked)
    assert answer.status == 200
    sent = fake.posts[-1].json
    most = at(sent, where)
    assert 1_000 < most < window
    assert put(sent, where, 0) == put(asked, where, 0) | {where[0]: put(sent, where, 0)[where[0]]}
    assert f"{most:,} are asked for" in answer.headers["x-brim-note"]
    assert any(record.getMessage() == "answer cut" for record in caplog.records)


def test_the_answer_takes_what_the_prompt_leaves_up_to_what_the_model_writes(
    gateway: Running, fake: FakeProvider
) -> None:
    known = models.find("gpt-4o")
    gateway.chat({"messages": HI, "max_tokens": known.window})
    assert fake.posts[-1].json["max_tokens"] == known.max_output
    gateway.chat({"messages": HI, "max_tokens": known.window - 1_000})
    assert fake.posts[-1].json["max_tokens"] == known.window - 1_000  # what else is too much is the upstream's to judge


def test_a_long_prompt_is_fitted_beside_the_answer(start: Start, fake: FakeProvider) -> None:
    gateway = start(models={"gpt-4o": {"window": 8_192, "max_output": 4_096}})
    fake.window = 8_192
    answer = gateway.chat({"messages": long_chat(30), "max_tokens": 10_000})
    assert answer.status == 200
    assert answer.number("tokens-after") < answer.number("tokens-before")
    assert answer.json["usage"]["prompt_tokens"] + fake.posts[-1].json["max_tokens"] <= 8_192
    session = gateway.get("/brim/v1/sessions")["sessions"][0]["id"]
    assert "10,000 output tokens" in str(gateway.get(f"/brim/v1/sessions/{session}/turns/1"))


def test_what_must_stay_comes_before_the_answer_that_is_asked_for(start: Start, fake: FakeProvider) -> None:
    gateway = start(models={"gpt-4o": {"window": 8_192, "max_output": 4_096}})
    fake.window = 8_192
    system = {"role": "system", "content": "Always say what you are sure of. " * 60}
    answer = gateway.chat({"messages": [system, *HI], "max_tokens": 8_100})
    assert answer.status == 200
    assert fake.posts[-1].json["messages"] == [system, *HI]
    assert fake.posts[-1].json["max_tokens"] < 8_100
    assert "8,100 output tokens" in answer.headers["x-brim-note"]


def test_a_refit_keeps_the_shorter_answer(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Overflow(tokens=9_000, window=6_000))
    answer = gateway.chat({"messages": long_chat(20), "max_tokens": 200_000})
    assert answer.status == 200
    first, second = (seen.json["max_tokens"] for seen in fake.posts)
    assert second <= first < 128_000


@pytest.mark.parametrize(
    ("budget", "expected"), [(150_000, 48_000), (1_024, None), (63_000, 20_160), (300_000, 300_000)]
)
def test_a_budget_for_thoughts_stays_below_the_answer(
    gateway: Running, fake: FakeProvider, budget: int, expected: int | None
) -> None:
    gateway.gateway.fitter.models.catalog.override("claude-sonnet-4-5", {"window": 200_000, "max_output": 64_000})
    fake.window = 1_000_000
    thinking = {"type": "enabled", "budget_tokens": budget}
    body = {"model": "claude-sonnet-4-5", "max_tokens": 200_000, "thinking": thinking, "messages": HI}
    assert gateway.ask("POST", "/v1/messages", body).status == 200
    sent = fake.posts[-1].json
    assert sent["max_tokens"] == 64_000
    kept = sent["thinking"]["budget_tokens"]
    assert sent["thinking"]["type"] == "enabled"
    assert kept == budget if expected is None or budget < 64_000 else kept == expected


def test_a_dry_run_changes_nothing(gateway: Running, fake: FakeProvider) -> None:
    gateway.gateway.fitter.models.catalog.override(
        "gpt-4o", {"window": 128_000}
    )  # whatever the provider lists, and when
    fake.window = 10_000_000
    answer = gateway.chat({"messages": HI, "max_tokens": 500_000}, x_brim_dry_run="1")
    assert fake.posts[-1].json["max_tokens"] == 500_000
    assert "are asked for" in answer.headers["x-brim-note"]


@pytest.mark.parametrize("given", ["dict", "bytes", "session"])
def test_the_library_does_the_same(given: str) -> None:
    body: dict[str, Any] = {"model": "gpt-4o", "messages": HI, "max_tokens": 500_000}
    told: Any = (
        body
        if given != "bytes"
        else b'{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"max_tokens":500000}'
    )
    fitted = brim.Session(model="gpt-4o").fit(told) if given == "session" else brim.fit(told, model="gpt-4o")
    sent = fitted.body if given != "bytes" else brim.conversation.decode(fitted.body)
    assert sent["max_tokens"] == models.find("gpt-4o").max_output
    assert body["max_tokens"] == 500_000
    assert any("500,000 output tokens" in warning for warning in fitted.report.warnings)
