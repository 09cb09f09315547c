"""What a body says besides its content: its model, and whether its answer is to be streamed."""

from __future__ import annotations

import msgspec


class AskedFor(msgspec.Struct):
    """The rest of the body is skipped."""

    model: str = ""
    stream: bool | None = None


_decoder = msgspec.json.Decoder(AskedFor)


def peek(content: bytes) -> AskedFor:
    """The model and the kind of answer; a body that tells neither is the upstream's to judge."""
    try:
        return _decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return AskedFor()
