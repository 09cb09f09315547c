"""What the planner looks at, what it spends its room on, and what it says when there is none."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import brim
from brim import apis
from brim.models import find
from brim.planning import prefilter
from brim.tokens import counter
from brim.tokens.counter import Counter

WORDS = "parcel depot driver invoice route customer label scanner sorter manifest pallet claim refund carrier".split()


def long_chat(messages: int) -> list[dict[str, Any]]:
    rnd = random.Random(5)
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n}: " + " ".join(rnd.choices(WORDS, k=40))}
        for n in range(messages)
    ]
    return [{"role": "system", "content": "Be brief."}, *said, {"role": "user", "content": "Which pallet was 1777?"}]


def forget_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counter, "_sizes", {})


def test_of_a_very_long_history_only_what_may_stay_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_counts(monkeypatch)
    measured = []
    measure = Counter._measure
    monkeypatch.setattr(Counter, "_measure", lambda self, message: measured.append(1) or measure(self, message))
    chat = long_chat(5_000)
    fitted = brim.fit(chat, model="gpt-4o", budget=4_000)
    assert fitted.tokens <= 4_000
    assert len(measured) < 1_500
    assert any("1776:" in message["content"] or "1777:" in message["content"] for message in fitted.messages)


def test_a_very_long_history_that_only_seems_too_large_is_given_back() -> None:
    # Those that sizes are guessed from have many tokens a byte, all others few.
    chat = [{"role": "user", "content": "~^|" * 60 if n % 46 == 0 else " " * 180} for n in range(3_000)]
    tokens = brim.count(chat, model="gpt-4o").tokens
    size = Counter(find("gpt-4o"), "openai_chat").message
    assert prefilter.guessed(apis.parse(chat).messages, size, tokens) is not None
    assert brim.fit(chat, model="gpt-4o", budget=tokens).messages == chat


def test_a_very_long_chat_fills_its_budget_where_its_sizes_are_guessed_too_high() -> None:
    chat = [{"role": "user", "content": "~^|" * 10 + f" and so on {n} " * 15} for n in range(3_000)]
    for n in range(0, 3_000, 46):  # those that sizes are guessed from
        chat[n]["content"] = "~^|@#" * 40
    tokens = brim.count(chat, model="gpt-4o").tokens // 10
    assert brim.fit(chat, model="gpt-4o", budget=tokens).tokens >= 0.97 * tokens


def test_what_was_counted_before_does_not_change_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = long_chat(2_000)
    forget_counts(monkeypatch)
    cold = brim.fit(chat, model="gpt-4o", budget=4_000).messages
    brim.count(chat, model="gpt-4o")
    assert brim.fit(chat, model="gpt-4o", budget=4_000).messages == cold


def test_the_report_of_a_very_long_history_counts_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = long_chat(2_000)
    forget_counts(monkeypatch)
    report = brim.fit(chat, model="gpt-4o", budget=4_000).report
    assert report.before == brim.count(chat, model="gpt-4o").tokens
    assert report.archived + report.kept >= 2_002


def result_of(values: Any) -> list[dict[str, Any]]:
    call = {"id": "a", "type": "function", "function": {"name": "readings", "arguments": "{}"}}
    return [
        {"role": "user", "content": "Read the meter."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": json.dumps(values)},
        {"role": "assistant", "content": "It is read."},
        {"role": "user", "content": "What was the first reading?"},
    ]


@pytest.mark.parametrize("budget", [400, 700, 1_100])
def test_values_that_are_all_worth_the_same_fill_the_room_as_far_as_it_goes(budget: int) -> None:
    rnd = random.Random(3)
    fitted = brim.fit(result_of([rnd.randint(100, 999) for _ in range(2_000)]), model="gpt-4o", budget=budget)
    assert 0.96 * budget <= fitted.tokens <= budget


def test_what_stepping_down_leaves_over_is_used_again() -> None:
    rnd = random.Random(4)

    def rows() -> list[dict[str, Any]]:
        return [{"id": f"P-{rnd.randint(1000, 9999)}", "count": rnd.randint(1, 99)} for _ in range(300)]

    turns = [message for _ in range(4) for message in result_of({"rows": rows(), "note": "all of today"})]
    for number, message in enumerate(turns):
        if message["role"] == "assistant" and message["content"] is None:
            message["tool_calls"] = [{**message["tool_calls"][0], "id": f"c{number}"}]
            turns[number + 1]["tool_call_id"] = f"c{number}"
    shares = [brim.fit(turns, model="gpt-4o", budget=budget).tokens / budget for budget in range(600, 3_000, 300)]
    assert min(shares) >= 0.95
    assert max(shares) <= 1.0


def test_a_refusal_lists_what_must_stay_and_the_list_adds_up() -> None:
    messages = [
        {"role": "system", "content": "Always answer in verse. " * 30},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Good day."},
        {"role": "user", "content": "Tell me of the sea."},
    ]
    with pytest.raises(brim.BudgetTooSmall) as refused:
        brim.fit(messages, model="gpt-4o", budget=60)
    assert sum(tokens for _, tokens in refused.value.must_stay) == refused.value.needed
    assert refused.value.must_stay[0][0] == "system messages[0]"
    assert "user messages[3]" in [name for name, _ in refused.value.must_stay]
    assert brim.fit(messages, model="gpt-4o", budget=refused.value.needed + 30).tokens <= refused.value.needed + 30


def test_a_pasted_log_has_its_own_line_in_the_current_message() -> None:
    log = "\n".join(f"10:00:{n % 60:02d} INFO request {n} took {n % 97} ms" for n in range(600))
    request = [{"role": "user", "content": f"Why is it slow?\n```\n{log}\n```\nBe brief."}]
    report = brim.fit(request, model="gpt-4o", budget=2_000).report
    words, pasted = report.layers[4].parts
    assert (words.name, pasted.name) == ("words", "pasted")
    assert pasted.before > 6_000 > 2_000 > pasted.after > 1_500
    assert words.after < 60
    assert words.after + pasted.after == report.layers[4].after
    assert report.layers[2].before == 0
    assert sum(use.after for use in report.layers) == report.after


def test_a_thought_never_stays_without_its_answer() -> None:
    messages: list[dict[str, Any]] = []
    for turn in range(8):
        answer = json.dumps([{"id": turn * 10 + n, "name": f"item-{n}", "note": "x" * n} for n in range(6)])
        messages.append({"role": "user", "content": f"List page {turn}, please."})
        messages.append({"role": "assistant", "content": answer, "reasoning_content": "let me see " * 20})
    messages.append({"role": "user", "content": "And now?"})
    for budget in range(60, 2_000, 23):
        for message in brim.fit(messages, model="gpt-4o", budget=budget).messages:
            assert message["content"], f"nothing but a thought is left at {budget}"


def of_words(messages: int, words: int) -> list[dict[str, Any]]:
    rnd = random.Random(5)
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"m{n}: " + " ".join(rnd.choices(WORDS, k=words))}
        for n in range(messages)
    ]


@pytest.mark.parametrize(("words", "budget"), [(200, 1_000), (40, 1_000), (900, 1_000), (900, 3_000)])
def test_the_exchange_before_the_current_message_stays_before_anything_older(words: int, budget: int) -> None:
    chat = [*of_words(20, words), {"role": "user", "content": "m20: " + " ".join(WORDS)}]
    kept = [message["content"].partition(":")[0] for message in brim.fit(chat, model="gpt-4o", budget=budget).messages]
    assert kept[-3:] == ["m18", "m19", "m20"]


def test_an_exchange_that_does_not_fit_is_no_reason_to_refuse() -> None:
    chat = [*of_words(20, 900), {"role": "user", "content": "And what now?"}]
    for budget in range(20, 120, 10):
        assert brim.fit(chat, model="gpt-4o", budget=budget).tokens <= budget


def test_an_answer_never_speaks_first_where_messages_are_archived() -> None:
    chat = of_words(41, 60)
    chat[3]["content"] = "m3: the harbour master keeps the pallet of the owl " * 5
    chat[40]["content"] = "m40: Which pallet does the harbour master keep?"
    for budget in range(100, 2_000, 100):
        assert brim.fit(chat, model="claude-sonnet-4-5", budget=budget).messages[0]["role"] == "user"


def test_the_users_words_stay_beside_a_newest_step_that_almost_fills_the_window() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"pattern": "budget"}'}}
    first = "Move final_report.pdf into the folder temp, and make sure that the folder exists."
    messages = [
        {"role": "user", "content": first},
        *({"role": "assistant", "content": f"Looking at folder {n}."} for n in range(30)),
        {"role": "user", "content": "Now find where it speaks of the budget."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": " ".join(f"word{n}" for n in range(330))},
    ]
    whole = brim.count(messages[-3:], model="gpt-4o").tokens
    sent = brim.fit(messages, model="gpt-4o", budget=whole + 30).messages
    assert sent[0]["content"] == first
    assert sent[-2]["tool_calls"] == [call]
