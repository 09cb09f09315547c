"""CrewAI with Brim: needs tests/integrations/requirements/crewai.txt."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

from brim.integrations.crewai import brim_llm
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, call, check, example, output


@tool("read_log")
def read_log(day: int) -> str:
    """Read the harbour's log of a day."""
    return output(day)


class Scripted(BaseLLM):
    requests: list[Any] = []  # noqa: RUF012, pydantic copies it
    native: bool = True

    def supports_function_calling(self) -> bool:
        return self.native

    def get_context_window_size(self) -> int:
        return 10**9

    def call(self, messages: Any, tools: Any = None, *_: Any, **__: Any) -> Any:
        step = len(self.requests)
        self.requests.append(json.loads(json.dumps(messages)))
        if self.native:
            return ANSWER if step == STEPS else [call(step)]
        thought = f'Thought: I read on.\nAction: read_log\nAction Input: {{"day": {step}}}'
        return f"Thought: I know now.\nFinal Answer: {ANSWER}" if step == STEPS else thought

    async def acall(self, messages: Any, tools: Any = None, *_: Any, **__: Any) -> Any:
        return self.call(messages, tools)


def crew_of(llm: BaseLLM) -> Crew:
    more = {"verbose": False, "max_iter": 50, "respect_context_window": False}
    agent = Agent(role="clerk", goal="look after the bookings", backstory="years", llm=llm, tools=[read_log], **more)
    return Crew(agents=[agent], tasks=[Task(description=FIRST, expected_output="the cause", agent=agent)])


def test_a_crew_that_calls_tools_stays_within_its_window() -> None:
    llm = Scripted(model=MODEL)
    assert str(crew_of(brim_llm(llm, budget=BUDGET)).kickoff()) == ANSWER
    check(llm.requests, system=False)


def test_a_crew_that_writes_its_calls_as_text_stays_within_its_window() -> None:
    llm = Scripted(model=MODEL, native=False)
    assert str(crew_of(brim_llm(llm, budget=BUDGET)).kickoff()) == ANSWER
    check(llm.requests, system=False)


def test_a_crew_on_an_event_loop_stays_within_its_window() -> None:
    llm = Scripted(model=MODEL)
    assert str(asyncio.run(crew_of(brim_llm(llm, budget=BUDGET)).akickoff())) == ANSWER
    check(llm.requests, system=False)


def test_the_example_of_the_docs_runs() -> None:
    llm = Scripted(model=MODEL)
    assert str(example("crewai", llm=llm, tools=[read_log], request=FIRST)["answer"]) == ANSWER
    check(llm.requests, system=False)


@pytest.mark.parametrize("messages", ["What is the time?", [{"role": "user", "content": "What is the time?"}]])
def test_what_fits_goes_through_as_it_is(messages: Any) -> None:
    llm = Scripted(model=MODEL)
    brim_llm(llm, budget=BUDGET).call(messages)
    assert llm.requests == [messages]
