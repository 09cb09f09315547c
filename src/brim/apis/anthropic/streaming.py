"""Puts a message that was streamed as events back together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.apis.event_fields import arguments_of, inner, number_of, text_of

# The field of its block that each kind of delta extends.
_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def whole(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Example: message_start, text_delta "All", text_delta " right.", … -> {"content": [{"text": "All right."}], …}"""
    message: dict[str, Any] = {"type": "message", "role": "assistant"}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    written: dict[int, str] = {}
    done: set[int] = set()
    for event in events:
        kind, place = event.get("type"), number_of(event, "index")
        if kind == "message_start":
            message = {**inner(event, "message")}
            usage |= inner(message, "usage")
        elif kind == "content_block_start":
            blocks[place] = {**inner(event, "content_block")}
        elif kind == "content_block_delta" and place in blocks:
            _grow(blocks[place], inner(event, "delta"), written, place)
        elif kind == "content_block_stop":
            done.add(place)
        elif kind == "message_delta":
            message |= inner(event, "delta")
            usage |= {key: value for key, value in inner(event, "usage").items() if value is not None}
    for place, text in written.items():
        blocks[place]["input"] = arguments_of(text)
    content = [block for place, block in sorted(blocks.items()) if _usable(block, place in done)]
    return {**message, "content": content, **({"usage": usage} if usage else {})}


def _grow(block: dict[str, Any], delta: dict[str, Any], written: dict[int, str], place: int) -> None:
    kind = text_of(delta, "type")
    if kind in _GROWS:
        block[_GROWS[kind]] = text_of(block, _GROWS[kind]) + text_of(delta, _GROWS[kind])
    elif kind == "input_json_delta":
        written[place] = written.get(place, "") + text_of(delta, "partial_json")
    elif kind == "citations_delta" and delta.get("citation"):
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]


def _usable(block: dict[str, Any], done: bool) -> bool:
    """Whether the API accepts a block back: no empty text, and of a block that was cut off only its text."""
    return bool(text_of(block, "text")) if block.get("type") == "text" else done
