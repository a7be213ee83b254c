"""A Parquet file with each column encoded as it is smallest: what bytes on disk are held against."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

# Enough to tell which way is the smallest.
TRIAL_ROWS = 1_000_000
ZSTD_3 = {"compression": "zstd", "compression_level": 3}


def encodings_of(kind: pa.DataType) -> list[str]:
    """The ways besides a dictionary."""
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
    if pa.types.is_floating(kind):
        return ["PLAIN", "BYTE_STREAM_SPLIT"]
    if pa.types.is_string(kind):
        return ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
    return ["PLAIN"]


def smallest_encoding(column: pa.Table) -> str | None:
    """Of a table's only column; None: a dictionary."""
    [field] = column.schema

    def size(encoding: str | None) -> int:
        written = io.BytesIO()
        chosen = {} if encoding is None else {field.name: encoding}
        pq.write_table(
            column, written, use_dictionary=encoding is None, column_encoding=chosen or None, **ZSTD_3
        )
        return written.getbuffer().nbytes

    ways: list[str | None] = [None, *encodings_of(field.type)]
    return min(ways, key=size)


def write(path: Path, table: pa.Table) -> Path:
    first = table.slice(0, TRIAL_ROWS)
    ways = {name: smallest_encoding(first.select([name])) for name in table.column_names}
    pq.write_table(
        table,
        path,
        use_dictionary=[name for name, way in ways.items() if way is None],
        column_encoding={name: way for name, way in ways.items() if way is not None},
        **ZSTD_3,
    )
    return path
