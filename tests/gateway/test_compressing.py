"""`/v1/compress` keeps the contract of LiteLLM's guardrail; tests/integrations/litellm.py asks with the real one."""

from __future__ import annotations

import re
from typing import Any

from brim.tokens import text_counter
from tests.gateway.conftest import Running

MODEL, BUDGET = "gpt-4o", 3_000
ADA, BEN = {"authorization": "Bearer ada"}, {"authorization": "Bearer ben"}


def result(number: int, rows: int = 120) -> dict[str, Any]:
    said = "\n".join(f"berth {number}-{row}: {row * 7919 % 1013} cm free, pier {row % 7}" for row in range(rows))
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": said}


FIRST = {"role": "user", "content": "Which berth may the Aurora use? Never move the Borealis."}


def compress(gateway: Running, messages: list[Any], headers: dict[str, str] = ADA, **more: Any) -> Any:
    answer = gateway.ask("POST", "/v1/compress", {"messages": messages, "model": MODEL, **more}, headers)
    assert answer.status == 200, answer.body
    return answer.json


def size(messages: list[Any]) -> int:
    return sum(map(text_counter(MODEL), (message["content"] for message in messages)))


def test_what_fits_comes_back_as_it_was(gateway: Running) -> None:
    told = compress(gateway, [FIRST, result(1)])
    assert told["messages"] == [FIRST, result(1)]
    assert (told["tokens_saved"], told["compression_ratio"], told["ccr_hashes"]) == (0, 1.0, [])


def test_long_results_are_shortened_in_their_places(gateway: Running) -> None:
    messages = [FIRST, *map(result, range(8))]
    told = compress(gateway, messages, budget=BUDGET)
    assert [message["role"] for message in told["messages"]] == [message["role"] for message in messages]
    assert told["messages"][0] == FIRST
    assert size(told["messages"]) == told["tokens_after"] <= BUDGET < told["tokens_before"] == size(messages)
    assert told["compression_ratio"] == round(told["tokens_after"] / told["tokens_before"], 4)
    assert [message["tool_call_id"] for message in told["messages"][1:]] == [f"call_{n}" for n in range(8)]


def test_a_hash_brings_the_original_back_to_its_tenant_alone(gateway: Running) -> None:
    told = compress(gateway, [FIRST, *map(result, range(8))], budget=BUDGET)
    assert told["ccr_hashes"]
    for message, original in zip(told["messages"][1:], map(result, range(8)), strict=True):
        (hash,) = re.findall(r"hash=([a-f0-9]{24})", message["content"])
        assert hash in told["ccr_hashes"]
        found = gateway.ask("GET", f"/v1/retrieve/{hash}?query=berth", headers=ADA)
        assert found.json["original_content"] == original["content"]
        assert gateway.ask("GET", f"/v1/retrieve/{hash}", headers=BEN).status == 404
        assert gateway.ask("GET", f"/v1/retrieve/{hash[:12]}", headers=ADA).status == 404


def test_a_query_brings_back_what_the_original_says_on_it(gateway: Running) -> None:
    lines = [
        f"berth {number}: ship S{number * 7919 % 1013} lies here since day {number % 31}" for number in range(2_000)
    ]
    lines[1_234] = "The contract KX-4471 names the owner of the Aurora."
    told = compress(gateway, [FIRST, {**result(1), "content": "\n".join(lines)}], budget=BUDGET)
    (hash,) = told["ccr_hashes"]
    found = gateway.ask("GET", f"/v1/retrieve/{hash}?query=contract+KX-4471", headers=ADA).json["original_content"]
    assert lines[1_234] in found
    assert text_counter("gpt-4o")(found) <= 2_000
    assert gateway.ask("GET", f"/v1/retrieve/{hash}", headers=ADA).json["original_content"] == "\n".join(lines)


def test_tenants_get_hashes_of_their_own_for_the_same_content(gateway: Running) -> None:
    asked = [FIRST, *map(result, range(8))]
    hashes = [set(compress(gateway, asked, who, budget=BUDGET)["ccr_hashes"]) for who in (ADA, BEN)]
    assert not hashes[0] & hashes[1]


def test_what_was_shortened_stays_as_it_is_while_it_fits(gateway: Running) -> None:
    before: list[Any] = []
    stable = 0
    for turns in range(6, 30):
        now = compress(gateway, [FIRST, *(result(number, 40) for number in range(turns))], budget=8_000)["messages"]
        stable += now[: len(before)] == before
        before = now
    assert stable >= 18  # of 24; the others are compactions


def test_a_window_holds_where_no_budget_is_given(gateway: Running) -> None:
    told = compress(gateway, [FIRST, *(result(number, 1_500) for number in range(8))])
    assert told["tokens_before"] > 64_000 >= told["tokens_after"]


def test_contents_that_are_no_text_pass(gateway: Running) -> None:
    parts = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}
    empty = {"role": "tool", "tool_call_id": "x", "content": None}
    told = compress(gateway, [parts, empty, *map(result, range(8))], budget=BUDGET)
    assert told["messages"][:2] == [parts, empty]


def test_what_is_no_request_is_refused(gateway: Running) -> None:
    for body in ({}, {"messages": "hello"}, {"messages": [], "budget": 0}, [1]):
        assert gateway.ask("POST", "/v1/compress", body).status == 422
    assert gateway.ask("GET", "/v1/compress").status == 405


def test_an_unknown_model_is_left_alone_without_a_budget(gateway: Running) -> None:
    messages = [FIRST, *map(result, range(8))]
    assert compress(gateway, messages, model="nobody-knows")["messages"] == messages
