"""Rows out: ranges, scans, aggregates, joins."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import timestrata

from bench.python.common.apart import Apart, apart
from bench.python.common.race import OURS, latencies, race
from bench.python.common.report import Measure
from bench.python.common.sample import percentile, quiet, timed
from bench.python.table.bench import Bench
from bench.python.table.loading import ROWS, duck
from bench.python.table.sides import Duck, Fusion, Polars, moment, opened

SAMPLES = 2_000


@dataclass
class Sides:
    """The same rows everywhere: those of others are asked in processes of their own."""

    rows: int
    store: timestrata.Store
    table: timestrata.Table
    duck: Apart
    polars: Apart
    fusion: Apart


@contextmanager
def sides(bench: Bench) -> Iterator[Sides]:
    rows = bench.many(ROWS)
    csv, parquet = bench.files.csv(rows), bench.files.parquet(rows)
    path = bench.dir / "read.duckdb"
    duck(path, csv, 2)
    with (
        opened(bench.dir / "read.store", csv) as store,
        apart(Duck, path) as other,
        apart(Polars, parquet) as polars,
        apart(Fusion, parquet) as fusion,
    ):
        store.table("quotes", time="timestamp", tags="symbol").append(
            pq.read_table(bench.files.quotes(rows))
        )
        store.compact("quotes")
        other("run", f"CREATE TABLE quotes AS SELECT * FROM '{bench.files.quotes(rows)}'")
        yield Sides(rows, store, store.table("trades"), other, polars, fusion)


def ranges(bench: Bench, on: Sides) -> None:
    """Latencies, until the rows are there as Arrow."""
    chance = random.Random(5)
    samples = 50 if bench.quick else SAMPLES
    for name, length in (("1 %", on.rows // 100), ("100 rows", 100)):
        firsts = [chance.randrange(on.rows - length) for _ in range(samples)]
        times = [(moment(first), moment(first + length)) for first in firsts]
        plain = [(a.replace(tzinfo=None), b.replace(tzinfo=None)) for a, b in times]
        query = "SELECT * FROM trades WHERE timestamp >= ? AND timestamp < ?"
        works: dict[str, Callable[[int], Any]] = {
            OURS: lambda at, times=times: on.table.scan(*times[at]).to_arrow(),
            "DuckDB": lambda at, plain=plain: on.duck("table", query, *plain[at]),
            "polars, Parquet": lambda at, times=times: on.polars("between", *times[at]),
        }
        if name == "1 %":
            few = 20 if bench.quick else 300
            slow = {side: works[side] for side in (OURS, "polars, Parquet")}
            latencies(bench, f"range query of {name}", slow, {"polars, Parquet": 1.0}, few)
            del works["polars, Parquet"]
        aims = dict.fromkeys(works, 1.0)
        latencies(bench, f"range query of {name}", works, aims, samples)
    newest = "SELECT * FROM trades ORDER BY timestamp DESC LIMIT 1000"
    latencies(
        bench,
        "latest 1,000 rows",
        {
            OURS: lambda _: on.table.scan(limit=1000, reverse=True).to_arrow(),
            "DuckDB": lambda _: on.duck("table", newest),
            "polars, Parquet": lambda _: on.polars("newest", 1000),
        },
        {"DuckDB": 1.0, "polars, Parquet": 1.0},
        20 if bench.quick else 200,
    )


def scans(bench: Bench, on: Sides) -> None:
    """All rows to Arrow beside a copy of as many bytes; what metadata answer."""
    bytes_all = on.table.scan().to_arrow().nbytes
    source, target = np.ones(bytes_all, np.uint8), np.empty(bytes_all, np.uint8)

    def copied() -> int:
        np.copyto(target, source)
        return on.rows

    ours = {OURS: lambda: on.table.scan().to_arrow().num_rows}
    note = f"{bytes_all / 1e6:.0f} MB of Arrow"
    race(bench, "full scan to Arrow", on.rows, {**ours, "memcpy": copied}, {"memcpy": 0.5}, note=note)

    def anew() -> int:
        # A reader that has opened nothing yet, and decoded nothing.
        with timestrata.open(on.store.path, mode="r") as store:
            return store.table("trades").scan().to_arrow().num_rows

    def copied_anew() -> int:
        return on.rows if source.copy().size else 0

    # Memory that is new to a process costs more than what is copied into it.
    works = {OURS: anew, "memcpy": copied, "memcpy into new memory": copied_anew}
    note = f"{note}, opening of the store with it"
    race(bench, "full scan to Arrow, cold", on.rows, works, {"memcpy": 0.25}, note=note)
    other = {
        "DuckDB": lambda: on.duck("count_of", "SELECT * FROM trades"),
        "polars, Parquet": lambda: on.polars("count"),
        "DataFusion, Parquet": lambda: on.fusion("count_of", "SELECT * FROM trades"),
    }
    race(bench, "full scan to Arrow,", on.rows, {**ours, **other}, {"DataFusion, Parquet": 1.0})
    known: dict[str, Callable[[], Any]] = {
        "count": lambda: on.table.count(),
        "count by SQL": lambda: on.store.sql("SELECT count(*) FROM trades").to_pylist(),
        "min and max of time": lambda: (on.table.min_time(), on.table.max_time()),
        "min and max of time by SQL": lambda: on.store.sql(
            "SELECT min(timestamp), max(timestamp) FROM trades"
        ).to_pylist(),
    }
    for name, work in known.items():
        work()
        with quiet():
            p50 = percentile([timed(work)[0] * 1e6 for _ in range(500)], 0.5)
        bench.report(Measure(name, "us", p50, "1 ms", 1000.0, 1.0, "p50 of 500"))


def rounded(table: pa.Table) -> list[Any]:
    """All rows in an order of their own, times as numbers."""
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("ms")).cast(pa.int64())
        columns.append(column.to_pylist())
    return sorted(zip(*columns, strict=True), key=repr)


def aggregates(bench: Bench, on: Sides) -> None:
    """Each in the words that suit the side."""
    filtered = "SELECT count(*) AS n FROM trades WHERE price > 120 AND volume > 2000"
    grouped = (
        "SELECT symbol, count(*) AS n, avg(price) AS price, sum(volume) AS volume "
        "FROM trades GROUP BY symbol"
    )
    bucket = "SELECT {} AS minute, count(*) AS n, max(price) AS price FROM trades GROUP BY 1"
    columns = "symbol, max(timestamp), {0}(price{1}), {0}(volume{1})"
    latest = f"SELECT {columns} FROM trades GROUP BY symbol"
    minute = "INTERVAL '1 minute'"
    queries: dict[str, dict[str, Callable[[], Any]]] = {
        "filter and count": {
            OURS: lambda: on.store.sql(filtered).to_arrow(),
            "DuckDB": lambda: on.duck("table", filtered),
            "polars, Parquet": lambda: on.polars("filtered"),
            "DataFusion, Parquet": lambda: on.fusion("table", filtered),
        },
        "group by symbol": {
            OURS: lambda: on.store.sql(grouped).to_arrow(),
            "DuckDB": lambda: on.duck("table", grouped),
            "polars, Parquet": lambda: on.polars("grouped"),
            "DataFusion, Parquet": lambda: on.fusion("table", grouped),
        },
        "time_bucket by minute": {
            OURS: lambda: on.store.sql(
                bucket.format(f"time_bucket({minute}, timestamp)")
            ).to_arrow(),
            "DuckDB": lambda: on.duck("table", bucket.format(f"time_bucket({minute}, timestamp)")),
            "polars, Parquet": lambda: on.polars("by_minute"),
            "DataFusion, Parquet": lambda: on.fusion(
                "table", bucket.format(f"date_bin({minute}, timestamp)")
            ),
        },
        "latest by symbol": {
            OURS: lambda: on.table.latest("symbol")
            .to_arrow()
            .select(["symbol", "timestamp", "price", "volume"]),
            "DuckDB": lambda: on.duck("table", latest.format("arg_max", ", timestamp")),
            "polars, Parquet": lambda: on.polars("latest"),
            "DataFusion, Parquet": lambda: on.fusion(
                "table", latest.format("last_value", " ORDER BY timestamp")
            ),
        },
    }
    ordered = {"time_bucket by minute", "latest by symbol"}
    for name, works in queries.items():
        aims = {"DataFusion, Parquet": 1.0, "DuckDB": 1.0 if name in ordered else 1.2}
        race(bench, name, on.rows, works, aims, answer=rounded)


def asof(bench: Bench, on: Sides) -> None:
    """Each trade with the quote before it; the sum of the bids tells that they are right."""
    quotes = bench.files.quotes(on.rows)

    def total(table: pa.Table) -> Any:
        bids = table.column("bid")
        return [table.num_rows, float(np.nansum(bids.to_numpy())), bids.null_count]

    select = "SELECT t.timestamp, t.symbol, t.price, q.bid FROM trades t ASOF LEFT JOIN quotes q "
    works: dict[str, Callable[[], Any]] = {
        OURS: lambda: on.store.sql(
            "SELECT timestamp, symbol, price, bid FROM "
            "asof_join(trades, quotes, on => timestamp, by => symbol)"
        ).to_arrow(),
        "DuckDB": lambda: on.duck(
            "table", select + "ON t.symbol = q.symbol AND t.timestamp >= q.timestamp"
        ),
        "polars, Parquet": lambda: on.polars("asof", quotes),
    }
    race(bench, "as-of join", on.rows, works, {"DuckDB": 1.0}, answer=total, rounds=3)


def all_reads(bench: Bench) -> None:
    with sides(bench) as on:
        for group in (ranges, scans, aggregates, asof):
            try:
                group(bench, on)
            except Exception as error:
                bench.fail(group.__name__, error)


