"""Puts a Gemini answer that was streamed in chunks back together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.apis.event_fields import inner, objects, text_of

# The fields of a part that is only text or a thought.
_PLAIN = {"text", "thought"}


def whole(chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Example: chunks with "All", " right." -> {"candidates": [{"content": {"parts": [{"text": "All right."}]}}], …}"""
    parts: list[dict[str, Any]] = []
    usage, finish = None, None
    for chunk in chunks:
        usage = chunk.get("usageMetadata") or usage
        for candidate in objects(chunk, "candidates")[:1]:
            finish = candidate.get("finishReason") or finish
            for part in objects(inner(candidate, "content"), "parts"):
                if parts and _goes_on(parts[-1], part):
                    parts[-1] = {**parts[-1], **part, "text": text_of(parts[-1], "text") + text_of(part, "text")}
                else:
                    parts.append({**part})
    parts = [part for part in parts if part != {"text": ""}]
    content = {"content": {"role": "model", "parts": parts}, "finishReason": finish}
    return {"candidates": [content] if parts else [], "usageMetadata": usage}


def _goes_on(before: dict[str, Any], part: dict[str, Any]) -> bool:
    """Whether a part only extends the text of the one before; nothing may follow a signature."""
    signed = {*_PLAIN, "thoughtSignature"}
    texts = "text" in before and "text" in part and set(before) <= _PLAIN and set(part) <= signed
    return texts and before.get("thought") == part.get("thought")
