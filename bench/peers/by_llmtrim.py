"""llmtrim: `compress` with the preset that it takes for agents, and with its strongest.

It compresses and does not fit: it is told no budget.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import llmtrim

PACKAGES = ("llmtrim",)
REFUSALS = (llmtrim.LlmtrimError,)
Chat = list[dict[str, Any]]


def compressed(preset: str, messages: Chat, budget: int) -> Chat:
    request = json.dumps({"model": "gpt-4o", "messages": messages})
    made = llmtrim.compress(request, llmtrim.Provider.OPEN_AI, preset)
    return list(json.loads(made.request_json)["messages"])


def cut(text: str, budget: int) -> str:
    """A tool's result, as an agent hands it over."""
    call = {"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    chat: Chat = [
        {"role": "user", "content": "What went wrong?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": text},
    ]
    made = compressed("aggressive", chat, budget)
    return "".join(str(message["content"]) for message in made if message["role"] == "tool")


FITS = {preset: lambda preset=preset: partial(compressed, preset) for preset in ("agent", "aggressive")}
CUTS = {"aggressive": lambda: cut}
