"""tiktoken: texts, and chats by the formula in use with it: three tokens a message, one a name, three at the end."""

from __future__ import annotations

import json
from typing import Any

import tiktoken

PACKAGES = ("tiktoken",)


def of_text(vocabulary: str) -> Any:
    encode = tiktoken.get_encoding(vocabulary).encode_ordinary
    return lambda text: len(encode(text))


def of_chat(request: dict[str, Any]) -> int:
    """The formula says nothing of tools; their JSON is counted."""
    encode = tiktoken.encoding_for_model(request["model"]).encode_ordinary
    total = 3
    for message in request["messages"]:
        total += 3 + sum(len(encode(_text(value))) for key, value in message.items()) + ("name" in message)
    tools = request.get("tools") or request.get("functions")
    return total + (len(encode(json.dumps(tools))) if tools else 0)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


COUNTS = {
    "text": lambda: of_text("o200k_base"),
    "text of gpt-4": lambda: of_text("cl100k_base"),
    "usual formula": lambda: of_chat,
}
