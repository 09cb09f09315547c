"""A message of only a role and a text is read on a short way that must give what the long one gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim import apis
from brim.apis.anthropic import messages as anthropic
from brim.apis.openai_chat import messages as openai_chat
from brim.conversation import Message, decode
from tests.apis.layouts import LAYOUTS, Write

READERS = [(openai_chat.read_message, openai_chat._read_message), (anthropic.read_message, anthropic._read_message)]
TEXT = st.text() | st.sampled_from(["", "\ud800", "日本 🎉", '"\\', "\x00"])


def shown(message: Message) -> tuple[Any, ...]:
    return message.role, message.parts, message.raw, message.digest, message.calls, message.answers


@given(
    st.sampled_from(["user", "assistant", "system"]), TEXT, st.sampled_from(sorted(LAYOUTS)), st.sampled_from(READERS)
)
def test_both_ways_of_reading_agree(role: str, text: str, layout: str, readers: Any) -> None:
    write: Write = LAYOUTS[layout]
    try:
        raw = write({"role": role, "content": text})
        decode(raw)
    except ValueError:
        return  # a lone surrogate that this layout writes as bytes that are no UTF-8
    short, long = readers
    assert shown(short(raw, "m")) == shown(long(raw, "m"))


@pytest.mark.parametrize(
    "raw",
    [
        b'{"role":"user","content":7}',
        b'{"role":"user"}',
        b'{"role":"pope","content":"hi"}',
        b'{"role":"tool","content":"hi"}',
        b'{"role":"user","content":"hi"',
    ],
)
def test_what_is_no_plain_message_is_refused_as_before(raw: bytes) -> None:
    with pytest.raises(brim.BadBody):
        openai_chat.read_message(raw, "messages[0]")


def test_fields_beside_role_and_text_are_still_seen() -> None:
    found = openai_chat.read_message(b'{"role":"assistant","content":"hi","reasoning_content":"hm"}', "m")
    assert [part.kind for part in found.parts] == ["thinking", "text"]


def test_equal_messages_of_one_list_are_one_object_also_when_they_are_new() -> None:
    said = {"role": "user", "content": "again and again, and never before"}
    one, two, three = apis.parse([said, dict(said), said]).messages
    assert one is two is three
    assert apis.parse([said]).messages == (one,)
