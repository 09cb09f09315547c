"""One question to a model over Messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PATH = "/v1/messages"
MODELS = "/v1/models"
VERSION = "2023-06-01"


def key_headers(key: str) -> list[tuple[str, str]]:
    return [("x-api-key", key)]


def headers() -> list[tuple[str, str]]:
    return [("anthropic-version", VERSION)]


def body(model: str, system: str, text: str, tokens: int, base: str) -> dict[str, Any]:
    said = [{"role": "user", "content": text}]
    return {"model": model, "max_tokens": tokens, "system": system, "messages": said}


def answer(response: Mapping[str, Any]) -> str:
    """The text of a response; empty if it has none."""
    blocks = response.get("content")
    return "".join(str(block.get("text", "")) for block in blocks or [] if isinstance(block, Mapping))
