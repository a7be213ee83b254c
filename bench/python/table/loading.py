"""Rows in: files, Arrow, single rows; what they take on disk and in memory."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import timestrata

from bench.python.common.files import bytes_of, fresh
from bench.python.common.race import OURS, race
from bench.python.common.report import Measure
from bench.python.table import smallest
from bench.python.table.bench import Bench
from bench.python.table.data import chunks
from bench.python.table.sides import Duck, moment, opened, run_bytes

ROWS = 10_000_000
PEER_ROWS_PER_S = 355_000
ROOT = Path(__file__).resolve().parents[3]


def ingest(path: Path, csv: Path, **options: Any) -> int:
    """A file to a durable table, in a store of its own."""
    with timestrata.open(fresh(path)) as store:
        table = store.table("trades", **options)
        table.ingest(csv)
        store.sync()
        return len(table)


def duck(path: Path, csv: Path, threads: int) -> int:
    side = Duck(fresh(path), threads)
    side.connection.execute(f"CREATE TABLE trades AS SELECT * FROM read_csv('{csv}')")
    side.connection.execute("CHECKPOINT")
    [(rows,)] = side.connection.execute("SELECT count(*) FROM trades").fetchall()
    side.close()
    return int(rows)


def files(bench: Bench) -> None:
    rows = bench.many(ROWS)
    sources = {"trades": (bench.files.csv(rows), rows, "timestamp")}
    sources["flights"] = (bench.files.flights(), 336_776, "time_hour")
    sources["TSBS cpu"] = (bench.files.cpu(), 172_800, "timestamp")
    ours, other = bench.dir / "load.store", bench.dir / "load.duckdb"
    for name, (csv, amount, time) in sources.items():
        race(
            bench,
            f"CSV file to durable table, {name}",
            amount,
            {
                OURS: lambda csv=csv, time=time: ingest(ours, csv, time=time),
                "DuckDB, 1 thread": lambda csv=csv: duck(other, csv, 1),
                "DuckDB, 2 threads": lambda csv=csv: duck(other, csv, 2),
            },
            {"DuckDB, 1 thread": 1.0, "DuckDB, 2 threads": 1.0},
            rounds=3 if name == "trades" else 7,
        )
    for measure in list(bench.measures):
        if measure.name == "CSV file to durable table, trades [DuckDB, 1 thread]":
            title = "CSV file to durable table, trades [the peer's 355 K rows/s]"
            note = "the peer's own figure, on a machine like this"
            bench.report(
                Measure(title, "rows/s", measure.value, "355 K", PEER_ROWS_PER_S, 10.0, note)
            )


def late(bench: Bench) -> None:
    """A fifth of the rows late."""
    rows = bench.many(ROWS)
    ordered, unordered = bench.files.csv(rows), bench.files.late_csv(rows)
    path = bench.dir / "late.store"
    race(
        bench,
        "CSV file to durable table, 20 % late",
        rows,
        {
            OURS: lambda: ingest(path, unordered, time="timestamp"),
            "own, in order": lambda: ingest(path, ordered, time="timestamp"),
        },
        {"own, in order": 0.7},
        rounds=3,
    )
    with opened(bench.dir / "late.store", unordered) as store:
        with opened(bench.dir / "ordered.store", ordered) as other:
            sides = {OURS: store.table("trades"), "own, in order": other.table("trades")}
            width, chance = rows // 100, random.Random(3)
            # All over the table, so that decoding is in the figure, and not the cache alone.
            firsts = [chance.randrange(rows - width) for _ in range(100)]

            def ranges(side: str) -> int:
                found = (sides[side].scan(moment(at), moment(at + width)) for at in firsts)
                return sum(range_.to_arrow().num_rows for range_ in found)

            race(
                bench,
                "ranges of 1 % after compaction, 20 % late",
                width * len(firsts),
                {side: lambda side=side: ranges(side) for side in sides},
                {"own, in order": 1.0},
                rounds=9,
            )


def arrow(bench: Bench) -> None:
    rows = bench.many(ROWS)
    batches = pa.concat_tables(chunks(rows)).to_batches(max_chunksize=65_536)
    schema = batches[0].schema

    def ours() -> int:
        with timestrata.open(fresh(bench.dir / "arrow.store")) as store:
            table = store.table("trades", time="timestamp", schema=schema)
            table.append(pa.Table.from_batches(batches))
            store.sync()
            return len(table)

    def written() -> int:
        path = fresh(bench.dir / "arrow.file")
        with path.open("wb") as file:
            with pa.ipc.new_file(file, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            file.flush()
            os.fsync(file.fileno())
        return rows

    works = {OURS: ours, "write and one fsync": written}
    race(bench, "Arrow batches to durable table", rows, works, {"write and one fsync": 0.5})


def single(bench: Bench) -> None:
    """Rows one by one, each of them readable at once."""
    rows = bench.many(100_000)
    given = [row for table in chunks(rows) for row in table.to_pylist()]
    flat = [(int(r["timestamp"].timestamp() * 1e3), r["symbol"], r["price"], r["volume"]) for r in given]

    def ours() -> int:
        with timestrata.open(fresh(bench.dir / "single.store")) as store:
            schema = {
                "timestamp": "timestamp[ms, UTC]",
                "symbol": "utf8",
                "price": "float64",
                "volume": "int64",
            }
            table = store.table("trades", time="timestamp", schema=schema)
            for row in given:
                table.append(row)
            return len(table)

    def sqlite() -> int:
        connection = sqlite3.connect(fresh(bench.dir / "single.sqlite"))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE trades (timestamp INT, symbol TEXT, price REAL, volume INT)")
        connection.execute("CREATE INDEX at ON trades (timestamp)")
        connection.execute("BEGIN")
        for row in flat:
            connection.execute("INSERT INTO trades VALUES (?, ?, ?, ?)", row)
        connection.execute("COMMIT")
        [(count,)] = connection.execute("SELECT count(*) FROM trades")
        connection.close()
        return int(count)

    works = {OURS: ours, "SQLite, one transaction": sqlite}
    race(bench, "single rows from Python", rows, works, {"SQLite, one transaction": 1.0})


def size(bench: Bench) -> None:
    rows = bench.many(ROWS)
    with opened(bench.dir / "size.store", bench.files.csv(rows)) as store:
        ours = run_bytes(store) / 1e6
    duck(bench.dir / "size.duckdb", bench.files.csv(rows), 2)
    best = smallest.write(fresh(bench.dir / "size.parquet"), pa.concat_tables(chunks(rows)))
    # Four fifths of the others' bytes.
    others = {
        "Parquet, ZSTD 3": (bench.files.parquet(rows), 1.25),
        "DuckDB": (bench.dir / "size.duckdb", 1.25),
        "Parquet, ZSTD 3, in row groups of a million and each column as it is smallest": (best, None),
    }
    for side, (path, aim) in others.items():
        note, other = f"{rows} rows", bytes_of(path) / 1e6
        bench.report(Measure(f"size on disk [{side}]", "MB", ours, side, other, aim, note))


def memory(bench: Bench) -> None:
    rows = bench.many(ROWS)
    command = [sys.executable, "-m", "bench.python.table.child", str(bench.files.csv(rows))]
    path = fresh(bench.dir / "memory.store")
    done = subprocess.run([*command, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    peak = json.loads(done.stdout)["peak_bytes"] / 1e6
    note = f"{rows} rows, all of the process (VmHWM)"
    bench.report(Measure("peak memory of loading", "MB", peak, "300 MB", 300.0, 1.0, note))
