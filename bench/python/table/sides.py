"""What tables are held against, each as its own documents tell to use it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import timestrata
from datafusion import SessionContext

from bench.python.common.files import fresh
from bench.python.table.data import START_MS, STEP_MS

THREADS = 2
TIME = pl.col("timestamp")


def moment(row: int) -> datetime:
    """The time of a trade."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=START_MS + row * STEP_MS)


def run_bytes(store: timestrata.Store) -> int:
    """Bytes of the runs of all streams: what rows take, without the log."""
    return sum(stream["run_bytes"] for stream in store.stats()["streams"].values())


class Duck:
    """A DuckDB file with a table `trades` in it."""

    label = f"DuckDB {duckdb.__version__}"

    def __init__(self, path: Path, threads: int = THREADS) -> None:
        self.connection = duckdb.connect(path)
        self.connection.execute(f"SET threads = {threads}; SET TimeZone = 'UTC'")

    def table(self, query: str, *given: Any) -> Any:
        return self.connection.sql(query, params=list(given)).to_arrow_table()

    def count_of(self, query: str) -> int:
        """The rows of a query, which are Arrow for a moment."""
        return int(self.table(query).num_rows)

    def run(self, query: str) -> None:
        self.connection.execute(query)

    def close(self) -> None:
        self.connection.close()


class Fusion:
    """DataFusion over a Parquet file."""

    def __init__(self, path: Path) -> None:
        self.context = SessionContext()
        self.context.register_parquet("trades", str(path))

    def table(self, query: str) -> Any:
        return self.context.sql(query).to_arrow_table()

    def count_of(self, query: str) -> int:
        return int(self.table(query).num_rows)


class Polars:
    """polars over a Parquet file."""

    label = f"polars {pl.__version__}"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.quotes: pl.DataFrame | None = None

    def scan(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.path)

    def between(self, begin: datetime, end: datetime) -> Any:
        return self.scan().filter((TIME >= begin) & (TIME < end)).collect().to_arrow()

    def newest(self, rows: int) -> Any:
        return self.scan().tail(rows).collect().to_arrow()

    def count(self) -> int:
        """All rows, which are Arrow for a moment."""
        return int(self.scan().collect().to_arrow().num_rows)

    def filtered(self) -> Any:
        condition = (pl.col("price") > 120) & (pl.col("volume") > 2000)
        return self.scan().filter(condition).select(pl.len().alias("n")).collect().to_arrow()

    def grouped(self) -> Any:
        means = pl.len().alias("n"), pl.col("price").mean(), pl.col("volume").sum()
        return self.scan().group_by("symbol").agg(*means).collect().to_arrow()

    def by_minute(self) -> Any:
        groups = self.scan().group_by(TIME.dt.truncate("1m"))
        return groups.agg(pl.len().alias("n"), pl.col("price").max()).collect().to_arrow()

    def latest(self) -> Any:
        newest = TIME.last(), pl.col("price").last(), pl.col("volume").last()
        return self.scan().group_by("symbol").agg(*newest).collect().to_arrow()

    def asof(self, quotes: Path) -> Any:
        """Each trade with the quote before it. Quotes are read once."""
        if self.quotes is None:
            self.quotes = pl.read_parquet(quotes)
        trades = self.scan().select("timestamp", "symbol", "price")
        joined = trades.join_asof(
            self.quotes.lazy(), on="timestamp", by="symbol", check_sortedness=False
        )
        return joined.collect().to_arrow()


def opened(path: Path, csv: Path) -> timestrata.Store:
    """A store with a table `trades` of a file's rows, compacted."""
    store = timestrata.open(fresh(path))
    store.table("trades", time="timestamp", tags="symbol").ingest(csv)
    store.compact("trades")
    return store
