"""Rolling without a summary: as many messages as fit, and which of them begin and end what stays."""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim import BadSetting, Policy
from brim.apis import APIS
from tests.planning.chats import MODEL, size, texts

# The chat of LangChain's own tests of `trim_messages`; its ids are names here.
TEXT = "This is a 4 token text."
SYSTEM = {"role": "system", "content": TEXT}
FIRST = {"role": "user", "content": TEXT, "name": "first"}
BLOCKS = ["This is the FIRST 4 token block.", "This is the SECOND 4 token block."]
SECOND = {"role": "assistant", "content": [{"type": "text", "text": text} for text in BLOCKS], "name": "second"}
THIRD = {"role": "user", "content": TEXT, "name": "third"}
FOURTH = {"role": "assistant", "content": TEXT, "name": "fourth"}
CHAT = [SYSTEM, FIRST, SECOND, THIRD, FOURTH]
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "high at nine, low at three in the morning"}
FIRST_BLOCK, SECOND_BLOCK = (SECOND | {"content": [block]} for block in SECOND["content"])


def trim(messages: Any, budget: int, **settings: Any) -> brim.Fitted:
    policy = Policy.rolling(summary=False, max_prompt_tokens=100_000, **settings)
    return brim.fit(messages, model=MODEL, budget=budget, policy=policy)


def room_for(*messages: Any, spare: int = 0) -> int:
    """A budget that exactly these messages fit."""
    return size(list(messages)) + spare


def check(budget: int, expected: list[Any], messages: Any = CHAT, **settings: Any) -> None:
    fitted = trim(messages, budget, **settings)
    assert fitted.messages == expected
    assert fitted.tokens <= budget


# The last messages.


def test_the_last_messages_that_fit_stay_with_the_instructions_and_without_a_summary() -> None:
    check(room_for(SYSTEM, THIRD, FOURTH), [SYSTEM, THIRD, FOURTH])
    check(room_for(SYSTEM, THIRD, FOURTH, spare=5), [SYSTEM, THIRD, FOURTH])


def test_a_chat_that_fits_is_left_as_it_is() -> None:
    assert trim(CHAT, room_for(*CHAT)).body is CHAT


def test_an_empty_chat_stays_empty() -> None:
    assert trim([], 100).messages == []


def test_of_the_oldest_message_that_does_not_fit_whole_its_later_blocks_stay() -> None:
    budget = room_for(SYSTEM, SECOND_BLOCK, THIRD, FOURTH)
    check(budget, [SYSTEM, SECOND_BLOCK, THIRD, FOURTH], allow_partial=True)


def test_of_the_oldest_message_that_does_not_fit_whole_its_last_words_stay() -> None:
    end = THIRD | {"content": "a 4 token text."}
    chat = CHAT[1:]
    check(room_for(end, FOURTH), [end, FOURTH], chat, allow_partial=True)
    check(room_for(SYSTEM, end, FOURTH), [SYSTEM, end, FOURTH], allow_partial=True)


def test_a_part_that_may_not_begin_the_chat_does_not_stay() -> None:
    budget = room_for(SYSTEM, SECOND_BLOCK, THIRD, FOURTH)
    check(budget, [SYSTEM, THIRD, FOURTH], allow_partial=True, start_on="user")
    three = [
        {"role": "user", "content": "First human message"},
        {"role": "assistant", "content": "AI response"},
        {"role": "user", "content": "Second human message"},
    ]
    check(room_for(*three[1:]), three[2:], three, allow_partial=True, start_on="user")


def test_what_stays_ends_with_a_role_that_may_end_it() -> None:
    check(room_for(*CHAT), [SYSTEM, FIRST, SECOND, THIRD], end_on="user")
    budget = room_for(SYSTEM, SECOND_BLOCK, THIRD)
    check(budget, [SYSTEM, SECOND_BLOCK, THIRD], allow_partial=True, end_on=["user"])


def test_what_stays_begins_with_a_role_that_may_begin_it() -> None:
    check(room_for(SYSTEM, SECOND, THIRD, FOURTH), [SYSTEM, THIRD, FOURTH], start_on="user")
    check(room_for(SYSTEM, SECOND, THIRD, FOURTH), [SYSTEM, SECOND, THIRD, FOURTH], start_on=("user", "assistant"))
    check(room_for(SYSTEM, FOURTH), [SYSTEM, FOURTH], start_on="assistant")


def test_of_a_single_message_its_end_stays() -> None:
    message = {"role": "user", "content": "This is a funky text."}
    end = {"role": "user", "content": "a funky text."}
    check(room_for(end), [end], [message], allow_partial=True)


def test_instructions_that_may_leave_go_before_any_message() -> None:
    check(room_for(FIRST, SECOND, THIRD, FOURTH), [FIRST, SECOND, THIRD, FOURTH], include_system=False)
    check(room_for(*CHAT), CHAT, include_system=False)


def test_instructions_in_a_field_of_their_own_stay_in_any_case() -> None:
    system = SYSTEM["content"]
    body = {"model": "claude-sonnet-4-5", "system": system, "max_tokens": 100, "messages": [FIRST, FOURTH, THIRD]}
    policy = Policy.rolling(summary=False, include_system=False)
    alone = brim.fit({**body, "messages": [THIRD]}, policy=policy).tokens
    fitted = brim.fit(body, budget=alone, policy=policy)
    assert fitted.body["system"] == system
    assert fitted.messages == [THIRD]


# The first messages.


def test_the_first_messages_that_fit_stay() -> None:
    check(room_for(SYSTEM, FIRST), [SYSTEM, FIRST], keep="first")
    check(room_for(*CHAT) - 1, [SYSTEM, FIRST, SECOND, THIRD], keep="first")


def test_of_the_first_message_that_does_not_fit_whole_its_earlier_blocks_stay() -> None:
    budget = room_for(SYSTEM, FIRST, FIRST_BLOCK)
    check(budget, [SYSTEM, FIRST, FIRST_BLOCK], keep="first", allow_partial=True)
    check(budget, [SYSTEM, FIRST], keep="first", allow_partial=True, end_on="user")


def test_of_the_first_message_that_does_not_fit_whole_its_first_words_stay() -> None:
    message = {"role": "user", "content": "This is a long message that needs trimming"}
    start = {"role": "user", "content": "This is a"}
    check(room_for(start), [start], [message], keep="first", allow_partial=True)


def test_a_message_of_blocks_alone_keeps_the_blocks_that_fit() -> None:
    check(room_for(FIRST_BLOCK), [FIRST_BLOCK], [SECOND], keep="first", allow_partial=True)


def test_an_exact_budget_is_enough() -> None:
    two = [{"role": "system", "content": "10 tokens exactly."}, {"role": "user", "content": "Another 10 tokens."}]
    check(room_for(*two), two, two, keep="first")
    three = [*two, THIRD]
    check(room_for(*two), two, three, keep="first")


# What is left is a request.


def test_a_result_never_begins_and_a_call_never_ends_what_stays() -> None:
    chat = [FIRST, CALL, RESULT, FOURTH, THIRD]
    check(room_for(CALL, RESULT, FOURTH, THIRD) - room_for(CALL), [FOURTH, THIRD], chat, start_on=["user", "assistant"])
    check(room_for(FIRST, CALL), [FIRST], chat, keep="first")
    check(room_for(*chat), [FIRST, CALL, RESULT], chat, end_on="tool")
    check(room_for(*chat), [FIRST, CALL, RESULT, FOURTH], chat, end_on="assistant")


def test_where_nobody_speaks_who_may_end_it_a_chat_ends_as_it_does() -> None:
    check(room_for(FIRST, SECOND), [FIRST, SECOND], [FIRST, SECOND], end_on="tool")


def test_anthropic_gets_a_chat_that_begins_with_the_user_whatever_may_begin_it() -> None:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [FIRST, SECOND, THIRD]}
    policy = Policy.rolling(summary=False, start_on="assistant", allow_partial=True)
    whole = brim.fit(body, policy=policy).tokens
    fitted = brim.fit(body, budget=whole - 3, policy=policy)
    assert fitted.messages[0]["role"] == "user"
    assert APIS["anthropic"].user_first


def test_what_left_is_in_the_archive_and_in_the_report() -> None:
    fitted = trim(CHAT, room_for(SYSTEM, SECOND_BLOCK, THIRD), allow_partial=True, end_on="user")
    kept = "\n".join(fitted.archive.values())
    assert all(text in kept for text in (FIRST["content"], BLOCKS[0], FOURTH["content"]))
    gone = {decision.item: decision.form for decision in fitted.plan if decision.form != "full"}
    assert gone == {"messages[1]": "archived", "messages[2]": "outline", "messages[4]": "archived"}


def test_context_takes_what_the_messages_leave() -> None:
    policy = Policy.rolling(summary=False)
    note = "The harbour office opens at six. " * 40
    fitted = brim.fit(CHAT, model=MODEL, budget=room_for(*CHAT) + 60, policy=policy, context=[note])
    assert any("harbour office" in text for text in texts(fitted))
    assert fitted.messages[-1] == FOURTH
    assert fitted.tokens <= room_for(*CHAT) + 60


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"start_on": "user"}, "start_on"),
        ({"allow_partial": True}, "allow_partial"),
        ({"summary": False, "start_on": "human"}, "start_on"),
        ({"summary": False, "start_on": "tool"}, "start_on"),
        ({"summary": False, "end_on": 3}, "end_on"),
        ({"summary": False, "keep": "middle"}, "keep"),
        ({"summary": False, "keep": "first", "start_on": "user"}, "start_on"),
    ],
)
def test_a_setting_of_trimming_that_cannot_be_is_named(settings: Any, place: str) -> None:
    with pytest.raises(BadSetting, match=f"policy.{place}"):
        Policy.rolling(**settings)
