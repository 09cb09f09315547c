"""headroom: `compress` as it comes, `densify` (its mode without loss), and its JSON crusher on single texts.

It compresses and does not fit: the budget is told to it as the model's limit. The text model that it can download is
switched off, so that every run gives the same and needs no network.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("HEADROOM_OFFLINE", "1")
from headroom import SmartCrusher, compress
from headroom.compress import densify

PACKAGES = ("headroom-ai",)
MODEL = "gpt-4o"
Chat = list[dict[str, Any]]


def compressed(messages: Chat, budget: int) -> Chat:
    return list(compress(messages, model=MODEL, model_limit=budget, kompress_model="disabled").messages)


def densified(messages: Chat, budget: int) -> Chat:
    return list(densify(messages, model=MODEL, model_limit=budget).messages)


def cut(text: str, budget: int) -> str:
    """A tool's result, as an agent hands it over."""
    call = {"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    chat: Chat = [
        {"role": "user", "content": "What went wrong?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": text},
    ]
    return "".join(str(message["content"]) for message in compressed(chat, budget) if message["role"] == "tool")


def crushed(lossless: bool) -> Any:
    crusher = SmartCrusher(lossless_only=lossless)
    return lambda text: crusher.crush(text).compressed


FITS = {"compress": lambda: compressed, "densify": lambda: densified}
PACKS = {"lossless": lambda: (crushed(True), None), "default": lambda: (crushed(False), None)}
CUTS = {"compress": lambda: cut}
