"""CAMEL: a context creator that fits the messages from an agent's memory.

Example: agent.memory = ChatHistoryMemory(BrimContextCreator("gpt-4o", budget=8_000))
"""

from __future__ import annotations

from typing import Any

import brim
from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter, PlainCodec
from brim.integrations.conversion.messages import count

try:
    from camel.memories import BaseContextCreator, ContextRecord
    from camel.types import OpenAIBackendRole
    from camel.utils import BaseTokenCounter
except ImportError as problem:
    raise MissingFramework("brim.integrations.camel", "camel-ai>=0.2.90,<0.3") from problem


class BrimTokens(BaseTokenCounter):
    """Counts messages like the model."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def count_tokens_from_messages(self, messages: list[Any]) -> int:
        return count(messages, PlainCodec(), self.model) if messages else 0

    def encode(self, text: str) -> list[int]:
        """One placeholder per token, because Brim only counts tokens and has no ids for them."""
        return list(range(brim.count(text, model=self.model).tokens))

    def decode(self, token_ids: list[int]) -> str:
        raise NotImplementedError("Brim counts tokens: it has no numbers to turn back into text")


class BrimContextCreator(BaseContextCreator):
    """Returns the records in order, fitted. The memory keeps all of them.

    A creator doesn't see the agent's tools; pass in their schemas to have them counted.
    """

    def __init__(self, model: Any, budget: int | None = None, *, tools: Any = (), **settings: Any) -> None:
        self._tools = [getattr(one, "openai_tool_schema", one) for one in tools]
        self._counter = BrimTokens(model)
        self._limit = budget or brim.Session(model=model).model.max_input()
        self._fitter: MessageFitter[Any] = MessageFitter(PlainCodec(), model, budget, **settings)

    @property
    def token_counter(self) -> BaseTokenCounter:
        return self._counter

    @property
    def token_limit(self) -> int:
        return int(self._limit)

    def create_context(self, records: list[ContextRecord]) -> tuple[list[Any], int]:
        # The system message first, then the others as they came, like CAMEL's own creator.
        instructions = [one for one in records if one.memory_record.role_at_backend == OpenAIBackendRole.SYSTEM][:1]
        others = sorted((one for one in records if one not in instructions), key=lambda one: one.timestamp)
        messages = [one.memory_record.to_openai_message() for one in (*instructions, *others)]
        fitted = self._fitter.fit(messages, tools=self._tools)
        return fitted, self._counter.count_tokens_from_messages(fitted)
