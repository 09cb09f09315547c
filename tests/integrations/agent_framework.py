"""Microsoft's agent-framework with Brim: needs tests/integrations/requirements/agent_framework.txt."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)

import brim
from brim.integrations.agent_framework import AgentFrameworkCodec, BrimCompaction, BrimHistoryProvider, BrimTokenizer
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, read_log

TOOL = tool(read_log)


class Scripted(FunctionInvocationLayer, BaseChatClient):
    def __init__(self) -> None:
        super().__init__(function_invocation_configuration={"max_iterations": 50})
        self.requests: list[Any] = []

    def _next(self, messages: Any, options: Any) -> list[Content]:
        step = len(self.requests)
        self.requests.append(chats(messages, options.get("instructions")))
        if step == STEPS:
            return [Content.from_text(ANSWER)]
        return [Content.from_function_call(f"call_{step}", "read_log", arguments=json.dumps({"day": step}))]

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        async def whole() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", self._next(messages, options))])

        async def parts() -> Any:
            for content in self._next(messages, options):
                yield ChatResponseUpdate(role="assistant", contents=[content])

        return self._build_response_stream(parts()) if stream else whole()


def chats(messages: Any, instructions: str | None) -> list[Any]:
    """What the model got, without the adapter's own reading."""
    found: list[Any] = [{"role": "system", "content": instructions}] if instructions else []
    for message in messages:
        calls = [one for one in message.contents if one.type == "function_call"]
        for one in message.contents:
            if one.type == "function_result":
                found.append({"role": "tool", "tool_call_id": one.call_id, "content": one.result})
        if message.text or calls:
            said: dict[str, Any] = {"role": message.role, "content": message.text}
            if calls:
                said["tool_calls"] = [
                    {"id": one.call_id, "type": "function", "function": {"name": one.name, "arguments": arguments(one)}}
                    for one in calls
                ]
            found.append(said)
    return found


def arguments(one: Any) -> str:
    return one.arguments if isinstance(one.arguments, str) else json.dumps(one.arguments)


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_stays_within_its_window(stream: bool) -> None:
    client = Scripted()
    strategy = BrimCompaction(MODEL, BUDGET, instructions=SYSTEM)
    agent = Agent(client, SYSTEM, tools=[TOOL], compaction_strategy=strategy)

    async def run() -> str:
        if not stream:
            return (await agent.run(FIRST)).text
        return "".join([update.text async for update in agent.run(FIRST, stream=True)])

    assert asyncio.run(run()).endswith(ANSWER)
    check(client.requests)


def test_the_example_of_the_docs_runs() -> None:
    client = Scripted()
    found = example("agent_framework", client=client, tools=[TOOL])
    assert asyncio.run(found["ask"](FIRST)).text.endswith(ANSWER)
    check(client.requests)


def test_the_tokenizer_counts_as_the_model_does() -> None:
    assert BrimTokenizer(MODEL).count_tokens("berth_12 is free") == brim.count("berth_12 is free", model=MODEL).tokens


def test_a_history_in_a_store_goes_on_with_a_session_in_a_later_program(tmp_path: Path) -> None:
    async def run(client: Scripted, question: str) -> None:
        agent = Agent(client, SYSTEM, tools=[TOOL], context_providers=[BrimHistoryProvider(tmp_path / "brim.db")])
        await agent.run(question, session=agent.create_session(session_id="harbour"))

    first, second = Scripted(), Scripted()
    asyncio.run(run(first, FIRST))
    asyncio.run(run(second, "And now?"))
    told = second.requests[0]
    assert told[: len(first.requests[-1])] == first.requests[-1]
    assert [message["content"] for message in told[-2:]] == [ANSWER, "And now?"]


def test_other_contents_stay_beside_a_shortened_text() -> None:
    image = Content.from_uri("https://example.org/a.png", media_type="image/png")
    message = Message("user", [Content.from_text("long"), image])
    codec = AgentFrameworkCodec()
    [chat] = codec.read(message)
    chat["content"][0] = {"type": "text", "text": "short"}
    written = codec.write([chat], message)
    assert [one.type for one in written.contents] == ["text", "uri"]
    assert written.contents[0].text == "short"
    assert written.contents[1] is image
    assert message.contents[0].text == "long"
