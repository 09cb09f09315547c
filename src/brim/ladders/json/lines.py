"""JSON Lines: a JSON value on every line."""

from __future__ import annotations

from typing import Any

import msgspec

_DECODER = msgspec.json.Decoder()


def load_lines(text: str) -> list[Any]:
    """Return the values of the lines; ValueError unless there are several lines and each is one."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        raise ValueError("not JSON Lines")
    try:
        return [_DECODER.decode(line) for line in lines]
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError(f"not JSON Lines: {error}") from error
