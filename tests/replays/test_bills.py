"""What requests cost: cached, written and fresh input at their own prices."""

from __future__ import annotations

from typing import Any

import pytest

from brim import apis
from brim.models import Model, Prices, find
from brim.replays.bills import Bill, Bills
from brim.tokens.counter import Counter
from tests.replays.chats import chat, claude

OPENAI = Prices(fresh=2.0, output=8.0, cached=0.2)
CLAUDE = Prices(fresh=3.0, output=15.0, cached=0.3, written=3.75)


def billed(requests: list[Any], prices: Prices | None, times: list[float] | None = None) -> list[Bill]:
    bills, counter = Bills(5, 10), None
    found = []
    for number, body in enumerate(requests):
        conversation = apis.parse(body)
        counter = counter or Counter(find(conversation.model), conversation.api)
        at = times[number] if times else None
        found.append(bills.bill("a", conversation, counter, prices, at))
    return found


def usd(tokens: int, price: float) -> float:
    return tokens * price / 1e6


def test_what_the_request_before_began_with_is_read_from_the_cache() -> None:
    first, second, third = billed(chat(3), OPENAI)
    assert (first.reused, first.usd) == (0, pytest.approx(usd(first.tokens, 2.0)))
    # The first was shorter than what a provider caches.
    assert first.tokens < 1_024
    assert second.reused == first.tokens
    assert second.usd == pytest.approx(usd(second.tokens, 2.0))
    fresh = third.tokens - second.tokens
    assert third.usd == pytest.approx(usd(second.tokens, 0.2) + usd(fresh, 2.0))


def test_without_a_price_for_the_cache_all_input_is_fresh() -> None:
    bills = billed(chat(4), Prices(fresh=2.0, output=8.0))
    assert bills[-1].reused == bills[-2].tokens
    assert bills[-1].usd == pytest.approx(usd(bills[-1].tokens, 2.0))


def test_without_prices_there_is_no_cost_and_still_a_reuse() -> None:
    bill = billed(chat(4), None)[-1]
    assert bill.usd is None
    assert bill.reused > 0


def test_anthropic_without_a_breakpoint_reads_and_writes_no_cache() -> None:
    bills = billed(claude(4), CLAUDE)
    assert [bill.usd for bill in bills] == [pytest.approx(usd(bill.tokens, 3.0)) for bill in bills]
    assert bills[-1].reused == bills[-2].tokens


def test_anthropic_with_breakpoints_writes_what_is_new_and_reads_what_is_old() -> None:
    *_, third, fourth = billed(claude(4, marks=True), CLAUDE)
    new = fourth.tokens - third.tokens
    assert fourth.usd == pytest.approx(usd(third.tokens, 0.3) + usd(new, 3.75))


def test_a_breakpoint_in_the_tools_or_the_system_field_caches_only_the_head() -> None:
    rules = {"type": "text", "text": "Rule: look twice. " * 400, "cache_control": {"type": "ephemeral"}}
    requests = [{**body, "system": [rules]} for body in claude(3)]
    head = Counter(find("claude-sonnet-4-5"), "anthropic").head(apis.parse(requests[0]))
    first, _, third = billed(requests, CLAUDE)
    assert first.usd == pytest.approx(usd(head, 3.75) + usd(first.tokens - head, 3.0))
    assert third.usd == pytest.approx(usd(head, 0.3) + usd(third.tokens - head, 3.0))


def test_a_cache_that_has_gone_cold_is_not_read() -> None:
    warm = billed(chat(4), OPENAI, [0, 60, 120, 180])[-1]
    cold = billed(chat(4), OPENAI, [0, 60, 120, 120 + 301])[-1]
    assert warm.usd is not None
    assert cold.usd == pytest.approx(usd(cold.tokens, 2.0))
    assert warm.usd < cold.usd
    assert cold.reused == warm.reused


def test_other_tools_or_instructions_lose_the_whole_prefix() -> None:
    one, two = claude(4)[2:]
    tools = [{"name": "read_log", "input_schema": {"type": "object"}}]
    assert billed([one, {**two, "tools": tools}], CLAUDE)[-1].reused == 0
    assert billed([one, {**two, "system": "You sleep."}], CLAUDE)[-1].reused == 0


def test_an_edit_keeps_what_stands_before_it() -> None:
    one, two = chat(4)[2:]
    two["messages"][3]["content"] = "another day"
    model: Model = find("gpt-4o")
    counter = Counter(model, "openai_chat")
    kept = counter.total(apis.parse({**one, "messages": one["messages"][:3]}))
    assert billed([one, two], OPENAI)[-1].reused == kept


def test_conversations_are_billed_apart() -> None:
    bills = Bills(5, 10)
    one, two = chat(4)[3], chat(4, topic="lake")[3]
    counter = Counter(find("gpt-4o"), "openai_chat")
    for key, body in (("a", one), ("b", two)):
        assert bills.bill(key, apis.parse(body), counter, OPENAI, None).reused == 0
    assert bills.bill("a", apis.parse(one), counter, OPENAI, None).reused > 0
