"""The answers that a fake provider can give, and its record of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Reset:
    """Break the connection after this many pieces of the answer; 0 means before the first byte."""

    after: int = 0
    half: bool = False
    """Send half of the next piece before breaking."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Send nothing after this many pieces, until the client disconnects or the provider is stopped."""

    after: int = 0


Fault = Reset | Hang


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with a text, streamed in this many pieces if the request asks for a stream."""

    text: str
    pieces: int = 8
    fault: Fault | None = None
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """Answer with a tool call, after `text`."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Calls:
    """Answer with several tool calls at once."""

    calls: tuple[Call, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with an error in the provider's format."""

    status: int
    message: str = "something went wrong"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Overflow:
    """Answer that the prompt is too long, in the provider's wording, with real sizes unless given.

    `style` may be another server's wording: "llama.cpp" or "vllm".
    """

    tokens: int | None = None
    window: int | None = None
    style: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """Answer with exactly these bytes in these pieces."""

    pieces: tuple[bytes, ...]
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    fault: Fault | None = None


Reply = Say | Call | Calls | Fail | Overflow | Raw


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def fields(self) -> dict[str, Any]:
        """The body's fields; none if it isn't a JSON object."""
        try:
            found = self.json
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}
