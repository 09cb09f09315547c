"""pydantic-ai-harness: its compaction for a budget of tokens, counted by the model's tokenizer.

"Sliding window" lets the oldest messages go down to half of the budget; "tiered" clears old tool results first and then
slides. Neither calls a model. The whole history is given with every request, as Brim's `fit` is given it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tiktoken
from by_pydantic_ai import Chat, read, written
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai_harness.compaction import ClearToolResults, SlidingWindowCompaction, TieredCompaction

PACKAGES = ("pydantic-ai-harness", "pydantic-ai-slim")
ENCODING = tiktoken.get_encoding("o200k_base")


def tokens(text: str) -> int:
    return len(ENCODING.encode(text, disallowed_special=()))


def sliding(budget: int) -> Any:
    return SlidingWindowCompaction(max_tokens=budget, keep_tokens=budget // 2, tokenizer=tokens)


def tiered(budget: int) -> Any:
    tiers = [ClearToolResults(max_tokens=budget, tokenizer=tokens), sliding(budget)]
    return TieredCompaction(tiers=tiers, target_tokens=budget, tokenizer=tokens)


class Compacting:
    """An agent with a compaction; what it sends is taken down."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._make = make
        self._sent: list[ModelMessage] = []

    def __call__(self, messages: Chat, budget: int) -> Chat:
        system = [message for message in messages if message["role"] == "system"]
        room = budget - sum(tokens(str(message["content"])) for message in system)
        agent = Agent(FunctionModel(self._take_down), capabilities=[self._make(max(1, room))])
        agent.run_sync(message_history=read([message for message in messages if message["role"] != "system"]))
        return [*system, *written(self._sent)]

    def _take_down(self, messages: list[ModelMessage], info: Any) -> ModelResponse:
        self._sent = list(messages)
        return ModelResponse(parts=[TextPart("Done.")])


FITS = {"sliding window": lambda: Compacting(sliding), "tiered": lambda: Compacting(tiered)}
