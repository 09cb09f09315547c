"""pydantic-ai's agents with Brim: needs tests/integrations/requirements/pydantic_ai.txt."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import UsageLimits

import brim
from brim.integrations.conversion.pydantic_ai_messages import PydanticCodec
from brim.integrations.pydantic_ai import BrimCapability
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, output, read_log


class Scripted:
    def __init__(self) -> None:
        self.requests: list[Any] = []

    def _step(self, messages: list[Any], info: AgentInfo) -> int:
        self.requests.append(chats(messages, info.instructions))
        return len(self.requests) - 1

    def answer(self, messages: list[Any], info: AgentInfo) -> ModelResponse:
        step = self._step(messages, info)
        call = ToolCallPart("read_log", {"day": step}, tool_call_id=f"call_{step}")
        return ModelResponse(parts=[TextPart(ANSWER)] if step == STEPS else [TextPart(f"Day {step}."), call])

    async def stream(self, messages: list[Any], info: AgentInfo) -> Any:
        step = self._step(messages, info)
        if step == STEPS:
            for word in ANSWER.split(" "):
                yield word + " "
        else:
            yield {0: DeltaToolCall("read_log", json.dumps({"day": step}), tool_call_id=f"call_{step}")}

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self.answer, stream_function=self.stream, model_name=MODEL)


def chats(messages: list[Any], instructions: str | None) -> list[Any]:
    """What the model got, without the adapter's own reading."""
    found: list[Any] = [{"role": "system", "content": instructions}] if instructions else []
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [
                {
                    "id": p.tool_call_id,
                    "type": "function",
                    "function": {"name": p.tool_name, "arguments": p.args_as_json_str()},
                }
                for p in message.parts
                if isinstance(p, ToolCallPart)
            ]
            said = "".join(p.content for p in message.parts if isinstance(p, TextPart))
            found.append({"role": "assistant", "content": said, **({"tool_calls": calls} if calls else {})})
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                found.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()})
            else:
                found.append({"role": "user", "content": part.content})
    return found


def agent_of(scripted: Scripted, capability: BrimCapability) -> Agent:
    return Agent(scripted.model, instructions=SYSTEM, tools=[read_log], capabilities=[capability])


LIMITS = {"usage_limits": UsageLimits(request_limit=None)}


def test_an_agent_stays_within_its_window_and_its_messages_keep_everything() -> None:
    scripted = Scripted()
    capability = BrimCapability(budget=BUDGET)  # the model's own name is asked
    result = agent_of(scripted, capability).run_sync(FIRST, **LIMITS)
    check(scripted.requests)
    assert result.output == ANSWER
    returned = [p.content for m in result.all_messages() for p in m.parts if isinstance(p, ToolReturnPart)]
    assert returned == [output(step) for step in range(STEPS)]
    assert len(capability.fitter._sessions) == 1


def test_a_streaming_agent_is_fitted_too() -> None:
    scripted = Scripted()

    async def run() -> list[str]:
        async with agent_of(scripted, BrimCapability(MODEL, BUDGET)).run_stream(FIRST, **LIMITS) as streamed:
            return [piece async for piece in streamed.stream_text(delta=True, debounce_by=None)]

    pieces = asyncio.run(run())
    check(scripted.requests)
    assert "".join(pieces).strip() == ANSWER


def test_the_example_of_the_docs_runs() -> None:
    scripted = Scripted()
    found = example("pydantic_ai", model=scripted.model, tools=[read_log], request=FIRST)
    check(scripted.requests, system=False)
    assert found["result"].output == ANSWER


def test_a_long_result_is_shortened_before_it_joins_the_history() -> None:
    scripted = Scripted()
    result = agent_of(scripted, BrimCapability(MODEL, BUDGET, tool_results=300)).run_sync(FIRST, **LIMITS)
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                assert brim.count(part.content, model=MODEL).tokens <= 300


def test_shortened_parts_leave_their_neighbours_as_they_were() -> None:
    codec = PydanticCodec()
    image = BinaryContent(b"\x89PNG", media_type="image/png")
    request = ModelRequest(
        parts=[UserPromptPart(["a long text", image]), ToolReturnPart("f", "result", tool_call_id="c")]
    )
    chats = codec.read(request)
    chats[0]["content"][0]["text"] = "short"
    written = codec.write(chats, request)
    assert written.parts[0].content == ["short", image]
    assert written.parts[1] is request.parts[1]
    thinking, call = ThinkingPart("hm", signature="s"), ToolCallPart("f", {"a": 1}, tool_call_id="c")
    response = ModelResponse(parts=[thinking, TextPart("long"), call])
    [chat] = codec.read(response)
    answer = codec.write([{**chat, "content": "short"}], response)
    assert answer.parts[0] is thinking
    assert answer.parts[1].content == "short"
    assert answer.parts[2] is call


@pytest.mark.parametrize("kind", [str, list])
def test_texts_come_back_in_the_shape_that_they_had(kind: type) -> None:
    request = ModelRequest(parts=[UserPromptPart("text" if kind is str else ["text"])])
    codec = PydanticCodec()
    [chat] = codec.read(request)
    assert codec.write([{**chat, "content": "new"}], request).parts[0].content == "new"


def test_messages_given_to_fit_and_count_directly_come_back_as_what_they_were() -> None:
    messages: list[Any] = [ModelRequest(parts=[UserPromptPart(FIRST)])]
    for step in range(STEPS):
        messages.append(ModelResponse(parts=[ToolCallPart("read_log", {"day": step}, tool_call_id=f"call_{step}")]))
        messages.append(ModelRequest(parts=[ToolReturnPart("read_log", output(step), tool_call_id=f"call_{step}")]))
    fitted = brim.fit(messages, model=MODEL, budget=BUDGET)
    assert fitted.messages[0] is messages[0]
    assert fitted.messages[-1] is messages[-1]
    assert all(isinstance(message, (ModelRequest, ModelResponse)) for message in fitted.messages)
    assert brim.count(chats(fitted.messages, None), model=MODEL, api="openai_chat").tokens <= BUDGET
    assert brim.count(messages, model=MODEL).tokens > BUDGET
    assert brim.count(fitted.at(5_000).messages, model=MODEL).tokens <= 5_000
