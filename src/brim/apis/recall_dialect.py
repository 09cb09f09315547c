"""The interface of recall in one API: read an answer and hold back tool calls until it is known whose they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from brim.apis.event_fields import text_of
from brim.apis.recall_tool import TOOLS
from brim.conversation import decode, encode


@dataclass(slots=True)
class RecallRequest:
    """A call to the recall tool."""

    id: str
    arguments: Any
    raw: Any = None  # the call in the API's own form, for the continuation


@dataclass(slots=True)
class Splice:
    """State that one client's answer carries from round to round."""

    round: int = 1
    id: str = ""
    created: Any = None
    emitted: int = 0  # blocks or items that the client already has
    items: list[Any] = field(default_factory=list)
    sequence: int = 0


class Round(Protocol):
    """One upstream answer within a client's answer."""

    asked: list[RecallRequest]

    def event(self, event: StreamEvent) -> list[bytes]:
        """Take a streamed event and return what goes to the client now."""

    def flush(self) -> list[bytes]:
        """What was held back, for the client, when the model asked for no recall."""

    def whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Take a whole answer and return what goes to the client if the model asked for no recall."""

    def turns(self, answers: list[str]) -> list[Any]:
        """The messages that continue the request: what the model said, and the answers to its recalls."""


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A server-sent event: its bytes, its data as a value if it is JSON, and whether it ends the stream."""

    raw: bytes
    data: dict[str, Any] | None


def events_in(buffer: bytearray) -> Iterator[StreamEvent]:
    """Take the complete events off a buffer. Example: b"data: {}\\n\\ndata:" -> one event; "data:" stays"""
    while True:
        ends = [place for mark in (b"\n\n", b"\r\n\r\n") if (place := buffer.find(mark)) >= 0]
        if not ends:
            return
        end = min(ends)
        end += 4 if buffer[end : end + 4] == b"\r\n\r\n" else 2
        raw = bytes(buffer[:end])
        del buffer[:end]
        yield StreamEvent(raw, _data(raw))


def _data(raw: bytes) -> dict[str, Any] | None:
    lines = [line[5:].strip() for line in raw.splitlines() if line.startswith(b"data:")]
    if not lines or lines[0] == b"[DONE]":
        return None
    try:
        found = decode(b"\n".join(lines))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def event_bytes(data: dict[str, Any], named: bool = False) -> bytes:
    head = f"event: {text_of(data, 'type')}\n".encode("utf-8", "replace") if named else b""
    return head + b"data: " + encode(data) + b"\n\n"


def is_ours(name: Any) -> bool:
    return isinstance(name, str) and name in TOOLS
