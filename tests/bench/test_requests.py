"""Requests of other libraries are measured whether or not an API would take them."""

from __future__ import annotations

from typing import Any

import pytest
from versus.requests import answerable, mended, shared, size, wrong

import brim

SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "Where is parcel 12?"}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "Oslo"}


def call(*ids: str) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "find", "arguments": '{"id": 12}'}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def test_a_valid_request_weighs_what_brim_counts_and_is_not_mended() -> None:
    chat = [SYSTEM, ASKED, call("a"), RESULT]
    assert size(chat) == brim.count(chat, model="gpt-4o").tokens
    assert wrong(chat) == []
    assert mended(chat) == chat


@pytest.mark.parametrize(
    ("chat", "problem"),
    [
        ([ASKED, RESULT], "1: a result without its call"),
        ([ASKED, call("a"), ASKED], "2: the call a has no result"),
        ([ASKED, call("a", "b"), RESULT], "the call b has no result"),
        ([{"role": "user", "content": ""}], "0: empty"),
        ([], "no messages"),
    ],
)
def test_what_an_api_refuses_is_told_and_mended_into_what_it_takes(chat: list[Any], problem: str) -> None:
    assert problem in wrong(chat)
    made = mended(chat)
    assert wrong(made) == ([] if chat else ["no messages"])
    assert size(made) >= 0
    if chat:
        assert brim.count(made, model="gpt-4o").tokens > 0


def test_mending_keeps_the_texts_of_torn_pairs() -> None:
    made = str(mended([ASKED, call("a", "b"), RESULT]))
    assert "Oslo" in made
    assert "find" in made


def test_a_request_without_the_newest_message_cannot_be_answered() -> None:
    chat = [SYSTEM, ASKED, call("a"), RESULT]
    assert answerable(chat, [SYSTEM, call("a"), {**RESULT, "content": "O…"}])
    assert not answerable(chat, [SYSTEM, ASKED])
    assert not answerable(chat, [])


def test_the_shared_start_ends_at_the_first_difference() -> None:
    assert shared([SYSTEM, ASKED], [SYSTEM, RESULT, ASKED]) == 1
    assert shared([SYSTEM], [SYSTEM, ASKED]) == 1
    assert shared([], [SYSTEM]) == 0
