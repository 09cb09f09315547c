"""Recall in Gemini generateContent."""

from __future__ import annotations

from typing import Any

from brim.apis.event_fields import inner, objects, text_of
from brim.apis.recall_dialect import RecallRequest, Splice, StreamEvent, is_ours


class GeminiRound:
    """Passes text on at once; from the first function call or the end on, holds everything."""

    def __init__(self, splice: Splice) -> None:
        self.asked: list[RecallRequest] = []
        self._splice = splice
        self._held: list[bytes] = []
        self._parts: list[dict[str, Any]] = []

    def event(self, event: StreamEvent) -> list[bytes]:
        data = event.data
        if data is None:
            return [event.raw]
        calls = self._take(data)
        ending = any("finishReason" in candidate for candidate in objects(data, "candidates"))
        if self._held or calls or ending:
            self._held.append(event.raw)
            return []
        return [event.raw]

    def _take(self, answer: dict[str, Any]) -> bool:
        """Collect the parts, and return whether there is a call among them."""
        candidate = next(iter(objects(answer, "candidates")), None)
        parts = objects(inner(candidate, "content"), "parts")
        self._parts += parts
        calls = [part for part in parts if isinstance(part.get("functionCall"), dict)]
        for part in calls:
            call = part["functionCall"]
            if is_ours(call.get("name")):
                self.asked.append(RecallRequest(text_of(call, "id"), call.get("args"), part))
        return bool(calls)

    def flush(self) -> list[bytes]:
        return self._held

    def whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        self._take(answer)
        candidates = objects(answer, "candidates")
        if self.asked:
            self._splice.items += [part for part in self._parts if part.get("text") and not part.get("thought")]
        elif self._splice.items and candidates:
            content = inner(candidates[0], "content") or {"role": "model"}
            candidates[0]["content"] = {**content, "parts": [*self._splice.items, *objects(content, "parts")]}
        return answer

    def turns(self, answers: list[str]) -> list[Any]:
        kept = [
            part
            for part in self._parts
            if not ("functionCall" in part and not is_ours(inner(part, "functionCall").get("name")))
            and ("text" not in part or part["text"])
        ]
        results = [{"functionResponse": _result(one, text)} for one, text in zip(self.asked, answers, strict=True)]
        return [{"role": "model", "parts": kept}, {"role": "user", "parts": results}]


def _result(asked: RecallRequest, text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": asked.raw["functionCall"]["name"], "response": {"result": text}}
    return {"id": asked.id, **found} if asked.id else found
