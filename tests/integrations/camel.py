"""CAMEL's agents with Brim: needs tests/integrations/requirements/camel.txt."""

from __future__ import annotations

import asyncio
from typing import Any

from camel.agents import ChatAgent
from camel.memories import ChatHistoryMemory
from camel.models.stub_model import StubModel
from camel.toolkits import FunctionTool
from camel.types import ModelType
from openai.types.chat import ChatCompletion

import brim
from brim.integrations.camel import BrimContextCreator, BrimTokens
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, call, check, example, read_log

TOOL = FunctionTool(read_log)


class Scripted(StubModel):
    def __init__(self) -> None:
        super().__init__(ModelType.STUB)
        self.requests: list[Any] = []

    def _run(self, messages: Any, response_format: Any = None, tools: Any = None) -> ChatCompletion:
        step = len(self.requests)
        self.requests.append(list(messages))
        assert not any(key.startswith("brim") for message in messages for key in message)
        said: dict[str, Any] = {"role": "assistant", "content": ANSWER}
        if step < STEPS:
            said = {"role": "assistant", "content": "", "tool_calls": [call(step)]}
        choice = {"index": 0, "finish_reason": "stop" if step == STEPS else "tool_calls", "message": said}
        made = {"id": "r", "model": "stub", "object": "chat.completion", "created": 0, "choices": [choice]}
        return ChatCompletion.model_validate(made)

    async def _arun(self, messages: Any, response_format: Any = None, tools: Any = None) -> ChatCompletion:
        return self._run(messages)


def agent_of(model: Scripted) -> ChatAgent:
    agent = ChatAgent(SYSTEM, model=model, tools=[TOOL], summarize_threshold=None)
    agent.memory = ChatHistoryMemory(BrimContextCreator(MODEL, BUDGET, tools=[TOOL]))
    agent.init_messages()
    return agent


def test_an_agent_stays_within_its_window_and_its_memory_keeps_everything() -> None:
    model = Scripted()
    agent = agent_of(model)
    assert agent.step(FIRST).msg.content == ANSWER
    check(model.requests, tools=[TOOL.openai_tool_schema])
    kept = [record.memory_record.to_openai_message() for record in agent.memory.retrieve()]
    results = [message["content"] for message in kept if message["role"] == "tool"]
    assert results == [read_log(step) for step in range(STEPS)]


def test_an_async_agent_is_fitted_too() -> None:
    model = Scripted()
    assert asyncio.run(agent_of(model).astep(FIRST)).msg.content == ANSWER
    check(model.requests)


def test_the_example_of_the_docs_runs() -> None:
    model = Scripted()
    found = example("camel", model=model, tools=[TOOL], request=FIRST)
    assert found["answer"].msg.content == ANSWER
    check(model.requests)


def test_the_counter_counts_as_the_model_does() -> None:
    messages = [{"role": "user", "content": FIRST}]
    assert BrimTokens(MODEL).count_tokens_from_messages(messages) == brim.count(messages, model=MODEL).tokens
    assert len(BrimTokens(MODEL).encode(FIRST)) == brim.count(FIRST, model=MODEL).tokens
    assert BrimContextCreator(MODEL, BUDGET).token_limit == BUDGET
