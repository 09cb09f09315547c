"""A short reply keeps the question that it answers when the message that asked it is archived."""

from __future__ import annotations

from typing import Any

import brim

MODEL = "gpt-4o"
QUESTION = "Shall I move the nightly backup of the Tromsø site to 03:40?"


def fitted(reply: str, budget: int) -> tuple[str, brim.Fitted]:
    notes = " ".join(
        f"Site {n} keeps {n * 37} volumes on shelf {n * 11}, and nobody has looked at them." for n in range(90)
    )
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Look after the backups."},
        {"role": "assistant", "content": f"{notes}\n\n{QUESTION}"},
        {"role": "user", "content": reply},
    ]
    for number in range(8):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "move", "arguments": f'{{"n": {number}}}'}}
        rows = ", ".join(f"volume {number}-{row} moved to rack {row * 7}" for row in range(60))
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": rows},
        ]
    found = brim.fit(messages, model=MODEL, budget=budget)
    return "\n".join(str(message.get("content") or "") for message in found.messages), found


def test_a_kept_yes_keeps_the_archived_question_that_it_answers() -> None:
    text, found = fitted("Yes.", 1_500)
    assert f"- {QUESTION} → Yes." in text
    assert found.tokens <= 1_500


def test_a_reply_that_speaks_for_itself_takes_no_room_for_its_question() -> None:
    text, _ = fitted("Yes, move the backup to twenty to four, and tell the night shift.", 1_500)
    assert "answered:" not in text


def test_a_question_in_view_is_not_said_again() -> None:
    text, _ = fitted("Yes.", 30_000)
    assert text.count(QUESTION) == 1
    assert "answered:" not in text


def test_the_last_answer_stays_where_the_newest_step_takes_more_than_half_of_the_room() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"flight": "HAT286"}'}}
    offer = "To confirm: flight HAT286 on May 24, business class, $897 in total, paid by the card ending in 9448."
    messages = [
        {"role": "user", "content": "Please move my flight to May 24."},
        *(
            {"role": "assistant", "content": f"I am looking at offer {n}, which costs {n * 37} dollars."}
            for n in range(40)
        ),
        {"role": "assistant", "content": offer},
        {"role": "user", "content": "Yes, everything looks good, please go ahead."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": " ".join(f"word{n}" for n in range(150))},
    ]
    newest = brim.count(messages[-3:], model="gpt-4o").tokens
    sent = brim.fit(messages, model="gpt-4o", budget=newest + 110).messages
    assert offer in [message["content"] for message in sent]
