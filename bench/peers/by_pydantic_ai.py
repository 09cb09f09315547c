"""pydantic-ai: history processors, which its users write; these are the two that its documentation shows.

"Keep recent" sends the last five messages, and as many more as a tool's return needs for its call. "Summarise old" has
all before those summarised where there are more than ten. Neither counts tokens. A whole agent runs, with a model that
only takes down what it is sent; the summary is that of stand_in.py.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)  # fmt: skip
from pydantic_ai.models.function import FunctionModel
from stand_in import summary

PACKAGES = ("pydantic-ai-slim",)
Chat = list[dict[str, Any]]
RECENT = 5
OLD = 10


def read(messages: Chat) -> list[ModelMessage]:
    """Each message as its own, but for the returns of one response's tools, which are one request."""
    found: list[ModelMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        content = message.get("content") or ""
        if message["role"] == "assistant":
            calls = message.get("tool_calls") or ()
            names |= {call["id"]: call["function"]["name"] for call in calls}
            made = [ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"]) for call in calls]
            found.append(ModelResponse(parts=[*([TextPart(content)] if content else []), *made]))
            continue
        part: Any = UserPromptPart(content)
        if message["role"] == "tool":
            part = ToolReturnPart(names.get(message["tool_call_id"], "tool"), content, message["tool_call_id"])
        if message["role"] == "tool" and found and isinstance(found[-1], ModelRequest):
            found[-1] = ModelRequest(parts=[*found[-1].parts, part])
        else:
            found.append(ModelRequest(parts=[part]))
    return found


def written(messages: list[ModelMessage]) -> Chat:
    chat: Chat = []
    for message in messages:
        if isinstance(message, ModelResponse):
            text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
            calls = [
                {"id": part.tool_call_id, "type": "function", "function": _function(part)}
                for part in message.parts
                if isinstance(part, ToolCallPart)
            ]
            chat.append({"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})})
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                chat.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": part.content})
            elif isinstance(part, SystemPromptPart | UserPromptPart):
                role = "system" if isinstance(part, SystemPromptPart) else "user"
                chat.append({"role": role, "content": part.content})
    return chat


def _function(part: ToolCallPart) -> dict[str, str]:
    return {"name": part.tool_name, "arguments": part.args if isinstance(part.args, str) else json.dumps(part.args)}


def recent(messages: list[ModelMessage]) -> int:
    """Where the last five messages begin; a tool's return is never first."""
    start = max(0, len(messages) - RECENT)
    while start and any(isinstance(part, ToolReturnPart) for part in messages[start].parts):
        start -= 1
    return start


def keep_recent(messages: list[ModelMessage]) -> list[ModelMessage]:
    return messages[recent(messages) :]


def summarise_old(messages: list[ModelMessage]) -> list[ModelMessage]:
    if len(messages) <= OLD:
        return messages
    start = recent(messages)
    texts = [str(said.get("content") or "") for said in written(messages[:start])]
    return [ModelRequest(parts=[UserPromptPart(summary(texts))]), *messages[start:]]


class Agency:
    """An agent whose processor is run before every request; what it sends is taken down."""

    def __init__(self, processor: Any) -> None:
        self._sent: list[ModelMessage] = []
        self._agent = Agent(FunctionModel(self._take_down), capabilities=[ProcessHistory(processor)])

    def __call__(self, messages: Chat, budget: int) -> Chat:
        system = [message for message in messages if message["role"] == "system"]
        rest = read([message for message in messages if message["role"] != "system"])
        self._agent.run_sync(message_history=rest)
        return [*system, *written(self._sent)]

    def _take_down(self, messages: list[ModelMessage], info: Any) -> ModelResponse:
        self._sent = list(messages)
        return ModelResponse(parts=[TextPart("Done.")])


FITS = {"keep recent": lambda: Agency(keep_recent), "summarise old": lambda: Agency(summarise_old)}
