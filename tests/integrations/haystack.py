"""Haystack's agents with Brim: needs tests/integrations/requirements/haystack.txt."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ImageContent, StreamingChunk, TextContent, ToolCall
from haystack.hooks.compaction import CompactionHook
from haystack.tools import Tool

import brim
from brim.integrations.haystack import BrimCompactor, BrimTokenCounter, HaystackCodec
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, output, read_log

DAY = {"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]}
TOOL = Tool("read_log", "Read the harbour's log of a day.", DAY, read_log)


@component
class Scripted:
    def __init__(self) -> None:
        self.requests: list[Any] = []

    def _next(self, messages: list[Any]) -> ChatMessage:
        step = len(self.requests)
        self.requests.append([message.to_openai_dict_format() for message in messages])
        if step == STEPS:
            return ChatMessage.from_assistant(ANSWER)
        return ChatMessage.from_assistant(
            f"Day {step}.", tool_calls=[ToolCall("read_log", {"day": step}, f"call_{step}")]
        )

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None) -> dict[str, Any]:
        said = self._next(messages)
        if streaming_callback:
            for word in (said.text or "").split(" "):
                streaming_callback(StreamingChunk(word + " "))
        return {"replies": [said]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ) -> dict[str, Any]:
        return {"replies": [self._next(messages)]}


def agent_of(generator: Any, **more: Any) -> Agent:
    hook = CompactionHook(
        BrimCompactor(MODEL),
        context_window=BUDGET,
        compact_at=0.9,
        compact_to=0.6,
        token_counter=BrimTokenCounter(MODEL),
    )
    return Agent(chat_generator=generator, tools=[TOOL], system_prompt=SYSTEM, hooks={"before_llm": [hook]}, **more)


@pytest.mark.parametrize("mode", ["run", "async", "stream"])
def test_an_agent_stays_within_its_window(mode: str) -> None:
    generator, words = Scripted(), []
    agent = agent_of(
        generator, streaming_callback=(lambda chunk: words.append(chunk.content)) if mode == "stream" else None
    )
    asked = [ChatMessage.from_user(FIRST)]
    result = asyncio.run(agent.run_async(messages=asked)) if mode == "async" else agent.run(messages=asked)
    check(generator.requests)
    assert result["last_message"].text == ANSWER
    assert mode != "stream" or "".join(words).strip().endswith(ANSWER)


def test_the_example_of_the_docs_runs() -> None:
    generator = Scripted()
    found = example("haystack", generator=generator, tools=[TOOL], request=FIRST)
    check(generator.requests, system=False)
    assert found["result"]["last_message"].text == ANSWER


def test_what_fits_is_left_alone_and_what_cannot_fit_comes_as_near_as_it_can() -> None:
    messages = [ChatMessage.from_system(SYSTEM), ChatMessage.from_user(FIRST)]
    counter = BrimTokenCounter(MODEL)
    assert BrimCompactor(MODEL).compact(messages, 5_000, counter) is None
    assert BrimCompactor(MODEL).compact(messages, 5, counter) is None
    long = [*messages, ChatMessage.from_assistant(output(1) * 3), ChatMessage.from_user("And now?")]
    short = BrimCompactor(MODEL).compact(long, 5, counter)
    assert short is not None
    assert counter.count(short) < counter.count(long)
    assert short[0] is messages[0]


def test_the_counter_counts_messages_and_tools_as_requests_do() -> None:
    messages = [ChatMessage.from_user(FIRST)]
    counter = BrimTokenCounter(MODEL)
    chats = [message.to_openai_dict_format() for message in messages]
    assert counter.count(messages) == brim.count(chats, model=MODEL).tokens
    assert counter.count(messages, [TOOL]) > counter.count(messages)


def test_compactor_and_counter_are_serialized() -> None:
    again = BrimCompactor.from_dict(BrimCompactor(MODEL, "rolling").to_dict())
    assert (again.model, again.policy) == (MODEL, "rolling")
    assert BrimTokenCounter.from_dict(BrimTokenCounter(MODEL).to_dict()).model == MODEL


def test_images_stay_beside_a_shortened_text() -> None:
    image = ImageContent("aGVsbG8=", mime_type="image/png", validation=False)
    message = ChatMessage.from_user(content_parts=["long", image])
    codec = HaystackCodec()
    [chat] = codec.read(message)
    chat["content"][0] = {"type": "text", "text": "short"}
    written = codec.write([chat], message)
    assert written._content == [TextContent("short"), image]
