"""One question to a model over generateContent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PATH = "/v1beta/models/{model}:generateContent"
MODELS = "/v1beta/models"


def key_headers(key: str) -> list[tuple[str, str]]:
    return [("x-goog-api-key", key)]


def headers() -> list[tuple[str, str]]:
    return []


def body(model: str, system: str, text: str, tokens: int, base: str) -> dict[str, Any]:
    return {
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": [{"role": "user", "parts": [{"text": text}]}],
        "generationConfig": {"maxOutputTokens": tokens},
    }


def answer(response: Mapping[str, Any]) -> str:
    """The text of a response; empty if it has none."""
    candidates = response.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates and isinstance(candidates[0], Mapping) else {}
    parts = (first.get("content") or {}).get("parts")
    return "".join(str(part.get("text", "")) for part in parts or [] if isinstance(part, Mapping))
