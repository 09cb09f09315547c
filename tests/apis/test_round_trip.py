"""What nobody touched is written as it was read, in every API and in every layout."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim import apis
from brim.conversation import DROP, Message, changed, encode, leaf
from tests.apis.bodies import BODIES, LISTS
from tests.apis.layouts import LAYOUTS
from tests.conversations import requests

EVERY_API = pytest.mark.parametrize("api", sorted(BODIES))
EVERY_LAYOUT = pytest.mark.parametrize("layout", sorted(LAYOUTS))


def edited(api: str, message: Message, edits: dict[Any, Any]) -> Message:
    return apis.APIS[api].messages.get(encode(changed(message.value, edits)), "edited")


def with_message(conversation: Any, number: int, message: Message) -> Any:
    messages = list(conversation.messages)
    messages[number] = message
    return replace(conversation, messages=tuple(messages))


@EVERY_API
@EVERY_LAYOUT
def test_a_recorded_body_comes_back_byte_for_byte(api: str, layout: str) -> None:
    raw = LAYOUTS[layout](BODIES[api])
    assert apis.render(apis.parse(raw), raw) == raw
    assert apis.render(apis.parse(raw, api), raw) is raw


@given(requests(), st.sampled_from(sorted(LAYOUTS)))
def test_a_made_body_comes_back_byte_for_byte(request: tuple[str, dict[str, Any], str], layout: str) -> None:
    api, body, _ = request
    raw = LAYOUTS[layout](body)
    assert apis.render(apis.parse(raw, api), raw) == raw


@given(requests(), st.text(st.characters(), max_size=8), st.sampled_from(["spaced", "escaped", "plain"]))
def test_lone_surrogates_anywhere_come_back_byte_for_byte(
    request: tuple[str, dict[str, Any], str], odd: str, layout: str
) -> None:
    api, body, _ = request
    raw = LAYOUTS[layout]({**body, "note": "\ud83d" + odd, odd + "\udc00": 1})
    assert apis.render(apis.parse(raw, api), raw) == raw


@EVERY_API
def test_a_dict_comes_back_as_the_same_object(api: str) -> None:
    body = copy.deepcopy(BODIES[api])
    assert apis.render(apis.parse(body, api), body) is body
    assert body == BODIES[api]


@EVERY_API
def test_a_bare_list_of_messages_comes_back_with_the_callers_own_objects(api: str) -> None:
    messages = copy.deepcopy(BODIES[api][LISTS[api]])
    out = apis.render(apis.parse(messages, api), messages)
    assert len(out) == len(messages)
    assert all(mine is given for mine, given in zip(out, messages, strict=True))


@EVERY_API
@pytest.mark.parametrize("kind", [str, bytearray, memoryview])
def test_text_and_byte_views_are_read_like_bytes(api: str, kind: Any) -> None:
    raw = json.dumps(BODIES[api]).encode()
    given_body = raw.decode() if kind is str else kind(raw)
    conversation = apis.parse(given_body)
    assert conversation.prefix_digests() == apis.parse(raw).prefix_digests()
    out = apis.render(conversation, given_body)
    assert out == (raw.decode() if kind is str else raw)


@EVERY_API
def test_a_list_of_messages_as_json_comes_back_byte_for_byte(api: str) -> None:
    raw = b" " + json.dumps(BODIES[api][LISTS[api]], indent=2).encode()
    assert apis.render(apis.parse(raw, api), raw) is raw


@EVERY_API
@EVERY_LAYOUT
def test_a_changed_message_changes_nothing_else(api: str, layout: str) -> None:
    raw = LAYOUTS[layout](BODIES[api])
    conversation = apis.parse(raw, api)
    number, part = next(
        (n, part) for n, message in enumerate(conversation.messages) for part in message.parts if part.kind == "text"
    )
    new = edited(api, conversation.messages[number], {part.at: "CHANGED"})
    out = apis.render(with_message(conversation, number, new), raw)
    expected = copy.deepcopy(BODIES[api])
    message = expected[LISTS[api]][number]
    leaf(message, part.at[:-1])[part.at[-1]] = "CHANGED"
    assert json.loads(out) == expected
    again = apis.parse(out, api)
    untouched = [n for n in range(len(conversation.messages)) if n != number]
    assert [again.messages[n].raw for n in untouched] == [conversation.messages[n].raw for n in untouched]
    assert all(conversation.messages[n].raw in raw for n in untouched)


@EVERY_API
def test_every_part_points_at_its_own_leaf(api: str) -> None:
    conversation = apis.parse(BODIES[api], api)
    seen = 0
    for message in conversation.messages:
        for part in message.parts:
            found = leaf(message.value, part.at) if not part.fixed or part.text else None
            if part.text and part.json:
                assert json.loads(part.text) == found
                seen += 1
            elif part.text and part.kind != "thinking":
                assert found == part.text
                seen += 1
            assert leaf(message.value, part.block) is not None
    assert seen >= 6


@EVERY_API
def test_dropping_a_part_takes_its_whole_block_and_only_that(api: str) -> None:
    conversation = apis.parse(BODIES[api], api)
    number = next(n for n, m in enumerate(conversation.messages) if sum(p.kind == "image" for p in m.parts))
    message = conversation.messages[number]
    image = next(part for part in message.parts if part.kind == "image")
    new = edited(api, message, {image.block: DROP})
    assert len(new.parts) == len(message.parts) - 1
    assert [part.text for part in new.parts] == [part.text for part in message.parts if part is not image]


@EVERY_API
def test_removed_messages_leave_the_others_as_the_objects_they_were(api: str) -> None:
    body = copy.deepcopy(BODIES[api])
    conversation = apis.parse(body, api)
    short = replace(conversation, messages=(conversation.messages[0], conversation.messages[-1]))
    out = apis.render(short, body)
    assert out[LISTS[api]][0] is body[LISTS[api]][0]
    assert out[LISTS[api]][1] is body[LISTS[api]][-1]
    assert {key: out[key] for key in body if key != LISTS[api]} == {key: body[key] for key in body if key != LISTS[api]}
    assert body == BODIES[api]


@pytest.mark.parametrize("api", ["anthropic", "gemini", "openai_responses"])
@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_conversation_without_its_system_field_is_written_without_it(api: str, as_bytes: bool) -> None:
    body: Any = json.dumps(BODIES[api]).encode() if as_bytes else copy.deepcopy(BODIES[api])
    out = apis.render(replace(apis.parse(body, api), system=None), body)
    found = json.loads(out) if as_bytes else out
    assert set(BODIES[api]) - set(found) == {*apis.APIS[api].system_fields} & set(BODIES[api])


def test_tools_and_system_given_beside_a_body_are_written_into_it() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}]}
    conversation = apis.parse(body, "anthropic", tools=[{"name": "t", "input_schema": {}}], system="Be brief.")
    assert conversation.system is not None
    assert apis.render(conversation, body) == {
        "messages": [{"role": "user", "content": "hi"}],
        "system": "Be brief.",
        "tools": [{"name": "t", "input_schema": {}}],
    }
    assert body == {"messages": [{"role": "user", "content": "hi"}]}


def test_an_empty_name_among_the_fields_is_just_a_field() -> None:
    raw = b'{"": [1], "messages": [{"role": "user", "content": "hi"}]}'
    conversation = apis.parse(raw)
    assert apis.render(conversation, raw) is raw
    new = with_message(conversation, 0, apis.text_message("openai_chat", "user", "ho"))
    assert json.loads(apis.render(new, raw)) == {"": [1], "messages": [{"role": "user", "content": "ho"}]}


def test_a_changed_body_keeps_keys_that_utf8_cannot_say() -> None:
    raw = b'{"\\ud800": 1, "messages": [{"role": "user", "content": "hi"}]}'
    new = with_message(apis.parse(raw), 0, apis.text_message("openai_chat", "user", "ho"))
    out = apis.render(new, raw)
    assert json.loads(out) == {"\ud800": 1, "messages": [{"role": "user", "content": "ho"}]}


def test_sdk_objects_are_read_as_what_they_hold_and_given_back_as_they_are() -> None:
    class Sdk:
        def model_dump(self, **_: Any) -> Any:
            return {"role": "assistant", "content": "hello"}

    given_object = Sdk()
    messages = [{"role": "user", "content": "hi \ud800"}, given_object]
    conversation = apis.parse(messages, "openai_chat")
    assert [message.text for message in conversation.messages] == ["hi \ud800", "hello"]
    new = with_message(conversation, 0, apis.text_message("openai_chat", "user", "ho"))
    assert apis.render(new, messages)[1] is given_object
