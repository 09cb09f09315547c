"""The row format of turns and contents: a turn's records in one packed row, large ones once under their digest."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from brim.stores.compression import SHARED_FROM, Damaged, Packer
from brim.stores.objects import ObjectStorage
from brim.stores.protocol import Turn, blob_digest
from brim.stores.sqlite_schema import key_of

# Contents from this size on go to object storage if there is one, because megabyte rows slow a database down.
OBJECT_FROM = 1 << 20


def short(key: bytes) -> int:
    """Any key reduced to a 64-bit number."""
    return key_of(hashlib.blake2b(key, digest_size=8).digest())


def name_key(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


class TurnRow(msgspec.Struct, array_like=True):
    """A turn's records; None stands for the next of the shared contents."""

    records: list[bytes | None]
    shared: list[bytes]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(TurnRow)


class Packers:
    """A packer per thread, because packers aren't thread-safe."""

    def __init__(self) -> None:
        self._local = threading.local()

    @property
    def mine(self) -> Packer:
        if not hasattr(self._local, "packer"):
            self._local.packer = Packer()
        found: Packer = self._local.packer
        return found


@dataclass(frozen=True, slots=True)
class ContentColumns:
    """Contents as columns: digests, sizes, packed data, and the place of data stored elsewhere."""

    digests: list[bytes]
    sizes: list[int]
    datas: list[bytes | None]
    places: list[str | None]


class Rows:
    """Writes and reads contents and turns."""

    def __init__(self, objects: ObjectStorage | None) -> None:
        self.objects = objects
        self._packers = Packers()

    def pack(self, data: bytes) -> bytes:
        return self._packers.mine.pack(data)

    def unpack(self, data: bytes) -> bytes:
        return self._packers.mine.unpack(data)

    def contents(self, given: Iterable[bytes]) -> ContentColumns:
        """Distinct contents ready to insert. Those for object storage are stored there first."""
        found = ContentColumns([], [], [], [])
        for digest, data in {blob_digest(data): data for data in given}.items():
            packed: bytes | None = self.pack(data)
            place = None
            if self.objects is not None and packed is not None and len(packed) >= OBJECT_FROM:
                # A unique name, so that one gateway can never delete what another just stored.
                place = f"{digest.hex()}-{secrets.token_hex(4)}"
                self.objects.put(place, packed)
                packed = None
            found.digests.append(digest)
            found.sizes.append(len(data))
            found.datas.append(packed)
            found.places.append(place)
        return found

    def content(self, digest: bytes, data: bytes | None, place: str | None) -> bytes:
        """A content in its original form. Raises Damaged if it changed or is gone."""
        if data is None and place is not None and self.objects is not None:
            data = self.objects.get(place)
        if data is None:
            raise Damaged("a content of the archive is missing" + (" in object storage" if place else ""))
        found = self.unpack(data)
        if blob_digest(found) != digest:
            raise Damaged("a content of the archive is not what its digest says")
        return found

    def turn(self, turn: Turn) -> tuple[bytes, list[bytes]]:
        """The packed row of a turn's records, and the records stored under their digests."""
        large = [record for record in turn.records if len(record) >= SHARED_FROM]
        own = [None if len(record) >= SHARED_FROM else record for record in turn.records]
        return self.pack(_encoder.encode(TurnRow(own, [blob_digest(data) for data in large]))), large

    def records(self, data: bytes, known: Mapping[bytes, bytes]) -> list[bytes]:
        """The records of a packed row, with large ones filled in."""
        row = self.row(data)
        shared = iter(row.shared)
        try:
            return [known[next(shared)] if record is None else record for record in row.records]
        except (KeyError, StopIteration):
            raise Damaged("a content that the log refers to is missing") from None

    def row(self, data: bytes) -> TurnRow:
        try:
            return _decoder.decode(self.unpack(data))
        except msgspec.DecodeError as problem:
            raise Damaged("a record of the log cannot be read") from problem
