"""Google's ADK with Brim: needs tests/integrations/requirements/google_adk.txt."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

import brim
from brim.integrations.google_adk import BrimEventsSummarizer, BrimPlugin, ContentCodec
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, STEPS, SYSTEM, check, example, output, read_log

MODEL = "gemini-2.5-flash"


class Scripted(BaseLlm):
    model: str = MODEL
    requests: list[Any] = []  # noqa: RUF012
    bodies: list[Any] = []  # noqa: RUF012

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        step = len(self.requests)
        self.requests.append(chats(llm_request))
        self.bodies.append(
            json.loads(json.dumps([c.model_dump(mode="json", exclude_none=True) for c in llm_request.contents]))
        )
        if step < STEPS:
            part = types.Part.from_function_call(name="read_log", args={"day": step})
            yield LlmResponse(content=types.Content(role="model", parts=[part]))
            return
        if stream:
            for word in ANSWER.split(" "):
                yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=word)]), partial=True)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=ANSWER)]))


def chats(request: Any) -> list[Any]:
    """What the model got, without the adapter's own reading. Gemini's calls have no ids: they are answered in turn."""
    found: list[Any] = [{"role": "system", "content": str(request.config.system_instruction)}]
    for content in request.contents:
        for part in content.parts:
            if part.function_call:
                function = {"name": part.function_call.name, "arguments": json.dumps(part.function_call.args)}
                calls = [{"id": f"c{len(found)}", "type": "function", "function": function}]
                found.append({"role": "assistant", "content": "", "tool_calls": calls})
            elif part.function_response:
                answer = part.function_response.response
                text = answer.get("result") if isinstance(answer.get("result"), str) else json.dumps(answer)
                found.append({"role": "tool", "tool_call_id": f"c{len(found) - 1}", "content": text})
            else:
                found.append({"role": "assistant" if content.role == "model" else "user", "content": part.text})
    return found


def runner_of(agent: LlmAgent, plugin: BrimPlugin) -> InMemoryRunner:
    return InMemoryRunner(app=App(name="harbour", root_agent=agent, plugins=[plugin]))


async def events(runner: InMemoryRunner, mode: StreamingMode = StreamingMode.NONE) -> list[Any]:
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    asked = types.Content(role="user", parts=[types.Part(text=FIRST)])
    config = RunConfig(streaming_mode=mode, max_llm_calls=100)
    run = runner.run_async(user_id="u", session_id=session.id, new_message=asked, run_config=config)
    return [event async for event in run]


@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
def test_an_agent_stays_within_its_window_and_its_session_keeps_everything(mode: StreamingMode) -> None:
    model = Scripted(requests=[], bodies=[])
    plugin = BrimPlugin(budget=BUDGET)  # the model's own name is asked
    agent = LlmAgent(name="harbour", model=model, instruction=SYSTEM, tools=[read_log])
    found = asyncio.run(events(runner_of(agent, plugin), mode))
    check(model.requests)
    assert all(brim.count({"contents": body}, model=MODEL, api="gemini").tokens <= BUDGET for body in model.bodies)
    assert found[-1].content.parts[0].text == ANSWER
    answers = [
        part.function_response.response["result"] for e in found for part in e.content.parts if part.function_response
    ]
    assert answers == [output(step) for step in range(STEPS)]
    partial = [event.content.parts[0].text for event in found if event.partial]
    assert " ".join(partial) == ("" if mode == StreamingMode.NONE else ANSWER)


def test_the_example_of_the_docs_runs() -> None:
    model = Scripted(requests=[], bodies=[])
    found = asyncio.run(events(example("google_adk", model=model, tools=[read_log])["runner"]))
    check(model.requests)
    assert found[-1].content.parts[0].text == ANSWER


def test_a_long_result_is_shortened_before_it_joins_the_session() -> None:
    model = Scripted(requests=[], bodies=[])

    def read_log(day: int) -> dict[str, str]:
        """Read the harbour's log of a day."""
        return {"result": output(day)}

    agent = LlmAgent(name="harbour", model=model, instruction=SYSTEM, tools=[read_log])
    found = asyncio.run(events(runner_of(agent, BrimPlugin(MODEL, BUDGET, tool_results=300))))
    answers = [
        part.function_response.response["result"] for e in found for part in e.content.parts if part.function_response
    ]
    assert len(answers) == STEPS
    assert all(brim.count(text, model="gpt-4o").tokens <= 300 for text in answers)


def test_a_session_goes_on_from_a_summary_of_its_events_that_no_model_wrote() -> None:
    model = Scripted(requests=[], bodies=[])
    agent = LlmAgent(name="harbour", model=model, instruction=SYSTEM, tools=[read_log])
    summarizer = BrimEventsSummarizer(MODEL, budget=2_000)
    config = EventsCompactionConfig(summarizer=summarizer, compaction_interval=1, overlap_size=0)
    runner = InMemoryRunner(app=App(name="harbour", root_agent=agent, events_compaction_config=config))

    async def twice() -> Any:
        session = await runner.session_service.create_session(app_name="harbour", user_id="u")
        for text in (FIRST, "And now?"):
            asked = types.Content(role="user", parts=[types.Part(text=text)])
            async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=asked):
                pass
        return await runner.session_service.get_session(app_name="harbour", user_id="u", session_id=session.id)

    session = asyncio.run(twice())
    made = [event.actions.compaction for event in session.events if event.actions.compaction]
    assert made
    later = model.requests[STEPS + 1]
    told = "\n".join(message["content"] for message in later)
    assert FIRST in told
    assert "called read_log" in told
    assert ANSWER in told
    assert [message["content"] for message in later][-1] == "And now?"
    assert brim.count(told, model=MODEL).tokens < 2_300  # with the instructions and ADK's own words
    assert any(event.content and FIRST in str(event.content.parts[0].text) for event in session.events)


def test_bytes_and_thought_signatures_are_written_back_as_they_were() -> None:
    parts = [
        types.Part(inline_data=types.Blob(data=b"\x89PNG\xff", mime_type="image/png")),
        types.Part(text="x", thought_signature=b"\xfe"),
    ]
    content = types.Content(role="user", parts=parts)
    codec = ContentCodec()
    assert codec.write(codec.read(content), content) == content
