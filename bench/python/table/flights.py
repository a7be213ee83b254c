"""A small table of real rows: its size, and its rows grouped by text and by day."""

from __future__ import annotations

from typing import Any

import timestrata

from bench.python.common.apart import apart
from bench.python.common.files import bytes_of, fresh
from bench.python.common.race import OURS, race
from bench.python.common.report import Measure
from bench.python.table import smallest
from bench.python.table.bench import Bench
from bench.python.table.loading import duck
from bench.python.table.reading import rounded
from bench.python.table.sides import Duck, run_bytes

# Of columns without "NA", which DuckDB's reader takes for text.
SELECTED = "count(*) AS n, avg(distance) AS distance, max(sched_dep_time) AS latest"
DAY = "INTERVAL '1 day'"


def flights(bench: Bench) -> None:
    """A year's flights, compacted, beside a table of DuckDB."""
    csv, path = bench.files.flights(), bench.dir / "flights.duckdb"
    duck(path, csv, 2)
    with timestrata.open(fresh(bench.dir / "flights.store")) as store, apart(Duck, path) as other:
        table = store.table("trades", time="time_hour")
        table.ingest(csv)
        store.compact("trades")
        rows = table.count()
        best = smallest.write(fresh(bench.dir / "flights.parquet"), table.scan().to_arrow())
        for side, file in (("Parquet, ZSTD 3, each column as it is smallest", best), ("DuckDB", path)):
            name, note = f"size on disk, flights [{side}]", f"{rows} rows"
            sizes = (run_bytes(store) / 1e6, side, bytes_of(file) / 1e6)
            bench.report(Measure(name, "MB", *sizes, 1.0, note))
        by_carrier = f"SELECT carrier, {SELECTED} FROM trades GROUP BY carrier"
        by_day = f"SELECT time_bucket({DAY}, time_hour) AS day, {SELECTED} FROM trades GROUP BY 1"
        for name, query in (("by carrier", by_carrier), ("by day", by_day)):

            def ours(query: str = query) -> Any:
                return store.sql(query).to_arrow()

            works = {OURS: ours, "DuckDB": lambda query=query: other("table", query)}
            race(bench, f"flights {name}", rows, works, {"DuckDB": 1.2}, answer=rounded, rounds=15)
