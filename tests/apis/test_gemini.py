"""Gemini generateContent: what its contents are read as."""

from __future__ import annotations

import json

import pytest

from brim import BadBody, apis
from brim.apis import Usage
from tests.apis.bodies import GEMINI

CONVERSATION = apis.parse(GEMINI)


def kinds(number: int) -> list[str]:
    return [part.kind for part in CONVERSATION.messages[number].parts]


def snake(text: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in text)


def test_the_system_instruction_is_the_system_message_in_either_spelling() -> None:
    for name in ("systemInstruction", "system_instruction"):
        found = apis.parse({"contents": [], name: {"parts": [{"text": "Be brief."}]}}).system
        assert found is not None
        assert found.text == "Be brief."


def test_media_are_told_apart_by_their_type() -> None:
    assert kinds(0) == ["text", "image", "audio", "file", "file"]


def test_a_thought_is_thinking_and_a_signed_part_is_fixed() -> None:
    thought, signed, unsigned = CONVERSATION.messages[1].parts
    assert (thought.kind, thought.fixed) == ("thinking", True)
    assert (signed.kind, signed.fixed, unsigned.fixed) == ("call", True, False)


def test_calls_and_responses_are_bound_by_id_or_else_by_name() -> None:
    assert CONVERSATION.messages[1].calls == CONVERSATION.messages[2].answers == ("name:weather", "c2")


def test_a_response_shows_its_object_as_json() -> None:
    assert json.loads(CONVERSATION.messages[2].parts[0].text) == {"temp": -3, "tags": ["cold", None]}


@pytest.mark.parametrize("spell", [str, snake])
def test_both_spellings_of_every_field_are_read(spell: object) -> None:
    assert callable(spell)
    call = {spell("functionCall"): {"name": "f", "args": {}}, spell("thoughtSignature"): "c2ln"}
    contents = [
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{spell("functionResponse"): {"name": "f", "response": {}}}]},
        {"role": "user", "parts": [{spell("inlineData"): {spell("mimeType"): "image/png", "data": ""}}]},
    ]
    body = {"contents": contents, spell("generationConfig"): {spell("maxOutputTokens"): 7}}
    conversation = apis.parse(body)
    assert [[part.kind for part in message.parts] for message in conversation.messages] == [
        ["call"],
        ["result"],
        ["image"],
    ]
    assert conversation.max_output == 7
    assert conversation.messages[0].parts[0].fixed


def test_code_execution_and_unknown_parts_pass_through() -> None:
    assert kinds(3) == ["opaque", "opaque", "text", "opaque"]


def test_a_content_without_a_role_is_the_users() -> None:
    assert CONVERSATION.messages[4].role == "user"


def test_one_part_may_stand_without_its_list() -> None:
    message = apis.parse({"contents": [{"parts": {"text": "hi"}}]}).messages[0]
    assert (message.text, message.parts[0].at) == ("hi", ("parts", "text"))


def test_calls_that_were_sent_back_in_pieces_are_one_turn() -> None:
    contents = [
        {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "b", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": n, "response": {}}} for n in ("a", "b")]},
    ]
    assert len(apis.parse({"contents": contents}).messages) == 3


def test_more_responses_than_calls_are_refused_with_their_place() -> None:
    response = {"functionResponse": {"name": "a", "response": {}}}
    contents = [
        {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]},
        {"role": "user", "parts": [response, response]},
    ]
    with pytest.raises(BadBody) as refused:
        apis.parse({"contents": contents})
    assert refused.value.at == "contents[1].parts[1]"


def test_usage_counts_thoughts_as_output_and_tool_prompts_as_input() -> None:
    usage = {
        "promptTokenCount": 90,
        "cachedContentTokenCount": 64,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7,
        "toolUsePromptTokenCount": 3,
    }
    assert apis.usage({"usageMetadata": usage}) == Usage(93, 12, 64)


def test_a_new_text_message_is_one_that_the_api_takes() -> None:
    made = apis.text_message("gemini", "assistant", "hello").value
    assert made == {"role": "model", "parts": [{"text": "hello"}]}


def test_a_reply_is_read_back_as_the_content_that_it_adds() -> None:
    content = {"role": "model", "parts": [{"text": "hello"}]}
    assert apis.APIS["gemini"].replies({"candidates": [{"content": content}]}) == [content]
