"""LlamaIndex: an agent with fitted model calls, and memories that return what fits.

Example: BrimAgent(llm=llm, tools=tools, brim=MessageFitter(LlamaIndexCodec(), "gpt-4o", 8_000))
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from brim.errors import BudgetTooSmall, MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.llama_index_messages import LlamaIndexCodec

try:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemory, BaseMemoryBlock
except ImportError as problem:
    raise MissingFramework("brim.integrations.llama_index", "llama-index-core>=0.14.25,<0.15") from problem

__all__ = ["BrimAgent", "BrimMemory", "BrimMemoryBlock", "LlamaIndexCodec"]


class BrimAgent(FunctionAgent):
    """A FunctionAgent that fits each model call, including its memory and the run so far."""

    brim: Any = Field(description="The fitter of this agent's messages.")

    async def _get_response(self, current_llm_input: Any, tools: Any) -> Any:
        return await super()._get_response(await self._fitted(current_llm_input, tools), tools)

    async def _get_streaming_response(self, ctx: Any, current_llm_input: Any, tools: Any) -> Any:
        return await super()._get_streaming_response(ctx, await self._fitted(current_llm_input, tools), tools)

    async def _fitted(self, messages: list[ChatMessage], tools: Any) -> list[ChatMessage]:
        offered = [one.metadata.to_openai_tool() for one in tools]
        return list(await self.brim.afit(messages, tools=offered, model=self.llm.metadata.model_name))


class BrimMemory(BaseMemory):
    """Keeps every message and returns what fits, for chat engines, and for agents between runs."""

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


class BrimMemoryBlock(BaseMemoryBlock[list[ChatMessage]]):
    """Messages evicted from LlamaIndex's `Memory`, the most relevant ones within a budget."""

    name: str = "brim"
    model: str = "gpt-4o"
    budget: int = 4_000
    messages: list[ChatMessage] = Field(default_factory=list)

    async def _aget(self, messages: list[ChatMessage] | None = None, **kwargs: Any) -> list[ChatMessage]:
        asked = next((one for one in reversed(messages or []) if one.role.value == "user"), None)
        return await asyncio.to_thread(self._within, self.messages, asked, self.budget)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        self.messages.extend(messages)

    async def atruncate(self, content: list[ChatMessage], tokens_to_truncate: int) -> list[ChatMessage] | None:
        left = self._fitter(None).count(content) - tokens_to_truncate
        try:
            return await asyncio.to_thread(self._within, content, None, left) if left > 0 else None
        except BudgetTooSmall:
            return None

    def _within(self, kept: list[ChatMessage], asked: ChatMessage | None, budget: int) -> list[ChatMessage]:
        """The kept messages within a budget; the question, which isn't part of them, decides which ones stay."""
        if not kept:
            return []
        if asked is None:
            return self._fitter(budget).fit(kept)
        count = self._fitter(None).count
        own = count([asked, asked]) - count([asked])  # without a request's overhead, which the budget covers
        return self._fitter(budget + own).fit([*kept, asked])[:-1]

    def _fitter(self, budget: int | None) -> MessageFitter[ChatMessage]:
        return MessageFitter(LlamaIndexCodec(), self.model, budget)
