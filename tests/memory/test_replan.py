"""Re-plans: what the newest step may take, and when all is settled anew."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from brim import catalog, wire
from brim.catalog.model import Prices
from brim.memory.replan import Replan
from brim.memory.session import Session
from brim.memory.view import Entry, View
from brim.plan.policy import Policy
from brim.plan.work import Work
from brim.tokens.counter import Counter


def step(number: int, result: str) -> list[dict[str, Any]]:
    function = {"name": "look", "arguments": json.dumps({"page": number})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def rows(number: int) -> str:
    return json.dumps([{"id": number * 1000 + k, "note": f"note {k} of many"} for k in range(number)])


def pays(prices: Prices) -> bool:
    """Whether a shallow re-plan pays: of 10,000 tokens it would leave 7,000, of them 5,000 as they were."""
    model = replace(catalog.find("gpt-4o"), prices=prices)
    counter = Counter(model, "openai_chat")
    conversation = wire.parse([{"role": "user", "content": "Go on."}])
    work = Work(conversation, counter, model, Policy.agent(), limit=10_000, own_limit=False)
    message = conversation.messages[0]
    view = View([Entry(n, n + 1, message, 100) for n in range(95)], 50, 9_500)
    return Replan(work, [message], view)._pays(settled=5_000, total=7_000, newest=500)


def test_the_prices_of_the_cache_decide_how_deep_a_re_plan_goes() -> None:
    assert pays(Prices(fresh=3.0, output=15.0, cached=0.3, written=3.75))  # sending anew is what costs
    assert not pays(Prices(fresh=3.0, output=15.0, cached=2.7, written=3.0))  # reading what stands is


@pytest.mark.parametrize(("limit", "settled"), [(100, 97), (2_000, 1_597)])
def test_a_window_that_leaves_no_room_for_a_step_is_settled_whole(limit: int, settled: int) -> None:
    model = catalog.find("gpt-4o")
    conversation = wire.parse([{"role": "user", "content": "Go on."}])
    work = Work(conversation, Counter(model, "openai_chat"), model, Policy.agent(), limit=limit, own_limit=False)
    message = conversation.messages[0]
    view = View([Entry(n, n + 1, message, 25) for n in range(5)], 0, 125)
    assert Replan(work, [message], view)._low == settled


@pytest.mark.parametrize("before", [0, 6])
def test_a_result_that_is_too_large_leaves_room_for_the_next_steps(before: int) -> None:
    session = Session(model="gpt-4o", budget=2_000)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at the pages."}]
    for number in range(before):
        messages += step(number, rows(4))
    messages += step(90, rows(900))
    session.fit(messages)
    assert session.replans == 1
    for number in range(100, 104):
        messages += step(number, rows(1))
        session.fit(messages)
    assert session.replans == 1


def test_a_large_result_does_not_push_out_what_fits_beside_its_share() -> None:
    session = Session(model="gpt-4o", budget=3_000)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at the pages."}]
    for number in range(6):
        messages += step(number, rows(4))
    before = session.fit(messages).messages
    fitted = session.fit([*messages, *step(90, rows(900))]).messages
    assert fitted[: len(before)] == before


def test_a_second_large_result_leaves_the_first_as_it_was_sent() -> None:
    session = Session(model="gpt-4o", budget=3_000)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at the pages."}, *step(1, rows(110))]
    session.fit(messages)
    assert session.view.untouched()
    assert session.view.tokens > 1_500
    fitted = session.fit([*messages, *step(90, rows(900))])
    assert fitted.messages[: len(messages)] == messages
    assert fitted.tokens <= 3_000
    assert session.view.entries[-1].tokens >= 400


def test_a_newest_step_that_would_be_cut_too_short_takes_room_from_what_was_sent() -> None:
    session = Session(model="gpt-4o", budget=3_000)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at the pages."}, *step(1, rows(160))]
    session.fit(messages)
    assert session.view.untouched()
    assert session.view.tokens > 2_300
    fitted = session.fit([*messages, *step(90, rows(900))])
    assert fitted.messages[: len(messages)] != messages
    assert fitted.tokens <= 3_000
    assert session.view.entries[-1].tokens >= 600


def test_a_newest_step_that_fits_beside_what_is_settled_is_not_cut_to_its_share() -> None:
    said = "I will look for the tools that can do this, and then tell you which of them I would take for it. " * 3
    tools = [{"server": f"server-{n}", "tool_name": f"get_transcript_{n}", "about": "Talks " * 12} for n in range(4)]
    asked, answered = step(1, json.dumps(tools))
    messages = [{"role": "user", "content": "Tell me what the talk is about."}, {**asked, "content": said}, answered]
    session = Session(model="gpt-4o", budget=205)
    sent = session.fit(messages)
    assert sent.tokens <= 205
    assert sent.messages[1]["content"] == said
    assert all(f"get_transcript_{n}" in sent.messages[2]["content"] for n in range(4))


def booking(number: int) -> str:
    history = {f"booking_{n}": {"card_id": f"{n}" * 12, "note": f"seat {n} by the window"} for n in range(number)}
    return json.dumps({"booking_id": "3426812", "history": history})


def test_what_was_found_last_is_still_known_by_its_first_values_after_an_answer() -> None:
    session = Session(model="gpt-4o", budget=500)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at the pages, then book."}]
    messages += [*step(1, rows(40)), *step(2, booking(60))]
    session.fit(messages)
    messages.append({"role": "assistant", "content": "Booked. Do you want anything else for this journey?"})
    messages.append(
        {"role": "user", "content": "Yes, the invoice of that booking, please. " + "It is for my files. " * 12}
    )
    sent = session.fit(messages)
    found = next(message["content"] for message in sent.messages if message.get("tool_call_id") == "c2")
    assert "booking_id:3426812" in found
    assert "characters" not in found


def pairs(messages: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the calls and results of an Anthropic request."""
    wrong: list[str] = []
    waiting: list[str] = []
    for number, message in enumerate(messages):
        blocks = message["content"] if isinstance(message["content"], list) else []
        answered = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
        if sorted(answered) != sorted(waiting):
            wrong.append(f"{number}: {answered} answer {waiting}")
        waiting = [block["id"] for block in blocks if block.get("type") == "tool_use"]
    return wrong


@pytest.mark.parametrize("parallel", [1, 3])
def test_an_edit_of_an_old_result_never_parts_a_call_from_its_results(parallel: int) -> None:
    session = Session(model="claude-sonnet-4-5", budget=2_500)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(30):
        ids = [f"c{number}.{call}" for call in range(parallel)]
        text = " ".join(f"line {number}.{line} of the file" for line in range(60 // parallel))
        calls = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in ids]
        results = [{"type": "tool_result", "tool_use_id": name, "content": text} for name in ids]
        messages = [*messages, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]
        if number >= 8 and number % 2 == 0:
            old = messages[2 * (number - 8) + 2]["content"]
            cleared = [{**block, "content": "[cleared]"} for block in old]
            messages[2 * (number - 8) + 2] = {"role": "user", "content": cleared}
        fitted = session.fit({"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": messages})
        assert pairs(fitted.messages) == []
        assert fitted.tokens <= 2_500
