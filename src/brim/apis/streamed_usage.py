"""Reads usage from answers as they pass through, without changing or delaying a byte."""

from __future__ import annotations

import re
import zlib
from typing import Annotated, Any, Final

import msgspec

from brim import apis
from brim.apis import Usage

# Found only in the usage object. Quoted text inside an answer has escaped quotes, so it doesn't match.
_NEEDLES: Final = {
    "openai_chat": b'"prompt_tokens"',
    "openai_responses": b'"input_tokens"',
    "anthropic": b'_tokens"',
    "gemini": b'"promptTokenCount"',
    "ollama": b'"prompt_eval_count"',
}
# The end of a stream, as each provider marks it.
_ENDS: Final = {
    "openai_chat": (b"[DONE]",),
    "openai_responses": (b"response.completed", b"response.failed", b"response.incomplete"),
    "anthropic": (b"message_stop",),
    "gemini": (b'"finishReason"',),
    "ollama": (b'"done":true',),
}
# An answer that says the provider left content out: its usage is for less than was sent.
_EDITED: Final = re.compile(rb'"applied_edits"\s*:\s*\[\s*\{')
_MARK: Final = 128
_LONGEST_LINE: Final = 8 << 20
_LONGEST_BODY: Final = 32 << 20


class _Told(msgspec.Struct):
    """The parts of an answer or event that hold usage; the rest is skipped."""

    usage: dict[str, Any] | None = None
    usageMetadata: dict[str, Any] | None = None
    prompt_eval_count: Any = None
    eval_count: Any = None
    message: Any = None
    response: Any = None
    type: Any = None


_decoder = msgspec.json.Decoder(_Told)


_Number = Annotated[int, msgspec.Meta(ge=0)] | None


class _Details(msgspec.Struct):
    cached_tokens: _Number = None


class _Counts(msgspec.Struct):
    """A chat's usage in exactly its API's form, which decodes in one step; other forms take several."""

    prompt_tokens: Annotated[int, msgspec.Meta(ge=0)]
    completion_tokens: _Number = None
    prompt_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: _Number = None


class _ChatUsage(msgspec.Struct):
    usage: _Counts


_chat = msgspec.json.Decoder(_ChatUsage)


def read_usage(body: bytes, api: str) -> Usage | None:
    """The usage that a whole answer or one event reports; None if it reports none."""
    if api == "openai_chat":
        try:
            counts = _chat.decode(body).usage
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        else:
            details = counts.prompt_tokens_details
            cached = (details.cached_tokens if details else None) or counts.prompt_cache_hit_tokens or 0
            return Usage(counts.prompt_tokens, counts.completion_tokens or 0, cached)
    try:
        told = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found: dict[str, Any] = {"usage": told.usage, "usageMetadata": told.usageMetadata}
    found |= {"prompt_eval_count": told.prompt_eval_count, "eval_count": told.eval_count}
    for holder in (told.response, told.message):
        if isinstance(holder, dict) and isinstance(holder.get("usage"), dict):
            found["usage"] = holder["usage"]
    if told.type == "message_delta" and isinstance(found["usage"], dict):
        found["usage"] = {"input_tokens": 0, **found["usage"]}
    return apis.usage(found, api)


class StreamReader:
    """Watches the chunks of a server-sent event stream and keeps only the lines that contain usage.

    Ollama streams lines of JSON instead: the same without the field name.
    """

    __slots__ = ("_api", "_field", "_first", "_last", "_needle", "_rest", "_tail")

    def __init__(self, api: str) -> None:
        self._api = api
        self._needle = _NEEDLES[api]
        self._field = b"" if api == "ollama" else b"data:"
        self._rest = b""
        self._first = b""
        self._last = b""
        self._tail = b""

    def feed(self, chunk: bytes) -> None:
        self._tail = self._tail[-_MARK:] + chunk  # an end mark may be split over chunks
        if self._rest:
            chunk = self._rest + chunk
        if self._needle in chunk:
            for line in chunk.split(b"\n")[:-1]:  # the text after the last line break is still incomplete
                self._take(line)
        if chunk.endswith(b"\n"):
            self._rest = b""
        else:
            self._rest = chunk[chunk.rfind(b"\n") + 1 :]
            if len(self._rest) > _LONGEST_LINE:
                self._rest = b""

    def _take(self, line: bytes) -> None:
        if self._needle in line and line.startswith(self._field):
            self._first = self._first or line
            self._last = line

    @property
    def ended(self) -> bool:
        """Whether the provider's mark of a complete stream has passed."""
        return any(mark in self._tail or mark in self._last for mark in _ENDS[self._api])

    @property
    def edited(self) -> bool:
        """Whether the provider says that it left out part of the prompt."""
        return _EDITED.search(self._last) is not None

    def usage(self) -> Usage | None:
        self._take(self._rest)  # a stream may end without a line break
        last = read_usage(self._last[len(self._field) :], self._api) if self._last else None
        if self._api != "anthropic" or not self._first:
            return last
        # The first event reports the input, the last one the output (and nowadays everything).
        first = read_usage(self._first[5:], self._api)
        if first is None or last is None or last.input >= first.input > 0:
            return last or first
        return Usage(first.input, last.output, first.cached, first.written)


class BodyReader:
    """Collects a whole JSON answer up to a maximum size."""

    __slots__ = ("_api", "_pieces", "_size")

    def __init__(self, api: str) -> None:
        self._api = api
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size <= _LONGEST_BODY:
            self._pieces.append(chunk)

    @property
    def ended(self) -> bool:
        return True

    @property
    def edited(self) -> bool:
        return self._size <= _LONGEST_BODY and _EDITED.search(b"".join(self._pieces)) is not None

    def usage(self) -> Usage | None:
        if self._size > _LONGEST_BODY:
            return None
        body = b"".join(self._pieces)
        if self._api == "gemini" and body[:1] == b"[":  # a stream without alt=sse is one JSON list
            return _last_of_list(body)
        return read_usage(body, self._api)


def _last_of_list(body: bytes) -> Usage | None:
    try:
        listed = msgspec.json.decode(body, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return read_usage(bytes(listed[-1]), "gemini") if listed else None


class Unpacking:
    """A reader of compressed answers: some upstreams compress although they were asked not to."""

    __slots__ = ("_inner", "_unpacker")

    def __init__(self, inner: StreamReader | BodyReader) -> None:
        self._inner = inner
        self._unpacker = zlib.decompressobj(47)

    def feed(self, chunk: bytes) -> None:
        try:
            self._inner.feed(self._unpacker.decompress(chunk, _LONGEST_BODY))
        except zlib.error:
            self._unpacker = zlib.decompressobj(47)  # not gzip after all, so there is nothing to read

    @property
    def ended(self) -> bool:
        return self._inner.ended

    @property
    def edited(self) -> bool:
        return self._inner.edited

    def usage(self) -> Usage | None:
        return self._inner.usage()


UsageReader = StreamReader | BodyReader | Unpacking


def reader_for(api: str, content_type: str, content_encoding: str) -> UsageReader:
    """The reader for the usage of an answer with these headers."""
    streamed = content_type.startswith(("text/event-stream", "application/x-ndjson"))
    inner = StreamReader(api) if streamed else BodyReader(api)
    return Unpacking(inner) if content_encoding in ("gzip", "deflate") else inner
