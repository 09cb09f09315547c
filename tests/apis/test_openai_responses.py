"""OpenAI Responses: what its items are read as."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from brim import BadBody, apis
from brim.apis import Usage
from tests.apis.bodies import RESPONSES

CONVERSATION = apis.parse(RESPONSES)
ITEMS = {item.get("type", item.get("role")): n for n, item in enumerate(RESPONSES["input"])}


def item(kind: str) -> Any:
    return CONVERSATION.messages[ITEMS[kind]]


def kinds(kind: str) -> list[str]:
    return [part.kind for part in item(kind).parts]


def test_one_text_as_input_is_one_user_message() -> None:
    body = {"model": "gpt-5", "input": "hello 😀"}
    conversation = apis.parse(body)
    assert [(message.role, message.text) for message in conversation.messages] == [("user", "hello 😀")]
    assert apis.render(conversation, body) is body


def test_one_text_as_input_becomes_an_item_when_another_joins_it() -> None:
    raw = b'{"input": "hello"}'
    conversation = apis.parse(raw)
    made = apis.text_message("openai_responses", "user", "ho")
    out = apis.render(replace(conversation, messages=(made, *conversation.messages)), raw)
    assert json.loads(out)["input"] == [
        {"type": "message", "role": "user", "content": "ho"},
        {"type": "message", "role": "user", "content": "hello"},
    ]


def test_one_text_as_input_stays_a_text_when_it_is_shortened() -> None:
    body = {"model": "gpt-5", "input": "hello"}
    conversation = apis.parse(body)
    short = apis.APIS["openai_responses"].messages.get(b'"he"', "short")
    assert apis.render(replace(conversation, messages=(short,)), body) == {"model": "gpt-5", "input": "he"}


def test_instructions_are_the_system_message() -> None:
    assert CONVERSATION.system is not None
    assert (CONVERSATION.system.role, CONVERSATION.system.text) == ("system", "Answer in one line.")


def test_a_message_without_a_type_is_a_message() -> None:
    assert (CONVERSATION.messages[0].role, CONVERSATION.messages[0].text) == ("system", "Be kind.")


def test_media_of_every_kind_pass_through_beside_the_text() -> None:
    assert [part.kind for part in CONVERSATION.messages[1].parts] == ["text", "image", "image", "file", "audio"]


def test_reasoning_with_encrypted_content_is_thinking_that_is_never_altered() -> None:
    part = item("reasoning").parts[0]
    assert (part.kind, part.fixed, part.block) == ("thinking", True, ())


def test_calls_and_outputs_of_every_kind_are_bound() -> None:
    for call, output in (
        ("function_call", "function_call_output"),
        ("custom_tool_call", "custom_tool_call_output"),
        ("computer_call", "computer_call_output"),
        ("mcp_approval_request", "mcp_approval_response"),
    ):
        assert item(call).calls[:1] == item(output).answers[:1] != ()
        assert item(call).role == "assistant"
        assert item(output).role in ("tool", "user")


def test_an_output_of_several_parts_shows_its_texts() -> None:
    assert [part.text for part in item("function_call_output").parts] == ["-3 C", ""]
    assert kinds("function_call_output") == ["result", "result"]


def test_an_output_that_names_its_call_otherwise_passes_through() -> None:
    assert kinds("local_shell_call_output") == ["opaque"]
    assert item("local_shell_call_output").role == "user"


@pytest.mark.parametrize(
    "kind",
    [
        *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
        *("mcp_list_tools", "mcp_call", "item_reference", "time_travel"),
    ],
)
def test_built_in_and_unknown_items_pass_through_as_the_models_own(kind: str) -> None:
    assert (kinds(kind), item(kind).role) == (["opaque"], "assistant")


def test_a_cited_text_is_fixed_and_a_refusal_is_text() -> None:
    answer = CONVERSATION.messages[ITEMS["item_reference"] - 1]
    assert [(part.kind, part.text, part.fixed) for part in answer.parts] == [
        ("text", "See the site.", True),
        ("text", "Not that.", False),
    ]


def test_a_request_behind_a_stored_conversation_may_answer_calls_that_it_does_not_show() -> None:
    output = {"type": "function_call_output", "call_id": "c", "output": "x"}
    stored = {"input": [output], "previous_response_id": "resp_1"}
    assert apis.parse(stored).messages[0].answers == ("c",)
    with pytest.raises(BadBody, match=r"input\[0\]"):
        apis.parse({"input": [output]})


def test_usage_is_read_from_a_response_and_from_the_last_stream_event() -> None:
    usage = {"input_tokens": 90, "output_tokens": 8, "input_tokens_details": {"cached_tokens": 64}}
    assert apis.usage({"usage": usage}, "openai_responses") == Usage(90, 8, 64)
    assert apis.usage({"usage": usage}) == Usage(90, 8, 64)
    event = {"type": "response.completed", "response": {"usage": usage}}
    assert apis.usage(event, "openai_responses") == Usage(90, 8, 64)


def test_the_largest_output_is_read_from_the_body() -> None:
    assert CONVERSATION.max_output == 900


def test_a_reply_is_read_back_as_the_items_that_it_adds() -> None:
    output = [{"type": "reasoning", "id": "rs"}, {"type": "message", "role": "assistant", "content": []}]
    assert apis.APIS["openai_responses"].replies({"output": output}) == output
