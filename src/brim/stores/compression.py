"""How turns are written: several in one compressed chunk, for a message alone is too short to compress.

Compression is zstd with a dictionary of phrases that any chat has, so that a first turn is small too. A frame
carries a checksum: bytes that the disk changed are noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import msgspec

from brim import zstd

# Content of so many bytes and more is kept once for all sessions, under its digest.
SHARED_FROM = 4_096
# So many turns at the end of a log stand alone; then they are packed with the chunk before, until that holds FULL.
OPEN_TURNS = 8
FULL = 64 << 10
LEVEL = 6


class Damaged(Exception):
    """What was read from the store is not what was written."""


class Chunk(msgspec.Struct, array_like=True):
    """A run of a session's records and blobs; a number stands for shared content."""

    records: list[bytes | int]
    blobs: list[bytes | int]

    @property
    def shared(self) -> list[int]:
        """The numbers of the shared contents in it, as often as they are in it."""
        return [entry for entry in (*self.records, *self.blobs) if isinstance(entry, int)]


class Packer:
    """Compresses and decompresses. Not safe for several threads at once."""

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
        """One chunk of several in their order, and its size before compression."""
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
    """The words and phrases that compression starts from; stores depend on every byte of them."""
    return zstd.ZstdDict(files("brim.stores").joinpath("phrases.txt").read_bytes(), is_raw=True)
