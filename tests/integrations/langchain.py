"""LangChain's agents, edits, counters and histories with Brim: needs tests/integrations/requirements/langchain.txt."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ContextEditingMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage, trim_messages
from langchain_core.messages.utils import convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

import brim
from brim.integrations.conversion.langchain_messages import LangChainCodec
from brim.integrations.langchain import BrimChatHistory, BrimEdit, BrimMiddleware, token_counter
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, output, read_log


class Scripted(BaseChatModel):
    model_name: str = MODEL
    requests: list[Any] = []  # noqa: RUF012
    steps: int = STEPS

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _next(self, messages: list[Any]) -> AIMessage:
        step = len(self.requests)
        self.requests.append(messages)
        if step >= self.steps:
            return AIMessage(ANSWER)
        call = {"name": "read_log", "args": {"day": step}, "id": f"call_{step}"}
        return AIMessage(f"I read day {step}.", tool_calls=[call])

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(self, messages: list[Any], *_: Any, **__: Any) -> Any:
        said = self._next(messages)
        for word in said.content.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(word + " "))
        chunks = [
            {"name": c["name"], "args": json.dumps(c["args"]), "id": c["id"], "index": 0} for c in said.tool_calls
        ]
        yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=chunks))


def agent_of(model: Scripted, middleware: Any, **more: Any) -> Any:
    return create_agent(model, [read_log], system_prompt=SYSTEM, middleware=[middleware], **more)


def asked() -> dict[str, Any]:
    return {"messages": [HumanMessage(FIRST)]}


LIMITS = {"recursion_limit": 200}


def sent(model: Scripted) -> list[Any]:
    return [convert_to_openai_messages(request) for request in model.requests]


def test_an_agent_stays_within_its_window_and_its_state_keeps_everything() -> None:
    model = Scripted(requests=[])
    state = agent_of(model, BrimMiddleware(MODEL, BUDGET)).invoke(asked(), LIMITS)
    check(sent(model))
    assert state["messages"][-1].content == ANSWER
    assert [m.content for m in state["messages"] if isinstance(m, ToolMessage)] == [output(n) for n in range(STEPS)]


def test_the_example_of_the_docs_runs() -> None:
    model = Scripted(requests=[])
    found = example("langchain", model=model, tools=[read_log], request=FIRST)
    check(sent(model), system=False)
    assert found["state"]["messages"][-1].content == ANSWER


def test_a_thread_has_one_session_whose_prefix_stays() -> None:
    model = Scripted(requests=[])
    middleware = BrimMiddleware(budget=BUDGET)  # the model's own name is asked
    agent = agent_of(model, middleware, checkpointer=InMemorySaver())
    agent.invoke(asked(), {**LIMITS, "configurable": {"thread_id": "a"}})
    check(sent(model))
    grown = sum(
        after[: len(before)] == before for before, after in zip(model.requests, model.requests[1:], strict=False)
    )
    assert grown >= STEPS - 3
    [session] = middleware.fitter._sessions.values()
    assert session.id == "a"


@pytest.mark.parametrize("mode", ["async", "stream", "astream"])
def test_async_and_streaming_agents_are_fitted_too(mode: str) -> None:
    model = Scripted(requests=[])
    agent = agent_of(model, BrimMiddleware(MODEL, BUDGET))

    async def run() -> list[Any]:
        if mode == "async":
            return [(await agent.ainvoke(asked(), LIMITS))["messages"][-1]]
        return [chunk async for chunk, _ in agent.astream(asked(), LIMITS, stream_mode="messages")]

    if mode == "stream":
        chunks = [chunk for chunk, _ in agent.stream(asked(), LIMITS, stream_mode="messages")]
    else:
        chunks = asyncio.run(run())
    check(sent(model))
    assert "".join(chunk.content for chunk in chunks).strip().endswith(ANSWER)


def test_a_context_edit_fits_what_is_sent() -> None:
    model = Scripted(requests=[])
    # The edit sees neither instructions nor tools: its budget is what they leave.
    agent_of(model, ContextEditingMiddleware(edits=[BrimEdit(MODEL, BUDGET - 100)])).invoke(asked(), LIMITS)
    check(sent(model))


def test_a_long_result_is_shortened_once_and_its_original_kept() -> None:
    model = Scripted(requests=[])
    state = agent_of(model, BrimMiddleware(MODEL, BUDGET, tool_results=300)).invoke(asked(), LIMITS)
    results = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    assert all(brim.count(m.content, model=MODEL).tokens <= 300 for m in results)
    assert [m.artifact for m in results] == [output(n) for n in range(STEPS)]


def test_trim_messages_counts_with_brim() -> None:
    calls = [
        AIMessage("", tool_calls=[{"name": "read_log", "args": {"day": 1}, "id": "c"}]),
        ToolMessage(output(1), tool_call_id="c"),
    ]
    messages = [SystemMessage(SYSTEM), HumanMessage(FIRST), *calls, AIMessage(ANSWER), HumanMessage("And now?")]
    counter = token_counter(MODEL)
    assert counter(messages) == brim.count(convert_to_openai_messages(messages), model=MODEL).tokens
    kept = trim_messages(messages, max_tokens=200, token_counter=counter, include_system=True)
    assert counter(kept) <= 200
    assert kept[-1].content == "And now?"


def test_a_history_is_kept_in_a_store(tmp_path: Path) -> None:
    history = BrimChatHistory("one", tmp_path / "brim.db")
    history.add_messages(
        [HumanMessage(FIRST, id="h"), AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}])]
    )
    history.add_messages([ToolMessage("x", tool_call_id="c", artifact=[1])])
    history.kept.store.close()
    again = BrimChatHistory("one", tmp_path / "brim.db")
    assert [message.type for message in again.messages] == ["human", "ai", "tool"]
    assert again.messages[0].id == "h"
    assert BrimChatHistory("two", again.kept.store).messages == []
    again.clear()
    assert again.messages == []
    again.kept.store.close()


def test_blocks_of_anthropic_keep_their_calls_and_thinking_when_text_is_shortened() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "long"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
    ]
    message = AIMessage(blocks, tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c"}], id="m")
    codec = LangChainCodec()
    [chat] = codec.read(message)
    chat["content"] = "short"
    written = codec.write([chat], message)
    assert written.content == [blocks[0], {"type": "text", "text": "short"}, blocks[2]]
    assert (written.tool_calls, written.id) == (message.tool_calls, "m")


def test_messages_given_to_fit_and_count_directly_come_back_as_what_they_were() -> None:
    messages: list[Any] = [SystemMessage(SYSTEM), HumanMessage(FIRST, id="first")]
    for step in range(STEPS):
        call = {"name": "read_log", "args": {"day": step}, "id": f"call_{step}"}
        messages += [
            AIMessage("", tool_calls=[call]),
            ToolMessage(output(step), tool_call_id=f"call_{step}", id=f"t{step}"),
        ]
    fitted = brim.fit(messages, model=MODEL, budget=BUDGET)
    assert fitted.messages[1] is messages[1]
    assert fitted.messages[-1] is messages[-1]
    assert all(type(message) in (SystemMessage, HumanMessage, AIMessage, ToolMessage) for message in fitted.messages)
    assert brim.count(fitted.messages, model=MODEL).tokens <= BUDGET < brim.count(messages, model=MODEL).tokens
    assert (
        brim.count(messages, model=MODEL).tokens == brim.count(convert_to_openai_messages(messages), model=MODEL).tokens
    )
    assert brim.count(fitted.at(5_000).messages, model=MODEL).tokens <= 5_000
    assert isinstance(brim.fit(tuple(messages), model=MODEL, budget=BUDGET).messages, tuple)
