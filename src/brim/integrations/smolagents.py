"""smolagents: a model with fitted calls.

Example: ToolCallingAgent(tools, model=BrimModel(model, "gpt-4o", budget=8_000))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.messages import (
    ChatDict,
    call,
    content_of,
    image_block,
    other_block,
    parts_of,
    text_block,
)

try:
    from smolagents.models import ChatMessage, MessageRole, Model, get_tool_json_schema
except ImportError as problem:
    raise MissingFramework("brim.integrations.smolagents", "smolagents>=1.26,<2") from problem

# How smolagents converts its own roles before sending.
ROLES = {"tool-call": "assistant", "tool-response": "user"}


class SmolagentsCodec:
    """smolagents' messages. Calls and results are plain text, so there are no pairs to keep together."""

    def read(self, message: Any) -> list[ChatDict]:
        if isinstance(message, dict):
            return [message]
        role = MessageRole(message.role).value
        chat: ChatDict = {
            "role": ROLES.get(role, role),
            "content": content_of([block for block, _ in _blocks(message)]),
        }
        if message.tool_calls:
            calls = [call(one.id, one.function.name, one.function.arguments) for one in message.tool_calls]
            chat["tool_calls"] = calls
        return [chat]

    def write(self, chats: list[ChatDict], original: Any) -> Any:
        if original is None:
            return ChatMessage(role=MessageRole(chats[0]["role"]), content=_parts(chats[0]["content"], []))
        if isinstance(original, dict):
            return chats[0]
        return replace(original, content=_parts(chats[0]["content"], _blocks(original)))


def _parts(content: Any, known: list[tuple[ChatDict, Any]]) -> list[Any]:
    return parts_of(content, known, text_block)


def _blocks(message: ChatMessage) -> list[tuple[ChatDict, Any]]:
    content = [text_block(message.content)] if isinstance(message.content, str) else message.content or []
    return [(_block(part), part) for part in content]


def _block(part: Any) -> ChatDict:
    if part.get("type") == "text":
        return text_block(part["text"])
    if part.get("type") == "image_url":
        return image_block(part["image_url"]["url"])
    image = part.get("image")
    # An image in memory is represented by its size, because its tokens depend on nothing else.
    return image_block(f"{image.width}x{image.height}") if hasattr(image, "width") else other_block(part)


class BrimModel(Model):
    """Wraps another model and fits its messages; the agent's memory keeps everything."""

    def __init__(self, inner: Model, model: Any = None, budget: int | None = None, **settings: Any) -> None:
        self.inner = inner
        self.fitter: MessageFitter[Any] = MessageFitter(SmolagentsCodec(), model, budget, **settings)
        if hasattr(inner, "generate_stream"):  # agents check whether it exists
            self.generate_stream = self._generate_stream

    def generate(self, messages: Any, *args: Any, **asked: Any) -> Any:
        return self.inner.generate(self._fitted(messages, asked), *args, **asked)

    def _generate_stream(self, messages: Any, *args: Any, **asked: Any) -> Iterator[Any]:
        yield from self.inner.generate_stream(self._fitted(messages, asked), *args, **asked)

    def _fitted(self, messages: Any, asked: dict[str, Any]) -> list[Any]:
        tools = [get_tool_json_schema(tool) for tool in asked.get("tools_to_call_from") or ()]
        return self.fitter.fit(messages, tools=tools, model=self.inner.model_id)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)
