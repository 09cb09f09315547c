"""Agno with Brim: needs tests/integrations/requirements/agno.txt."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.message import Message
from agno.models.openai import OpenAIChat
from agno.models.response import ModelResponse

from brim.integrations.agno import AgnoCodec, brim_model
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, call, check, example, output


def read_log(day: int) -> str:
    """Read the harbour's log of a day."""
    return output(day)


class Scripted(OpenAIChat):
    """Agno's own model of OpenAI, up to what it sends; the answers are from the script."""

    def _next(self, messages: list[Message]) -> ModelResponse:
        requests = self.requests  # type: ignore[attr-defined]
        step = len(requests)
        requests.append(self._format_all_messages(messages))
        if step == STEPS:
            return ModelResponse(role="assistant", content=ANSWER)
        return ModelResponse(role="assistant", content="", tool_calls=[call(step)])

    def invoke(self, messages: list[Message], *_: Any, **__: Any) -> ModelResponse:
        return self._next(messages)

    async def ainvoke(self, messages: list[Message], *_: Any, **__: Any) -> ModelResponse:
        return self._next(messages)

    def invoke_stream(self, messages: list[Message], *_: Any, **__: Any) -> Any:
        yield self._next(messages)

    async def ainvoke_stream(self, messages: list[Message], *_: Any, **__: Any) -> Any:
        yield self._next(messages)

    @staticmethod
    def parse_tool_calls(tool_calls_data: Any) -> Any:
        return tool_calls_data


def scripted() -> Scripted:
    model = Scripted(id=MODEL, api_key="none")
    model.requests = []  # type: ignore[attr-defined]
    return model


def sent(model: Any) -> list[Any]:
    return [[{**m, "role": "system"} if m["role"] == "developer" else m for m in one] for one in model.requests]


@pytest.mark.parametrize("mode", ["run", "stream", "arun", "astream"])
def test_an_agent_stays_within_its_window_and_its_session_keeps_everything(mode: str) -> None:
    model = scripted()
    agent = Agent(
        model=brim_model(model, budget=BUDGET), tools=[read_log], instructions=SYSTEM, db=InMemoryDb(), telemetry=False
    )

    async def arun() -> Any:
        if mode == "arun":
            return (await agent.arun(FIRST)).content
        said = [event async for event in agent.arun(FIRST, stream=True) if getattr(event, "content", None)]
        return "".join(str(event.content) for event in said)

    if mode == "run":
        said = agent.run(FIRST).content
    elif mode == "stream":
        said = "".join(str(event.content) for event in agent.run(FIRST, stream=True) if getattr(event, "content", None))
    else:
        said = asyncio.run(arun())
    assert said.endswith(ANSWER)
    check(sent(model))
    kept = agent.get_last_run_output()
    assert [m.content for m in kept.messages if m.role == "tool"] == [output(step) for step in range(STEPS)]


def test_the_example_of_the_docs_runs() -> None:
    model = scripted()
    found = example("agno", model=model, tools=[read_log], request=FIRST)
    assert found["answer"] == ANSWER
    check(sent(model), system=False)


def test_the_model_stays_what_it_is_and_the_one_given_is_not_changed() -> None:
    model = scripted()
    fitted = brim_model(model, budget=BUDGET)
    assert isinstance(fitted, Model)
    assert isinstance(fitted, Scripted)
    assert type(model) is Scripted
    assert fitted.id == MODEL


def test_pictures_stay_with_a_shortened_message() -> None:
    message = Message(role="user", content="long", images=[{"url": "https://example.org/a.png"}])
    codec = AgnoCodec()
    [chat] = codec.read(message)
    chat["content"][0] = {"type": "text", "text": "short"}
    written = codec.write([chat], message)
    assert (written.content, written.images) == ("short", message.images)
