"""Parquet in and out, one row group at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from brim.batch.chunks import FileChunk
from brim.batch.tasks import ResultRow
from brim.errors import BadInput, MissingExtra

try:
    import pyarrow
    from pyarrow import parquet
except ImportError:
    raise MissingExtra("Parquet", "batch") from None

# Rows decoded at once: of requests of 100 KB, about 25 MB.
ROWS = 256
# Bytes after which a file of results ends and the next begins: what readers of Parquet split work by.
PART = 256 << 20
_PLACE = {"file": "string", "line": "int64"}


def row_groups(file: str) -> Iterator[FileChunk]:
    """A chunk for each row group; their sizes say how the bytes of the file are shared. Raises BadInput."""
    try:
        with parquet.ParquetFile(file) as opened:
            sizes = [opened.metadata.row_group(one).total_byte_size for one in range(opened.metadata.num_row_groups)]
    except pyarrow.ArrowInvalid as problem:
        raise BadInput(file, f"cannot be read as Parquet ({problem}): was it written to its end?") from None
    whole, total, start, seen = Path(file).stat().st_size, sum(sizes), 0, 0
    for number, size in enumerate(sizes):
        seen += size
        end = whole * seen // max(1, total)
        yield FileChunk(file, start, end, number)
        start = end


def rows(file: str, row_group: int) -> Iterator[bytes]:
    """The rows of a row group as JSON."""
    with parquet.ParquetFile(file) as opened:
        for batch in opened.iter_batches(ROWS, row_groups=[row_group]):
            for row in batch.to_pylist():
                yield json.dumps(_given(row), ensure_ascii=False, separators=(",", ":"), default=str).encode()


def _given(value: Any) -> Any:
    """A value without what is null: in a table, a field that a message does not have is one."""
    if isinstance(value, dict):
        return {key: _given(inner) for key, inner in value.items() if inner is not None}
    return [_given(inner) for inner in value] if isinstance(value, list) else value


class ParquetFolder:
    """Results as files part-00000.parquet, … in a folder; a file has its name when it is whole."""

    def __init__(self, folder: str, columns: Mapping[str, str]) -> None:
        self._folder = Path(folder)
        self._schema = pyarrow.schema(
            [(name, pyarrow.type_for_alias(kind)) for name, kind in ({**_PLACE, **columns}).items()]
        )
        self._writer: Any = None
        self._part = 0
        self._folder.mkdir(parents=True, exist_ok=True)
        if next(self._folder.glob("part-*.parquet"), None) is not None:
            raise BadInput(folder, "holds results already: name another folder, or remove them")

    def write(self, rows: Iterable[ResultRow]) -> None:
        table = pyarrow.Table.from_pylist(list(rows), self._schema)
        if self._writer is None:
            self._sink = pyarrow.OSFile(str(self._beside), "wb")
            self._writer = parquet.ParquetWriter(self._sink, self._schema, compression="zstd")
        if table.num_rows:
            self._writer.write_table(table)
        if self._sink.tell() >= PART:
            self.close()

    def close(self) -> None:
        """End the file that is being written."""
        if self._writer is not None:
            self._writer.close()
            self._sink.close()
            self._beside.rename(self._folder / f"part-{self._part:05}.parquet")
            self._writer = None
            self._part += 1

    @property
    def _beside(self) -> Path:
        return self._folder / f".part-{self._part:05}"
