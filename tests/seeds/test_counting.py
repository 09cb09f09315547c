"""Scenarios of the RFC on counting: actuals first, never under, and a window that is never passed."""

from __future__ import annotations

import time
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import pytest

import brim
from brim import Model
from brim.cli.service.status import line
from brim.models import find
from brim.models.discovery import discover
from brim.planning.reports.decisions import level_of
from brim.stores.resilient import open_store
from brim.stores.sqlite import SqliteStore
from brim.testing import FakeProvider, Say
from brim.tokens.actuals import MARGINS, Analytics, UsageRecord
from brim.tokens.tokenizers import tokenizer
from tests.gateway.conftest import Running, Start, long_chat

OWN = Model("harbor-1", "own", 32_000, None, "estimate", None, "openai_chat", "set by hand")


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def talk(messages: int) -> list[dict[str, Any]]:
    return [(assistant if n % 2 else user)(f"Message {n}. " + f"word{n} and more " * (n + 5)) for n in range(messages)]


def billed(messages: list[dict[str, Any]]) -> int:
    """What a provider with a tokenizer of its own would report."""
    return 3 + sum(5 + ceil(len(message["content"]) / 3.1) for message in messages)


def learned(messages: list[dict[str, Any]], store: Any = None) -> brim.Actuals:
    actuals = brim.Actuals(store)
    for end in range(1, len(messages) + 1, 2):
        brim.record(messages[:end], billed(messages[:end]), model=OWN, actuals=actuals)
    return actuals


# Sources


def test_the_margins_are_2_percent_on_actuals_5_on_tokenizers_and_10_on_estimates() -> None:
    assert (MARGINS["actual"], MARGINS["exact"], MARGINS["estimated"]) == (0.02, 0.05, 0.10)


def test_of_fifty_messages_only_the_one_being_composed_is_estimated() -> None:
    messages = talk(49)
    actuals = learned(messages)
    count = brim.count([*messages, user("And now?")], model=OWN, actuals=actuals)
    truth = billed([*messages, user("And now?")])
    assert count.source == "actual"
    assert abs(count.tokens - truth) <= 0.01 * truth
    assert truth <= count.upper <= 1.05 * truth


def test_an_edited_message_loses_its_number_and_all_others_keep_theirs() -> None:
    messages = talk(11)
    actuals = learned(messages)
    edited = [*messages[:2], user("Edited, and quite another thing to say."), *messages[3:]]
    count = brim.count(edited, model=OWN, actuals=actuals)
    truth = billed(edited)
    cold = brim.count(edited, model=OWN).tokens
    assert abs(count.tokens - truth) <= 0.03 * truth < abs(cold - truth)
    assert truth <= count.upper


def test_four_messages_of_750_tokens_keep_three_numbers_when_the_third_is_edited() -> None:
    words = "words and more of them "
    messages = [(assistant if n % 2 else user)(f"Message {n}. " + words * k) for n, k in enumerate((30, 40, 36, 44))]
    actuals, total = brim.Actuals(), 0
    for n, tokens in enumerate((150, 200, 180, 220)):
        total += tokens
        brim.record(messages[: n + 1], total, model=OWN, actuals=actuals)
    count = brim.count(messages, model=OWN, actuals=actuals)
    assert (count.tokens, count.source) == (750, "actual")
    assert count.messages == pytest.approx((150, 200, 180, 220), abs=2)
    edited = [*messages[:2], user("Edited. " + words * 39), messages[3]]
    after = brim.count(edited, model=OWN, actuals=actuals)
    assert after.tokens == pytest.approx(765, abs=15)
    assert brim.count(edited, model=OWN).tokens > 1_000  # without what was reported
    assert after.tokens < after.upper


def test_identical_messages_share_their_number_wherever_they_stand() -> None:
    messages = talk(11)
    actuals = learned(messages)
    moved = [messages[4], messages[5], messages[2], messages[3]]
    count = brim.count(moved, model=OWN, actuals=actuals)
    assert abs(count.tokens - billed(moved)) <= 0.05 * billed(moved)
    assert billed(moved) <= count.upper


def test_numbers_of_one_model_are_not_used_for_another() -> None:
    messages = talk(7)
    actuals = learned(messages)
    other = Model("other-1", "own", 32_000, None, "estimate", None, "openai_chat", "set by hand")
    assert brim.count(messages, model=other, actuals=actuals).source == "estimated"


def test_numbers_survive_a_restart(tmp_path: Path) -> None:
    messages = talk(9)
    store = open_store(tmp_path / "brim.db")
    learned(messages, store)
    store.close()
    again = open_store(tmp_path / "brim.db")
    count = brim.count(messages, model=OWN, actuals=brim.Actuals(again))
    assert (count.tokens, count.source) == (billed(messages), "actual")
    again.close()


def test_numbers_of_more_than_thirty_days_are_deleted(tmp_path: Path) -> None:
    messages, now = talk(9), time.time()
    store = SqliteStore(tmp_path / "brim.db")
    learned(messages, store)
    store.close()

    def source_after(days: float) -> str:
        again = SqliteStore(tmp_path / "brim.db", now=lambda: now + days * 86_400)
        again.evict()
        count = brim.count(messages, model=OWN, actuals=brim.Actuals(again))
        again.close()
        return count.source

    assert [source_after(29), source_after(32)] == ["actual", "estimated"]


def test_the_correction_factor_follows_what_is_reported() -> None:
    actuals = brim.Actuals()
    before = brim.count(talk(6), model=OWN, actuals=actuals).tokens
    for n in range(12):
        fresh = [user(f"Question {n}: " + f"item{n} costs money " * 40)]
        brim.record(fresh, billed(fresh), model=OWN, actuals=actuals)
    after = brim.count(talk(6), model=OWN, actuals=actuals).tokens
    truth = billed(talk(6))
    assert abs(after - truth) < abs(before - truth)


# Never under


@pytest.mark.parametrize(
    "text",
    [
        "function foo() { return x + y; }",
        "The quick brown fox",
        "日本語テキスト",
        '{"key": "value"}',
        "🎉🎊 ✨",
        "=>{}[];" * 50,
    ],
)
@pytest.mark.parametrize(
    "model", ["gpt-4o", "gpt-4", "o1", "claude-sonnet-4-5", "gemini-2.5-pro", "llama-3.1-8b-instant"]
)
def test_no_known_tokenizer_is_replaced_by_a_guess_from_characters(model: str, text: str) -> None:
    count = brim.count(text, model=model)
    assert count.source == "exact"
    assert count.tokens <= count.upper


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("function foo() { return x + y; }", 10),
        ("The quick brown fox", 4),
        ("日本語テキスト", 7),
        ('{"key": "value"}', 6),
    ],
)
def test_texts_that_a_guess_from_characters_gets_wrong_take_what_the_vocabulary_says(text: str, tokens: int) -> None:
    count = brim.count(text, model="gpt-4")
    assert (count.tokens, count.source) == (tokens, "exact")
    assert tokens < count.upper <= ceil(1.05 * tokens) + 1


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o", "o200k"),
        ("o1", "o200k"),
        ("gpt-4", "cl100k"),
        ("gpt-3.5-turbo", "cl100k"),
        ("claude-3-opus-20240229", "claude-3"),
    ],
)
def test_a_model_has_its_encoding(model: str, family: str) -> None:
    assert find(model).family == family


def test_an_unknown_family_is_estimated_above_what_any_known_one_takes() -> None:
    for text in ("def f(x): return x**2\n" * 50, "日本語テキスト" * 30, '{"a": [1, 2, 3], "b": null}' * 30):
        known = [brim.count(text, model=model).tokens for model in ("gpt-4o", "gpt-4", "claude-3-opus-20240229")]
        assert brim.count(text, model=OWN).upper >= max(known[:2])


def test_input_is_85_percent_of_a_window_whose_largest_output_is_unknown() -> None:
    assert OWN.max_input() == int(32_000 * 0.85)


def test_models_and_windows_are_discovered_from_an_api() -> None:
    answer = {"data": [{"id": "maker/new-model", "context_window": 200_000, "max_tokens": 64_000}]}
    (found,) = discover(answer, provider="gateway", api="openai_chat")
    assert (found.name, found.window, found.max_output) == ("maker/new-model", 200_000, 64_000)
    assert found.max_input() == 136_000


def test_of_two_hundred_messages_only_the_new_one_is_tokenized() -> None:
    messages = talk(200)
    brim.count(messages, model="gpt-4o")
    counter, read = tokenizer("o200k"), list[str]()
    real = counter.count
    object.__setattr__(counter, "count", lambda text: read.append(text) or real(text))
    new = user("New message. " + "some more words " * 100)
    try:
        brim.count([*messages, new], model="gpt-4o")
    finally:
        object.__setattr__(counter, "count", real)
    assert len(new["content"]) <= sum(map(len, read)) <= len(new["content"]) + 200


# Analytics and the status bar


def test_estimates_are_compared_with_what_came() -> None:
    analytics = Analytics()
    analytics.add(UsageRecord("r1", 1.0, "openai", "gpt-4o", 103, 110))
    assert analytics.records()[0].status == "pending"
    analytics.add(UsageRecord("r1", 1.0, "openai", "gpt-4o", 103, 110, 100, 20, status="success"))
    assert len(analytics.records("gpt-4o")) == 1
    assert analytics.statistics("gpt-4o").mean == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("used", "level"),
    [(0.0, "ok"), (0.749, "ok"), (0.751, "high"), (0.899, "high"), (0.901, "full"), (1.0, "full")],
)
def test_the_level_is_high_above_75_and_full_above_90_percent(used: float, level: str) -> None:
    assert level_of(used) == level


def test_a_window_that_is_full_is_critical_only_where_a_refusal_is_near() -> None:
    chat = [user("Be so kind. " * 20), *talk(40)[1:-1], user("And now?")]
    full = brim.fit(chat, model="gpt-4o", budget=1_500).report
    assert (full.level, full.used > 0.95, full.must_stay < 60) == ("full", True, True)

    ruled = [{"role": "system", "content": "Always be brief and kind. " * 240}, *chat]
    near = brim.fit(ruled, model="gpt-4o", budget=1_500).report
    assert (near.level, near.must_stay > 0.9 * 1_500) == ("critical", True)

    # Documents inside the instructions can be shortened, so that nothing is refused for their sake.
    documents = f"<project_context>{'The harbour office opens at nine. ' * 200}</project_context>"
    shrinks = [{"role": "system", "content": f"Be brief.\n{documents}\nBe kind."}, *chat]
    assert brim.fit(shrinks, model="gpt-4o", budget=1_500).report.level == "full"


def test_the_status_bar_shows_the_true_use_and_no_alarm_while_nothing_is_near_refusal(start: Start) -> None:
    gateway = start(models={"gpt-4o": {"window": 3_000}})
    gateway.chat({"messages": long_chat(40, 60), "max_tokens": 200})
    gateway.settled()
    turn = gateway.get("/brim/v1/status")["turn"]
    assert turn["tokens_before"] > turn["limit"] >= turn["usage"]["input"]
    assert turn["used"] == round(turn["usage"]["input"] / turn["limit"], 4)
    assert turn["level"] in ("high", "full")
    assert "critical" not in line(turn, 10)

    gateway.chat({"messages": [{"role": "system", "content": "Be kind. " * 880}, *long_chat(2, 9)], "max_tokens": 200})
    gateway.settled()
    crowded = gateway.get("/brim/v1/status")["turn"]
    assert (crowded["level"], crowded["must_stay"] > 0.9 * crowded["limit"]) == ("critical", True)
    assert "critical" in line(crowded, 10)


def test_the_status_line_has_the_share_and_the_limit() -> None:
    turn = {
        "limit": 112_000,
        "tokens_before": 101_000,
        "tokens_after": 60_000,
        "used": 0.61,
        "level": "ok",
        "model": "gpt-4o",
    }
    assert line(turn, 10) == "██████░░░░ 61% of 112k · gpt-4o · 41k saved"


# Through the gateway


def test_a_conversation_never_hits_the_limit_of_its_window(start: Start, fake: FakeProvider) -> None:
    fake.window = 9_000
    running = start(models={"small": {"window": 9_000, "max_output": 1_000, "family": "o200k"}})
    chat = long_chat(40, 300)
    for end in range(2, len(chat) + 1, 6):
        answer = running.chat({"model": "small", "messages": chat[:end]})
        assert answer.status == 200, answer.body
    assert all(turn.usage.input <= turn.upper for turn in running.gateway.journal.recent if turn.usage)


def test_the_usage_at_the_end_of_a_stream_teaches_the_next_count(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Say("hello"), Say("hello again"))
    body = {"messages": [user("Say hello.")], "stream": True, "stream_options": {"include_usage": True}}
    assert gateway.chat(body).status == 200
    gateway.settled()
    turn = gateway.last
    assert turn.usage.input == brim.count(body["messages"], model="gpt-4o").tokens
    actuals = gateway.gateway.fitter.learned.of(turn.upstream, turn.tenant)
    assert brim.count(body["messages"], model="gpt-4o", actuals=actuals).source == "actual"
    assert gateway.get("/brim/v1/live")["mean_error"] == 0


def test_error_statistics_rate_the_corrected_estimate(start: Start, fake: FakeProvider) -> None:
    fake.window = 40_000
    running = start(models={"acme-1": {"window": 40_000, "max_output": 500, "family": "estimate"}})
    raw: list[float] = []
    for n in range(24):
        # Digits are where an estimate without the vocabulary is far off; each request is a conversation of its own.
        body = {"model": "acme-1", "messages": [user(f"Chat {n}: " + " ".join(str(n * 7919 + k) for k in range(300)))]}
        assert running.chat(body).status == 200
        guessed = brim.count(body["messages"], model=replace(OWN, name="acme-1")).tokens
        raw.append(abs(guessed / running.last.usage.input - 1))
    errors = [abs(turn.error) for turn in running.gateway.journal.recent]
    assert len(errors) == len(raw)
    assert min(raw) > 0.05
    assert max(errors[12:]) < min(raw[12:]) / 2
    rated = running.get("/brim/v1/live")["mean_error"]
    assert rated == pytest.approx(sum(errors) / len(errors), abs=1e-3)


def test_the_last_model_of_a_client_is_remembered(gateway: Running) -> None:
    gateway.chat({"model": "gpt-4.1", "messages": [user("Hello")]}, user_agent="editor/1.0")
    gateway.settled()
    last = gateway.last
    assert gateway.gateway.fitter.last_models.of_client(last.client, last.tenant) == "gpt-4.1"


def test_anthropics_own_context_management_is_switched_on_where_it_is_asked_for(
    start: Start, fake: FakeProvider
) -> None:
    running = start(gateway={"clear_tool_uses": ["claude-*"]})
    body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [user("Hello")]}
    assert running.ask("POST", "/v1/messages", body).status == 200
    sent = fake.posts[-1]
    assert sent.json["context_management"]["edits"][0]["type"].startswith("clear_tool_uses")
