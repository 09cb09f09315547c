"""Semantic Kernel with Brim: needs tests/integrations/requirements/semantic_kernel.txt."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.contents import (
    ChatHistory,
    ChatMessageContent,
    FunctionCallContent,
    FunctionResultContent,
    StreamingChatMessageContent,
    TextContent,
)
from semantic_kernel.functions import KernelArguments, kernel_function

from brim.integrations.semantic_kernel import BrimHistory, SemanticKernelCodec, brim_service
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, output


class Harbour:
    @kernel_function(name="read_log", description="Read the harbour's log of a day.")
    def read_log(self, day: int) -> str:
        return output(day)


class Scripted(OpenAIChatCompletion):
    """Semantic Kernel's own service of OpenAI, up to what it sends; the answers are from the script."""

    async def _inner_get_chat_message_contents(self, chat_history: ChatHistory, settings: Any) -> Any:
        items = self._items(chat_history)
        return [ChatMessageContent(role="assistant", items=items, ai_model_id=MODEL)]

    async def _inner_get_streaming_chat_message_contents(
        self, chat_history: ChatHistory, settings: Any, function_invoke_attempt: int = 0
    ) -> Any:
        items = self._items(chat_history)
        yield [StreamingChatMessageContent(role="assistant", choice_index=0, items=items, ai_model_id=MODEL)]

    def _items(self, history: ChatHistory) -> list[Any]:
        step = len(REQUESTS)
        REQUESTS.append(self._prepare_chat_history_for_request(history))
        if step >= STEPS:
            return [TextContent(text=ANSWER)]
        return [FunctionCallContent(id=f"call_{step}", name="Harbour-read_log", arguments=f'{{"day": {step}}}')]


REQUESTS: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    REQUESTS.clear()


def scripted() -> Scripted:
    return Scripted(ai_model_id=MODEL, api_key="none")


def agent_of(service: ChatCompletionClientBase) -> ChatCompletionAgent:
    behaviour = FunctionChoiceBehavior.Auto(maximum_auto_invoke_attempts=50)
    settings = OpenAIChatPromptExecutionSettings(function_choice_behavior=behaviour)
    return ChatCompletionAgent(
        service=service,
        instructions=SYSTEM,
        plugins=[Harbour()],
        arguments=KernelArguments(settings=settings),
        function_choice_behavior=behaviour,
    )


@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_stays_within_its_window_and_its_thread_keeps_everything(streamed: bool) -> None:
    async def run() -> tuple[str, ChatHistory]:
        agent, thread = agent_of(brim_service(scripted(), budget=BUDGET)), ChatHistoryAgentThread()
        if streamed:
            said = [str(part.message) async for part in agent.invoke_stream(FIRST, thread=thread)]
            return "".join(said), thread._chat_history
        answer = await agent.get_response(FIRST, thread=thread)
        return str(answer.message), thread._chat_history

    said, history = asyncio.run(run())
    assert said.endswith(ANSWER)
    check(REQUESTS)
    results = [item for message in history.messages for item in message.items if hasattr(item, "result")]
    assert [str(item.result) for item in results] == [output(step) for step in range(STEPS)]


def test_the_example_of_the_docs_runs() -> None:
    found = example("semantic_kernel", service=scripted(), plugins=[Harbour()], request=FIRST)
    assert str(asyncio.run(found["ask"]())) == ANSWER
    check(REQUESTS, system=False)


def test_a_history_is_reduced_above_its_budget_only_and_keeps_its_pairs() -> None:
    async def run() -> None:
        history = BrimHistory.within(MODEL, BUDGET)
        history.add_system_message(SYSTEM)
        history.add_user_message(FIRST)
        assert await history.reduce() is None
        for step in range(STEPS):
            asked = FunctionCallContent(id=f"c{step}", name="read_log", arguments=f'{{"day": {step}}}')
            history.add_message(ChatMessageContent(role="assistant", items=[asked]))
            result = FunctionResultContent(id=f"c{step}", name="read_log", result=output(step))
            history.add_message(ChatMessageContent(role="tool", items=[result]))
        assert await history.reduce() is history
        assert FIRST in [message.content for message in history.messages]
        calls = [item.id for message in history.messages for item in message.items if hasattr(item, "arguments")]
        results = [item.id for message in history.messages for item in message.items if hasattr(item, "result")]
        assert calls == results
        assert history.messages[-1].items[0].result == output(STEPS - 1)

    asyncio.run(run())


def test_a_message_with_several_results_keeps_them_apart() -> None:
    items = [FunctionResultContent(id=f"c{number}", name="f", result=f"long {number}") for number in range(2)]
    message = ChatMessageContent(role="tool", items=items)
    codec = SemanticKernelCodec()
    chats = codec.read(message)
    chats[0]["content"] = "short"
    assert [item.result for item in codec.write(chats, message).items] == ["short", "long 1"]
