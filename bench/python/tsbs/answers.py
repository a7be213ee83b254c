"""Answers as they are compared: without an order of rows, and floats but for how they round.

The two sides give the same value in different types: whole numbers of several widths, sums as decimals, text as views.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TOLERANCE = 1e-9


class Answer:
    """The rows of an answer, of all columns or of those at some places."""

    def __init__(self, table: pa.Table, places: Sequence[int] | None = None) -> None:
        if places is None:
            places = range(table.num_columns)
        columns = [_plain(table.column(place).combine_chunks()) for place in places]
        self.rows = table.num_rows
        self.table = pa.table(columns, names=[str(at) for at in range(len(columns))])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Answer):
            return NotImplemented
        if self.rows != other.rows or self.table.num_columns != other.table.num_columns:
            return False
        pairs = zip(self._sorted().columns, other._sorted().columns, strict=True)
        return all(_equal(left.combine_chunks(), right.combine_chunks()) for left, right in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.rows} rows, at first {self._sorted().slice(0, 2).to_pylist()}"

    def _sorted(self) -> pa.Table:
        """Floats are looked at last, so that how they round does not decide on the order."""
        if self.table.num_columns == 0:
            return self.table
        fields = sorted(self.table.schema, key=lambda field: pa.types.is_floating(field.type))
        return self.table.sort_by([(field.name, "ascending") for field in fields])


def _plain(column: pa.Array) -> pa.Array:
    """The same values in the one type that stands for all of their kind."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us")).cast(pa.int64())
    if pa.types.is_dictionary(kind):
        return _plain(column.dictionary_decode())
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64())
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.string())
    return column


def _equal(left: pa.Array, right: pa.Array) -> bool:
    if not (pa.types.is_floating(left.type) or pa.types.is_floating(right.type)):
        return left.equals(right)
    if not pc.is_null(left).equals(pc.is_null(right)):
        return False
    both = (side.cast(pa.float64()).to_numpy(zero_copy_only=False) for side in (left, right))
    return bool(np.isclose(*both, rtol=TOLERANCE, atol=0.0, equal_nan=True).all())
