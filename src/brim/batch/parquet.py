"""Writes results as Parquet, one row group at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from brim.batch.tasks import ResultRow
from brim.errors import BadInput, MissingExtra

try:
    import pyarrow
    from pyarrow import parquet
except ImportError:
    raise MissingExtra("Parquet", "batch") from None

# Bytes per file of results; readers of Parquet split work by files.
PART = 256 << 20
_PLACE = {"file": "string", "line": "int64"}


class ParquetFolder:
    """A folder of result files part-00000.parquet, …; a file gets its name once it is complete."""

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
        """Finish the current file."""
        if self._writer is not None:
            self._writer.close()
            self._sink.close()
            self._beside.rename(self._folder / f"part-{self._part:05}.parquet")
            self._writer = None
            self._part += 1

    @property
    def _beside(self) -> Path:
        return self._folder / f".part-{self._part:05}"
