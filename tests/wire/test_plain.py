"""A long list that is read in one go says what it says when each message is read by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim import wire
from brim.conversation import Message, encode
from brim.errors import BadBody
from brim.wire import lists, plain
from brim.wire.plain import Columns, lines, plain_message, plain_messages, plain_objects, raws, survey

CHAT = wire.APIS["openai_chat"]
compiled = pytest.mark.skipif(plain._compiled is None, reason="installed without a compiler")

TEXTS = st.text(max_size=30) | st.sampled_from(
    ['a "quoted" \\ word\n\t\r\b\f/', "日本語 é", "😀", "\x7f", "x" * 200, "\ud83d", "<|end|>", "{", "]}", '\\"']
)
ROLES = st.sampled_from(["user", "assistant", "system", "developer", "tool", "nobody", "us\u00e9r"])
PLAIN = st.fixed_dictionaries({"role": ROLES, "content": TEXTS}) | st.fixed_dictionaries(
    {"content": TEXTS, "role": ROLES}
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS, lambda inner: st.lists(inner, max_size=3), max_leaves=4
)
MESSAGES = PLAIN | st.dictionaries(st.sampled_from(["role", "content", "name", "tool_calls"]) | TEXTS, VALUES)
FORMS = st.fixed_dictionaries(
    {"ensure_ascii": st.booleans(), "indent": st.sampled_from([None, 0, 2]), "separators": st.just((",", ":"))}
)


def as_json(value: Any, form: dict[str, Any]) -> bytes:
    return json.dumps(value, **form).encode("utf-8", "surrogatepass")


@compiled
@given(st.lists(MESSAGES, max_size=6), FORMS)
def test_every_message_is_read_as_it_is_by_itself_or_given_as_its_bytes(
    messages: list[dict[str, Any]], form: dict[str, Any]
) -> None:
    raw = as_json(messages, form)
    read = plain_messages(raw, CHAT.plain)
    if read is None:  # half a pair of surrogates as it is: that is read with more care
        with pytest.raises(UnicodeDecodeError):
            raw.decode()
        return
    found, others = read
    assert len(found) == len(messages)
    for number, item in enumerate(found):
        raw = item.raw if isinstance(item, Message) else item
        assert json.loads(raw.decode("utf-8", "surrogatepass")) == messages[number]
        assert isinstance(item, bytes) == (number in others)
        alone = plain_message(raw, CHAT.plain)
        if isinstance(item, Message):
            assert alone is not None
            assert (item.role, item.parts, item.raw, item.plain) == (alone.role, alone.parts, alone.raw, alone.plain)
            assert item.digest == alone.digest
        elif b"\\ud" not in raw:  # half a pair of surrogates is left to others to read
            assert alone is None


@compiled
@given(st.lists(PLAIN, min_size=1, max_size=3), FORMS, st.data())
def test_a_list_that_is_broken_anywhere_is_refused_as_ever(
    messages: list[dict[str, Any]], form: dict[str, Any], data: st.DataObject
) -> None:
    whole = as_json(messages, form)
    at = data.draw(st.integers(0, len(whole) - 1))
    broken = (
        whole[:at]
        + data.draw(st.sampled_from([b"", b"\x00", b'"', b"\\", b"}", b",", b"\xff", b"x"]))
        + whole[at + 1 :]
    )
    told = []
    for at_once in (1, 1 << 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lists, "LEAST", 1)
            patch.setattr(lists, "AT_ONCE", at_once)
            patch.setattr(wire, "_lists", lists.Lists())
            try:
                told.append([message.value for message in wire.parse(broken, "openai_chat").messages])
            except BadBody:
                told.append([])
    assert told[0] == told[1]


@compiled
def test_a_message_that_is_none_is_named_by_its_place_in_a_long_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "LEAST", 1)
    monkeypatch.setattr(lists, "AT_ONCE", 1)
    said = [{"role": "user", "content": str(n)} for n in range(9)]
    wire.parse(said, "openai_chat")
    with pytest.raises(BadBody, match=r"messages\[10\].role"):
        wire.parse([*said, {"role": "user", "content": "on"}, {"role": "nobody", "content": ""}], "openai_chat")


def test_without_the_compiled_reader_long_lists_are_read_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [{"role": "user", "content": f"{n} " + "word " * 20} for n in range(1_000)]
    monkeypatch.setattr(plain, "_compiled", None)
    monkeypatch.setattr(wire, "_lists", lists.Lists())
    assert [message.value for message in wire.parse(said, "openai_chat").messages] == said


@compiled
@given(st.lists(PLAIN, max_size=6))
def test_objects_are_read_as_their_json_is(messages: list[dict[str, Any]]) -> None:
    found = plain_objects(messages, CHAT.plain)
    if found is None:  # a role that is none, or half a pair of surrogates: told by who reads with more care
        assert any(plain_message(encode(message), CHAT.plain) is None for message in messages) or any(
            0xD800 <= ord(sign) < 0xE000 for message in messages for sign in message["content"]
        )
        return
    read, size = found
    escapes = sum(encode(message).count(b"\\") for message in messages)
    assert size <= len(encode(messages)) <= size + 6 * escapes or not messages
    assert lines(read) == b"\n".join(encode(message) for message in messages)
    assert raws(read[:3]) == [encode(message) for message in messages[:3]]
    assert [message.told_raw for message in read[:3]] == raws(read[:3])
    for message, given_message in zip(read, messages, strict=True):
        raw = encode(given_message)
        alone = plain_message(raw, CHAT.plain)
        assert alone is not None
        assert message.raw == raw
        assert (message.role, message.parts, message.plain) == (alone.role, alone.parts, alone.plain)


@compiled
@given(st.lists(MESSAGES, max_size=5), st.sampled_from(["gpt-4o", "claude-sonnet-4-5", ""]), st.booleans())
def test_a_request_of_objects_is_what_its_json_is(messages: list[Any], model: str, bare: bool) -> None:
    body = messages if bare else {"model": model, "messages": messages}
    told = []
    for at_once in (0, 1 << 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(wire, "AT_ONCE", at_once)
            patch.setattr(wire, "_lists", lists.Lists())
            try:
                read = wire.parse(body, model=model)
                told.append((read.api, [(m.role, m.parts, m.raw, m.plain) for m in read.messages], read.fields))
            except BadBody as problem:
                told.append((str(problem), [], {}))
    assert told[0] == told[1]


@compiled
@pytest.mark.parametrize(
    "other",
    [
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": "a", "name": "b"},
        {"role": "user", "text": "a"},
        {1: "user", "content": "a"},
        "text",
    ],
)
def test_only_a_list_of_roles_and_texts_is_plain(other: Any) -> None:
    plain_one = {"role": "user", "content": "hi"}
    assert survey([plain_one, {"content": "ho!", "role": "assistant"}]) == ({"user", "assistant"}, 5)
    assert survey([plain_one, other]) is None
    assert survey((plain_one,)) is None


@compiled
def test_a_list_of_objects_that_goes_on_is_read_from_where_it_went_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_lists", lists.Lists())
    said = [{"role": "user", "content": f"{n} " + "word " * 20} for n in range(1_000)]
    first = wire.parse(said, "openai_chat").messages
    again = wire.parse([*said, {"role": "user", "content": "on"}], "openai_chat").messages
    assert all(one is other for one, other in zip(first, again[:-1], strict=True))
    other = [{"role": "user", "content": "0 " + "word " * 20}, *said[2:]]
    assert [message.value for message in wire.parse(other, "openai_chat").messages] == other


@compiled
def test_columns_are_the_same_without_a_compiler() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "日本"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "found"},
        {"role": "user", "content": "and?"},
    ]
    messages = wire.parse(said, "openai_chat").messages
    found = Columns.of(messages)
    assert found == Columns.plainly(messages)
    assert (found.systems, found.others) == ([0], [0, 1, 2, 3])
    with pytest.raises(TypeError):
        Columns.of(("no message",))  # type: ignore[arg-type]


@compiled
@pytest.mark.parametrize(("api", "field"), [("gemini", "contents"), ("openai_responses", "input")])
def test_messages_that_an_api_does_not_know_stay_a_field_of_the_body(api: str, field: str) -> None:
    said = [{"role": "user", "content": f"{n} " + "word " * 20} for n in range(1_000)]
    asked = {"gemini": [{"role": "user", "parts": [{"text": "hi"}]}]}.get(api, [{"role": "user", "content": "hi"}])
    body = {field: asked, "messages": said}
    read = wire.parse(body, api)
    assert [message.text for message in read.messages] == ["hi"]
    assert read.fields["messages"] == encode(said)
    assert wire.render(read, body, read) == body
