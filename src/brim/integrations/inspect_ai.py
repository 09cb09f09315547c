"""inspect_ai: a compaction strategy for its agents.

Example: react(tools=tools, compaction=BrimCompactionStrategy("gpt-4o", budget=8_000))
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import COMPACT_TO, MessageFitter
from brim.integrations.conversion.messages import (
    ChatDict,
    arguments_of,
    call,
    content_of,
    image_block,
    other_block,
    parts_of,
    text_block,
    text_of,
    tool,
)

try:
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        CompactionStrategy,
        ContentImage,
        ContentReasoning,
        ContentText,
    )
except ImportError as problem:
    raise MissingFramework("brim.integrations.inspect_ai", "inspect-ai>=0.3.285,<0.4") from problem

MADE = {"system": ChatMessageSystem, "assistant": ChatMessageAssistant}


class InspectCodec:
    """inspect_ai's messages."""

    def read(self, message: ChatMessage) -> list[ChatDict]:
        chat: ChatDict = {"role": message.role, "content": content_of([block for block, _ in _blocks(message)])}
        if message.role == "tool":
            chat["tool_call_id"] = message.tool_call_id or ""
        calls = getattr(message, "tool_calls", None)
        if calls:
            chat["tool_calls"] = [call(one.id, one.function, one.arguments) for one in calls]
        thought = "".join(one.reasoning for one in _parts(message) if isinstance(one, ContentReasoning))
        return [{**chat, "reasoning_content": thought} if thought else chat]

    def write(self, chats: list[ChatDict], original: ChatMessage | None) -> ChatMessage:
        chat = chats[0]
        if original is None:
            return MADE.get(chat["role"], ChatMessageUser)(content=text_of(chat["content"]))
        thoughts = [one for one in _parts(original) if isinstance(one, ContentReasoning)]
        parts = thoughts + parts_of(chat["content"], _blocks(original), lambda text: ContentText(text=text))
        plain = isinstance(original.content, str) and isinstance(chat["content"], str)
        changes: dict[str, Any] = {"content": chat["content"] if plain else parts}
        kept = {one["id"]: arguments_of(one) for one in chat.get("tool_calls", ())}
        if kept:
            calls = [one for one in original.tool_calls if one.id in kept]
            changes["tool_calls"] = [replace(one, arguments=kept[one.id]) for one in calls]
        return original.model_copy(update=changes)


def _parts(message: ChatMessage) -> list[Any]:
    return [ContentText(text=message.content)] if isinstance(message.content, str) else list(message.content)


def _blocks(message: ChatMessage) -> list[tuple[ChatDict, Any]]:
    return [(_block(one), one) for one in _parts(message) if not isinstance(one, ContentReasoning)]


def _block(one: Any) -> ChatDict:
    if isinstance(one, ContentText):
        return text_block(one.text)
    return image_block(one.image) if isinstance(one, ContentImage) else other_block(one.model_dump(mode="json"))


class BrimCompactionStrategy(CompactionStrategy):
    """Fits the model's input to six tenths of the budget once it exceeds it; the agent's messages keep everything."""

    def __init__(self, model: Any, budget: int, *, memory: bool = False, **settings: Any) -> None:
        super().__init__(type="edit", threshold=budget, memory=memory)
        self.fitter: MessageFitter[ChatMessage] = MessageFitter(
            InspectCodec(), model, int(budget * COMPACT_TO), **settings
        )

    async def compact(
        self, model: Any, messages: list[ChatMessage], tools: list[Any]
    ) -> tuple[list[ChatMessage], None]:
        offered = [tool(one.name, one.description, one.parameters.model_dump(exclude_none=True)) for one in tools]
        return await asyncio.to_thread(lambda: self.fitter.fit(messages, tools=offered)), None
