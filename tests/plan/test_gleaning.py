"""Values of folded results stand in the notice of what was folded."""

from __future__ import annotations

import json
from typing import Any

import brim

BOOKED = {"booking_id": "3426812", "transaction_id": "45451592", "booking_status": True, "booking_history": {}}
ASKED = "Once the trip is arranged, would you be able to get me an invoice that has every detail of it, please?"


def step(number: int, name: str, arguments: dict[str, Any], result: Any) -> list[dict[str, Any]]:
    call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": json.dumps(result)},
        {"role": "assistant", "content": "Done."},
    ]


def trip() -> list[dict[str, Any]]:
    """A step whose call is long and whose result has one short value that is needed next."""
    wish = "Please book a first-class flight with seats by the window and two bags, vegetarian meals, " * 3
    arguments = {"token": "abc123", "travel_from": "RMS", "travel_to": "JFK", "wish": wish}
    return [
        {"role": "user", "content": "Fly me to New York on the first of December, as comfortably as it goes."},
        *step(1, "book_flight", arguments, BOOKED),
        {"role": "user", "content": ASKED},
    ]


def notice_of(messages: list[dict[str, Any]]) -> str:
    return next(m["content"] for m in messages if str(m["content"]).startswith("["))


def test_a_step_that_is_too_large_to_keep_leaves_its_identifiers_in_the_notice() -> None:
    messages = trip()
    fitted = brim.fit(messages, model="gpt-4o", budget=75)
    assert not any("tool_calls" in message for message in fitted.messages)
    assert "book_flight returned" in notice_of(fitted.messages)
    assert "booking_id:3426812" in notice_of(fitted.messages)
    assert brim.count(fitted.messages, model="gpt-4o").tokens <= 75


def test_a_small_result_that_is_folded_leaves_its_number_in_the_notice() -> None:
    messages = [
        {"role": "user", "content": "What is the mean of what we took in each quarter of the last year?"},
        *step(
            1,
            "mean",
            {"numbers": [5_000, 7_000, 6_000, 8_000], "wish": "as exactly as it goes " * 12},
            {"mean": 6_501.5},
        ),
        {"role": "user", "content": ASKED},
    ]
    fitted = brim.fit(messages, model="gpt-4o", budget=75)
    assert not any("tool_calls" in message for message in fitted.messages)
    assert "mean returned mean:6501.5" in notice_of(fitted.messages)
    assert brim.count(fitted.messages, model="gpt-4o").tokens <= 75


def test_what_the_notice_quotes_of_a_result_is_kept_whole_in_the_stash() -> None:
    fitted = brim.fit(trip(), model="gpt-4o", budget=75)
    assert any(json.dumps(json.dumps(BOOKED))[1:-1] in text for text in fitted.stash.values())


def test_values_of_folded_results_go_before_anything_that_must_stay() -> None:
    least = brim.count([trip()[-1]], model="gpt-4o").tokens
    refused = 0
    for budget in range(least, 75):
        try:
            fitted = brim.fit(trip(), model="gpt-4o", budget=budget)
        except brim.BudgetTooSmall:
            refused += 1
            continue
        assert brim.count(fitted.messages, model="gpt-4o").tokens <= budget
        assert fitted.messages[-1]["content"] == ASKED
    assert refused < 75 - least


def test_a_session_still_shows_the_value_of_a_step_that_it_folded() -> None:
    session = brim.Session(model="gpt-4o", budget=75)
    messages = trip()
    for end in (1, 4, 5):
        fitted = session.fit(messages[:end])
    assert "3426812" in json.dumps(fitted.messages)


def test_a_step_that_is_kept_is_not_told_of_twice() -> None:
    messages = [*trip()[:-1], *trip()]
    for budget in range(80, 240, 20):
        shown = brim.fit(messages, model="gpt-4o", budget=budget).messages
        results = [m["content"] for m in shown if m["role"] == "tool"]
        told = [m["content"].count("booking_id") for m in shown if m["role"] == "user"]
        assert len(results) + sum(told) <= 2


def listed() -> list[dict[str, Any]]:
    """A step of which only some of its values, all worth the same, have a place in the notice."""
    found = {"matches": [f"./projects/photography/test_image{n}.jpg" for n in range(12)]}
    return [
        {"role": "user", "content": "Find all that is a test, in whichever folder it may lie."},
        *step(1, "find", {"path": ".", "wish": "wherever it may lie, however deep " * 20}, found),
        {"role": "user", "content": ASKED},
    ]


def test_of_values_that_do_not_all_fit_into_the_notice_the_first_ones_do() -> None:
    fitted = brim.fit(listed(), model="gpt-4o", budget=75)
    assert not any("tool_calls" in message for message in fitted.messages)
    assert "find returned matches:[./projects/photography/test_image0.jpg" in notice_of(fitted.messages)
    assert "more]" in notice_of(fitted.messages)  # and it says that there are others
    assert fitted.tokens <= 75


def test_with_less_room_the_notice_says_fewer_values_rather_than_none() -> None:
    told = []
    for budget in range(60, 120, 4):
        fitted = brim.fit(listed(), model="gpt-4o", budget=budget)
        assert fitted.tokens <= budget
        if not any("tool_calls" in message for message in fitted.messages):
            told.append(notice_of(fitted.messages).count("test_image"))
    assert 1 in told
    assert max(told) > 2


def test_in_a_session_the_notice_stands_at_the_first_gap_and_what_is_before_it_stays() -> None:
    session = brim.Session(model="gpt-4o", budget=420)
    messages = [{"role": "user", "content": "Plan my week and remember that I never fly on Mondays."}]
    told: list[tuple[int, list[Any]]] = []
    for number in range(12):
        messages += step(number, "look_up", {"day": number}, {"plan": [f"meeting {number}-{n}" for n in range(12)]})
        messages.append({"role": "user", "content": f"And what is there to do on day {number}?"})
        sent = session.fit(messages).messages
        at = next((n for n, m in enumerate(sent) if "earlier messages folded" in str(m["content"])), None)
        if at is not None:
            told.append((at, sent[:at]))
    assert max(at for at, _ in told) > 0
    assert all(before == messages[:at] for at, before in told)


def reading(name: str, arguments: dict[str, Any], result: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "Is the order open?"}, *step(1, name, arguments, result)[:-1]]


def test_what_was_found_last_is_read_before_what_was_asked_for() -> None:
    order = {f"field_{n}": f"what the customer wrote about {n}" for n in range(12)}
    messages = reading("place_order", order, {"order_id": "A-4417", "note": "as it was asked for " * 8})
    least = next(n for n in range(20, 200) if not refused(messages, n))
    for budget in range(least + 8, 90):
        sent = brim.fit(messages, model="gpt-4o", budget=budget)
        assert sent.tokens <= budget
        assert "A-4417" in sent.messages[-1]["content"]


def test_where_there_is_no_room_for_both_the_newest_result_is_shown_and_the_notice_is_not() -> None:
    earlier = [*step(7, "look_up", {"day": 7}, {"plan": "meeting"}), {"role": "user", "content": "Thanks."}]
    messages = [*earlier, *reading("list_stocks", {"sector": "Technology"}, {"stocks": ["AAPL", "GOOG", "MSFT"]})]
    least = next(n for n in range(20, 200) if not refused(messages, n))
    starved = [brim.fit(messages, model="gpt-4o", budget=budget).messages for budget in range(least, least + 12)]
    assert any("AAPL" in sent[-1]["content"] for sent in starved)
    for sent in starved:
        told = any("folded" in str(message["content"]) for message in sent)
        assert not told or "AAPL" in sent[-1]["content"]


def refused(messages: list[dict[str, Any]], budget: int, model: str = "gpt-4o") -> bool:
    try:
        brim.fit(messages, model=model, budget=budget)
    except brim.BudgetTooSmall:
        return True
    return False


def test_a_result_that_only_its_api_can_write_is_never_cut_to_make_room_for_itself() -> None:
    sealed = "ZW5j" * 20
    hit = {"type": "web_search_result", "url": "https://a.b/c", "title": "A title", "encrypted_content": sealed}
    said = [
        {
            "type": "tool_use",
            "id": "t1",
            "name": "s",
            "input": {f"field_{n}": f"what was written {n}" for n in range(12)},
        },
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [hit]},
    ]
    messages = [
        {"role": "user", "content": "Is it open?"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok " * 50}]},
    ]
    fitting = [n for n in range(100, 400, 20) if not refused(messages, n, "claude-sonnet-4-5")]
    assert fitting
    for budget in fitting:
        assert sealed in json.dumps(brim.fit(messages, model="claude-sonnet-4-5", budget=budget).messages)
