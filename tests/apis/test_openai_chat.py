"""OpenAI Chat Completions: what its messages are read as."""

from __future__ import annotations

from typing import Any

import pytest

from brim import apis
from brim.apis import Usage
from tests.apis.bodies import CHAT

CONVERSATION = apis.parse(CHAT)


def parts(number: int) -> list[tuple[str, str]]:
    return [(part.kind, part.text) for part in CONVERSATION.messages[number].parts]


def one(message: dict[str, Any]) -> Any:
    return apis.parse([message], "openai_chat").messages[0]


def test_developer_and_system_messages_are_both_instructions() -> None:
    assert [message.role for message in CONVERSATION.messages[:3]] == ["system", "system", "user"]


def test_media_of_every_kind_pass_through_beside_the_text() -> None:
    assert [kind for kind, _ in parts(2)] == ["text", "image", "image", "audio", "file", "file"]
    assert all(part.fixed for part in CONVERSATION.messages[2].parts[1:])


def test_function_and_custom_calls_are_bound_to_their_results() -> None:
    calling, second, first = CONVERSATION.messages[3:6]
    assert calling.calls == ("call_a", "call_b")
    assert [part.name for part in calling.parts if part.kind == "call"] == ["weather", "run"]
    assert (second.answers, first.answers) == (("call_b",), ("call_a",))
    assert first.role == "tool"
    assert parts(4) == [("result", "a.pdf")]


def test_reasoning_that_servers_carry_back_is_kept_or_dropped_but_never_altered() -> None:
    thinking = CONVERSATION.messages[3].parts[0]
    assert (thinking.kind, thinking.text, thinking.fixed) == ("thinking", "two calls will do", True)


def test_refusals_are_text_wherever_they_stand() -> None:
    assert parts(6) == [("text", "Minus three."), ("text", "I cannot hear.")]
    assert parts(7) == [("text", "I can't help with that."), ("audio", "")]


def test_the_older_function_messages_are_read_as_calls_and_results() -> None:
    assert CONVERSATION.messages[8].calls == CONVERSATION.messages[9].answers == ("function:old",)


def test_a_function_message_needs_no_call_before_it() -> None:
    assert one({"role": "function", "name": "old", "content": "x"}).role == "tool"


def test_a_result_of_several_parts_is_one_result() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": blocks},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "again"},
    ]
    assert apis.parse(body).messages[1].answers == ("c", "c")


def test_an_unknown_block_is_opaque_and_passes_through() -> None:
    assert parts(11) == [("opaque", "")]


def test_model_tools_and_largest_output_are_read_from_the_body() -> None:
    assert (CONVERSATION.model, CONVERSATION.max_output) == ("gpt-4o", 700)
    assert CONVERSATION.tools is not None
    assert CONVERSATION.fields["stream"] == b"true"


@pytest.mark.parametrize("tools", [None, []])
def test_no_tools_and_empty_tools_are_the_same(tools: Any) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "tools": tools}
    assert apis.parse(body).tools is None
    assert apis.render(apis.parse(body), body) is body


def test_usage_names_what_was_read_from_the_cache() -> None:
    response = {"usage": {"prompt_tokens": 90, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 64}}}
    assert apis.usage(response) == apis.usage(response, "openai_chat") == Usage(90, 8, 64)


@pytest.mark.parametrize("response", [{}, {"usage": None}, {"usage": {"prompt_tokens": "9"}}, {"usage": [1]}])
def test_a_response_that_does_not_say_its_usage_gives_none(response: Any) -> None:
    assert apis.usage(response) is None


def test_usage_with_odd_details_still_gives_the_total() -> None:
    odd = {"usage": {"prompt_tokens": 9, "completion_tokens": None, "prompt_tokens_details": [1]}}
    assert apis.usage(odd, "openai_chat") == Usage(9)


def test_a_new_text_message_is_one_that_the_api_takes() -> None:
    made = apis.text_message("openai_chat", "user", "hello")
    assert made.value == {"role": "user", "content": "hello"}
    assert [part.text for part in made.parts] == ["hello"]


def test_a_reply_is_read_back_as_the_message_that_it_adds() -> None:
    reply = {"role": "assistant", "content": "hello"}
    assert apis.APIS["openai_chat"].replies({"choices": [{"message": reply}]}) == [reply]
    assert apis.APIS["openai_chat"].replies({"choices": []}) == []
