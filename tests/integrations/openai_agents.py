"""The OpenAI Agents SDK with Brim: needs tests/integrations/requirements/openai_agents.txt."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from brim.integrations.openai_agents import BrimInputFilter, BrimSession
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, read_log

set_tracing_disabled(True)
TOOL = function_tool(read_log)


class Scripted(Model):
    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.raw: list[Any] = []

    def _output(self, instructions: str | None, items: Any) -> list[Any]:
        step = len(self.requests)
        self.raw.append(items)
        self.requests.append(chats(instructions, items))
        if step % (STEPS + 1) == STEPS:
            text = ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
            return [ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")]
        call = {"arguments": json.dumps({"day": step}), "call_id": f"call_{step}", "name": "read_log"}
        return [ResponseFunctionToolCall(type="function_call", id=f"f{step}", **call)]

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        return ModelResponse(self._output(system_instructions, input), Usage(), None)

    async def stream_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
        output = self._output(system_instructions, input)
        given = {"object": "response", "tools": [], "tool_choice": "auto", "parallel_tool_calls": False}
        response = Response(id="r", created_at=0, model=MODEL, output=output, **given)
        yield ResponseCompletedEvent(response=response, type="response.completed", sequence_number=0)


def chats(instructions: str | None, items: Any) -> list[Any]:
    """What the model got, without the adapter's own reading."""
    found: list[Any] = [{"role": "system", "content": instructions}] if instructions else []
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        if item.get("type") == "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            calls = [{"id": item["call_id"], "type": "function", "function": function}]
            found.append({"role": "assistant", "content": "", "tool_calls": calls})
        elif item.get("type") == "function_call_output":
            found.append({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
        else:
            content = item["content"]
            text = content if isinstance(content, str) else "".join(part["text"] for part in content)
            found.append({"role": item["role"], "content": text})
        assert not any(key.startswith("brim") for key in item)
    return found


def agent_of(model: Model) -> Agent:
    return Agent("harbour", instructions=SYSTEM, model=model, tools=[TOOL])


def test_a_run_stays_within_its_window_and_its_result_keeps_everything() -> None:
    model = Scripted()
    config = RunConfig(call_model_input_filter=BrimInputFilter(MODEL, BUDGET))
    result = Runner.run_sync(agent_of(model), FIRST, run_config=config, max_turns=50)
    check(model.requests)
    assert result.final_output == ANSWER
    outputs = [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]
    assert outputs == [read_log(step) for step in range(STEPS)]


def test_a_streamed_run_is_fitted_and_a_named_conversation_keeps_its_prefix() -> None:
    model = Scripted()
    config = RunConfig(call_model_input_filter=BrimInputFilter(MODEL, BUDGET, conversation="one"))

    async def run() -> Any:
        streamed = Runner.run_streamed(agent_of(model), FIRST, run_config=config, max_turns=50)
        events = [event async for event in streamed.stream_events()]
        assert events
        return streamed.final_output

    assert asyncio.run(run()) == ANSWER
    check(model.requests)
    pairs = list(zip(model.raw, model.raw[1:], strict=False))
    assert sum(after[: len(before)] == before for before, after in pairs) >= STEPS - 3


def test_the_example_of_the_docs_runs() -> None:
    model = Scripted()
    found = example("openai_agents", model=model, tools=[TOOL], request=FIRST)
    check(model.requests, system=False)
    assert found["result"].final_output == ANSWER


def test_a_session_in_a_store_goes_on_where_the_last_run_ended(tmp_path: Path) -> None:
    model = Scripted()
    session = BrimSession("one", tmp_path / "brim.db")
    config = RunConfig(call_model_input_filter=BrimInputFilter(MODEL, BUDGET))
    Runner.run_sync(agent_of(model), FIRST, run_config=config, max_turns=50, session=session)
    Runner.run_sync(agent_of(model), "And now?", run_config=config, max_turns=50, session=session)
    first, second = model.requests[: STEPS + 1], model.requests[STEPS + 1 :]
    check(first)
    assert all(any(FIRST in message["content"] for message in request) for request in second)

    async def look() -> None:
        items = await session.get_items()
        assert items[0] == {"content": FIRST, "role": "user"}
        assert await session.get_items(2) == items[-2:]
        assert await session.pop_item() == items[-1]
        assert await session.get_items() == items[:-1]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None

    asyncio.run(look())
    session.kept.store.close()
