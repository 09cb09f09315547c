"""Parses server-sent events from arbitrary chunks."""

from __future__ import annotations

from collections.abc import AsyncIterator


class TooLarge(Exception):
    """An answer exceeds the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the server's answer is over the limit of {limit:,} bytes: ask for less at a time")


async def server_sent(chunks: AsyncIterator[bytes], largest: int = 512 << 20) -> AsyncIterator[dict[str, str]]:
    """The events of a stream, each a dict of its fields; several `data` lines are one text.

    Example: b'id: 1\\ndata: {}\\n\\n' -> {"id": "1", "data": "{}"}
    """
    fields: dict[str, str] = {}
    data: list[str] = []
    size = 0
    async for line in _text_lines(chunks, largest):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line and (fields or data):
            yield {**fields, "data": "\n".join(data)} if data else fields
            fields, data, size = {}, [], 0
        elif name == "data":
            data.append(value)
            size += len(value)
            if size > largest:
                raise TooLarge(largest)
        elif name in ("id", "event", "retry"):
            fields[name] = value
    if data:
        yield {**fields, "data": "\n".join(data)}


async def _text_lines(chunks: AsyncIterator[bytes], largest: int) -> AsyncIterator[str]:
    parts: list[bytes] = []
    held = 0
    after_return = False
    async for chunk in chunks:
        if after_return and chunk[:1] == b"\n":
            chunk = chunk[1:]
        after_return = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            yield b"".join([*parts, line]).decode("utf-8", "replace")
            parts, held = [], 0
        if rest:
            parts.append(rest)
            held += len(rest)
            if held > largest:
                raise TooLarge(largest)
