"""Reads rows of Parquet as the JSON of requests, one row group at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brim.errors import BadInput, MissingExtra

try:
    import pyarrow
    from pyarrow import parquet
except ImportError:
    raise MissingExtra("Parquet", "batch") from None

# Rows to decode at once, which take about 25 MB for requests of 100 KB.
ROWS = 256


def row_groups(file: str) -> Iterator[tuple[int, int]]:
    """The start and end of each row group, as a share of the file's bytes. Raises BadInput."""
    try:
        with parquet.ParquetFile(file) as opened:
            sizes = [opened.metadata.row_group(one).total_byte_size for one in range(opened.metadata.num_row_groups)]
    except pyarrow.ArrowInvalid as problem:
        raise BadInput(file, f"cannot be read as Parquet ({problem}): was it written to its end?") from None
    whole, total, start, seen = Path(file).stat().st_size, sum(sizes), 0, 0
    for size in sizes:
        seen += size
        end = whole * seen // max(1, total)
        yield start, end
        start = end


def rows(file: str, row_group: int) -> Iterator[bytes]:
    """The rows of a row group as JSON."""
    with parquet.ParquetFile(file) as opened:
        for batch in opened.iter_batches(ROWS, row_groups=[row_group]):
            for row in batch.to_pylist():
                yield json.dumps(_given(row), ensure_ascii=False, separators=(",", ":"), default=str).encode()


def _given(value: Any) -> Any:
    """A value without nulls, because in a table, missing fields are null."""
    if isinstance(value, dict):
        return {key: _given(inner) for key, inner in value.items() if inner is not None}
    return [_given(inner) for inner in value] if isinstance(value, list) else value
