"""inspect_ai's agents with Brim: needs tests/integrations/requirements/inspect_ai.txt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageUser,
    ContentImage,
    ContentReasoning,
    ContentText,
    ModelAPI,
    ModelOutput,
    get_model,
)
from inspect_ai.tool import ToolCall, tool

import brim
from brim.integrations.inspect_ai import InspectCodec
from tests.integrations.scripted import ANSWER, FIRST, MODEL, STEPS, check, example, output


@tool
def read_log() -> Any:
    async def execute(day: int) -> str:
        """Read the harbour's log of a day.

        Args:
            day: the number of the day
        """
        return output(day)

    return execute


class Scripted:
    def __init__(self) -> None:
        self.requests: list[Any] = []

    def __call__(self, messages: Any, *_: Any) -> ModelOutput:
        step = len(self.requests)
        self.requests.append([chat(message) for message in messages])
        name, given = ("submit", {"answer": ANSWER}) if step == STEPS else ("read_log", {"day": step})
        return ModelOutput.for_tool_call("mockllm/model", name, given, tool_call_id=f"call_{step}")


def chat(message: Any) -> dict[str, Any]:
    """What the model got, without the adapter's own reading."""
    found: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        found["tool_call_id"] = message.tool_call_id
    if getattr(message, "tool_calls", None):
        found["tool_calls"] = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.function, "arguments": json.dumps(one.arguments)},
            }
            for one in message.tool_calls
        ]
    return found


async def count_text_tokens(self: Any, text: str) -> int:
    return brim.count(text, model=MODEL).tokens


def test_the_example_of_the_docs_stays_within_its_window_and_its_transcript_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The default of inspect_ai loads its tokenizer from the network.
    monkeypatch.setattr(ModelAPI, "count_text_tokens", count_text_tokens)
    scripted = Scripted()
    agent = example("inspect_ai", tools=[read_log()])["agent"]
    task = Task(dataset=[Sample(input=FIRST)], solver=agent)
    model = get_model("mockllm/model", custom_outputs=scripted)
    [log] = eval(task, model=model, display="none", log_dir=str(tmp_path))
    assert log.status == "success", log.error
    check(scripted.requests, system=False)
    kept = [message.text for message in log.samples[0].messages if message.role == "tool"]
    assert [text for text in kept if text.startswith("log")] == [output(step) for step in range(STEPS)]


def test_images_reasoning_and_calls_stay_beside_a_shortened_text() -> None:
    codec = InspectCodec()
    image = ContentImage(image="https://example.org/a.png")
    asked = ChatMessageUser(content=[ContentText(text="long"), image])
    [chat] = codec.read(asked)
    chat["content"][0] = {"type": "text", "text": "short"}
    assert codec.write([chat], asked).content == [ContentText(text="short"), image]
    call, thought = ToolCall(id="c", function="f", arguments={"a": 1}), ContentReasoning(reasoning="hm")
    said = ChatMessageAssistant(content=[thought, ContentText(text="long")], tool_calls=[call])
    [chat] = codec.read(said)
    written = codec.write([{**chat, "content": "short"}], said)
    assert written.content == [thought, ContentText(text="short")]
    assert written.tool_calls == [call]
