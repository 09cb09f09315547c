"""Request bodies: read within limits, decompressed safely, and sorted by size.

A body that is small or mostly known becomes one bytes object. A large new one stays in the pieces in which it arrived:
joining, decompressing and parsing it would hold up every other request, so a worker does that.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Final

import msgspec
from starlette.types import Receive

from brim import zstd
from brim.gateway.proxy.faults import ClientGone, Refused

try:
    import brotli  # type: ignore[import-untyped]
except ImportError:  # brotli bodies are then refused
    brotli = None

_STEP: Final = 1 << 16
_WINDOW_LOG: Final = 27  # the memory that a zstd frame may require: 128 MiB
# The gateway itself parses bodies up to this size: no step holds the interpreter for more than about 3 ms.
LARGE: Final = 1 << 19
# It also parses larger ones, up to this size, if most of their bytes are known.
MOSTLY_KNOWN: Final = 8 << 20
# Compressed bodies up to this size are decompressed right away: at most `LARGE` bytes result, in two milliseconds.
AT_ONCE: Final = 1 << 14
# Text compresses to a tenth, and repetition to a hundredth. Beyond this size no honest body compresses further.
HONEST_BYTES, HONEST_RATIO = 4 << 20, 100


class Incoming(msgspec.Struct, frozen=True):
    """A body as received (`raw`, maybe compressed) and decompressed (`content`), or, if it is large, its `pieces`."""

    raw: bytes
    content: bytes
    pieces: tuple[bytes, ...] = ()
    packing: str = ""

    @property
    def large(self) -> bool:
        """Whether a worker should handle it."""
        return bool(self.pieces)


class TooMuch(Exception):
    """Decompressing gives more than was asked for."""


def _unknown(_: bytes) -> bool:
    return False


async def read(
    receive: Receive,
    headers: Mapping[bytes, bytes],
    limit: int,
    *,
    hold: Callable[[int], None] | None = None,
    known: Callable[[bytes], bool] = _unknown,
) -> Incoming:
    """Read and decompress a body. Raises Refused (413, 415, 400) or ClientGone; timeouts are up to the caller.

    `hold` is told of every byte that is kept, and may refuse. `known` says, in a thread, of a large body whether most
    of it was here before.
    """
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
        if hold is not None:
            hold(len(found[-1]))
        more = message.get("more_body", False)
    packing = headers.get(b"content-encoding", b"").strip().lower().decode("latin-1")
    packing = "" if packing == "identity" else packing
    if size > (AT_ONCE if packing else LARGE):
        return await asyncio.to_thread(_opened, found, packing, limit, known)
    raw = found[0] if len(found) == 1 else b"".join(found)
    if not packing:
        return Incoming(raw, raw)
    try:
        return Incoming(raw, unpack(raw, packing, limit, LARGE))
    except TooMuch:
        return await asyncio.to_thread(_opened, found, packing, limit, known)


def _opened(found: list[bytes], packing: str, limit: int, known: Callable[[bytes], bool]) -> Incoming:
    """A large body: whole if most of it is known, otherwise in pieces."""
    if sum(map(len, found)) <= MOSTLY_KNOWN:
        raw = b"".join(found)
        try:
            content = unpack(raw, packing, limit, MOSTLY_KNOWN) if packing else raw
        except TooMuch:
            return Incoming(b"", b"", tuple(found), packing)
        if len(content) <= LARGE or known(content):
            return Incoming(raw, content)
    return Incoming(b"", b"", tuple(found), packing)


async def pieces(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> AsyncIterator[bytes]:
    """A body piece by piece, at most `limit` bytes."""
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
    """A body that is passed on as it arrives; `problem` says why it broke off."""

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


def unpack(raw: bytes, packing: str, limit: int, enough: int | None = None) -> bytes:
    """Decompress a body to at most `limit` bytes. Raises TooMuch beyond `enough` bytes.

    This happens step by step, and a body that grows beyond any honest ratio is refused right then.
    Example: unpack(gzip.compress(b"hi"), "gzip", 100) -> b"hi"
    """
    unpackers = {"gzip": _zlib, "x-gzip": _zlib, "deflate": _zlib, "br": _brotli, "zstd": _zstd}
    if packing not in unpackers:
        raise Refused(415, f"content-encoding {packing!r} is not one of gzip, deflate, br, zstd", "bad_encoding")
    most = max(HONEST_BYTES, HONEST_RATIO * len(raw))
    found: list[bytes] = []
    size = 0
    try:
        for piece in unpackers[packing](raw):
            size += len(piece)
            if size > limit:
                raise too_large(limit)
            if size > most:
                text = (
                    f"the request body unpacks to more than {HONEST_RATIO} times its size ({HONEST_BYTES:,} bytes are)"
                )
                raise Refused(413, text, "request_too_large")
            if enough is not None and size > enough:
                raise TooMuch
            found.append(piece)
    except _ERRORS:
        raise Refused(400, f"the request body is no {packing} data", "bad_encoding") from None
    return b"".join(found)


def _zlib(raw: bytes) -> Iterator[bytes]:
    # Deflate comes with and without a header; 47 accepts gzip and zlib, -15 the bare form.
    modes = (47,) if raw[:1] in (b"\x1f", b"\x78") else (47, -15)
    for number, mode in enumerate(modes, 1):
        unpacker = zlib.decompressobj(mode)
        try:
            piece = unpacker.decompress(raw, _STEP)
        except zlib.error:
            if number == len(modes):
                raise
            continue
        while piece:
            yield piece
            piece = unpacker.decompress(unpacker.unconsumed_tail, _STEP)
        if not unpacker.eof:
            raise zlib.error("the data ends too early")
        return


def _brotli(raw: bytes) -> Iterator[bytes]:
    if brotli is None:
        raise Refused(415, "br bodies need one more package where the gateway runs: pip install brotli", "bad_encoding")
    unpacker = brotli.Decompressor()
    given = raw
    while not unpacker.is_finished():
        piece = unpacker.process(given, output_buffer_limit=_STEP)
        given = b""
        yield piece
        if not piece and unpacker.can_accept_more_data() and not unpacker.is_finished():
            raise zlib.error("the data ends too early")


def _zstd(raw: bytes) -> Iterator[bytes]:
    unpacker = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})
    given = raw
    while not unpacker.eof:
        if unpacker.needs_input and not given:
            raise zlib.error("the data ends too early")
        yield unpacker.decompress(given, _STEP)
        given = b""


_ERRORS: Final[tuple[type[Exception], ...]] = (
    zlib.error,
    *((brotli.error,) if brotli is not None else ()),
    zstd.ZstdError,
)
