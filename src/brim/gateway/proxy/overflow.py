"""Recognises "prompt too long" in upstreams' answers, with the sizes they state."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from brim.apis import APIS
from brim.gateway.proxy.upstream_response import UpstreamResponse


@dataclass(frozen=True, slots=True)
class ReportedOverflow:
    """An upstream says that the prompt is too long. Sizes that it doesn't state are None."""

    tokens: int | None
    window: int | None


_CODES = {
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_max_prompt_tokens_exceeded",
    "string_above_max_length",
}
_N = r"(\d[\d,_]{0,11})"
# (pattern, group of the prompt's size, group of the limit); 0 if the wording doesn't state it.
_WORDINGS: tuple[tuple[re.Pattern[str], int, int], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), tokens, window)
    for pattern, tokens, window in (
        # OpenAI, Azure, DeepSeek, OpenRouter with the parts in brackets: the input is the first of them
        (rf"maximum context length is {_N} tokens.{{0,80}}?requested (?:about )?[\d,_]+ tokens.{{0,4}}\({_N} ", 2, 1),
        (rf"maximum context length is {_N} tokens.{{0,80}}?resulted in {_N} tokens", 2, 1),
        (rf"maximum context length is {_N} tokens.{{0,80}}?requested (?:about )?{_N} tokens", 2, 1),  # vLLM
        (rf"maximum context length is {_N} tokens.{{0,120}}?contains? (?:at least )?{_N} (?:input )?tokens", 2, 1),
        (rf"prompt is too long: {_N} tokens > {_N} maximum", 1, 2),  # Anthropic
        (rf"exceed context limit: {_N} \+ [\d,_]+ > {_N}", 1, 2),  # Anthropic, with max_tokens
        (rf"input token count \({_N}\) exceeds the maximum number of tokens allowed \({_N}\)", 1, 2),  # Gemini
        (rf"input token count exceeds the maximum number of tokens allowed \({_N}\)", 0, 1),
        (rf"request \({_N} tokens\) exceeds the available context size \({_N} tokens\)", 1, 2),  # llama.cpp
        (rf"exceeds the available context size(?: \({_N}\b)?", 0, 1),
        (rf"prompt \(total length {_N}\) is too long to fit into the model.{{0,60}}?{_N}", 1, 2),  # vLLM
        (rf"prompt \(length {_N}\) is longer than the maximum model length of {_N}", 1, 2),  # vLLM
        (rf"maximum prompt length is {_N} but the request contains {_N} tokens", 2, 1),  # xAI
        (rf"prompt token count of {_N} exceeds the limit of {_N}", 1, 2),  # GitHub Copilot
        (rf"prompt contains {_N} tokens.{{0,80}}?{_N} maximum context length", 1, 2),  # Mistral
        (rf"must be <= {_N}\. given: {_N} `inputs` tokens", 2, 1),  # Together, TGI
        (rf"model is loaded with context length of only {_N} tokens", 0, 1),  # LM Studio
        (rf"maximum context length is {_N}", 0, 1),
        (r"input exceeds the context window of this model", 0, 0),  # OpenAI responses
        (r"input is too long for requested model", 0, 0),  # Bedrock
        (r"(?:prompt|input|context|conversation) (?:is |was )?too long", 0, 0),
        (r"exceeds? (?:the |this )?(?:model'?s? )?(?:maximum )?context (?:length|window|size|limit)", 0, 0),
        (r"context[ _](?:length|window)[ _]exceeded", 0, 0),
        (r"reduce the length of the messages", 0, 0),  # Groq
    )
)
_STATUSES = (400, 413, 422, 500)
# Bytes of an error answer to hold back and read.
LONGEST = 65_536
# Bytes at the beginning of a stream to hold back.
LONGEST_HELD = 1 << 20
# How long to hold back the first events of a stream to see whether they report an overflow.
HOLD_SECONDS = 1.0


def may_tell(answer: UpstreamResponse, api: str) -> bool:
    """Whether an answer is of a kind that can report an overflow."""
    if answer.status >= 400:
        return True
    return APIS[api].streams_overflow and answer.header("content-type").startswith("text/event-stream")


async def told(answer: UpstreamResponse) -> tuple[ReportedOverflow | None, list[bytes]]:
    """The overflow that such an answer reports, if any, and what was read to find out."""
    if answer.status >= 400:
        held = await _beginning(answer)
        return read(answer.status, b"".join(held)), held
    return await _told_in_stream(answer)


async def _beginning(answer: UpstreamResponse) -> list[bytes]:
    """The part of an error to examine; the rest goes to the client, however large it is."""
    held: list[bytes] = []
    size = 0
    async for chunk in answer.chunks():
        held.append(chunk)
        size += len(chunk)
        if size >= LONGEST:
            break
    return held


async def _told_in_stream(answer: UpstreamResponse) -> tuple[ReportedOverflow | None, list[bytes]]:
    """The Responses API reports an overflow inside a stream, so hold back the events before the first output."""
    held: list[bytes] = []
    try:
        async with asyncio.timeout(HOLD_SECONDS):
            async for chunk in answer.chunks():
                held.append(chunk)
                so_far = b"".join(held)
                if b"response.failed" in so_far or b"event: error" in so_far:
                    lines = (line for line in so_far.split(b"\n") if b'"error":{' in line.replace(b" ", b""))
                    return read(200, next(lines, b"")[5:]), held
                if so_far.count(b"\nevent: ") > 1 or len(so_far) > LONGEST_HELD:
                    break
    except TimeoutError:
        pass  # the model is thinking; an overflow would have come by now
    return None, held


def read(status: int, body: bytes) -> ReportedOverflow | None:
    """The overflow that an error answer reports; None if it is about something else.

    Example: read(400, b'{"error": {"message": "prompt is too long: 9 tokens > 5 maximum"}}') -> Overflow(9, 5)
    """
    if status not in _STATUSES and status != 200:
        return None
    try:
        value = msgspec.json.decode(body[:LONGEST])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = {"message": body[:4_096].decode("utf-8", "replace")}
    inner = _innermost(value)
    stated = _fields(inner)
    text = str(inner.get("message") or inner.get("detail") or "")[:4_096]
    for pattern, tokens, window in _WORDINGS:
        found = pattern.search(text)
        if found:
            groups = (None, *found.groups())
            return ReportedOverflow(stated.tokens or _number(groups[tokens]), stated.window or _number(groups[window]))
    if str(inner.get("code")) in _CODES or str(inner.get("type")) in _CODES:
        return stated
    return None


def _innermost(value: Any) -> dict[str, Any]:
    """The object with the message, inside any wrappers."""
    for _ in range(6):
        if isinstance(value, list) and value:
            value = value[0]
            continue
        if not isinstance(value, dict):
            return {"message": value} if isinstance(value, str) else {}
        inner = value.get("error") or value.get("response")
        if not isinstance(inner, (dict, list)):
            return value if not isinstance(inner, str) else {"message": inner, **value}
        value = inner
    return value if isinstance(value, dict) else {}


def _fields(inner: dict[str, Any]) -> ReportedOverflow:
    def number(key: str) -> int | None:
        value = inner.get(key)
        return value if isinstance(value, int) and value > 0 else None

    return ReportedOverflow(number("n_prompt_tokens"), number("n_ctx"))


def _number(text: str | None) -> int | None:
    return int(text.replace(",", "").replace("_", "")) if text else None
