"""Haystack: a compactor and a token counter for its CompactionHook.

Example: CompactionHook(BrimCompactor("gpt-4o"), context_window=8_000, token_counter=BrimTokenCounter("gpt-4o"))
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import brim
from brim.errors import BudgetTooSmall, MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.messages import (
    ChatDict,
    arguments_of,
    call,
    content_of,
    count,
    file_block,
    image_block,
    other_block,
    parts_of,
    text_block,
    text_of,
)

try:
    from haystack.core.serialization import default_from_dict, default_to_dict
    from haystack.dataclasses import ChatMessage, FileContent, ImageContent, TextContent, ToolCall, ToolCallResult
    from haystack.dataclasses.chat_message import ReasoningContent
    from haystack.tools import flatten_tools_or_toolsets
except ImportError as problem:
    raise MissingFramework("brim.integrations.haystack", "haystack-ai>=3.4,<4") from problem

MADE = {"system": ChatMessage.from_system, "assistant": ChatMessage.from_assistant}


class HaystackCodec:
    """Haystack's messages; each result in a tool message becomes a chat message."""

    def read(self, message: ChatMessage) -> list[ChatDict]:
        results = message.tool_call_results
        if results:
            return [
                {"role": "tool", "tool_call_id": _id(one.origin), "content": _result(one), "brim_part": number}
                for number, one in enumerate(results)
            ]
        chat: ChatDict = {"role": message.role.value, "content": content_of([block for block, _ in _blocks(message)])}
        if message.tool_calls:
            chat["tool_calls"] = [call(_id(one), one.tool_name, one.arguments) for one in message.tool_calls]
        if message.reasoning is not None:
            chat["reasoning_content"] = message.reasoning.reasoning_text
        return [chat]

    def write(self, chats: list[ChatDict], original: ChatMessage | None) -> ChatMessage:
        if original is None:
            return MADE.get(chats[0]["role"], ChatMessage.from_user)(text_of(chats[0]["content"]))
        if original.tool_call_results:
            kept = [(chat, original.tool_call_results[chat["brim_part"]]) for chat in chats]
            return replace(original, _content=[replace(one, result=text_of(chat["content"])) for chat, one in kept])
        parts: list[Any] = [part for part in original._content if isinstance(part, ReasoningContent)]
        parts += parts_of(chats[0]["content"], _blocks(original), TextContent)
        kept_calls = {one["id"]: arguments_of(one) for one in chats[0].get("tool_calls", ())}
        calls = [one for one in original.tool_calls if _id(one) in kept_calls]
        return replace(original, _content=parts + [replace(one, arguments=kept_calls[_id(one)]) for one in calls])


def _id(one: ToolCall) -> str:
    return str(one.id or one.tool_name)


def _result(one: ToolCallResult) -> str:
    result: Any = one.result
    return result if isinstance(result, str) else text_of([_block(part) for part in result])


def _blocks(message: ChatMessage) -> list[tuple[ChatDict, Any]]:
    beside = (ToolCall, ToolCallResult, ReasoningContent)
    return [(_block(part), part) for part in message._content if not isinstance(part, beside)]


def _block(part: Any) -> ChatDict:
    if isinstance(part, TextContent):
        return text_block(part.text)
    if isinstance(part, ImageContent):
        return image_block(f"data:{part.mime_type or 'image/png'};base64,{part.base64_image}")
    return file_block(part.base64_data) if isinstance(part, FileContent) else other_block(part)


class BrimTokenCounter:
    """A `TokenCounter` that counts like the model."""

    def __init__(self, model: str) -> None:
        self.model = model

    def count(self, messages: list[ChatMessage], tools: Any = None) -> int:
        offered = [{"type": "function", "function": one.tool_spec} for one in flatten_tools_or_toolsets(tools)]
        beside = brim.count([], model=self.model, tools=offered, api="openai_chat").tokens if offered else 0
        return beside + (count(messages, HaystackCodec(), self.model) if messages else 0)

    def to_dict(self) -> dict[str, Any]:
        return dict(default_to_dict(self, model=self.model))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        return default_from_dict(cls, data)


class BrimCompactor:
    """A `Compactor` that fits the conversation into `target_tokens`, or as close to it as required content allows."""

    def __init__(self, model: str, policy: str | None = None) -> None:
        self.model = model
        self.policy = policy

    def compact(self, messages: list[ChatMessage], target_tokens: int, token_counter: Any) -> list[ChatMessage] | None:
        try:
            fitted = self._at(messages, max(1, target_tokens))
        except BudgetTooSmall as problem:
            fitted = self._at(messages, problem.needed)
        return fitted if token_counter.count(fitted) < token_counter.count(messages) else None

    async def compact_async(self, messages: list[ChatMessage], target_tokens: int, token_counter: Any) -> Any:
        return await asyncio.to_thread(self.compact, messages, target_tokens, token_counter)

    def _at(self, messages: list[ChatMessage], budget: int) -> list[ChatMessage]:
        return MessageFitter(HaystackCodec(), self.model, budget, policy=self.policy).fit(messages)

    def to_dict(self) -> dict[str, Any]:
        return dict(default_to_dict(self, model=self.model, policy=self.policy))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        return default_from_dict(cls, data)
