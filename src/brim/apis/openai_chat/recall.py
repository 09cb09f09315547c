"""Recall in OpenAI chat completions."""

from __future__ import annotations

from typing import Any

from brim.apis.event_fields import arguments_of, inner, number_of, objects, text_of
from brim.apis.recall_dialect import RecallRequest, Splice, StreamEvent, event_bytes, is_ours


class ChatRound:
    """Passes text on at once; from the first tool call or the end on, holds everything."""

    def __init__(self, splice: Splice) -> None:
        self.asked: list[RecallRequest] = []
        self._splice = splice
        self._held: list[StreamEvent] = []
        self._text: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._holding = False

    def event(self, event: StreamEvent) -> list[bytes]:
        data = event.data
        if data is None:
            if b"[DONE]" in event.raw:
                self._holding = True
                self._held.append(event)
                return []
            return [event.raw]  # a comment, which keeps the connection alive
        choices = objects(data, "choices")
        choice = choices[0] if choices else {}
        delta = inner(choice, "delta")
        self._text.append(text_of(delta, "content"))
        for call in objects(delta, "tool_calls"):
            self._gather(call, number_of(call, "index"))
        if delta.get("tool_calls") or choice.get("finish_reason") or not choices:
            self._holding = True
        if self._holding:
            self._held.append(event)
            return []
        return self._emit(event)

    def _gather(self, call: dict[str, Any], number: int) -> None:
        known = self._calls.setdefault(number, {"id": "", "name": "", "arguments": ""})
        function = inner(call, "function")
        known["id"] = text_of(call, "id") or known["id"]
        known["name"] += text_of(function, "name")
        known["arguments"] += text_of(function, "arguments")
        self.asked = [
            RecallRequest(one["id"], arguments_of(one["arguments"]), one)
            for one in self._calls.values()
            if is_ours(one["name"])
        ]

    def _emit(self, event: StreamEvent) -> list[bytes]:
        """Later rounds continue under the first one's id and don't repeat the role."""
        splice, data = self._splice, event.data
        if data is None:
            return [event.raw]
        if splice.round == 1:
            splice.id, splice.created = splice.id or text_of(data, "id"), splice.created or data.get("created")
            return [event.raw]
        data = {**data, "id": splice.id, "created": splice.created}
        for choice in objects(data, "choices"):
            delta = inner(choice, "delta")
            if delta.pop("role", None) and not any(delta.values()) and not choice.get("finish_reason"):
                return []
        return [event_bytes(data)]

    def flush(self) -> list[bytes]:
        return [piece for event in self._held for piece in self._emit(event)]

    def whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        message = inner(next(iter(objects(answer, "choices")), None), "message")
        self._text.append(text_of(message, "content"))
        for number, call in enumerate(objects(message, "tool_calls")):
            self._gather(call, number)
        said = "".join(self._splice.items)
        if self.asked:
            self._splice.items.append(text_of(message, "content"))
        elif said and isinstance(message.get("content"), str):
            message["content"] = said + message["content"]
        return answer

    def turns(self, answers: list[str]) -> list[Any]:
        calls = [
            {"id": one.id, "type": "function", "function": {"name": one.raw["name"], "arguments": one.raw["arguments"]}}
            for one in self.asked
        ]
        said = {"role": "assistant", "content": "".join(self._text) or None, "tool_calls": calls}
        results = [
            {"role": "tool", "tool_call_id": one.id, "content": text}
            for one, text in zip(self.asked, answers, strict=True)
        ]
        return [said, *results]
