"""Recall in Anthropic messages."""

from __future__ import annotations

from typing import Any

from brim.apis.event_fields import arguments_of, inner, number_of, objects, text_of
from brim.apis.recall_dialect import RecallRequest, Splice, StreamEvent, event_bytes, is_ours

_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class MessagesRound:
    """Passes text and thinking on at once; from the first tool_use block on, holds everything but pings."""

    def __init__(self, splice: Splice) -> None:
        self.asked: list[RecallRequest] = []
        self._splice = splice
        self._held: list[StreamEvent] = []
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._start = splice.emitted

    def event(self, event: StreamEvent) -> list[bytes]:
        data = event.data or {}
        kind = text_of(data, "type")
        if kind in ("ping", "", "error"):
            return [event.raw]
        if kind == "message_start":
            return [event.raw] if self._splice.round == 1 else []
        index = number_of(data, "index")
        if kind == "content_block_start":
            self._blocks[index] = dict(inner(data, "content_block"))
        elif kind == "content_block_delta":
            self._grow(index, inner(data, "delta"))
        elif kind == "content_block_stop":
            self._stopped(index)
        opening_tool = kind == "content_block_start" and self._blocks[index].get("type") == "tool_use"
        if self._held or opening_tool or kind in ("message_delta", "message_stop"):
            self._held.append(event)
            return []
        if kind == "content_block_stop":
            self._splice.emitted = self._start + index + 1
        return [self._shifted(event)]

    def _grow(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks.setdefault(index, {})
        key = _GROWING.get(text_of(delta, "type"))
        if key:
            block[key] = text_of(block, key) + text_of(delta, key)
        elif delta.get("type") == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + text_of(delta, "partial_json")

    def _stopped(self, index: int) -> None:
        block = self._blocks.get(index, {})
        if block.get("type") == "tool_use":
            if index in self._inputs:
                block["input"] = arguments_of(self._inputs[index])
            if is_ours(block.get("name")):
                self.asked.append(RecallRequest(text_of(block, "id"), block.get("input"), block))

    def _shifted(self, event: StreamEvent) -> bytes:
        data = event.data
        if not self._start or data is None or "index" not in data:
            return event.raw
        return event_bytes({**data, "index": number_of(data, "index") + self._start}, named=True)

    def flush(self) -> list[bytes]:
        return [self._shifted(event) for event in self._held]

    def whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        blocks = objects(answer, "content")
        self._blocks = dict(enumerate(blocks))
        self.asked = [
            RecallRequest(text_of(block, "id"), block.get("input"), block)
            for block in blocks
            if block.get("type") == "tool_use" and is_ours(block.get("name"))
        ]
        if self.asked:
            self._splice.items += [block for block in blocks if block.get("type") == "text" and block.get("text")]
            return answer
        return {**answer, "content": [*self._splice.items, *blocks]}

    def turns(self, answers: list[str]) -> list[Any]:
        kept = [
            block
            for _, block in sorted(self._blocks.items())
            if not (block.get("type") == "tool_use" and not is_ours(block.get("name")))
            and not (block.get("type") == "text" and not block.get("text"))
        ]
        results = [
            {"type": "tool_result", "tool_use_id": one.id, "content": text}
            for one, text in zip(self.asked, answers, strict=True)
        ]
        return [{"role": "assistant", "content": kept}, {"role": "user", "content": results}]
