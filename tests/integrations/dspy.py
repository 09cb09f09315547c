"""DSPy with Brim: needs tests/integrations/requirements/dspy.txt."""

from __future__ import annotations

import asyncio
from typing import Any

import dspy
import pytest

from brim.integrations.dspy import BrimReAct
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, check, example, output, read_log


class Scripted(dspy.BaseLM):
    """What DSPy asks of a model, as messages; it answers in the form that ChatAdapter reads."""

    def __init__(self) -> None:
        super().__init__(MODEL)
        self.requests: list[Any] = []

    def forward(self, prompt: Any = None, messages: Any = None, **_: Any) -> Any:
        step = len(self.requests)
        self.requests.append(messages)
        extracting = "next_tool_name" not in messages[0]["content"]
        if extracting:
            fields = {"reasoning": "The log says so.", "answer": ANSWER}
        elif step < STEPS:
            fields = {
                "next_thought": "I read on.",
                "next_tool_name": "read_log",
                "next_tool_args": f'{{"day": {step}}}',
            }
        else:
            fields = {"next_thought": "I know.", "next_tool_name": "finish", "next_tool_args": "{}"}
        said = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in fields.items())
        return _Answer(said + "\n\n[[ ## completed ## ]]")

    async def aforward(self, prompt: Any = None, messages: Any = None, **more: Any) -> Any:
        return self.forward(prompt, messages, **more)


class _Answer(dict):  # type: ignore[type-arg]
    """An answer of OpenAI's shape."""

    def __init__(self, text: str) -> None:
        message = type("Message", (), {"content": text, "tool_calls": None, "reasoning_content": None})()
        choice = type("Choice", (), {"message": message, "finish_reason": "stop", "logprobs": None})()
        super().__init__(choices=[choice])
        self.choices, self.usage, self.model, self._hidden_params = [choice], {}, MODEL, {}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_agent_stays_within_its_window_and_its_trajectory_keeps_everything(asynchronous: bool) -> None:
    lm = Scripted()
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        agent = BrimReAct("request -> answer", tools=[read_log], max_iters=50, budget=BUDGET)
        found = asyncio.run(agent.acall(request=FIRST)) if asynchronous else agent(request=FIRST)
    assert found.answer == ANSWER
    check(lm.requests[:-1], system=False)
    check(lm.requests[1:], system=False)  # the last one asks for the answer
    kept = [value for key, value in found.trajectory.items() if key.startswith("observation_")]
    assert kept == [*(output(step) for step in range(STEPS)), "Completed."]


def test_the_example_of_the_docs_runs() -> None:
    lm = Scripted()
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        found = example("dspy", tools=[read_log], request=FIRST)
    assert found["answer"] == ANSWER
    check(lm.requests[:-1], system=False)


def test_what_fits_is_sent_as_dspy_writes_it() -> None:
    lm, plain = Scripted(), Scripted()
    for model, kind, more in ((lm, BrimReAct, {"budget": 100_000}), (plain, dspy.ReAct, {})):
        with dspy.context(lm=model, adapter=dspy.ChatAdapter()):
            kind("request -> answer", tools=[read_log], max_iters=50, **more)(request=FIRST)
    assert lm.requests == plain.requests
