"""Request bodies: read within limits, unpacked without falling for bombs."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import msgspec

from brim.gateway.faults import ClientGone, Refused

try:
    import brotli  # type: ignore[import-untyped]
except ImportError:  # pragma: no cover, then br bodies are refused
    brotli = None
try:
    import zstandard
except ImportError:  # pragma: no cover, then zstd bodies are refused
    zstandard = None  # type: ignore[assignment]

Receive = Callable[[], Any]
_STEP: Final = 1 << 16
_WINDOW: Final = 1 << 27  # the memory that a zstd frame may ask for
UPLOAD_SECONDS: Final = 60.0


class Incoming(msgspec.Struct, frozen=True):
    """A body as it came (`raw`, maybe packed) and what it says (`content`)."""

    raw: bytes
    content: bytes


async def read(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> Incoming:
    """Read and unpack a body. Raises Refused (413, 415, 400) or ClientGone; how long it waits is the caller's."""
    _check_stated(headers, limit)
    found: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        found.append(message.get("body", b""))
        size += len(found[-1])
        if size > limit:
            raise too_large(limit)
        more = message.get("more_body", False)
    raw = found[0] if len(found) == 1 else b"".join(found)
    packing = headers.get(b"content-encoding", b"").strip().lower()
    if not packing or packing == b"identity":
        return Incoming(raw, raw)
    return Incoming(raw, unpack(raw, packing.decode("latin-1"), limit))


async def pieces(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> AsyncIterator[bytes]:
    """A body piece by piece, never more than `limit` bytes of it."""
    _check_stated(headers, limit)
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece = message.get("body", b"")
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        if piece:
            yield piece
        if not message.get("more_body"):
            return


def _check_stated(headers: Mapping[bytes, bytes], limit: int) -> None:
    stated = headers.get(b"content-length")
    if stated is not None and stated.isdigit() and int(stated) > limit:
        raise too_large(limit)


class Upload:
    """A body that is passed on while it comes; `problem` says why it broke off."""

    def __init__(self, receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> None:
        self.problem: Refused | ClientGone | None = None
        self._pieces = pieces(receive, headers, limit)

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._pieces:
                yield piece
        except (Refused, ClientGone) as problem:
            self.problem = problem
            raise


def too_slow() -> Refused:
    return Refused(408, "the request body did not arrive in time", "request_timeout")


def too_large(limit: int) -> Refused:
    return Refused(413, f"the request body is larger than {limit:,} bytes (gateway.body_limit)", "request_too_large")


def unpack(raw: bytes, packing: str, limit: int) -> bytes:
    """Unpack a body of at most `limit` bytes, however small it was packed.

    Example: unpack(gzip.compress(b"hi"), "gzip", 100) -> b"hi"
    """
    unpackers = {"gzip": _zlib, "x-gzip": _zlib, "deflate": _zlib, "br": _brotli, "zstd": _zstd}
    if packing not in unpackers:
        raise Refused(415, f"content-encoding {packing!r} is not one of gzip, deflate, br, zstd", "bad_encoding")
    try:
        return unpackers[packing](raw, limit)
    except _ERRORS:
        raise Refused(400, f"the request body is no {packing} data", "bad_encoding") from None


def _zlib(raw: bytes, limit: int) -> bytes:
    # Deflate comes with and without its header; 47 takes gzip and zlib, -15 takes the bare form.
    modes = (47,) if raw[:1] in (b"\x1f", b"\x78") else (47, -15)
    for number, mode in enumerate(modes, 1):
        unpacker = zlib.decompressobj(mode)
        try:
            found = unpacker.decompress(raw, limit + 1)
        except zlib.error:
            if number == len(modes):
                raise
            continue
        if len(found) > limit:
            raise too_large(limit)
        if not unpacker.eof:
            raise zlib.error("the data ends too early")
        return found
    raise zlib.error("no data")


def _brotli(raw: bytes, limit: int) -> bytes:
    if brotli is None:
        raise Refused(415, "br bodies need the package brotli", "bad_encoding")
    unpacker = brotli.Decompressor()
    found: list[bytes] = []
    size, given = 0, raw
    while not unpacker.is_finished():
        piece = unpacker.process(given, output_buffer_limit=_STEP)
        given = b""
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        found.append(piece)
        if not piece and unpacker.can_accept_more_data() and not unpacker.is_finished():
            raise zlib.error("the data ends too early")
    return b"".join(found)


def _zstd(raw: bytes, limit: int) -> bytes:
    if zstandard is None:
        raise Refused(415, "zstd bodies need the package zstandard", "bad_encoding")
    found: list[bytes] = []
    size = 0
    with zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(raw) as reader:
        while piece := reader.read(_STEP):
            size += len(piece)
            if size > limit:
                raise too_large(limit)
            found.append(piece)
    return b"".join(found)


_ERRORS: Final[tuple[type[Exception], ...]] = (
    zlib.error,
    *((brotli.error,) if brotli is not None else ()),
    *((zstandard.ZstdError,) if zstandard is not None else ()),
)
