"""Converts LlamaIndex's messages to chat messages and back."""

from __future__ import annotations

from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.messages import (
    ChatDict,
    arguments_of,
    call,
    content_of,
    file_block,
    image_block,
    other_block,
    parts_of,
    text_block,
    text_of,
)

try:
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
except ImportError as problem:
    raise MissingFramework("brim.integrations.llama_index", "llama-index-core>=0.14.25,<0.15") from problem

ROLES = {"chatbot": "assistant", "model": "assistant", "developer": "system", "function": "tool"}


class LlamaIndexCodec:
    """LlamaIndex's messages, whose calls are blocks or in `additional_kwargs`."""

    def read(self, message: ChatMessage) -> list[ChatDict]:
        role = ROLES.get(message.role.value, message.role.value)
        chat: ChatDict = {"role": role, "content": content_of([block for block, _ in _blocks(message)])}
        if role == "tool":
            chat["tool_call_id"] = str(message.additional_kwargs.get("tool_call_id", ""))
        calls = _calls(message)
        if calls:
            chat["tool_calls"] = calls
        thought = "".join(one.content or "" for one in message.blocks if isinstance(one, ThinkingBlock))
        return [{**chat, "reasoning_content": thought} if thought else chat]

    def write(self, chats: list[ChatDict], original: ChatMessage | None) -> ChatMessage:
        chat = chats[0]
        if original is None:
            return ChatMessage(role=chat["role"], content=text_of(chat["content"]))
        calls = {one["id"]: one for one in chat.get("tool_calls", ())}
        blocks: list[Any] = [one for one in original.blocks if isinstance(one, ThinkingBlock)]
        blocks += parts_of(chat["content"], _blocks(original), lambda text: TextBlock(text=text))
        for one in original.blocks:
            if isinstance(one, ToolCallBlock) and one.tool_call_id in calls:
                blocks.append(one.model_copy(update={"tool_kwargs": arguments_of(calls[one.tool_call_id])}))
        changes: dict[str, Any] = {"blocks": blocks}
        if original.additional_kwargs.get("tool_calls"):
            changes["additional_kwargs"] = {**original.additional_kwargs, "tool_calls": list(calls.values())}
        return original.model_copy(update=changes)


def _calls(message: ChatMessage) -> list[ChatDict]:
    blocks = [one for one in message.blocks if isinstance(one, ToolCallBlock)]
    if blocks:
        return [call(one.tool_call_id or "", one.tool_name, one.tool_kwargs) for one in blocks]
    given = message.additional_kwargs.get("tool_calls") or []
    dumped = [one.model_dump() if hasattr(one, "model_dump") else one for one in given]
    return [call(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in dumped]


def _blocks(message: ChatMessage) -> list[tuple[ChatDict, Any]]:
    beside = (ToolCallBlock, ThinkingBlock)
    return [(_block(one), one) for one in message.blocks if not isinstance(one, beside)]


def _block(one: Any) -> ChatDict:
    if isinstance(one, TextBlock):
        return text_block(one.text)
    if isinstance(one, ImageBlock):
        data = one.resolve_image(as_base64=True).read().decode() if one.image else ""
        return image_block(
            f"data:{one.image_mimetype or 'image/png'};base64,{data}" if data else str(one.url or one.path)
        )
    place = getattr(one, "url", None) or getattr(one, "path", None)
    return file_block(str(place)) if place else other_block(one.model_dump(mode="json"))
