"""Google ADK: a plugin that fits each model call, and a summarizer of events that works without a model.

Example: App(name="app", root_agent=agent, plugins=[BrimPlugin("gemini-2.5-flash", budget=8_000)])
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import brim
from brim.errors import BudgetTooSmall, MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.messages import ChatDict

try:
    from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
    from google.adk.events.event import Event
    from google.adk.events.event_actions import EventActions, EventCompaction
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ImportError as problem:
    raise MissingFramework("brim.integrations.google_adk", "google-adk>=2.13,<3") from problem


# ADK uses these calls to ask for credentials; their content isn't part of the conversation.
CREDENTIALS = "adk_request_credential"


class ContentCodec:
    """Gemini's contents as JSON."""

    def read(self, message: types.Content) -> list[ChatDict]:
        return [message.model_dump(mode="json", by_alias=True, exclude_none=True)]

    def write(self, chats: list[ChatDict], original: types.Content | None) -> types.Content:
        written = {"role": "user", **chats[0]}
        return types.Content.model_validate_json(json.dumps({key: written[key] for key in ("role", "parts")}))


class BrimPlugin(BasePlugin):
    """Fits the contents and instructions of each model call; the session's events keep everything.

    With `tool_results`, longer texts in a tool's result are shortened once, before they join the session.
    """

    def __init__(
        self,
        model: Any = None,
        budget: int | None = None,
        *,
        tool_results: int | None = None,
        name: str = "brim",
        **settings: Any,
    ) -> None:
        super().__init__(name=name)
        self.tool_results = tool_results
        self.fitter = MessageFitter(ContentCodec(), model, budget, api="gemini", **settings)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        config = llm_request.config
        given = _instructions(config.system_instruction)
        contents, instructions = await self.fitter.afit_beside(
            llm_request.contents,
            instructions=given or None,
            tools=[tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in _declared(config.tools)],
            # Each agent of a session has its own instructions and history.
            conversation=f"{callback_context.session.id}:{callback_context.agent_name}",
            model=llm_request.model,
        )
        llm_request.contents = contents
        if instructions is not None and instructions != given:
            config.system_instruction = instructions

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> Any:
        most = self.tool_results
        if most is None or not isinstance(result, dict):
            return None
        long = {key: text for key, text in result.items() if isinstance(text, str) and len(text) > most}
        return {**result, **{key: brim.compact(text, most).text for key, text in long.items()}} if long else None


def _declared(tools: Any) -> list[types.Tool]:
    return [tool for tool in tools or () if isinstance(tool, types.Tool)]


def _instructions(given: Any) -> str:
    """The text of a system instruction, which may be text, a part, contents or a list of them."""
    if given is None or isinstance(given, str):
        return given or ""
    if isinstance(given, list):
        return "\n".join(map(_instructions, given))
    if isinstance(given, types.Content):
        return "\n".join(part.text or "" for part in given.parts or ())
    return getattr(given, "text", None) or ""


class BrimEventsSummarizer(BaseEventsSummarizer):
    """Summarizes a session's events in about `budget` tokens: what the user said, and what was done."""

    def __init__(self, model: Any, budget: int = 2_000) -> None:
        self.model = model
        self.budget = budget

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        contents = [content for event in events if (content := _content(event)) is not None]
        if not contents:
            return None
        text = await asyncio.to_thread(self._text, contents)
        compaction = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=types.Content(role="model", parts=[types.Part(text=text)]),
        )
        return Event(author="user", actions=EventActions(compaction=compaction), invocation_id=Event.new_id())

    def _text(self, contents: list[types.Content]) -> str:
        try:
            fitted = self._at(contents, self.budget)
        except BudgetTooSmall as problem:
            fitted = self._at(contents, problem.needed)
        return "\n".join(line for content in fitted for line in _lines(content))

    def _at(self, contents: list[types.Content], budget: int) -> list[types.Content]:
        return MessageFitter(ContentCodec(), self.model, budget, api="gemini").fit(contents)


def _content(event: Event) -> types.Content | None:
    """The content of an event, or the summary if it replaces earlier ones."""
    made = event.actions.compaction if event.actions else None
    content = made.compacted_content if made is not None else event.content
    parts = (content.parts if content else None) or []
    called = (part.function_call or part.function_response for part in parts)
    return content if parts and all(one is None or one.name != CREDENTIALS for one in called) else None


def _lines(content: types.Content) -> list[str]:
    found = []
    for part in content.parts or ():
        if part.function_call:
            found.append(f"called {part.function_call.name}({json.dumps(part.function_call.args, ensure_ascii=False)})")
        elif part.function_response:
            answer = json.dumps(part.function_response.response, ensure_ascii=False, default=str)
            found.append(f"{part.function_response.name} answered: {answer}")
        elif part.text and not part.thought:
            found.append(f"{content.role}: {part.text}")
    return found
