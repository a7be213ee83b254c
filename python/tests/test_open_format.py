"""Compacted runs are Parquet that others read without us, however rows lie and floats are stored in them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import timestrata

HOSTS, TIMES = 50, 800
START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def rows() -> pa.Table:
    chance = Random(7)
    count = HOSTS * TIMES
    return pa.table(
        {
            "time": pa.array(
                [START + timedelta(seconds=row // HOSTS) for row in range(count)], pa.timestamp("ms", tz="UTC")
            ),
            "host": [f"host {row % HOSTS}" for row in range(count)],
            "load": [chance.randrange(10_000) / 100 for _ in range(count)],
            "note": [None if row % 7 else f"note {chance.randrange(9)}" for row in range(count)],
        }
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[object, ...]]]:
    """The one compacted run of a table, and the table's rows."""
    path = tmp_path_factory.mktemp("open") / "store"
    with timestrata.open(path) as store:
        table = store.table("loads", time="time", tags=["host"])
        table.append(rows())
        store.compact("loads")
        found = table.scan().to_arrow().to_pylist()
    [run] = (path / "runs").glob("*.parquet")
    return run, in_order(tuple(row.values()) for row in found)


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[object, ...]]:
    """Sorted, with times as seconds and loads as decimal numbers, whatever a reader made of them."""
    same = ((time.timestamp(), host, Decimal(str(load)), note) for time, host, load, note in rows)
    return sorted(same, key=repr)


COLUMNS = ["time", "host", "load", "note"]


def test_the_run_is_one_of_rows_by_series_and_of_floats_as_decimal_numbers(run) -> None:
    schema = pq.read_schema(run[0])
    assert schema.names == [*COLUMNS, "timestrata.place"]
    assert pa.types.is_decimal(schema.field("load").type)
    hosts = pq.read_table(run[0], columns=["host"])["host"].to_pylist()
    changes = sum(1 for one, other in zip(hosts, hosts[1:]) if one != other)
    assert changes < len(hosts) / 100


def test_pyarrow_reads_a_compacted_run(run) -> None:
    found = pq.read_table(run[0], columns=COLUMNS).to_pylist()
    assert in_order(tuple(row.values()) for row in found) == run[1]


def test_duckdb_reads_a_compacted_run(run) -> None:
    found = duckdb.sql(f"SELECT {', '.join(COLUMNS)} FROM read_parquet('{run[0]}')").fetchall()
    assert in_order(found) == run[1]


def test_polars_reads_a_compacted_run(run) -> None:
    assert in_order(pl.read_parquet(run[0], columns=COLUMNS).iter_rows()) == run[1]
