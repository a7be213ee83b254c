"""One series of very many: an hour of it, and all of it."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa

from bench.python.common.apart import apart
from bench.python.tsbs.bench import Bench
from bench.python.tsbs.data import SERIES, START, hostname
from bench.python.tsbs.queries import literal, same
from bench.python.tsbs.sides import DUCK, Ask, asked, fill, opened

HOUR = timedelta(hours=1)
POLARS = f"polars {pl.__version__}, Parquet sorted by series"


class Polars:
    """polars over a Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def ask(self, host: str, start: datetime, window: timedelta | None) -> pa.Table:
        rows = pl.scan_parquet(self.path).filter(pl.col("hostname") == host)
        if window is not None:
            time = pl.col("time")
            rows = rows.filter((time >= start) & (time < start + window))
        return rows.collect().to_arrow()


def one_series(bench: Bench) -> None:
    shape = bench.shape(SERIES)
    parquet = bench.files.by_series(shape)
    chance = random.Random(17)
    hosts = [hostname(number) for number in chance.sample(range(shape.hosts), bench.rounds)]
    room = int((shape.end - START - HOUR).total_seconds())
    starts = [START + timedelta(seconds=chance.randint(0, room)) for _ in hosts]

    def query(host: str, start: datetime, window: timedelta | None) -> str:
        during = window and f" AND time >= {literal(start)} AND time < {literal(start + window)}"
        return f"SELECT * FROM cpu WHERE hostname = '{host}'{during or ''}"

    with opened(bench) as on, apart(Polars, parquet) as polars:

        def others(window: timedelta | None) -> dict[str, Ask]:
            return {POLARS: lambda at: polars("ask", hosts[at], starts[at], window)}

        fill(on, "cpu", bench.files.rows(shape), time="time", tags=list(shape.tags))
        for name, window in (("an hour", HOUR), ("all", None)):
            pairs = zip(hosts, starts, strict=True)
            queries = [same(query(host, start, window)) for host, start in pairs]
            title = f"{name} of one series of {shape.hosts}"
            aims = {DUCK: 3.0, POLARS: 1.0}
            asked(bench, on, title, queries, aims=aims, others=others(window))
