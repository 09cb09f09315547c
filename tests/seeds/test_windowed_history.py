"""Scenarios of the plan for a token-windowed chat: 8,192 tokens, six recent messages, one persisted summary."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import brim
from brim import BadSetting, Policy
from brim.conversation import Message
from brim.stores.resilient import open_store
from brim.summaries.llm import INSTRUCTION, LlmSummarizer

MODEL = "gpt-4o"
ROOM = 8_192 - 512
SUMMARY = "Conversation summary: "


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def talk(turns: int, words: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for n in range(turns):
        found += [user(f"[q{n}] " + f"tide {n} " * words), assistant(f"[a{n}] " + f"boat {n} " * words)]
    return found


def adapter(messages: Sequence[Message], previous: str, tokens: int) -> str:
    return f"{len(messages)} messages about tides."


def offline(messages: Sequence[Message], previous: str, tokens: int) -> str:
    raise ConnectionError("offline")


def rolling(messages: list[dict[str, Any]], summarize: Any = adapter, **more: Any) -> brim.Fitted:
    settings = more.pop("settings", {})
    return brim.fit(messages, model=MODEL, policy=Policy.rolling(**settings), summarize=summarize, **more)


def said(fitted: brim.Fitted) -> list[dict[str, Any]]:
    return [message for message in fitted.messages if message["role"] != "system"]


def test_the_four_settings_have_their_defaults() -> None:
    policy = Policy.rolling()
    assert (policy.max_prompt_tokens, policy.reserved_response_tokens) == (8_192, 512)
    assert (policy.recent_messages_to_keep, policy.min_recent_messages_to_keep) == (6, 2)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_prompt_tokens", 0),
        ("max_prompt_tokens", "many"),
        ("reserved_response_tokens", -1),
        ("reserved_response_tokens", 8_192),
        ("recent_messages_to_keep", 0),
        ("min_recent_messages_to_keep", 7),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_with_its_name(setting: str, value: Any) -> None:
    with pytest.raises(BadSetting, match=setting):
        Policy.rolling(**{setting: value})


def test_under_budget_there_is_no_summary_and_all_is_retained() -> None:
    messages = [*talk(5, 50), user("And now?")]
    assert rolling(messages).body is messages


def test_over_budget_older_messages_are_summarised_and_the_last_six_retained() -> None:
    messages = [*talk(30, 120), user("And now?")]
    fitted = rolling(messages)
    assert fitted.messages[0]["role"] == "system"
    assert fitted.messages[0]["content"].startswith(SUMMARY)
    assert said(fitted) == messages[-len(said(fitted)) :]
    assert 6 <= len(said(fitted)) <= 7  # a window begins where the user speaks
    assert fitted.tokens <= ROOM


def test_the_current_message_is_in_the_prompt_once() -> None:
    history = [*talk(30, 120), user("What is my name?")]
    for given in (history, [*history, user("What is my name?")]):
        assert json.dumps(rolling(given).messages).count("What is my name?") == 1


def test_the_latest_messages_exceed_the_cap_so_the_window_shrinks_but_not_below_two() -> None:
    messages = [*talk(10, 800), user("And now?")]
    fitted = rolling(messages)
    assert 2 <= len(said(fitted)) < 6
    assert said(fitted) == messages[-len(said(fitted)) :]
    assert fitted.tokens <= ROOM


def test_two_huge_recent_messages_are_compressed_and_the_current_one_stays_verbatim() -> None:
    messages = [*talk(4, 50), user("[old] " + "tide " * 9_000), assistant("[new] " + "boat " * 9_000), user("Why?")]
    fitted = rolling(messages)
    assert said(fitted)[-1] == user("Why?")
    assert fitted.tokens <= ROOM
    assert set(fitted.archive.values()) >= {messages[-3]["content"], messages[-2]["content"]}


def test_a_huge_single_message_is_condensed_and_not_dropped() -> None:
    fitted = rolling([user("List the ports.\n" + "".join(f"Port {n} is {n} miles off.\n" for n in range(9_000)))])
    text = fitted.messages[-1]["content"]
    assert text.startswith("List the ports.")
    assert "Port 8999" in text or "Port 0 " in text
    assert fitted.tokens <= ROOM


ONE_LINE = {
    "minified JSON": json.dumps(
        {"rows": [[n, n * 7 % 1013, f"berth-{n}"] for n in range(9_000)]}, separators=(",", ":")
    ),
    "an address": "https://example.com/?" + "&".join(f"key{n}={n * 31}" for n in range(9_000)),
    "a language without spaces": "港に船が入り潮が満ちる" * 4_000,
    "hexadecimal digits": "".join(f"{n * 7919:x}" for n in range(20_000)),
    "one word": "b" * 200_000,
}


@pytest.mark.parametrize("policy", ["agent", "rolling"])
@pytest.mark.parametrize("ask", ["", "What is this? "])
@pytest.mark.parametrize("kind", ONE_LINE)
def test_a_huge_single_line_is_condensed_and_not_refused(kind: str, ask: str, policy: str) -> None:
    fitted = brim.fit([user(ask + ONE_LINE[kind])], model=MODEL, budget=4_000, policy=policy)
    assert fitted.tokens <= 4_000
    text = fitted.messages[0]["content"]
    assert text.startswith(ask or ONE_LINE[kind][:60])
    assert text.endswith(ONE_LINE[kind][-60:])


@pytest.mark.parametrize("policy", ["agent", "rolling"])
def test_a_log_that_is_pasted_without_a_word_is_condensed_and_not_refused(policy: str) -> None:
    log = "\n".join(f"2026-03-09T06:30:{n % 60:02}Z INFO checkout event={n * 7919:x} done" for n in range(4_000))
    assert brim.fit([user(log)], model=MODEL, budget=4_000, policy=policy).tokens <= 4_000


def test_large_context_is_trimmed_to_what_the_messages_leave() -> None:
    messages = [*talk(3, 100), user("How deep is berth 7?")]
    document = "\n".join(f"Berth {n} is {n / 2} m deep." for n in range(5_000))
    fitted = rolling(messages, context=[document])
    assert said(fitted)[-len(messages) :] == messages
    context = said(fitted)[0]["content"]
    assert context.startswith("You have access to the following document")
    assert "BEGIN" in context
    assert "END" in context
    assert "Berth 7 is 3.5 m deep." in context
    assert 0.8 * ROOM < fitted.tokens <= ROOM


def test_context_goes_to_nothing_before_messages_are_touched() -> None:
    messages = [*talk(1, 1_220), user("And now?")]
    alone = brim.count(messages, model=MODEL).tokens
    fitted = rolling(messages, context=["deep " * 4_000], budget=alone + 20)
    assert fitted.messages == messages


@pytest.mark.parametrize("summarize", [offline, None])
def test_without_a_model_a_truncated_summary_stands_and_the_cap_holds(summarize: Any) -> None:
    fitted = rolling([*talk(40, 150), user("And now?")], summarize)
    assert fitted.messages[0]["content"].startswith(SUMMARY)
    assert "tide" in fitted.messages[0]["content"]
    assert fitted.tokens <= ROOM


@pytest.mark.parametrize("messages", [[], [user("Hello")]])
def test_an_empty_history_needs_no_summary(messages: list[dict[str, Any]]) -> None:
    assert rolling(messages).messages == messages


def test_the_summary_persists_as_a_system_message_and_a_reload_goes_on_from_it(tmp_path: Path) -> None:
    store = open_store(tmp_path / "chat.db")
    session = brim.Session(model=MODEL, policy=Policy.rolling(), store=store)
    for n in range(40):
        fitted = session.say(f"[q{n}] " + f"tide {n} " * 150)
        assert fitted.tokens <= ROOM
        session.record({"choices": [{"message": assistant(f"[a{n}] " + f"boat {n} " * 150)}]})
    before = [message for message in fitted.messages if message["content"].startswith(SUMMARY)]
    assert len(before) == 1
    assert before[0]["role"] == "system"
    store.close()

    again = open_store(tmp_path / "chat.db")
    later = brim.Session.load(session.id, store=again).say("And now?")
    kept = [message for message in later.messages if message["content"].startswith(SUMMARY)]
    assert len(kept) == 1
    assert later.messages[-1] == user("And now?")
    assert later.tokens <= ROOM
    again.close()


async def _asked(told: list[tuple[str, str]], system: str, text: str, tokens: int) -> str:
    told.append((system, text))
    return "Berth 12 was chosen."


def test_the_model_is_asked_in_the_words_of_the_template_and_gets_the_previous_summary() -> None:
    told: list[tuple[str, str]] = []
    summarizer = LlmSummarizer(lambda *args: _asked(told, *args))
    history = brim.fit([user("Which berth? " * 40), assistant("Berth 12. " * 40)], model=MODEL).conversation.messages
    asyncio.run(summarizer.summarize(history, "They met at noon.", 200))
    system, text = told[0]
    assert system == INSTRUCTION
    assert INSTRUCTION.startswith("Summarize the conversation so far for an assistant.")
    assert "Keep key facts, constraints, decisions, action items, and unresolved questions." in INSTRUCTION
    assert INSTRUCTION.endswith("Be concise. Do not invent details.")
    assert text.startswith("Previous summary: They met at noon.")
    assert "User: Which berth?" in text
    assert "Assistant: Berth 12." in text
