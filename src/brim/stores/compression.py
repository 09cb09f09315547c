"""Compresses turns, several per chunk, because a single message is too short to compress well.

It uses zstd with a dictionary of phrases common to chats, so that a first turn is small too. Frames have a checksum,
so corrupted bytes are noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import msgspec

from brim import zstd

# Content from this size on is stored once for all sessions, under its digest.
SHARED_FROM = 4_096
# Turns at the end of a log that stay separate; older ones are merged into the chunk before, until that holds FULL.
OPEN_TURNS = 8
FULL = 64 << 10
LEVEL = 6


class Damaged(Exception):
    """Data read from the store differs from what was written."""


class Chunk(msgspec.Struct, array_like=True):
    """A run of a session's records and blobs; shared content is represented by its number."""

    records: list[bytes | int]
    blobs: list[bytes | int]

    @property
    def shared(self) -> list[int]:
        """The numbers of the shared contents in it, with repetitions."""
        return [entry for entry in (*self.records, *self.blobs) if isinstance(entry, int)]


class Packer:
    """Compresses and decompresses. Not thread-safe."""

    def __init__(self) -> None:
        options: dict[int, int] = {
            zstd.CompressionParameter.compression_level: LEVEL,
            zstd.CompressionParameter.checksum_flag: 1,
        }
        self._writer = zstd.ZstdCompressor(options=options, zstd_dict=_phrases())
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(Chunk)

    def pack(self, data: bytes) -> bytes:
        """Example: unpack(pack(b"abc")) -> b"abc"."""
        return self._writer.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)

    def unpack(self, data: bytes) -> bytes:
        try:
            return zstd.decompress(data, zstd_dict=_phrases())
        except zstd.ZstdError as error:
            raise Damaged("a compressed record cannot be read") from error

    def write(self, chunk: Chunk) -> bytes:
        return self.pack(self._encoder.encode(chunk))

    def read(self, data: bytes) -> Chunk:
        return self._chunk(self.unpack(data))

    def merge(self, parts: Sequence[bytes]) -> tuple[bytes, int]:
        """Merge chunks in order; returns the chunk and its size before compression."""
        chunks = [self.read(part) for part in parts]
        merged = Chunk(
            [record for chunk in chunks for record in chunk.records],
            [blob for chunk in chunks for blob in chunk.blobs],
        )
        data = self._encoder.encode(merged)
        return self.pack(data), len(data)

    def _chunk(self, data: bytes) -> Chunk:
        try:
            return self._decoder.decode(data)
        except msgspec.DecodeError as error:
            raise Damaged("a record of the log cannot be read") from error


@cache
def _phrases() -> zstd.ZstdDict:
    """The compression dictionary; stores depend on every byte of it."""
    return zstd.ZstdDict(files("brim.stores").joinpath("phrases.txt").read_bytes(), is_raw=True)
