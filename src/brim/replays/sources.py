"""Sources of recorded requests: JSON and JSON lines files, compressed or not, stores of the gateway, Python objects.

Everything is streamed: only one request of a file is in memory at a time.
"""

from __future__ import annotations

import gzip
import io
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from brim import zstd
from brim.conversation import encode
from brim.errors import BadBody, BadInput
from brim.replays.recorded import NoRequest, Problem, Recorded, about, decoded, fields_of, kind_of, request_in
from brim.replays.scanning import elements
from brim.replays.transcripts import logged, steps
from brim.stores.compression import Damaged
from brim.stores.sqlite import SqliteStore

ReplaySource = str | Path | BinaryIO | Iterable[Any]
Found = Iterator[Recorded | Problem]
CHUNK = 1 << 18
BOM = b"\xef\xbb\xbf"
SQLITE = b"SQLite format 3\0"
PARQUET = b"PAR1"
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# Sessions of a store to list at once.
PAGE = 200
CUT_OFF = "the file ends inside this request: it was cut off"


@dataclass(frozen=True, slots=True)
class Opened:
    """An open source: its requests, and the bytes read so far, if known."""

    found: Found
    size: int = 0
    handle: BinaryIO | _ParquetPlace | None = None

    @property
    def position(self) -> int:
        if self.handle is None:
            return 0
        return self.size if self.handle.closed else self.handle.tell()


def opened(source: ReplaySource, transcripts: bool = False) -> Opened:
    """The requests of a source, in order. Raises BadInput for a store that can't be read.

    A source is the path of a file (JSON lines or JSON, also as .gz or .zst, Parquet, or a store of the gateway), an
    open binary file, or an iterable of bodies.
    """
    if isinstance(source, (str, Path)):
        path = Path(source)
        handle = path.open("rb")
        size, begins = path.stat().st_size, handle.read(len(SQLITE))
        handle.seek(0)
        if begins == SQLITE:
            handle.close()
            return Opened(_expanded(_of_store(path), transcripts))
        if begins[: len(PARQUET)] == PARQUET:
            handle.close()
            place = _ParquetPlace()
            return Opened(_expanded(_of_parquet(str(source), place), transcripts), size, place)
        return Opened(_expanded(_closing(handle, str(source)), transcripts), size, handle)
    if hasattr(source, "readline"):
        name = getattr(source, "name", None)
        found = _of_file(cast(BinaryIO, source), name if isinstance(name, str) else "input")
        return Opened(_expanded(found, transcripts))
    return Opened(_expanded(_of_objects(source), transcripts))


@dataclass(slots=True)
class _ParquetPlace:
    """The progress in a Parquet file."""

    at: int = 0
    closed: bool = False

    def tell(self) -> int:
        return self.at


def _of_parquet(file: str, place: _ParquetPlace) -> Found:
    """The requests in rows, each the JSON object of its columns."""
    # Parquet support is an optional extra, so import it only for such a file.
    reader = import_module("brim.replays.parquet_rows")
    number = 0
    for group, (_, end) in enumerate(reader.row_groups(file)):
        for row in reader.rows(file, group):
            number += 1
            yield from _of_value(row, f"{file}:{number}")
        place.at = end
    place.closed = True


def _closing(handle: BinaryIO, name: str) -> Found:
    with handle:
        yield from _of_file(handle, name)


def _expanded(found: Found, transcripts: bool) -> Found:
    """Expand whole recorded conversations into their requests."""
    for one in found:
        if isinstance(one, Problem) or not (one.transcript or transcripts):
            yield one
            continue
        try:
            yield from steps(one)
        except (BadBody, NoRequest) as problem:
            yield Problem(one.place, str(problem))


def _of_objects(given: Iterable[Any]) -> Found:
    for number, value in enumerate(given):
        place = f"requests[{number}]"
        if isinstance(value, Recorded):
            yield replace(value, place=value.place or place)
            continue
        try:
            raw = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else encode(value)
        except (TypeError, ValueError, RecursionError) as problem:
            yield Problem(place, str(problem))
            continue
        yield from _of_value(raw, place)


def _of_file(handle: BinaryIO, name: str) -> Found:
    """The requests of a file, possibly compressed; the format is detected from its start."""
    file = _unpacked(handle)
    try:
        yield from _of_chunks(iter(lambda: file.read1(CHUNK), b""), name)
    except (EOFError, zlib.error, gzip.BadGzipFile, zstd.ZstdError) as problem:
        yield Problem(name, f"cannot be unpacked to its end ({problem}): what stands before was read")


def _of_chunks(chunks: Iterator[bytes], name: str) -> Found:
    read: list[bytes] = []
    while not (begins := b"".join(read).removeprefix(BOM).lstrip()) and (chunk := next(chunks, b"")):
        read.append(chunk)
    if begins[:1] == b"[":
        noted = _noting(chunks, read)
        first = next(elements(chain(list(read), noted)), (0, b""))[1]
        if _is_listed(first, b"".join(read).lstrip().partition(b"\n")[0]):
            for at, raw in elements(chain(read, chunks)):
                yield from _of_value(raw, f"{name}:{at}")
            return
    lines = enumerate(_lines(chain(read, chunks)), 1)
    number, line = next(((number, line) for number, line in lines if line.strip()), (0, b""))
    second = next(lines, (0, b""))
    begun = line.lstrip()[:1], second[1].lstrip()[:1]
    if second[0] and not _whole(line) and (begun[1] not in (b"{", b"[") or begun == (b"[", b"{")):
        whole = b"".join([line, second[1], *(other for _, other in lines)])  # one value over many lines
        yield from _of_value(whole, f"{name}:{number}")
        return
    yield from _of_lines(chain([(number, line), second], lines), name)


def _noting(chunks: Iterator[bytes], read: list[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        read.append(chunk)
        yield chunk


def _is_listed(element: bytes, line: bytes) -> bool:
    """Whether an array is a list of requests, by its first element; an unknown element may be an invalid request."""
    try:
        kind = kind_of(fields_of(element)) if element[:1] == b"{" else "other"
    except NoRequest:
        kind = "other"
    return kind == "request" or (kind == "other" and not _whole(line))


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines with their ends, from chunks that end anywhere."""
    begun: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        if not others:
            begun.append(first)
            continue
        yield b"".join([*begun, first, b"\n"]).removeprefix(BOM)
        for line in others[:-1]:
            yield line + b"\n"
        begun = [others[-1]]
    if last := b"".join(begun):
        yield last.removeprefix(BOM)


def _unpacked(handle: BinaryIO) -> io.BufferedReader:
    file = handle if isinstance(handle, io.BufferedReader) else io.BufferedReader(cast(Any, handle))
    begins = file.peek(len(ZSTD))
    if begins.startswith(GZIP):
        return io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=file)), CHUNK)
    if begins.startswith(ZSTD):
        reader = zstd.ZstdFile(file)
        return io.BufferedReader(cast(Any, reader), CHUNK)
    return file


def _whole(line: bytes) -> bool:
    try:
        decoded(line)
    except NoRequest:
        return False
    return True


def _of_lines(lines: Iterable[tuple[int, bytes]], name: str) -> Found:
    """One request or message per line; the head of an exported session starts a conversation of messages."""
    messages: list[bytes] = []
    told = Recorded(b"", transcript=True)
    for number, line in lines:
        raw, place = line.strip(), f"{name}:{number}"
        if not raw:
            continue
        try:
            fields = fields_of(raw) if raw[:1] == b"{" else {}
        except NoRequest as problem:
            yield Problem(place, CUT_OFF if not line.endswith(b"\n") else str(problem))
            continue
        kind = kind_of(fields) if fields else "other"
        if kind == "message":
            told = replace(told, place=told.place or place)
            messages.append(raw)
            continue
        if messages:
            yield replace(told, body=b"[" + b",".join(messages) + b"]")
            messages, told = [], Recorded(b"", transcript=True)
        if kind == "head":
            told = replace(about(fields), place=place, transcript=True)
        else:
            yield from _of_value(raw, place)
    if messages:
        yield replace(told, body=b"[" + b",".join(messages) + b"]")


def _of_value(raw: bytes, place: str) -> Found:
    """The request or requests in a JSON value."""
    try:
        if raw.lstrip()[:1] != b"[":
            found = request_in(fields_of(raw), place)
            if found is not None:
                yield found
            return
        value = decoded(raw)
    except NoRequest as problem:
        yield Problem(place, str(problem))
        return
    if value and all(isinstance(item, Mapping) and kind_of(_raw_fields(item)) == "message" for item in value):
        yield Recorded(raw, place)
        return
    for item in value:
        yield from _of_value(encode(item), place) if isinstance(item, Mapping) else [Problem(place, "is no request")]


def _raw_fields(item: Mapping[str, Any]) -> dict[str, bytes]:
    return {key: encode(value) for key, value in item.items()}


def _of_store(path: Path) -> Found:
    """The requests of the sessions in a store of the gateway."""
    try:
        store = SqliteStore(path)
    except (sqlite3.Error, Damaged) as problem:
        raise BadInput(str(path), f"cannot be read as a store ({problem})") from None
    try:
        before: float | None = None
        while page := store.sessions(PAGE, before=before):
            for one in page:
                place = f"{path}:{one.id}"
                told = Recorded(
                    b"",
                    place,
                    model=str(one.meta.get("model", "")),
                    api=str(one.meta["api"]) if one.meta.get("api") else None,
                    session=one.id,
                )
                try:
                    yield from logged(store.records(one.id), told)
                except (BadBody, Damaged, sqlite3.Error) as problem:
                    yield Problem(place, str(problem))
            before = page[-1].touched
    finally:
        store.close()
