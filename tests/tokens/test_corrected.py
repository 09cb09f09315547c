"""One number: where a vocabulary is only estimated, all that is shown and planned with is what was learnt of it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim import apis, models
from brim.errors import BudgetTooSmall
from brim.models import Model
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter
from tests.conversations import requests

WINDOW = 16_000
ACME = Model("acme-1", "acme", WINDOW, 1_000, "estimate", None, "openai_chat", "test")
CODE = "def total_{n}(rows: list[Row], limit_{n}: int) -> int:\n    return sum(row.amount_{n} for row in rows[:{n}])\n"
MODELS = {
    "openai_chat": ("gpt-4o", "gpt-3.5-turbo", "acme-1"),
    "openai_responses": ("gpt-4o", "acme-1"),
    "anthropic": ("claude-sonnet-4-5", "claude-opus-4-7", "acme-1"),
    "gemini": ("gemini-2.5-pro", "acme-1"),
}


SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "description": "a file"}}}
TOOLS: dict[str, Any] = {
    "openai_chat": {"type": "function", "function": {"name": "read", "parameters": SCHEMA}},
    "openai_responses": {"type": "function", "name": "read", "parameters": SCHEMA},
    "anthropic": {"name": "read", "input_schema": SCHEMA},
    "gemini": {"functionDeclarations": [{"name": "read", "parameters": SCHEMA}]},
}


def truth(messages: Any) -> int:
    """What the provider behind acme-1 charges: it has the vocabulary of another."""
    return brim.count(messages, model="gpt-4o").tokens


def code(seed: int, lines: int) -> str:
    rnd = random.Random(seed)
    return "".join(CODE.format(n=rnd.randrange(1_000)) for _ in range(lines))


def learnt() -> Actuals:
    """What a dozen requests of different sizes taught."""
    actuals = Actuals()
    for n in range(12):
        messages = [{"role": "user", "content": code(n, 5 + 4 * n)}]
        brim.record(messages, truth(messages), model=ACME, actuals=actuals)
    return actuals


def chat(turns: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a reviewer."}]
    for n in range(turns):
        messages.append({"role": "user", "content": f"What does file {n} do?"})
        messages.append({"role": "assistant", "content": code(100 + n, 6)})
    return [*messages, {"role": "user", "content": "And now?"}]


def near(shown: int, actual: int) -> bool:
    return abs(shown - actual) <= 0.05 * actual + 10


def test_a_fit_shows_and_reports_the_corrected_number_and_fills_the_window() -> None:
    actuals, messages = learnt(), chat(100)
    raw = Counter(ACME, "openai_chat").total(apis.parse(messages, "openai_chat", model=ACME))
    assert raw > 1.5 * truth(messages)  # an estimate is on the high side
    fitted = brim.fit(messages, model=ACME, actuals=actuals)
    sent, limit, report = truth(fitted.messages), ACME.max_input(None), fitted.report
    assert near(fitted.tokens, sent)
    assert near(report.after, sent)
    assert near(report.before, truth(messages))
    assert report.limit == limit
    assert sent <= limit
    assert fitted.tokens <= report.upper <= limit
    assert report.after > 0.9 * limit
    assert sum(use.after for use in report.layers) == report.after == fitted.tokens
    assert sum(use.before for use in report.layers) == report.before
    shown = sum(decision.after for decision in report.decisions)
    assert 0.9 * report.after < shown < 1.1 * report.after


def test_a_session_fills_its_window_also_after_a_compaction() -> None:
    session, messages = brim.Session(model=ACME, actuals=learnt()), [{"role": "system", "content": "Review."}]
    limit, fills, compacted = ACME.max_input(None), [], False
    for n in range(90):
        messages.append({"role": "user", "content": f"What does file {n} do?"})
        fitted = session.fit(messages)
        sent = truth(fitted.messages)
        assert sent <= limit
        assert near(fitted.tokens, sent)
        assert fitted.report.after == fitted.tokens
        compacted = compacted or session.compactions > 0
        fills += [sent / limit] if compacted else []
        session.record(sent)
        messages.append({"role": "assistant", "content": code(300 + n, 6)})
    assert session.compactions > 1
    assert max(fills) > 0.9


def test_a_refusal_is_in_the_providers_tokens() -> None:
    messages = [{"role": "user", "content": code(1, 400)}]
    with pytest.raises(BudgetTooSmall) as refused:
        brim.fit([*messages, *messages], model=ACME, budget=100, actuals=learnt(), policy="layered")
    assert refused.value.budget <= 100 < refused.value.needed
    with pytest.raises(BudgetTooSmall) as refused:
        brim.fit([{"role": "system", "content": code(2, 400)}, *messages], model=ACME, budget=4_000, actuals=learnt())
    [(_, largest), *_] = refused.value.must_stay
    assert refused.value.budget == 4_000
    assert near(largest, truth([{"role": "system", "content": code(2, 400)}]))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200_000), st.lists(st.tuples(st.integers(1, 60), st.floats(0.4, 1.2)), max_size=6))
def test_a_limit_in_estimated_tokens_is_within_the_stated_one(limit: int, seen: list[tuple[int, float]]) -> None:
    actuals = Actuals()
    counter = Counter(ACME, "openai_chat", actuals)
    for lines, share in seen:
        messages = [{"role": "user", "content": code(lines, lines)}]
        brim.record(messages, max(1, int(share * truth(messages))), model=ACME, actuals=actuals)
    inside = counter.within(limit)
    assert inside == 0 or counter.upper(inside, 0) <= limit
    assert all(counter.upper(inside * share // 50, 0) <= limit for share in range(25, 50) if inside > 100)
    assert counter.upper(2 * inside + 100, 0) > limit


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_parts_of_a_count_add_up_to_it(data: st.DataObject) -> None:
    api, body, _ = data.draw(requests())
    body = {**body, "tools": [TOOLS[api]]} if data.draw(st.booleans()) else body
    name = data.draw(st.sampled_from(MODELS[api]))
    model = ACME if name == "acme-1" else models.find(name)
    conversation = apis.parse(body, api, model=model)
    actuals = Actuals() if data.draw(st.booleans()) else None
    counter = Counter(model, api, actuals)
    for _ in range(data.draw(st.integers(0, 3)) if actuals else 0):
        upto = data.draw(st.integers(1, len(conversation.messages)))
        part = replace(conversation, messages=conversation.messages[:upto])
        counter.record(part, max(1, int(counter.total(part) * data.draw(st.floats(0.6, 1.4)))))
    count = counter.count(conversation)
    assert count.head + sum(count.messages) == count.tokens <= count.upper
    assert len(count.messages) == len(conversation.messages)
    assert all(size >= 0 for size in (count.head, *count.messages))
