"""Long lists of plain messages."""

from __future__ import annotations

import pytest

from brim import apis
from brim.apis import message_lists
from brim.apis.plain_messages import Columns
from brim.conversation import encode
from brim.errors import BadBody


def test_a_message_that_is_none_is_named_by_its_place_in_a_long_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_lists, "LEAST", 1)
    said = [{"role": "user", "content": str(n)} for n in range(9)]
    apis.parse(said, "openai_chat")
    with pytest.raises(BadBody, match=r"messages\[10\].role"):
        apis.parse([*said, {"role": "user", "content": "on"}, {"role": "nobody", "content": ""}], "openai_chat")


def test_a_long_list_is_read_as_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [{"role": "user", "content": f"{n} " + "word " * 20} for n in range(1_000)]
    monkeypatch.setattr(apis, "_lists", message_lists.Lists())
    assert [message.value for message in apis.parse(said, "openai_chat").messages] == said


def test_columns_tell_instructions_and_what_is_more_than_a_text() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "日本"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "found"},
        {"role": "user", "content": "and?"},
    ]
    messages = apis.parse(said, "openai_chat").messages
    found = Columns.of(messages)
    assert found.lengths == [len(message.raw) for message in messages]
    assert found.texts == [message.text for message in messages]
    assert (found.systems, found.others) == ([0], [0, 1, 2, 3])


@pytest.mark.parametrize(("api", "field"), [("gemini", "contents"), ("openai_responses", "input")])
def test_messages_that_an_api_does_not_know_stay_a_field_of_the_body(api: str, field: str) -> None:
    said = [{"role": "user", "content": f"{n} " + "word " * 20} for n in range(1_000)]
    asked = {"gemini": [{"role": "user", "parts": [{"text": "hi"}]}]}.get(api, [{"role": "user", "content": "hi"}])
    body = {field: asked, "messages": said}
    read = apis.parse(body, api)
    assert [message.text for message in read.messages] == ["hi"]
    assert read.fields["messages"] == encode(said)
    assert apis.render(read, body, read) == body
