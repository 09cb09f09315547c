"""Converts the messages of simonw/llm to chat messages and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.messages import (
    ChatDict,
    arguments_of,
    call,
    content_of,
    file_block,
    other_block,
    text_block,
    text_of,
)

try:
    from llm.parts import AttachmentPart, Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
except ImportError as problem:
    raise MissingFramework("brim.integrations.llm", "llm>=0.36,<1") from problem


class LlmCodec:
    """llm's messages; a message with several results becomes as many chat messages."""

    def read(self, message: Message) -> list[ChatDict]:
        results = [part for part in message.parts if isinstance(part, ToolResultPart)]
        if results:
            return [
                {"role": "tool", "tool_call_id": one.tool_call_id or "", "content": one.output or ""} for one in results
            ]
        kept = [one for one in message.parts if not isinstance(one, (ToolCallPart, ReasoningPart))]
        chat: ChatDict = {"role": message.role, "content": content_of([_block(part) for part in kept])}
        calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        if calls:
            chat["tool_calls"] = [call(one.tool_call_id or "", one.name, one.arguments) for one in calls]
        return [chat]

    def write(self, chats: list[ChatDict], original: Message | None) -> Message:
        if original is None:
            return Message(role=chats[0]["role"], parts=[TextPart(text=text_of(chats[0]["content"]))])
        results = {chat["tool_call_id"]: text_of(chat["content"]) for chat in chats if chat["role"] == "tool"}
        calls = {one["id"]: one for one in chats[0].get("tool_calls", ())}
        text = "" if results else text_of(chats[0]["content"])
        parts: list[Any] = [TextPart(text=text)] if text else []
        for part in original.parts:
            if isinstance(part, ToolResultPart) and (part.tool_call_id or "") in results:
                parts.append(replace(part, output=results[part.tool_call_id or ""]))
            elif isinstance(part, ToolCallPart) and (part.tool_call_id or "") in calls:
                parts.append(replace(part, arguments=arguments_of(calls[part.tool_call_id or ""])))
            elif isinstance(part, (AttachmentPart, ReasoningPart)):
                parts.append(part)
        return Message(role=original.role, parts=parts, provider_metadata=original.provider_metadata)


def _block(part: Any) -> ChatDict:
    if isinstance(part, TextPart):
        return text_block(part.text)
    held = part.attachment if isinstance(part, AttachmentPart) else None
    return file_block(str(held.url or held.path or "attachment")) if held is not None else other_block(str(part))
