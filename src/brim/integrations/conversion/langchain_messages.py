"""Converts LangChain's messages to chat messages and back; also used by `brim.fit`."""

from __future__ import annotations

import json
from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.messages import (
    ChatDict,
    arguments_of,
    call,
    content_of,
    image_block,
    other_block,
    parts_of,
    text_block,
)

try:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
except ImportError as problem:
    raise MissingFramework("brim.integrations.langchain", "langchain>=1.4,<2") from problem

ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "function": "user", "system": "system"}
TEXTS = {"assistant": AIMessage, "system": SystemMessage}


class LangChainCodec:
    """LangChain's messages, including content blocks of Anthropic and of LangChain's own standard."""

    def read(self, message: BaseMessage) -> list[ChatDict]:
        role = getattr(message, "role", None) or ROLES.get(message.type.removesuffix("MessageChunk").lower(), "user")
        role = role if role in ("user", "assistant", "system", "developer", "tool") else "user"
        chat: ChatDict = {"role": role, "content": content_of([block for block, _ in _blocks(message)])}
        if isinstance(message, ToolMessage):
            chat["tool_call_id"] = message.tool_call_id
        calls = [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]
        if calls:
            chat["tool_calls"] = [call(one["id"] or "", one["name"] or "", one["args"]) for one in calls]
        reasoning = message.additional_kwargs.get("reasoning_content") or _thought(message)
        return [{**chat, "reasoning_content": reasoning} if reasoning else chat]

    def write(self, chats: list[ChatDict], original: BaseMessage | None) -> BaseMessage:
        chat = chats[0]
        if original is None:
            return TEXTS.get(chat["role"], HumanMessage)(content=chat["content"])
        kept = {one["id"]: arguments_of(one) for one in chat.get("tool_calls", ())}
        changes: dict[str, Any] = {"content": _content(chat["content"], original, kept)}
        if isinstance(original, AIMessage):
            calls = [one for one in original.tool_calls if one["id"] in kept]
            changes["tool_calls"] = [{**one, "args": kept[one["id"]]} for one in calls]
        return original.model_copy(update=changes)


def _blocks(message: BaseMessage) -> list[tuple[ChatDict, Any]]:
    """A message's content as chat blocks, each with its original, without calls and thinking."""
    content = [message.content] if isinstance(message.content, str) else message.content
    return [(_block(part), part) for part in content if part and not _is_call(part) and not _is_thought(part)]


def _block(part: Any) -> ChatDict:
    if isinstance(part, str):
        return text_block(part)
    if part.get("type") == "text":
        return text_block(part.get("text", ""))
    if part.get("type") == "image_url":
        given = part["image_url"]
        return image_block(given if isinstance(given, str) else given["url"])
    if part.get("type") == "image":
        source = part.get("source") or part
        data = source.get("base64") or source.get("data")
        mime = source.get("mime_type") or source.get("media_type") or "image/png"
        return image_block(f"data:{mime};base64,{data}" if data else source.get("url") or "")
    return other_block(part)


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("tool_use", "tool_call", "function_call")


def _is_thought(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("thinking", "redacted_thinking", "reasoning")


def _thought(message: BaseMessage) -> str:
    """The thinking among a message's blocks, with its signatures."""
    parts = message.content if isinstance(message.content, list) else []
    return "".join(json.dumps(part, ensure_ascii=False) for part in parts if _is_thought(part))


def _content(content: Any, original: BaseMessage, kept: dict[str, Any]) -> Any:
    """New content in the shape of the original, whose blocks may include its calls."""
    if isinstance(original.content, str) and isinstance(content, str):
        return content
    parts = original.content if isinstance(original.content, list) else []
    thoughts, calls = [part for part in parts if _is_thought(part)], []
    for part in parts:
        key = _is_call(part) and (part.get("call_id") or part.get("id"))
        if key in kept:
            field = next(name for name in ("input", "args", "arguments") if name in part)
            calls.append({**part, field: json.dumps(kept[key]) if isinstance(part[field], str) else kept[key]})
    return thoughts + parts_of(content, _blocks(original), text_block) + calls
