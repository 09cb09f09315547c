"""Puts a response that was streamed as events back together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.apis.event_fields import inner, text_of

_ENDS = ("response.completed", "response.incomplete")


def whole(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The last event has the whole response; if the stream was cut off, what was finished and the text so far."""
    items: list[dict[str, Any]] = []
    text = ""
    for event in events:
        kind = text_of(event, "type")
        if kind in _ENDS and inner(event, "response").get("output"):
            return inner(event, "response")
        if kind == "response.output_item.done":
            items.append(inner(event, "item"))
            text = ""
        elif kind == "response.output_text.delta":
            text += text_of(event, "delta")
    if text:
        items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
    return {"output": items}
