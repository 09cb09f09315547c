"""Anthropic Messages: what its messages are read as."""

from __future__ import annotations

import json
from typing import Any

from brim import apis
from brim.apis import Usage
from brim.conversation import Message, Part
from tests.apis.bodies import ANTHROPIC

CONVERSATION = apis.parse(ANTHROPIC)


def kinds(message: Message) -> list[str]:
    return [part.kind for part in message.parts]


def calls(message: Message) -> list[Part]:
    return [part for part in message.parts if part.kind == "call"]


def one(block: dict[str, Any], role: str = "assistant") -> Part:
    return apis.parse([{"role": role, "content": [block]}], "anthropic").messages[0].parts[0]


def test_the_system_field_is_text_or_blocks() -> None:
    assert CONVERSATION.system is not None
    assert [part.text for part in CONVERSATION.system.parts] == ["Answer in one line.", "Long rules."]
    plain = apis.parse({"system": "Be brief.", "messages": []}, "anthropic").system
    assert plain is not None
    assert plain.text == "Be brief."


def test_media_and_cited_documents_pass_through_beside_the_texts_of_search_results() -> None:
    assert kinds(CONVERSATION.messages[0]) == ["image", "image", "file", "file", "text", "file", "text"]


def test_thinking_keeps_its_signature_and_is_never_altered() -> None:
    thinking, redacted = CONVERSATION.messages[1].parts[:2]
    assert (thinking.kind, thinking.text, thinking.fixed) == ("thinking", "Let me see.", True)
    assert (redacted.kind, redacted.text, redacted.fixed) == ("thinking", "", True)


def test_a_tool_call_shows_its_input_as_json() -> None:
    own = [part for part in calls(CONVERSATION.messages[1]) if part.json]
    assert [(part.name, json.loads(part.text)) for part in own] == [
        ("weather", {"city": "Oslo"}),
        ("weather", {"city": "東京", "n": 1.5}),
    ]


def test_server_and_mcp_tools_are_bound_to_their_results_in_the_same_message() -> None:
    answered = [part.call for part in CONVERSATION.messages[1].parts if part.kind == "result"]
    assert answered == ["srvtoolu_1", "mcptoolu_1"]
    assert {part.call for part in calls(CONVERSATION.messages[1])} >= set(answered)


def test_a_server_tool_may_answer_in_the_next_message_after_a_pause() -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    messages = [{"role": "assistant", "content": [use]}, {"role": "assistant", "content": [result]}]
    assert apis.parse(messages, "anthropic").messages[1].answers == ("s",)


def test_a_result_of_several_parts_shows_its_texts_in_one_block() -> None:
    results = [part for part in CONVERSATION.messages[2].parts if part.kind == "result"]
    assert [(part.text, part.block) for part in results] == [
        ("-3 C", ("content", 0)),
        ("", ("content", 0)),
        ("cold", ("content", 0)),
        ("no such city", ("content", 1)),
    ]


def test_a_result_without_content_is_a_result() -> None:
    assert (kinds(CONVERSATION.messages[4]), CONVERSATION.messages[4].answers) == (["result"], ("toolu_3",))


def test_a_cited_text_is_fixed() -> None:
    cited = CONVERSATION.messages[3].parts[0]
    assert (cited.text, cited.fixed) == ("The paper says so.", True)
    assert not one({"type": "text", "text": "x", "citations": None}).fixed


def test_an_unknown_block_is_opaque_and_passes_through() -> None:
    assert kinds(CONVERSATION.messages[5]) == ["opaque"]


def test_usage_counts_what_the_cache_gave_and_took_as_input() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 5,
    }
    assert apis.usage({"type": "message", "usage": usage}) == Usage(130, 5, 100, 20)
    assert apis.usage({"usage": usage}, "anthropic") == Usage(130, 5, 100, 20)


def test_model_and_largest_output_are_read_from_the_body() -> None:
    assert (CONVERSATION.model, CONVERSATION.max_output) == ("claude-sonnet-4-5", 1024)
    assert apis.parse({"system": "x", "messages": [], "max_tokens": True}).max_output is None


def test_a_new_text_message_is_one_that_the_api_takes() -> None:
    assert apis.text_message("anthropic", "system", "x").value == {"role": "user", "content": "x"}


def test_a_reply_is_read_back_as_the_message_that_it_adds() -> None:
    content = [{"type": "text", "text": "hello"}]
    assert apis.APIS["anthropic"].replies({"content": content}) == [{"role": "assistant", "content": content}]
