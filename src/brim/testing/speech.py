"""Answers in each provider's format, whole and streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from brim.apis import Usage
from brim.conversation import encode
from brim.testing.replies import Call


@dataclass(frozen=True, slots=True)
class Speech:
    """An answer: thinking, text, calls and usage."""

    id: str
    model: str
    text: str
    pieces: int
    thinking: str
    calls: tuple[Call, ...]
    usage: Usage
    with_usage: bool = True

    def parts(self) -> list[str]:
        """The text in about this many pieces."""
        size = max(1, -(-len(self.text) // max(1, self.pieces)))
        return [self.text[start : start + size] for start in range(0, len(self.text), size)]

    def call_id(self, number: int) -> str:
        return self.calls[number].id or f"call_{self.id}_{number}"


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event. Example: event({"a": 1}, "x") -> b'event: x\\ndata: {"a":1}\\n\\n'"""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + encode(data) + b"\n\n"


def chat(speech: Speech) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": speech.text or None, "refusal": None}
    if speech.calls:
        message["tool_calls"] = [_chat_call(speech, number) for number in range(len(speech.calls))]
    return {
        "id": f"chatcmpl-{speech.id}",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": speech.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if speech.calls else "stop"}],
        "usage": _chat_usage(speech.usage),
    }


def _chat_call(speech: Speech, number: int) -> dict[str, Any]:
    call = speech.calls[number]
    function = {"name": call.name, "arguments": encode(call.arguments).decode()}
    return {"id": speech.call_id(number), "type": "function", "function": function}


def _chat_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def chat_stream(speech: Speech) -> Iterator[bytes]:
    def chunk(delta: Any, finish: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    head = {
        "id": f"chatcmpl-{speech.id}",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": speech.model,
    }
    yield chunk({"role": "assistant", "content": ""})
    for part in speech.parts():
        yield chunk({"content": part})
    for number in range(len(speech.calls)):
        call = _chat_call(speech, number)
        arguments = call["function"].pop("arguments")
        yield chunk({"tool_calls": [{"index": number, **call, "function": {**call["function"], "arguments": ""}}]})
        for start in range(0, len(arguments), 12):
            piece = {"index": number, "function": {"arguments": arguments[start : start + 12]}}
            yield chunk({"tool_calls": [piece]})
    yield chunk({}, "tool_calls" if speech.calls else "stop")
    if speech.with_usage:
        yield event({**head, "choices": [], "usage": _chat_usage(speech.usage)})
    yield b"data: [DONE]\n\n"


def messages(speech: Speech) -> dict[str, Any]:
    return {
        "id": f"msg_{speech.id}",
        "type": "message",
        "role": "assistant",
        "model": speech.model,
        "content": _blocks(speech),
        "stop_reason": "tool_use" if speech.calls else "end_turn",
        "stop_sequence": None,
        "usage": {**_messages_usage(speech.usage), "output_tokens": speech.usage.output},
    }


def _blocks(speech: Speech) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if speech.thinking:
        found.append({"type": "thinking", "thinking": speech.thinking, "signature": f"sig-{speech.id}"})
    if speech.text or not speech.calls:
        found.append({"type": "text", "text": speech.text})
    for number, call in enumerate(speech.calls):
        found.append({"type": "tool_use", "id": speech.call_id(number), "name": call.name, "input": call.arguments})
    return found


def _messages_usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input - usage.cached - usage.written,
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.cached,
    }


def messages_stream(speech: Speech) -> Iterator[bytes]:
    whole = messages(speech)
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield event({"type": "message_start", "message": start}, "message_start")
    yield event({"type": "ping"}, "ping")
    for index, block in enumerate(whole["content"]):
        opened, deltas = _opened(block, speech)
        yield event({"type": "content_block_start", "index": index, "content_block": opened}, "content_block_start")
        for delta in deltas:
            yield event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
        yield event({"type": "content_block_stop", "index": index}, "content_block_stop")
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": speech.usage.output}
    yield event({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


def _opened(block: dict[str, Any], speech: Speech) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in speech.parts()]
    if block["type"] == "thinking":
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    text = encode(block["input"]).decode()
    deltas = [{"type": "input_json_delta", "partial_json": text[at : at + 12]} for at in range(0, len(text), 12)]
    return {**block, "input": {}}, deltas


def responses(speech: Speech, status: str = "completed") -> dict[str, Any]:
    return {
        "id": f"resp_{speech.id}",
        "object": "response",
        "created_at": 1_760_000_000,
        "status": status,
        "model": speech.model,
        "output": _items(speech) if status == "completed" else [],
        "error": None,
        "usage": _responses_usage(speech.usage) if status == "completed" else None,
    }


def _items(speech: Speech) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if speech.thinking:
        found.append({"id": f"rs_{speech.id}", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"})
    if speech.text or not speech.calls:
        content = {"type": "output_text", "text": speech.text, "annotations": []}
        message = {"type": "message", "status": "completed", "role": "assistant", "content": [content]}
        found.append({"id": f"msg_{speech.id}", **message})
    for number, call in enumerate(speech.calls):
        item = {"type": "function_call", "status": "completed", "call_id": speech.call_id(number), "name": call.name}
        found.append({"id": f"fc_{speech.id}_{number}", **item, "arguments": encode(call.arguments).decode()})
    return found


def _responses_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    }


def responses_stream(speech: Speech) -> Iterator[bytes]:
    made = [("response.created", {"response": responses(speech, "in_progress")})]
    made.append(("response.in_progress", {"response": responses(speech, "in_progress")}))
    for place, item in enumerate(_items(speech)):
        made += _item_events(speech, place, item)
    made.append(("response.completed", {"response": responses(speech)}))
    for number, (name, data) in enumerate(made):
        yield event({"type": name, "sequence_number": number, **data}, name)


def _item_events(speech: Speech, place: int, item: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    at = {"output_index": place, "item_id": item["id"]}
    if item["type"] == "message":
        inside = {**at, "content_index": 0}
        empty = {"type": "output_text", "text": "", "annotations": []}
        found = [
            ("response.output_item.added", {"output_index": place, "item": {**item, "content": []}}),
            ("response.content_part.added", {**inside, "part": empty}),
            *(("response.output_text.delta", {**inside, "delta": part}) for part in speech.parts()),
            ("response.output_text.done", {**inside, "text": speech.text}),
            ("response.content_part.done", {**inside, "part": item["content"][0]}),
        ]
    elif item["type"] == "function_call":
        text = item["arguments"]
        found = [
            ("response.output_item.added", {"output_index": place, "item": {**item, "arguments": ""}}),
            *(
                ("response.function_call_arguments.delta", {**at, "delta": text[start : start + 12]})
                for start in range(0, len(text), 12)
            ),
            ("response.function_call_arguments.done", {**at, "arguments": text}),
        ]
    else:
        found = [("response.output_item.added", {"output_index": place, "item": item})]
    return [*found, ("response.output_item.done", {"output_index": place, "item": item})]


def gemini(speech: Speech, parts: Sequence[dict[str, Any]] | None = None, last: bool = True) -> dict[str, Any]:
    if parts is None:
        parts = [*([{"text": speech.text}] if speech.text or not speech.calls else []), *_function_calls(speech)]
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    usage = {
        "promptTokenCount": speech.usage.input,
        "candidatesTokenCount": speech.usage.output,
        "totalTokenCount": speech.usage.input + speech.usage.output,
        "cachedContentTokenCount": speech.usage.cached,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": speech.model,
        "responseId": speech.id,
    }


def _function_calls(speech: Speech) -> list[dict[str, Any]]:
    return [{"functionCall": {"name": call.name, "args": call.arguments}} for call in speech.calls]


def gemini_chunks(speech: Speech) -> Iterator[dict[str, Any]]:
    pieces = [[{"text": part}] for part in speech.parts()] + [[part] for part in _function_calls(speech)]
    for number, parts in enumerate(pieces or [[{"text": ""}]]):
        yield gemini(speech, parts, last=number == len(pieces) - 1)


def gemini_stream(speech: Speech) -> Iterator[bytes]:
    for chunk in gemini_chunks(speech):
        yield b"data: " + encode(chunk) + b"\r\n\r\n"


def gemini_array(speech: Speech) -> Iterator[bytes]:
    """A stream without `alt=sse` is one JSON list, written element by element."""
    for number, chunk in enumerate(gemini_chunks(speech)):
        yield (b"[" if number == 0 else b",\r\n") + encode(chunk)
    yield b"]"


def ollama(speech: Speech) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": speech.text}
    if speech.calls:
        message["tool_calls"] = [
            {"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in speech.calls
        ]
    return {**_ollama_head(speech), "message": message, **_ollama_end(speech)}


def _ollama_head(speech: Speech) -> dict[str, Any]:
    return {"model": speech.model, "created_at": "2026-01-01T00:00:00Z"}


def _ollama_end(speech: Speech) -> dict[str, Any]:
    counts = {"prompt_eval_count": speech.usage.input, "eval_count": speech.usage.output}
    return {"done": True, "done_reason": "stop", "total_duration": 1_000_000, **counts}


def ollama_stream(speech: Speech) -> Iterator[bytes]:
    """Lines of JSON; the last one has the usage."""
    head = _ollama_head(speech)
    for part in speech.parts():
        yield encode({**head, "message": {"role": "assistant", "content": part}, "done": False}) + b"\n"
    for call in ollama(speech)["message"].get("tool_calls", ()):
        message = {"role": "assistant", "content": "", "tool_calls": [call]}
        yield encode({**head, "message": message, "done": False}) + b"\n"
    yield encode({**head, "message": {"role": "assistant", "content": ""}, **_ollama_end(speech)}) + b"\n"


WHOLE: dict[str, Callable[[Speech], dict[str, Any]]] = {
    "openai_chat": chat,
    "anthropic": messages,
    "openai_responses": responses,
    "gemini": gemini,
    "ollama": ollama,
}
STREAMED: dict[str, Callable[[Speech], Iterator[bytes]]] = {
    "openai_chat": chat_stream,
    "anthropic": messages_stream,
    "openai_responses": responses_stream,
    "gemini": gemini_stream,
    "ollama": ollama_stream,
}
