"""LiteLLM: `trim_messages`, which drops and cuts from the front, and `compress`, which stubs what matters least."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # or its import asks the network
import litellm
from litellm.utils import trim_messages

PACKAGES = ("litellm", "tiktoken")
MODEL = "gpt-4o"
Chat = list[dict[str, Any]]
FRAME = 7  # tokens of a message without its text, and before the answer
litellm.suppress_debug_info = True


def trimmed(messages: Chat, budget: int) -> Chat:
    return list(trim_messages(messages, model=MODEL, max_tokens=budget))


def cut(text: str, budget: int) -> str:
    """A single message in so many tokens, and those around it."""
    return "".join(str(message["content"]) for message in trimmed([{"role": "user", "content": text}], budget + FRAME))


class Compress:
    """With the budget as its trigger, and a target of seven tenths of it, which is its default.

    It fails on a message whose content is null, as that of a call is; it gets an empty text there.
    """

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def __call__(self, messages: Chat, budget: int) -> Chat:
        messages = [{**message, "content": message.get("content") or ""} for message in messages]
        found = litellm.compress(messages=messages, model=MODEL, compression_trigger=budget)
        self._kept = found["cache"]
        return list(found["messages"])

    def held(self, value: str) -> bool:
        """By the retrieval tool that it adds to the request."""
        return any(value in text for text in self._kept.values())


def count(request: dict[str, Any]) -> int:
    """Functions, the older name of tools, are handed over as tools."""
    tools = request.get("tools") or [{"type": "function", "function": one} for one in request.get("functions", ())]
    return int(
        litellm.token_counter(
            model=request["model"], messages=request["messages"], tools=tools or None,
            tool_choice=request.get("tool_choice"),
        )
    )  # fmt: skip


FITS = {"trim_messages": lambda: trimmed, "compress": Compress}
COUNTS = {
    "token_counter": lambda: count,
    "text": lambda: lambda text: litellm.token_counter(model=MODEL, text=text),
}
CUTS = {"trim_messages": lambda: cut}
