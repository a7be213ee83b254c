"""Tables: rows in beside what reads or writes the same files, queries beside polars over Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import timestrata

from bench.python.check.measure import Class, Measure, Pair, Place, Work, emptied, measure
from bench.python.table.data import SCHEMA, Files, trades

ROWS, BATCH_ROWS, INGEST_ROWS = 500_000, 20_000, 100_000
# Less than the rows take once they are decoded: a full scan decodes all of them each time.
CACHE_BYTES_MAX = 1 << 20
PYARROW = f"pyarrow {pa.__version__}"


@measure("table append", Class.WRITE)
def append(place: Place) -> Iterator[Pair]:
    """Batches of rows, `written`, beside an Arrow file of them."""
    rows = trades(0, INGEST_ROWS)
    batches = [rows.slice(at, BATCH_ROWS) for at in range(0, INGEST_ROWS, BATCH_ROWS)]
    path, plain = place.new(), place.new()

    def ours(store: timestrata.Store) -> None:
        table = store.table("trades", time="timestamp", tags="symbol", schema=SCHEMA)
        for batch in batches:
            table.append(batch)

    def floor() -> None:
        with pa.ipc.new_stream(plain, SCHEMA) as writer:
            for batch in batches:
                writer.write_table(batch)

    work = Work(ours, lambda: emptied(path))
    yield Pair(work, Work(floor), f"a file of {PYARROW}", True)


@measure("table ingest", Class.WRITE)
def ingest(place: Place) -> Iterator[Pair]:
    """A CSV file to durable rows, beside parsing it."""
    csv, path = Files(place.shared, place.shared).csv(INGEST_ROWS), place.new()

    def ours(store: timestrata.Store) -> int:
        return int(store.table("trades", time="timestamp", tags="symbol").ingest(csv)["rows"])

    work = Work(ours, lambda: emptied(path))
    yield Pair(work, Work(lambda: pa.csv.read_csv(csv).num_rows), f"CSV of {PYARROW}")


def _filled(place: Place) -> Iterator[tuple[timestrata.Store, Any]]:
    """A compacted table of ours, and polars over Parquet with the same rows."""
    # One thread: of several the system says when each gets on.
    os.environ["POLARS_MAX_THREADS"] = "1"
    # Peers are only where benchmarks are run.
    from bench.python.table.sides import Polars, opened

    files = Files(place.shared, place.shared)
    with opened(place.new(), files.csv(ROWS)) as store:
        yield store, Polars(files.parquet(ROWS))


def _query(
    place: Place, ours: Callable[[timestrata.Store], Any], other: Callable[[Any], Any]
) -> Iterator[Pair]:
    store, peer = place.common(_filled)
    yield Pair(
        Work(lambda: ours(store)),
        Work(lambda: other(peer)),
        f"{peer.label}, Parquet",
        answer=lambda table: table.num_rows,
    )


@measure("table range", Class.READ)
def scan(place: Place) -> Iterator[Pair]:
    """One row in a hundred, by time."""
    from bench.python.table.sides import moment

    start, end = moment(ROWS // 3), moment(ROWS // 3 + ROWS // 100)
    return _query(
        place,
        lambda store: store.table("trades").scan(start, end).to_arrow(),
        lambda peer: peer.between(start, end),
    )


@measure("table group by", Class.READ)
def group(place: Place) -> Iterator[Pair]:
    """By minute, which looks at each row."""
    query = "SELECT time_bucket(INTERVAL '1 minute', timestamp) AS minute, count(*) AS n, max(price) FROM trades GROUP BY 1"
    return _query(place, lambda store: store.sql(query).to_arrow(), lambda peer: peer.by_minute())


@measure("table filter", Class.READ)
def filtered(place: Place) -> Iterator[Pair]:
    """Rows that fit a condition on two columns, counted."""
    query = "SELECT count(*) AS n FROM trades WHERE price > 120 AND volume > 2000"
    return _query(place, lambda store: store.sql(query).to_arrow(), lambda peer: peer.filtered())


@measure("table last per series", Class.READ)
def latest(place: Place) -> Iterator[Pair]:
    """The newest row of each symbol."""
    return _query(
        place,
        lambda store: store.table("trades").latest("symbol").to_arrow(),
        lambda peer: peer.latest(),
    )


@measure("table full scan", Class.READ)
def full(place: Place) -> Iterator[Pair]:
    """All rows as Arrow, beside a copy of as many bytes."""
    place.common(_filled)[0].backup(path := place.new())
    with timestrata.open(path, cache_bytes_max=CACHE_BYTES_MAX) as store:
        table = store.table("trades")
        bytes_of_rows = np.ones(table.scan().to_arrow().nbytes, np.uint8)
        yield Pair(
            Work(lambda: table.scan().to_arrow().num_rows),
            Work(bytes_of_rows.copy),
            f"memcpy by numpy {np.__version__}",
            True,
        )


MEASURES: tuple[Measure, ...] = (append, ingest, scan, group, filtered, latest, full)
