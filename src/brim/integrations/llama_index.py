"""LlamaIndex: an agent whose model calls are fitted, and a memory that gives out what fits.

Example: BrimAgent(llm=llm, tools=tools, brim=MessageFitter(LlamaIndexCodec(), "gpt-4o", 8_000))
"""

from __future__ import annotations

import uuid
from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
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
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemory
except ImportError as problem:
    raise MissingFramework("brim.integrations.llama_index", "llama-index-core>=0.14.25,<0.15") from problem

ROLES = {"chatbot": "assistant", "model": "assistant", "developer": "system", "function": "tool"}


class LlamaIndexCodec:
    """LlamaIndex's messages, whose calls are blocks or stand in `additional_kwargs`."""

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


class BrimAgent(FunctionAgent):
    """A FunctionAgent that fits each model call: its memory and what the run has done so far."""

    brim: Any = Field(description="The fitter of this agent's messages.")

    async def _get_response(self, current_llm_input: Any, tools: Any) -> Any:
        return await super()._get_response(await self._fitted(current_llm_input, tools), tools)

    async def _get_streaming_response(self, ctx: Any, current_llm_input: Any, tools: Any) -> Any:
        return await super()._get_streaming_response(ctx, await self._fitted(current_llm_input, tools), tools)

    async def _fitted(self, messages: list[ChatMessage], tools: Any) -> list[ChatMessage]:
        offered = [one.metadata.to_openai_tool() for one in tools]
        return list(await self.brim.afit(messages, tools=offered, model=self.llm.metadata.model_name))


class BrimMemory(BaseMemory):
    """Keeps every message and gives out what fits: for chat engines, and for agents between their runs."""

    messages: list[ChatMessage] = Field(default_factory=list)
    _fitter: MessageFitter[ChatMessage] = PrivateAttr()
    _id: str = PrivateAttr(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def class_name(cls) -> str:
        return "BrimMemory"

    @classmethod
    def from_defaults(cls, model: Any = "gpt-4o", budget: int | None = None, **settings: Any) -> BrimMemory:
        made = cls()
        made._fitter = MessageFitter(LlamaIndexCodec(), model, budget, **settings)
        return made

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        return self._fitter.fit(self.messages, conversation=self._id)

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        return await self._fitter.afit(self.messages, conversation=self._id)

    def get_all(self) -> list[ChatMessage]:
        return list(self.messages)

    def put(self, message: ChatMessage) -> None:
        self.messages.append(message)

    def set(self, messages: list[ChatMessage]) -> None:
        self.messages = list(messages)

    def reset(self) -> None:
        self.messages = []
