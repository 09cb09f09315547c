"""One question to a model over Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PATH = "/chat/completions"
MODELS = "/v1/models"
# OpenAI's newer models reject the old name of this field; compatible servers often know only the old one.
OPENAI = "https://api.openai.com"


def key_headers(key: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {key}")] if key else []


def headers() -> list[tuple[str, str]]:
    return []


def body(model: str, system: str, text: str, tokens: int, base: str) -> dict[str, Any]:
    return {
        "model": model,
        "max_completion_tokens" if base.startswith(OPENAI) else "max_tokens": tokens,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}],
    }


def answer(response: Mapping[str, Any]) -> str:
    """The text of a response; empty if it has none."""
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    return str((first.get("message") or {}).get("content") or "")
