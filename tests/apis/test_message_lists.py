"""A list that goes on where another ended is read from there, and says the same as one that is read anew."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brim import apis
from brim.apis import message_lists
from brim.apis.message_lists import Lists
from brim.conversation import Conversation
from brim.errors import BadBody

CHAT = apis.APIS["openai_chat"]


@pytest.fixture(autouse=True)
def short_lists_are_remembered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_lists, "LEAST", 1)


def said(count: int, mark: str = "") -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"message {n} {mark}"} for n in range(count)]


def raws(found: tuple[Any, ...] | None) -> list[bytes]:
    assert found is not None
    return [message.raw for message in found]


def read_anew(raw: bytes) -> list[bytes]:
    return raws(Lists().read(CHAT, raw))


@pytest.mark.parametrize("form", [{}, {"separators": (",", ":")}, {"indent": 3}])
def test_a_list_that_goes_on_gives_the_messages_that_were_read_before(form: dict[str, Any]) -> None:
    known = Lists()
    before = known.read(CHAT, json.dumps(said(150), **form).encode())
    after = known.read(CHAT, json.dumps(said(153), **form).encode())
    assert before is not None
    assert after is not None
    assert after[:150] == before
    assert raws(after) == read_anew(json.dumps(said(153), **form).encode())


def test_only_what_is_new_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    known, asked = Lists(), []
    known.read(CHAT, json.dumps(said(150)).encode())
    look_up = CHAT.messages.get_all
    monkeypatch.setattr(CHAT.messages, "get_all", lambda raws, *rest: asked.extend(raws) or look_up(raws, *rest))
    known.read(CHAT, json.dumps(said(152)).encode())
    assert len(asked) == 2


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([*said(4), {"role": "user", "content": "é\n[,]"}, {"role": "user", "content": ""}])),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([None, 0, 2]),
)
def test_lists_with_anything_in_common_are_read_as_if_they_were_the_first(
    histories: list[list[dict[str, Any]]], indent: int | None
) -> None:
    known = Lists()
    for messages in histories:
        raw = json.dumps(messages, indent=indent, ensure_ascii=False).encode()
        assert raws(known.read(CHAT, raw)) == read_anew(raw)


def test_an_edited_message_is_read_anew_with_all_that_follows_it() -> None:
    known = Lists()
    first, second = said(150), said(150)
    second[100] = {"role": "user", "content": "edited"}
    before = known.read(CHAT, json.dumps(first).encode())
    after = known.read(CHAT, json.dumps(second).encode())
    assert before is not None
    assert after is not None
    assert after[:100] == before[:100]
    assert json.loads(after[100].raw)["content"] == "edited"
    assert raws(after) == read_anew(json.dumps(second).encode())


def test_an_object_that_was_changed_in_place_is_seen() -> None:
    body = {"model": "gpt-4o", "messages": said(150)}
    apis.parse(body, "openai_chat")
    body["messages"][3]["content"] = "changed"  # type: ignore[index]
    found: Conversation = apis.parse(body, "openai_chat")
    assert found.messages[3].text == "changed"


@pytest.mark.parametrize(
    "broken",
    [
        b'[{"role":"user","content":"a"},]',
        b'[{"role":"user","content":"a"}{"role":"user","content":"b"}]',
        b'[{"role":"user","content":"a"},,{"role":"user","content":"b"}]',
        b'[{"role":"user","content":"a"}]]',
        b'[{"role":"user","content":"a"}] {}',
        b'[{"role":"user","content":"a"}',
        b'[{"role":"user","content":"a"},{"role":"user"',
    ],
)
def test_what_begins_like_a_known_list_and_is_no_json_is_refused_as_ever(broken: bytes) -> None:
    apis.parse(b'[{"role":"user","content":"a"}]', "openai_chat")
    with pytest.raises(BadBody, match="is not JSON"):
        apis.parse(broken, "openai_chat")


def test_a_message_that_is_none_is_named_by_its_place() -> None:
    known = Lists()
    known.read(CHAT, json.dumps(said(5)).encode())
    with pytest.raises(BadBody, match=r"messages\[5\]"):
        known.read(CHAT, json.dumps([*said(5), 7]).encode())


def test_lists_of_different_apis_are_kept_apart() -> None:
    known = Lists()
    raw = json.dumps(said(3)).encode()
    chat, claude = known.read(CHAT, raw), known.read(apis.APIS["anthropic"], raw)
    assert chat is not None
    assert claude is not None
    assert chat[0] is not claude[0]


def test_what_is_remembered_stays_within_its_bytes() -> None:
    known = Lists(most_bytes=5_000)
    for number in range(20):
        known.read(CHAT, json.dumps(said(30, str(number))).encode())
    assert 0 < sum(len(one.raw) for one in known._known) <= 5_000
    assert known.read(CHAT, json.dumps(said(500)).encode()) is None
