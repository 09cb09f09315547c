"""AutoGen's agents with Brim: needs tests/integrations/requirements/autogen.txt."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import ModelClientStreamingChunkEvent, TextMessage
from autogen_core import CancellationToken, FunctionCall, Image
from autogen_core.models import ChatCompletionClient, CreateResult, ModelFamily, ModelInfo, RequestUsage, UserMessage
from autogen_core.tools import FunctionTool

from brim.integrations.autogen import AutoGenCodec, BrimContext
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, output, read_log

TOOL = FunctionTool(read_log, "Read the harbour's log of a day.")


class Scripted(ChatCompletionClient):
    def __init__(self) -> None:
        self.requests: list[Any] = []

    @property
    def model_info(self) -> ModelInfo:
        able = {"vision": False, "function_calling": True, "json_output": False, "structured_output": False}
        return ModelInfo(family=ModelFamily.UNKNOWN, **able)

    capabilities = model_info

    async def create(self, messages: Any, **_: Any) -> CreateResult:
        step = len(self.requests)
        self.requests.append([chat for message in messages for chat in chats(message)])
        last = step == STEPS
        said = ANSWER if last else [FunctionCall(f"call_{step}", json.dumps({"day": step}), "read_log")]
        reason = "stop" if last else "function_calls"
        return CreateResult(finish_reason=reason, content=said, usage=RequestUsage(0, 0), cached=False)

    async def create_stream(self, messages: Any, **_: Any) -> Any:
        result = await self.create(messages)
        if isinstance(result.content, str):
            for word in result.content.split(" "):
                yield word
        yield result

    async def close(self) -> None: ...

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    total_usage = actual_usage

    def count_tokens(self, *_: Any, **__: Any) -> int:
        raise NotImplementedError

    remaining_tokens = count_tokens


def chats(message: Any) -> list[Any]:
    """What the model got, without the adapter's own reading."""
    if message.type == "FunctionExecutionResultMessage":
        return [{"role": "tool", "tool_call_id": one.call_id, "content": one.content} for one in message.content]
    role = {"SystemMessage": "system", "UserMessage": "user", "AssistantMessage": "assistant"}[message.type]
    if isinstance(message.content, str):
        return [{"role": role, "content": message.content}]
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in message.content
    ]
    return [{"role": role, "content": "", "tool_calls": calls}]


async def ask(agent: AssistantAgent) -> tuple[list[str], Any]:
    words, found = [], None
    asked = [TextMessage(content=FIRST, source="user")]
    async for event in agent.on_messages_stream(asked, CancellationToken()):
        if isinstance(event, ModelClientStreamingChunkEvent):
            words.append(event.content)
        if isinstance(event, Response):
            found = event.chat_message.content
    return words, found


def test_an_agent_stays_within_its_window_and_its_context_keeps_everything() -> None:
    client = Scripted()
    context = BrimContext(MODEL, BUDGET, instructions=SYSTEM, tools=[TOOL])
    more = {"system_message": SYSTEM, "max_tool_iterations": 50, "model_client_stream": True}
    agent = AssistantAgent("harbour", client, tools=[TOOL], model_context=context, **more)
    words, said = asyncio.run(ask(agent))
    check(client.requests, tools=[{"type": "function", "function": dict(TOOL.schema)}])
    assert said == ANSWER
    assert " ".join(words) == ANSWER
    state = asyncio.run(context.save_state())
    results = [one["content"] for m in state["messages"] if m["type"].startswith("Function") for one in m["content"]]
    assert results == [output(step) for step in range(STEPS)]
    asyncio.run(context.clear())
    assert asyncio.run(context.get_messages()) == []


def test_the_example_of_the_docs_runs() -> None:
    client = Scripted()
    _, said = asyncio.run(ask(example("autogen", client=client, tools=[TOOL])["agent"]))
    check(client.requests)
    assert said == ANSWER


def test_images_stay_beside_a_shortened_text() -> None:
    image = Image.from_base64(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    message = UserMessage(content=["long", image], source="user")
    codec = AutoGenCodec()
    [chat] = codec.read(message)
    chat["content"][0] = {"type": "text", "text": "short"}
    assert codec.write([chat], message).content == ["short", image]
