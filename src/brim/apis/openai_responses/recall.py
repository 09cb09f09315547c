"""Recall in OpenAI responses."""

from __future__ import annotations

from typing import Any

from brim.apis.event_fields import arguments_of, number_of, objects, text_of
from brim.apis.recall_dialect import RecallRequest, Splice, StreamEvent, event_bytes, is_ours

_OPENING = ("response.created", "response.in_progress", "response.queued")
_CLOSING = ("response.completed", "response.incomplete", "response.failed")


class ResponsesRound:
    """Passes text and reasoning on at once; from the first function call on, holds everything."""

    def __init__(self, splice: Splice) -> None:
        self.asked: list[RecallRequest] = []
        self._splice = splice
        self._held: list[StreamEvent] = []
        self._items: list[dict[str, Any]] = []
        self._start = splice.emitted

    def event(self, event: StreamEvent) -> list[bytes]:
        data = event.data
        if data is None:
            return [event.raw]
        kind = str(data.get("type"))
        if kind in _OPENING and self._splice.round > 1:
            return []
        item = data.get("item") if isinstance(data.get("item"), dict) else None
        if kind == "response.output_item.done" and item is not None:
            self._take(item)
        calling = kind == "response.output_item.added" and item is not None and item.get("type") == "function_call"
        if self._held or calling or kind in _CLOSING:
            self._held.append(event)
            return []
        if kind == "response.output_item.done":
            self._splice.emitted += 1
            self._splice.items.append(item)
        return [self._shifted(event)]

    def _take(self, item: dict[str, Any]) -> None:
        self._items.append(item)
        if item.get("type") == "function_call" and is_ours(item.get("name")):
            self.asked.append(RecallRequest(text_of(item, "call_id"), arguments_of(text_of(item, "arguments")), item))

    def _shifted(self, event: StreamEvent) -> bytes:
        """Numbers the events of later rounds on from where the first stopped."""
        splice, data = self._splice, event.data
        assert data is not None
        number = splice.sequence
        splice.sequence += 1
        if splice.round == 1:
            return event.raw
        data = {**data, "sequence_number": number}
        if "output_index" in data:
            data["output_index"] = number_of(data, "output_index") + self._start
        if data.get("type") in _CLOSING and isinstance(data.get("response"), dict):
            told = data["response"]
            data["response"] = {**told, "output": [*splice.items[: self._start], *objects(told, "output")]}
        return event_bytes(data, named=True)

    def flush(self) -> list[bytes]:
        return [self._shifted(event) for event in self._held]

    def whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        for item in objects(answer, "output"):
            self._take(item)
        if self.asked:
            self._splice.items += [item for item in self._items if item.get("type") == "message"]
            return answer
        return {**answer, "output": [*self._splice.items, *objects(answer, "output")]}

    def turns(self, answers: list[str]) -> list[Any]:
        kept: list[Any] = []
        for item in self._items:
            if item.get("type") == "reasoning" and not item.get("encrypted_content"):
                continue  # only the provider's own store knows it
            if item.get("type") == "function_call" and not is_ours(item.get("name")):
                continue
            kept.append({key: value for key, value in item.items() if key not in ("id", "status")})
        results = [
            {"type": "function_call_output", "call_id": one.id, "output": text}
            for one, text in zip(self.asked, answers, strict=True)
        ]
        return [*kept, *results]
