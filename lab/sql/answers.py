"""What both say of a query, and whether it is the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

import timestrata
from lab.sql.expression import ours, theirs
from lab.sql.query import Query
from lab.sql.world import World

# Sums of floats depend on the order of their rows; those here are exact, but means and roots are not.
TOLERANCE = 1e-9
ROWS_SHOWN = 6
# What we say of whole numbers and decimals without room: legal wherever an expression is reckoned earlier, for
# more rows, or in a type less wide than there.
NO_ROOM = ("cast to a wider type", "Overflow happened", "overflow on abs")
# What DuckDB refuses for the same reason.
THEIR_NO_ROOM = ("Out of Range", "Conversion Error", "Overflow")
UNITS_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@dataclass(frozen=True)
class Answer:
    """Rows as plain values, or an error."""

    rows: list[tuple[Any, ...]]
    error: str = ""
    is_crash: bool = False

    def __str__(self) -> str:
        if self.error:
            return f"{'CRASH' if self.is_crash else 'error'}: {self.error}"
        shown = "".join(f"\n    {row!r}" for row in self.rows[:ROWS_SHOWN])
        more = len(self.rows) - ROWS_SHOWN
        return f"{len(self.rows)} rows{shown}" + (f"\n    and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Verdict:
    """`is_same`, or how both differ; `refused` if one has refused what the other answers, as it may."""

    ours: Answer
    theirs: Answer
    difference: str = ""
    refused: str = ""


def judge(world: World, query: Query) -> Verdict:
    text = query.text()
    mine, other = ask_us(world, ours(text)), ask_them(world, theirs(text))
    if mine.is_crash:
        return Verdict(mine, other, "a crash")
    if mine.error and other.error:
        return Verdict(mine, other, refused="both")
    if mine.error:
        legal = any(word in mine.error for word in NO_ROOM)
        return Verdict(mine, other, "" if legal else "an error", "ours" if legal else "")
    if other.error:
        legal = any(word in other.error for word in THEIR_NO_ROOM)
        return Verdict(mine, other, "" if legal else "an answer, and an error there", "theirs" if legal else "")
    return Verdict(mine, other, difference(mine.rows, other.rows, query.is_ordered))


def ask_us(world: World, text: str) -> Answer:
    try:
        return Answer(plain(world.store.sql(text).to_arrow()))
    except (timestrata.TimestrataError, ValueError) as error:
        return Answer([], f"{type(error).__name__}: {error}", "anic" in str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Answer([], f"{type(error).__name__}: {error}", True)


def ask_them(world: World, text: str) -> Answer:
    try:
        return Answer(plain(world.other.sql(text).to_arrow_table()))
    except duckdb.Error as error:
        return Answer([], f"{type(error).__name__}: {error}")


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [_values(column) for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Values that both sides have alike: numbers as they are, times as nanoseconds, whatever their unit."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        unit = UNITS_NS[kind.unit]
        return [None if n is None else n * unit for n in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(kind):
        days = column.cast(pa.int32()).to_pylist()
        return [None if n is None else n * 86_400 * 10**9 for n in days]
    return [_number(value) for value in column.to_pylist()]


def _number(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    return value


def difference(mine: list[tuple[Any, ...]], others: list[tuple[Any, ...]], is_ordered: bool) -> str:
    if len(mine) != len(others):
        return f"{len(mine)} rows, and {len(others)} there"
    if not is_ordered:
        mine, others = sorted(mine, key=_order), sorted(others, key=_order)
    for place, (row, other) in enumerate(zip(mine, others, strict=True)):
        if not all(map(same, row, other)):
            # Rounded differently, rows may have changed places.
            if not is_ordered and not _unpaired(mine[place:], others[place:]):
                return ""
            return f"row {place} is {row!r}, and {other!r} there"
    return ""


def _unpaired(mine: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> bool:
    left = list(others)
    for row in mine:
        found = next((place for place, other in enumerate(left) if all(map(same, row, other))), None)
        if found is None:
            return True
        del left[found]
    return False


def _order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    def key(value: Any) -> tuple[str, Any]:
        if value is None or isinstance(value, (str, bool, bytes)):
            return type(value).__name__, str(value)
        return "number", float(value)

    return tuple(map(key, row))


def same(mine: Any, other: Any) -> bool:
    if isinstance(mine, bool) or isinstance(other, bool) or isinstance(mine, str) or isinstance(other, str):
        return type(mine) is type(other) and bool(mine == other)
    if mine is None or other is None:
        return mine is other
    if isinstance(mine, float) or isinstance(other, float):
        near, far = float(mine), float(other)
        return near == far or math.isclose(near, far, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(mine == other)
