"""A small HTTP/1.1 server on plain asyncio streams, so that a test can cut an answer at any byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from brim.testing.replies import Fault, Hang, Reset, Seen


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to send: whole if `streamed` is false, else chunk by chunk."""

    status: int
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[bytes, ...]
    streamed: bool = False
    fault: Fault | None = None


Handler = Callable[[Seen], Awaitable[Answer]]


class Gone(Exception):
    """The connection is gone, or is to be cut."""

    def __init__(self, by_client: bool = False) -> None:
        self.by_client = by_client


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> bool:
    """Answer the requests of one connection until it ends; returns whether the client left during an answer."""
    try:
        while (seen := await _read(reader)) is not None:
            await _write(writer, reader, seen, await handler(seen))
            if seen.headers.get("connection", "").lower() == "close":
                break
    except (ConnectionError, asyncio.IncompleteReadError):
        return True
    except Gone as cut:
        writer.transport.abort()
        return cut.by_client
    finally:
        writer.close()
    return False


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "chunked" in headers.get("transfer-encoding", ""):
        body = b"".join([piece async for piece in _chunks(reader)])
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    path, _, query = target.partition("?")
    return Seen(method, path, query, headers, body)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int((await reader.readline()).split(b";")[0], 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readline()


async def _write(writer: asyncio.StreamWriter, reader: asyncio.StreamReader, seen: Seen, answer: Answer) -> None:
    fault = answer.fault
    if isinstance(fault, Reset) and fault.after == 0 and not fault.half:
        raise Gone
    if isinstance(fault, Hang) and fault.after == 0:
        await _hang(reader)
    streamed = answer.streamed and seen.method != "HEAD"
    length = ("transfer-encoding", "chunked") if streamed else ("content-length", str(sum(map(len, answer.pieces))))
    phrase = HTTPStatus(answer.status).phrase if answer.status in HTTPStatus._value2member_map_ else "Status"
    lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{name}: {value}" for name, value in (*answer.headers, length))]
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    if seen.method == "HEAD":
        writer.write(head)
        await writer.drain()
        return
    writer.write(head)
    for number, piece in enumerate(answer.pieces):
        if fault is not None and number == fault.after:
            await _break(writer, reader, fault, piece, streamed)
        if piece:  # an empty chunk would end the answer
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if streamed else piece)
            await writer.drain()
    if fault is not None and fault.after >= len(answer.pieces):
        await _break(writer, reader, fault, b"", streamed)
    if streamed:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _break(
    writer: asyncio.StreamWriter, reader: asyncio.StreamReader, fault: Fault, piece: bytes, streamed: bool
) -> None:
    if isinstance(fault, Hang):
        await _hang(reader)
    elif fault.half:
        part = piece[: len(piece) // 2]
        writer.write(b"%x\r\n%b" % (len(piece), part) if streamed else part)
    await writer.drain()
    raise Gone


async def _hang(reader: asyncio.StreamReader) -> None:
    await reader.read()
    raise Gone(by_client=True)
