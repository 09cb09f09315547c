"""smolagents with Brim: needs tests/integrations/requirements/smolagents.txt."""

from __future__ import annotations

from typing import Any

import pytest
from smolagents import ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    Model,
    get_clean_message_list,
)
from smolagents.monitoring import LogLevel

from brim.integrations.smolagents import BrimModel, SmolagentsCodec
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, check, example, output


@tool
def read_log(day: int) -> str:
    """Read the harbour's log of a day.

    Args:
        day: the number of the day
    """
    return output(day)


class Scripted(Model):
    def __init__(self) -> None:
        super().__init__(model_id=MODEL)
        self.requests: list[Any] = []

    def _call(self, messages: Any) -> tuple[str, dict[str, Any]]:
        step = len(self.requests)
        roles = {"tool-call": "assistant", "tool-response": "user"}
        self.requests.append(get_clean_message_list(messages, role_conversions=roles, flatten_messages_as_text=True))
        return ("final_answer", {"answer": ANSWER}) if step == STEPS else ("read_log", {"day": step})

    def generate(self, messages: Any, **_: Any) -> ChatMessage:
        name, arguments = self._call(messages)
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(function=function, id=f"call_{len(self.requests)}", type="function")
        return ChatMessage(role="assistant", content="", tool_calls=[call])


class Streaming(Scripted):
    def generate_stream(self, messages: Any, **_: Any) -> Any:
        name, arguments = self._call(messages)
        yield ChatMessageStreamDelta(content="I look. ")
        function = ChatMessageToolCallFunction(name=name, arguments=str(arguments).replace("'", '"'))
        call = ChatMessageToolCallStreamDelta(
            index=0, id=f"call_{len(self.requests)}", type="function", function=function
        )
        yield ChatMessageStreamDelta(tool_calls=[call])


@pytest.mark.parametrize("kind", [Scripted, Streaming])
def test_an_agent_stays_within_its_window_and_its_memory_keeps_everything(kind: type[Scripted]) -> None:
    model = kind()
    fitted = BrimModel(model, budget=BUDGET)  # the model's own name is asked
    assert hasattr(fitted, "generate_stream") == (kind is Streaming)
    more = {"max_steps": 50, "verbosity_level": LogLevel.OFF, "stream_outputs": kind is Streaming}
    agent = ToolCallingAgent([read_log], model=fitted, **more)
    assert agent.run(FIRST) == ANSWER
    check(model.requests, system=False)
    observed = [step.observations for step in agent.memory.steps if getattr(step, "observations", None)]
    assert [text for text in observed if text.startswith("log")] == [output(step) for step in range(STEPS)]


def test_the_example_of_the_docs_runs() -> None:
    model = Scripted()
    found = example("smolagents", model=model, tools=[read_log], request=FIRST)
    assert found["answer"] == ANSWER
    check(model.requests, system=False)


def test_unchanged_parts_stay_beside_a_shortened_text() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    message = ChatMessage(role="user", content=[{"type": "text", "text": "long"}, image])
    codec = SmolagentsCodec()
    [chat] = codec.read(message)
    chat["content"][0] = {"type": "text", "text": "short"}
    assert codec.write([chat], message).content == [{"type": "text", "text": "short"}, image]
