"""Agno: a model with fitted calls.

Example: Agent(model=brim_model(OpenAIChat("gpt-4o"), budget=8_000), tools=[...])
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.messages import (
    ChatDict,
    call,
    content_of,
    file_block,
    image_block,
    other_block,
    text_block,
    text_of,
)
from brim.integrations.conversion.overridden import overridden, own

try:
    from agno.models.base import Model
    from agno.models.message import Message
except ImportError as problem:
    raise MissingFramework("brim.integrations.agno", "agno>=3.1,<4") from problem

M = TypeVar("M", bound=Model)
ROLES = ("system", "developer", "user", "assistant", "tool")


class AgnoCodec:
    """Agno's messages; images, sounds and files are separate fields and stay with their message."""

    def read(self, message: Message) -> list[ChatDict]:
        role = message.role if message.role in ROLES else "user"
        content = message.content
        texts = [text_block(content)] if isinstance(content, str) else [_block(one) for one in content or ()]
        chat: ChatDict = {"role": role, "content": content_of([*texts, *_media(message)])}
        if role == "tool":
            chat["tool_call_id"] = message.tool_call_id or ""
        if message.tool_calls:
            calls = [(one.get("id") or "", one.get("function") or {}) for one in message.tool_calls]
            chat["tool_calls"] = [call(id, said.get("name", ""), said.get("arguments", "")) for id, said in calls]
        return [chat]

    def write(self, chats: list[ChatDict], original: Message | None) -> Message:
        if original is None:
            return Message(role=chats[0]["role"], content=text_of(chats[0]["content"]))
        changed: dict[str, Any] = {"content": text_of(chats[0]["content"])}
        kept = {one["id"]: one["function"]["arguments"] for one in chats[0].get("tool_calls", ())}
        if original.tool_calls:
            calls = [one for one in original.tool_calls if (one.get("id") or "") in kept]
            changed["tool_calls"] = [
                {**one, "function": {**one["function"], "arguments": kept[one.get("id") or ""]}} for one in calls
            ]
        return original.model_copy(update=changed)


def _block(part: Any) -> ChatDict:
    if isinstance(part, str):
        return text_block(part)
    known = isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    return text_block(part["text"]) if known else other_block(part)


def _media(message: Message) -> list[ChatDict]:
    images = [image_block(str(image.url or "image")) for image in message.images or ()]
    others = [*(message.audio or ()), *(message.videos or ()), *(message.files or ())]
    return images + [file_block(str(getattr(one, "url", None) or "file")) for one in others]


def brim_model(inner: M, model: Any = None, budget: int | None = None, **settings: Any) -> M:
    """The same model with calls fitted beside their tools; the agent's session keeps everything."""
    fitter: MessageFitter[Message] = MessageFitter(AgnoCodec(), model, budget, **settings)

    def beside(self: Model, asked: dict[str, Any]) -> dict[str, Any]:
        tools = [tool for tool in asked.get("tools") or () if isinstance(tool, dict)]
        return {"tools": tools, "model": self.id}

    def fitted(self: Model, asked: dict[str, Any]) -> dict[str, Any]:
        return {**asked, "messages": fitter.fit(asked["messages"], **beside(self, asked))}

    async def afitted(self: Model, asked: dict[str, Any]) -> dict[str, Any]:
        return {**asked, "messages": await fitter.afit(asked["messages"], **beside(self, asked))}

    def invoke(self: Model, messages: list[Message], **asked: Any) -> Any:
        return own(self, "invoke")(**fitted(self, {**asked, "messages": messages}))

    def invoke_stream(self: Model, messages: list[Message], **asked: Any) -> Iterator[Any]:
        yield from own(self, "invoke_stream")(**fitted(self, {**asked, "messages": messages}))

    async def ainvoke(self: Model, messages: list[Message], **asked: Any) -> Any:
        return await own(self, "ainvoke")(**await afitted(self, {**asked, "messages": messages}))

    async def ainvoke_stream(self: Model, messages: list[Message], **asked: Any) -> AsyncIterator[Any]:
        async for said in own(self, "ainvoke_stream")(**await afitted(self, {**asked, "messages": messages})):
            yield said

    methods = {"invoke": invoke, "invoke_stream": invoke_stream, "ainvoke": ainvoke, "ainvoke_stream": ainvoke_stream}
    return overridden(inner, methods)
