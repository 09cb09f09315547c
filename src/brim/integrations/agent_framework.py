"""Microsoft's agent-framework: a compaction strategy, a tokenizer, and a history in a Brim store.

Example: Agent(client, compaction_strategy=BrimCompaction("gpt-4o", budget=8_000))
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import brim
from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.kept_list import KeptList
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
from brim.stores.protocol import Store
from brim.stores.resilient import open_store

try:
    from agent_framework import Content, HistoryProvider, Message
except ImportError as problem:
    raise MissingFramework("brim.integrations.agent_framework", "agent-framework-core>=1.23,<2") from problem

BESIDE = ("function_call", "function_result", "text_reasoning", "usage")


class AgentFrameworkCodec:
    """The framework's messages; each function result is a chat message."""

    def read(self, message: Message) -> list[ChatDict]:
        results = [one for one in message.contents if one.type == "function_result"]
        found = [{"role": "tool", "tool_call_id": one.call_id, "content": _result(one)} for one in results]
        blocks = [block for block, _ in _blocks(message)]
        if blocks or not found:
            role = "user" if message.role == "tool" else message.role
            found.append({"role": role, "content": content_of(blocks)})
        calls = [one for one in message.contents if one.type == "function_call"]
        if calls:
            found[-1]["tool_calls"] = [call(one.call_id, one.name, one.arguments) for one in calls]
        thought = "".join(one.text or "" for one in message.contents if one.type == "text_reasoning")
        if thought:
            found[-1]["reasoning_content"] = thought
        return found

    def write(self, chats: list[ChatDict], original: Message | None) -> Message:
        if original is None:
            return Message(chats[0]["role"], [Content.from_text(text_of(chats[0]["content"]))])
        results = {chat["tool_call_id"]: text_of(chat["content"]) for chat in chats if chat["role"] == "tool"}
        said: ChatDict = next((chat for chat in chats if chat["role"] != "tool"), {"content": []})
        calls = {one["id"]: one for one in said.get("tool_calls", ())}
        contents = [one for one in original.contents if one.type in ("text_reasoning", "usage")]
        for one in original.contents:
            if one.type == "function_result" and one.call_id in results:
                text = results[one.call_id]
                contents.append(one if text == _result(one) else Content.from_function_result(one.call_id, result=text))
        contents += parts_of(said["content"], _blocks(original), Content.from_text)
        for one in original.contents:
            if one.type == "function_call" and one.call_id in calls:
                changed = copy.copy(one)
                changed.arguments = arguments_of(calls[one.call_id])
                contents.append(changed)
        written = copy.copy(original)
        written.contents = contents
        written.additional_properties = dict(original.additional_properties)
        return written


def _result(one: Any) -> str:
    return one.result if isinstance(one.result, str) else json.dumps(one.result, default=str)


def _blocks(message: Message) -> list[tuple[ChatDict, Any]]:
    return [(_block(one), one) for one in message.contents if one.type not in BESIDE]


def _block(one: Any) -> ChatDict:
    if one.type == "text":
        return text_block(one.text or "")
    if one.type in ("data", "uri"):
        return image_block(one.uri) if (one.media_type or "").startswith("image/") else file_block(one.uri)
    return other_block(one.to_dict())


class BrimCompaction:
    """A `CompactionStrategy` that rewrites messages in place if they don't fit.

    A strategy doesn't see instructions and tools; pass them in to have them counted.
    """

    def __init__(
        self,
        model: Any,
        budget: int | None = None,
        *,
        instructions: str | None = None,
        tools: Any = (),
        **settings: Any,
    ) -> None:
        self._beside = {"instructions": instructions, "tools": [one.to_json_schema_spec() for one in tools]}
        self.fitter: MessageFitter[Message] = MessageFitter(AgentFrameworkCodec(), model, budget, **settings)
        self.tokenizer = BrimTokenizer(model)

    async def __call__(self, messages: list[Message]) -> bool:
        compacted = await asyncio.to_thread(lambda: self.fitter.compact(messages, **self._beside))
        if compacted is not None:
            messages[:] = compacted
        return compacted is not None


class BrimTokenizer:
    """A `TokenizerProtocol` that counts like the model; the framework's own divides characters by four."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def count_tokens(self, text: str) -> int:
        return brim.count(text, model=self.model).tokens


class BrimHistoryProvider(HistoryProvider):
    """A `HistoryProvider` in a Brim store, which keeps an agent's session for its next run."""

    def __init__(self, store: Store | str | Path, source_id: str = "brim", **flags: bool) -> None:
        super().__init__(source_id, **flags)
        self.store = open_store(store) if isinstance(store, (str, Path)) else store

    async def get_messages(self, session_id: str | None, **more: Any) -> list[Message]:
        return [Message.from_dict(one) for one in await asyncio.to_thread(self._kept(session_id).values)]

    async def save_messages(self, session_id: str | None, messages: Sequence[Message], **more: Any) -> None:
        await asyncio.to_thread(self._kept(session_id).add, [message.to_dict() for message in messages])

    def _kept(self, session_id: str | None) -> KeptList:
        return KeptList(f"agent_framework:{self.source_id}:{session_id or ''}", self.store)
