"""The model that a body names, and whether its answer should be streamed."""

from __future__ import annotations

import msgspec


class AskedFor(msgspec.Struct):
    """The fields to read; the rest of the body is skipped."""

    model: str = ""
    stream: bool | None = None


_decoder = msgspec.json.Decoder(AskedFor)


def peek(content: bytes) -> AskedFor:
    """The model and the kind of answer; a body without either is for the upstream to judge."""
    try:
        return _decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return AskedFor()
