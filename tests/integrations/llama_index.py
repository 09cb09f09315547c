"""LlamaIndex's agents and memory with Brim: needs tests/integrations/requirements/llama_index.txt."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentStream
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ImageBlock,
    LLMMetadata,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.llms import ChatMessage as Message
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool

import brim
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.llama_index import BrimAgent, BrimMemory, BrimMemoryBlock, LlamaIndexCodec
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, output, read_log


class Scripted(FunctionCallingLLM):
    requests: list[Any] = []  # noqa: RUF012

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=MODEL, is_function_calling_model=True, is_chat_model=True)

    def _next(self, messages: Any) -> ChatResponse:
        step = len(self.requests)
        self.requests.append([chat(message) for message in messages])
        if step % (STEPS + 1) == STEPS:
            return ChatResponse(message=ChatMessage(ANSWER, role="assistant"), delta=ANSWER)
        block = ToolCallBlock(tool_call_id=f"call_{step}", tool_name="read_log", tool_kwargs={"day": step})
        return ChatResponse(message=ChatMessage([TextBlock(text=f"Day {step}."), block], role="assistant"), delta="")

    def _prepare_chat_with_tools(self, tools: Any, chat_history: Any = None, **_: Any) -> dict[str, Any]:
        return {"messages": chat_history}

    def get_tool_calls_from_response(self, response: Any, **_: Any) -> list[ToolSelection]:
        blocks = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
        return [ToolSelection(tool_id=b.tool_call_id, tool_name=b.tool_name, tool_kwargs=b.tool_kwargs) for b in blocks]

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        return self._next(messages)

    async def astream_chat(self, messages: Any, **_: Any) -> Any:
        said = self._next(messages)

        async def words() -> Any:
            yield said

        return words()

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        return self._next(messages)

    def stream_chat(self, messages: Any, **_: Any) -> Any:
        yield self._next(messages)

    def complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    stream_complete = acomplete = astream_complete = complete


def chat(message: Any) -> dict[str, Any]:
    """What the model got, without the adapter's own reading."""
    found: dict[str, Any] = {"role": message.role.value, "content": message.content or ""}
    calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if calls:
        found["tool_calls"] = [
            {
                "id": block.tool_call_id,
                "type": "function",
                "function": {"name": block.tool_name, "arguments": json.dumps(block.tool_kwargs)},
            }
            for block in calls
        ]
    if message.role.value == "tool":
        found["tool_call_id"] = message.additional_kwargs["tool_call_id"]
    return found


@pytest.mark.parametrize("streaming", [True, False])
def test_an_agent_stays_within_its_window(streaming: bool) -> None:
    llm = Scripted(requests=[])
    fitter = MessageFitter(LlamaIndexCodec(), None, BUDGET)  # the model's own name is asked
    tools = [FunctionTool.from_defaults(read_log)]
    agent = BrimAgent(llm=llm, tools=tools, system_prompt=SYSTEM, brim=fitter, streaming=streaming)
    streamed = []

    async def run() -> Any:
        handler = agent.run(FIRST, max_iterations=50)
        async for event in handler.stream_events():
            if isinstance(event, AgentStream):
                streamed.append(event.delta)
        return await handler

    result = asyncio.run(run())
    check(llm.requests)
    assert str(result) == ANSWER
    assert "".join(streamed) == (ANSWER if streaming else "")


def test_the_example_of_the_docs_runs_and_a_memory_keeps_all_that_agents_do() -> None:
    llm = Scripted(requests=[])
    found = example("llama_index", llm=llm, tools=[FunctionTool.from_defaults(read_log)])

    async def twice() -> list[str]:
        return [str(await found["ask"](question)) for question in (FIRST, "And now?")]

    assert asyncio.run(twice()) == [ANSWER, ANSWER]
    check(llm.requests[: STEPS + 1], system=False)
    for request in llm.requests[STEPS + 1 :]:
        check_later(request)
    results = [message.content for message in found["memory"].get_all() if message.role.value == "tool"]
    days = [*range(STEPS), *range(STEPS + 1, 2 * STEPS + 1)]
    assert results == [output(day) for day in days]


def check_later(request: list[Any]) -> None:
    assert brim.count(request, model=MODEL, api="openai_chat").tokens <= BUDGET
    assert any(FIRST in message["content"] for message in request)


def test_a_memory_gives_out_what_fits_and_is_emptied() -> None:
    memory = BrimMemory.from_defaults(MODEL, budget=2_000)
    memory.put_messages(
        [Message(FIRST), *(Message(output(n), role="assistant") for n in range(6)), Message("And now?")]
    )
    given = memory.get()
    assert given[0] is memory.get_all()[0]
    assert given[-1].content == "And now?"
    assert memory._fitter.count(given) <= 2_000 < memory._fitter.count(memory.get_all())
    memory.reset()
    assert memory.get() == []


def test_a_block_gives_back_what_a_memory_let_go_of_as_far_as_it_is_asked_for() -> None:
    block = BrimMemoryBlock(model=MODEL, budget=1_500)
    memory = Memory.from_defaults(token_limit=4_000, token_flush_size=500, memory_blocks=[block])

    async def said() -> list[Message]:
        for number, text in enumerate([FIRST, *(output(day) for day in range(8)), "Which ship came on day 2?"]):
            await memory.aput(Message(text, role="user" if number in (0, 9) else "assistant"))
        return await memory.aget()

    given = asyncio.run(said())
    count = MessageFitter(LlamaIndexCodec(), MODEL).count
    assert len(block.messages) > 2
    assert given[0].content == FIRST
    assert given[-1].content == "Which ship came on day 2?"
    returned = asyncio.run(block.aget([given[-1]]))
    assert count(block.messages) > 1_500 >= count(returned)
    assert "log of day 2" in "".join(str(message.content) for message in returned)
    truncated = asyncio.run(block.atruncate(returned, 700))
    assert truncated is not None
    assert count(truncated) <= count(returned) - 700
    assert asyncio.run(block.atruncate(returned, 10_000)) is None


def test_images_and_calls_stay_beside_a_shortened_text() -> None:
    image = ImageBlock(url="https://example.org/a.png")
    call = ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={"a": 1})
    message = ChatMessage([TextBlock(text="long"), image, call], role="assistant")
    codec = LlamaIndexCodec()
    [read] = codec.read(message)
    read["content"][0] = {"type": "text", "text": "short"}
    assert codec.write([read], message).blocks == [TextBlock(text="short"), image, call]
