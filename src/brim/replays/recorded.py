"""Recorded requests in any format: a bare body, a body in an envelope, a line of the gateway's log."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from brim import apis
from brim.conversation import decode, encode

LISTS = ("messages", "contents", "input")
# The fields for the body in envelopes of gateways and proxies, and in batch files of OpenAI, Gemini and Anthropic.
BODIES = ("body", "request", "params", "payload")
SESSIONS = ("session", "session_id", "thread_id", "conversation_id")
TIMES = ("time", "at", "timestamp", "ts", "created_at", "created")
NAMES = ("id", "custom_id", "key")
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "model"})
ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})
# Times from here on are in milliseconds; in seconds, this would be in the year 5138.
MILLISECONDS = 1e11
# Numbers from here on aren't even times in nanoseconds, and may be too large to calculate with.
NO_TIME = 1e19
# The model of a Gemini request is in its URL.
IN_ADDRESS = re.compile(r"models/([^/:?]+)")
WHAT_IT_TAKES = (
    "is no request: a line is a request body with messages, input or contents, a list of messages, or an object with "
    "one of these as its body"
)

RecordKind = Literal["request", "message", "head", "other"]
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded request. `place` is where it is, such as traffic.jsonl:17; `at` is in seconds since 1970."""

    body: bytes
    place: str = ""
    model: str = ""
    api: str | None = None
    session: str = ""
    name: str = ""
    at: float | None = None
    transcript: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that was skipped: where it is, and what is wrong with it."""

    place: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" if self.place else self.problem


class NoRequest(ValueError):
    """A value isn't a request; the text says why."""


def kind_of(value: Mapping[str, bytes]) -> RecordKind:
    """The type of an object: a request, a message of a transcript, the head of an exported session, or none of these.

    Example: {"role": …, "content": …} -> "message"; {"id": …, "model": …, "api": …} -> "head"
    """
    if body_in(value) is not None or any(value[key][:1] in b'["' for key in LISTS if key in value):
        return "request"
    if _text(value.get("role")) in ROLES or _text(value.get("type")) in ITEMS or "parts" in value:
        return "message"
    if {"id", "model", "api"} <= value.keys():
        return "head"
    return "other"


def fields_of(raw: bytes) -> dict[str, bytes]:
    """The fields of a JSON object, verbatim. Raises NoRequest."""
    try:
        raw.decode("utf-8", "surrogatepass")  # fields stay bytes, so nothing else would check this
        return {key: bytes(value) for key, value in _fields.decode(raw).items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = decoded(raw)
    if not isinstance(value, dict):
        raise NoRequest(WHAT_IT_TAKES)
    return {key: _written(inner) for key, inner in value.items()}


def joined(fields: Mapping[str, bytes]) -> bytes:
    """The JSON object of verbatim fields. Example: {"a": b"1"} -> b'{"a":1}'"""
    return b"{" + b",".join(encode(key) + b":" + raw for key, raw in fields.items()) + b"}"


def _written(value: Any) -> bytes:
    try:
        return encode(value)
    except OverflowError:  # numbers above 64 bits are valid JSON too
        return json.dumps(value, separators=(",", ":")).encode()


def decoded(raw: bytes) -> Any:
    """The value of JSON bytes. Raises NoRequest with the position of a syntax error."""
    try:
        return decode(raw)
    except RecursionError:
        raise NoRequest("is nested too deep") from None
    except UnicodeDecodeError as problem:
        raise NoRequest(f"is not UTF-8 (byte {problem.start}): write the file as UTF-8") from None
    except ValueError as problem:
        raise NoRequest(f"is not JSON ({problem}): repair the line, or leave it out") from None


def request_in(value: Mapping[str, bytes], place: str) -> Recorded | None:
    """The request in an object; None for a line of the gateway's log about something else.

    Example: {"body": {"model": "gpt-4o", "messages": […]}, "session": "a"} -> Recorded(…, session="a")
    """
    body = body_in(value)
    if body is None and _is_logged(value):
        if _text(value["event"]) != "content":
            return None
        raise NoRequest("is a log line without the request's body: only lines with `body` can be replayed")
    if body is None and kind_of(value) != "request":
        raise NoRequest(WHAT_IT_TAKES)
    told = about(value)
    found = body if body is not None else joined(value)
    return replace(told, body=found, place=place)


def body_in(value: Mapping[str, bytes]) -> bytes | None:
    """The body in an envelope: an object, a list of messages, or either of them as text."""
    for key in BODIES:
        raw = value.get(key, b"")
        if raw[:1] == b'"':
            text = _text(raw).strip()
            raw = text.encode("utf-8", "surrogatepass") if text[:1] in ("{", "[") else b""
        if raw[:1] == b"{" or (raw[:1] == b"[" and raw[1:].lstrip()[:1] == b"{"):
            return raw
    return None


def about(value: Mapping[str, bytes]) -> Recorded:
    """The information beside a body: its model, session, time and name."""
    address = IN_ADDRESS.search(_text(value.get("url")) or _text(value.get("path")))
    return Recorded(
        b"",
        model=_text(value.get("model")) or (address[1] if address else ""),
        api=api if (api := _text(value.get("api"))) in apis.APIS else None,
        session=next(filter(None, (_name(value.get(key)) for key in SESSIONS)), ""),
        name=next(filter(None, (_name(value.get(key)) for key in NAMES)), ""),
        at=next((at for at in (_time(value.get(key)) for key in TIMES) if at is not None), None),
    )


def _is_logged(value: Mapping[str, bytes]) -> bool:
    return {"at", "level", "event"} <= value.keys()


def _text(raw: bytes | None) -> str:
    return decode(raw) if raw is not None and raw[:1] == b'"' else ""


def _name(raw: bytes | None) -> str:
    """A text or a number as a name."""
    if raw is None or raw[:1] in b"{[" or raw in (b"null", b"true", b"false"):
        return ""
    return _text(raw) or ("" if raw[:1] == b'"' else raw.decode())


def _time(raw: bytes | None) -> float | None:
    """Seconds since 1970. Example: b"1763251200000" -> 1763251200.0; b'"2026-11-16T00:00:00Z"' -> 1794787200.0"""
    if raw is None:
        return None
    value = decode(raw)
    if isinstance(value, str):
        try:
            moment = datetime.datetime.fromisoformat(value)
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < NO_TIME:
        return None
    return value / 1000 if value > MILLISECONDS else float(value)
