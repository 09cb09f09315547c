"""Requests that do not fit: fitted, refused in the provider's words, refitted once."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from brim import counting
from brim.gateway.fitting import fitter as fitting
from brim.testing import FakeProvider, Overflow, Raw, Say

from .conftest import Running, Start, long_chat, words


def _anthropic(messages: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1_000,
        "system": [{"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}}],
        "messages": messages[1:],
    }


def _gemini(messages: list[dict[str, str]]) -> dict[str, Any]:
    roles = {"user": "user", "assistant": "model"}
    return {"contents": [{"role": roles[one["role"]], "parts": [{"text": one["content"]}]} for one in messages[1:]]}


def requests() -> dict[str, dict[str, Any]]:
    chat = long_chat(40)
    return {
        "/v1/chat/completions": {"model": "gpt-4o", "messages": chat, "temperature": 0.25},
        "/v1/responses": {"model": "gpt-4o", "input": chat[1:], "instructions": "You are a clerk."},
        "/v1/messages": _anthropic(chat),
        "/v1beta/models/gemini-2.5-pro:generateContent": _gemini(chat),
    }


@pytest.mark.parametrize("path", requests())
def test_a_request_over_its_budget_is_fitted(gateway: Running, fake: FakeProvider, path: str) -> None:
    answer = gateway.ask("POST", path, requests()[path], {"x-brim-budget": "6000"})
    assert answer.status == 200
    assert answer.number("tokens-before") > 12_000
    assert answer.number("tokens-after") <= 6_000
    assert answer.number("archived") > 0
    sent = fake.posts[-1].body
    assert len(sent) < len(str(requests()[path])) / 2
    assert b"What did question 3 say?" in sent
    assert float(answer.headers["x-brim-ms"]) > 0
    assert answer.headers["x-brim-session"]


def test_a_request_over_the_models_window_is_fitted_without_being_asked(start: Start, fake: FakeProvider) -> None:
    fake.window = 8_000
    running = start(models={"small-model": {"window": 8_000, "max_output": 1_000, "family": "o200k"}})
    answer = running.chat({"model": "small-model", "messages": long_chat(40)})
    assert answer.status == 200
    assert answer.json["usage"]["prompt_tokens"] <= 7_000
    turn = running.last
    assert turn.overflowing
    assert turn.usage.input <= turn.upper


def test_fields_beside_the_messages_and_the_first_system_block_stay(gateway: Running, fake: FakeProvider) -> None:
    gateway.ask("POST", "/v1/chat/completions", requests()["/v1/chat/completions"], {"x-brim-budget": "6000"})
    assert fake.posts[-1].json["temperature"] == 0.25
    gateway.ask("POST", "/v1/messages", requests()["/v1/messages"], {"x-brim-budget": "6000"})
    sent = fake.posts[-1].json
    assert sent["system"] == requests()["/v1/messages"]["system"]
    assert list(sent)[:3] == ["model", "max_tokens", "system"]


def test_bypass_leaves_a_request_alone(gateway: Running, fake: FakeProvider) -> None:
    body = requests()["/v1/chat/completions"]
    answer = gateway.ask("POST", "/v1/chat/completions", body, {"x-brim-budget": "6000", "x-brim-bypass": "1"})
    assert answer.status == 200
    assert fake.posts[-1].json == body


def test_a_dry_run_sends_the_request_as_it_is_and_tells_what_would_have_been_done(
    gateway: Running, fake: FakeProvider
) -> None:
    body = requests()["/v1/chat/completions"]
    answer = gateway.ask("POST", "/v1/chat/completions", body, {"x-brim-budget": "6000", "x-brim-dry-run": "true"})
    assert fake.posts[-1].json == body
    assert answer.number("tokens-after") <= 6_000 < answer.number("tokens-before")


def test_a_dry_run_of_a_new_conversation_tells_what_is_done_then(gateway: Running, fake: FakeProvider) -> None:
    body = {"model": "gpt-4o", "messages": long_chat(30, 500)}
    control = {"x-brim-budget": "6000"}
    tried = gateway.ask("POST", "/v1/chat/completions", body, {**control, "x-brim-dry-run": "1"})
    done = gateway.ask("POST", "/v1/chat/completions", body, control)
    assert fake.posts[-1].json != body
    for name in ("tokens-before", "tokens-after", "archived"):
        assert tried.number(name) == done.number(name)


def test_messages_that_nothing_stands_for_are_told_as_archived_too(gateway: Running, fake: FakeProvider) -> None:
    said = [{"role": "user", "content": words(300, str(number))} for number in range(6)]
    body = {"model": "gpt-4o", "messages": [*said, {"role": "user", "content": "And?"}]}
    answer = gateway.ask("POST", "/v1/chat/completions", body, {"x-brim-budget": "10"})
    assert fake.posts[-1].json["messages"] == [{"role": "user", "content": "And?"}]
    assert answer.number("archived") == 6


def test_another_policy_may_be_chosen_by_header(gateway: Running, fake: FakeProvider) -> None:
    body = requests()["/v1/chat/completions"]
    gateway.ask("POST", "/v1/chat/completions", body, {"x-brim-policy": "concise"})
    assert len(fake.posts[-1].json["messages"]) < 12


@pytest.mark.parametrize(
    ("header", "value"),
    [("x-brim-budget", "many"), ("x-brim-budget", "0"), ("x-brim-policy", "best"), ("x-brim-bypass", "perhaps")],
)
def test_a_control_header_that_says_nonsense_is_refused(
    gateway: Running, fake: FakeProvider, header: str, value: str
) -> None:
    answer = gateway.chat({"messages": [{"role": "user", "content": "hi"}]}, **{header: value})
    assert answer.status == 400
    assert header in answer.json["error"]["message"]


TOO_LONG = {
    "/v1/chat/completions": ("context_length_exceeded", "maximum context length is"),
    "/v1/responses": ("context_length_exceeded", "exceeds the context window"),
    "/v1/messages": ("invalid_request_error", "prompt is too long: "),
    "/v1beta/models/gemini-2.5-pro:generateContent": (
        "INVALID_ARGUMENT",
        "exceeds the maximum number of tokens allowed",
    ),
}


@pytest.mark.parametrize("path", TOO_LONG)
def test_what_cannot_fit_is_refused_in_the_providers_own_words(gateway: Running, fake: FakeProvider, path: str) -> None:
    answer = gateway.ask("POST", path, requests()[path], {"x-brim-budget": "3"})
    code, words_of_it = TOO_LONG[path]
    assert answer.status == 400
    error = answer.json["error"]
    assert code in (error.get("code"), error.get("type"), error.get("status"))
    assert words_of_it in error["message"]
    assert int(answer.headers["x-brim-needed"]) > int(answer.headers["x-brim-budget"])
    assert fake.posts == []


@pytest.mark.parametrize("style", ["", "llama.cpp", "vllm"])
def test_an_upstream_that_says_too_long_is_believed_once_and_asked_again(
    gateway: Running, fake: FakeProvider, style: str
) -> None:
    fake.script(Overflow(window=9_000, style=style), Say("done"))
    answer = gateway.chat({"messages": long_chat(40), "max_tokens": 500})
    first, second = [seen.json for seen in fake.posts]
    assert answer.status == 200
    assert counting.count(second, model="gpt-4o").tokens <= 8_500 < counting.count(first, model="gpt-4o").tokens
    assert running_turn(gateway).refits == 1
    # The window is known from here on: the next request fits at the first try.
    assert gateway.chat({"messages": long_chat(41), "max_tokens": 500}).number("tokens-after") <= 8_500


def test_a_large_request_is_refitted_beside_the_loop(
    gateway: Running, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    fit_now = fitting.Fitter.fit_now

    def watched(self: fitting.Fitter, *given: Any) -> Any:
        threads.append(threading.current_thread().name)
        return fit_now(self, *given)

    monkeypatch.setattr(fitting.Fitter, "fit_now", watched)
    fake.script(Overflow(window=9_000), Say("done"))
    assert gateway.chat({"messages": long_chat(40, 700), "max_tokens": 500}).status == 200
    assert running_turn(gateway).refits == 1
    assert threads == ["brim-plan"]


def test_a_fault_in_a_refit_hands_on_what_the_upstream_said(
    gateway: Running, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(fitting.Fitter, "refit", broken)
    fake.script(Overflow(window=9_000))
    answer = gateway.chat({"messages": long_chat(40), "max_tokens": 500})
    assert (answer.status, answer.json["error"]["code"]) == (400, "context_length_exceeded")
    assert "RuntimeError" in answer.headers["x-brim-note"]


def running_turn(gateway: Running) -> Any:
    return gateway.last


def test_an_overflow_inside_a_responses_stream_is_refitted_before_anything_is_streamed(
    gateway: Running, fake: FakeProvider
) -> None:
    failed = (
        b'event: response.created\ndata: {"type":"response.created","response":{"status":"in_progress"}}\n\n',
        b'event: response.failed\ndata: {"type":"response.failed","response":{"status":"failed","error":'
        b'{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}\n\n',
    )
    fake.script(Raw(failed, headers=(("content-type", "text/event-stream"),)), Say("done"))
    answer = gateway.ask("POST", "/v1/responses", {"model": "gpt-4o", "input": long_chat(9)[1:], "stream": True})
    assert b"response.failed" not in answer.body
    assert answer.events[-1]["type"] == "response.completed"


def test_an_upstream_that_keeps_saying_too_long_is_relayed(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Overflow(tokens=20_000, window=10_000), Overflow(tokens=11_000, window=10_000))
    answer = gateway.chat({"messages": long_chat(40)})
    assert answer.status == 400
    assert answer.json["error"]["code"] == "context_length_exceeded"


def test_a_model_that_nobody_knows_is_forwarded_and_its_window_learnt(start: Start, fake: FakeProvider) -> None:
    fake.window = 6_000
    fake.script(Overflow(window=6_000), Say("done"))
    running = start()
    body = {"model": "zzz-unheard-of-9", "messages": long_chat(40), "max_tokens": 100}
    answer = running.chat(body)
    assert answer.status == 200
    assert running.chat(body).number("tokens-after") <= 5_900


def test_the_counter_learns_from_usage(gateway: Running, fake: FakeProvider) -> None:
    messages = [{"role": "user", "content": words(500)}]
    gateway.chat({"messages": messages})
    gateway.settled()
    fitter, turn = gateway.gateway.fitter, gateway.last
    counter = fitter.counter(turn.found, "openai_chat", fitter.learned.of(turn.upstream, turn.tenant))
    assert counter.count(gateway.last.sent).source == "actual"


@pytest.mark.parametrize("path", requests())
def test_usage_is_read_from_whole_answers(gateway: Running, fake: FakeProvider, path: str) -> None:
    gateway.ask("POST", path, requests()[path])
    usage = gateway.last.usage
    assert usage.input > 12_000
    assert usage.output > 0


@pytest.mark.parametrize("path", [*list(requests())[:3], "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"])
def test_usage_is_read_from_streams(gateway: Running, fake: FakeProvider, path: str) -> None:
    bodies = requests()
    body = bodies.get(path) or bodies["/v1beta/models/gemini-2.5-pro:generateContent"]
    if "gemini" not in path:
        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
    fake.script(Say('so many tokens: "prompt_tokens": 5 ' * 4, pieces=30))
    answer = gateway.ask("POST", path, body)
    assert answer.status == 200
    turn = gateway.last
    assert turn.outcome == "done"
    assert turn.usage.input > 12_000
    assert turn.usage.output > 10


def test_prompt_cache_reads_are_counted(gateway: Running, fake: FakeProvider) -> None:
    chat = long_chat(40)
    gateway.chat({"messages": chat[:-2]})
    gateway.chat({"messages": chat})
    assert gateway.last.usage.cached > 10_000
    assert 0 < gateway.get("/brim/v1/live")["cache_hit_share"] < 1


def test_what_the_provider_said_of_the_beginning_counts_before_the_tokenizer(start: Start, fake: FakeProvider) -> None:
    """A server that takes a little less than is counted is trusted to go on so."""
    parts = [{"role": "user", "content": words(900, str(number))} for number in range(12)]
    taken = [round(0.91 * counting.count(parts[:number], model="gpt-4o").tokens) for number in range(13)]
    running = start(models={"gpt-4o": {"window": round(1.07 * taken[12]) + 50}})
    for number in range(2, 13):
        body = {"model": "gpt-4o", "messages": parts[:number], "max_tokens": 50}
        usage = {"prompt_tokens": taken[number], "completion_tokens": 1, "total_tokens": taken[number] + 1}
        choices = [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]
        fake.script(Raw((json.dumps({"choices": choices, "usage": usage}).encode(),)))
        running.ask("POST", "/v1/chat/completions", body)
    assert running.last.before > running.last.limit
    assert not running.last.changed
    assert running.last.usage.input <= running.last.upper <= running.last.limit
