"""Recall in OpenAI chat completions."""

from __future__ import annotations

from typing import Any

from brim.gateway.recall.dialect import Asked, Event, Splice, arguments_of, event_bytes, is_ours


class ChatRound:
    """Text goes through at once; from the first tool call or the end on, everything is held."""

    def __init__(self, splice: Splice) -> None:
        self.asked: list[Asked] = []
        self._splice = splice
        self._held: list[Event] = []
        self._text: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._holding = False

    def event(self, event: Event) -> list[bytes]:
        data = event.data
        if data is None:
            if b"[DONE]" in event.raw:
                self._holding = True
                self._held.append(event)
                return []
            return [event.raw]  # a comment, which keeps the connection alive
        choice = (data.get("choices") or [{}])[0]
        delta = choice.get("delta") or {}
        self._text.append(delta.get("content") or "")
        for call in delta.get("tool_calls") or []:
            self._gather(call)
        if delta.get("tool_calls") or choice.get("finish_reason") or not data.get("choices"):
            self._holding = True
        if self._holding:
            self._held.append(event)
            return []
        return self._emit(event)

    def _gather(self, call: dict[str, Any]) -> None:
        known = self._calls.setdefault(call.get("index", 0), {"id": "", "name": "", "arguments": ""})
        function = call.get("function") or {}
        known["id"] = call.get("id") or known["id"]
        known["name"] += function.get("name") or ""
        known["arguments"] += function.get("arguments") or ""
        self.asked = [
            Asked(one["id"], arguments_of(one["arguments"]), one)
            for one in self._calls.values()
            if is_ours(one["name"])
        ]

    def _emit(self, event: Event) -> list[bytes]:
        """Later rounds go on under the id of the first, and do not say the role again."""
        splice, data = self._splice, event.data
        if data is None:
            return [event.raw]
        if splice.round == 1:
            splice.id, splice.created = splice.id or data.get("id", ""), splice.created or data.get("created")
            return [event.raw]
        data = {**data, "id": splice.id, "created": splice.created}
        for choice in data.get("choices") or []:
            delta = choice.get("delta") or {}
            if delta.pop("role", None) and not any(delta.values()) and not choice.get("finish_reason"):
                return []
        return [event_bytes(data)]

    def flush(self) -> list[bytes]:
        return [piece for event in self._held for piece in self._emit(event)]

    def whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        message = (answer.get("choices") or [{}])[0].get("message") or {}
        self._text.append(message.get("content") or "")
        for number, call in enumerate(message.get("tool_calls") or []):
            self._gather({**call, "index": number})
        said = "".join(self._splice.items)
        if self.asked:
            self._splice.items.append(message.get("content") or "")
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
