"""Google ADK: a plugin that fits what each model call sends.

Example: App(name="app", root_agent=agent, plugins=[BrimPlugin("gemini-2.5-flash", budget=8_000)])
"""

from __future__ import annotations

import json
from typing import Any

import brim
from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.messages import ChatDict

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ImportError as problem:
    raise MissingFramework("brim.integrations.google_adk", "google-adk>=2.13,<3") from problem


class ContentCodec:
    """Gemini's contents as the JSON that is sent."""

    def read(self, message: types.Content) -> list[ChatDict]:
        return [message.model_dump(mode="json", by_alias=True, exclude_none=True)]

    def write(self, chats: list[ChatDict], original: types.Content | None) -> types.Content:
        written = {"role": "user", **chats[0]}
        return types.Content.model_validate_json(json.dumps({key: written[key] for key in ("role", "parts")}))


class BrimPlugin(BasePlugin):
    """Fits the contents and instructions of each model call; the session's events keep everything.

    With `tool_results` longer texts in a tool's result are shortened once, before they join the session.
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
            # The agents of a session have instructions and a history of their own.
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
