"""Pulsora's document of benchmarks: rows by four symbols a second, as it makes them, in and out of tables.

Its figures are of functions in Rust; ours are of the Python package, whose calls are counted in, but for parsing alone.
"""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import timestrata

from bench.python.common.sample import percentile
from bench.python.published import serving
from bench.python.published.results import Result
from bench.python.published.taking import Taken

LABEL = f"timestrata {timestrata.__version__}"
START = datetime(2024, 1, 1, 10, tzinfo=UTC)
SYMBOLS = ("AAPL", "GOOGL", "MSFT", "TSLA")
PRICES = (150.0, 2800.0, 300.0, 200.0)
# Values of a type, whose ratios and speeds are told.
TYPED_ROWS = 100_000


def rows_of(rows: int) -> pa.Table:
    """Rows as its document makes them: a second apart, prices that rise by a cent, volumes by ten."""
    return pa.table(
        {
            "timestamp": pa.array(
                [START + timedelta(seconds=at) for at in range(rows)], pa.timestamp("ms", "UTC")
            ),
            "symbol": [SYMBOLS[at % 4] for at in range(rows)],
            "price": [PRICES[at % 4] + at * 0.01 for at in range(rows)],
            "volume": [1_000 + at * 10 for at in range(rows)],
        }
    )


def csv_of(rows: pa.Table) -> bytes:
    lines = ["timestamp,symbol,price,volume"]
    lines += [
        f"{row['timestamp']:%Y-%m-%d %H:%M:%S},{row['symbol']},{row['price']:.2f},{row['volume']}"
        for row in rows.to_pylist()
    ]
    return "\n".join(lines).encode()


@dataclass
class Bench:
    """A store, and names of tables that it doesn't have yet."""

    store: timestrata.Store
    folder: Path
    few: bool
    numbers: Iterator[int]

    def new(self) -> timestrata.Table:
        return self.store.table(f"t{next(self.numbers)}", time="timestamp")

    def store_new(self, rows: pa.Table) -> None:
        self.new().append(rows)

    def ingest_new(self, text: bytes) -> None:
        self.new().ingest(io.BytesIO(text), format="csv", sync=False)

    def rounds(self, rows: int) -> int:
        return 5 if self.few else max(15, min(300, 300_000 // rows))

    def row(
        self, id: str, amount: float, run: Callable[[], Any], rounds: int, note: str = ""
    ) -> Result:
        """A rate of runs that are each timed."""
        taken = Taken()
        run()
        for _ in range(rounds):
            taken.add(run)
        return Result(
            report="pulsora", id=id, side="ours", label=LABEL, value=amount / taken.median, runs=rounds,
            **taken.latencies(), cpu=percentile(taken.cpu, 0.5), peak=percentile(taken.peak, 0.5), note=note,
        )  # fmt: skip


def arrow_of(table: timestrata.Table, *range_: datetime, **more: Any) -> Any:
    return table.scan(*range_, **more).to_arrow()


def ingestion(bench: Bench) -> Iterator[Result]:
    for rows in (100, 1_000, 10_000):
        table = rows_of(rows)
        text, rounds = csv_of(table), bench.rounds(rows)
        yield bench.row(
            f"insert {rows}",
            rows,
            partial(bench.store_new, table),
            rounds,
            "Arrow rows, a new table each",
        )
        yield bench.row(
            f"whole {rows}",
            rows,
            partial(bench.ingest_new, text),
            rounds,
            "a new table each, whose columns are told from the text",
        )
    rows = 10_000
    table = rows_of(rows)
    for size in (100, 1_000, 2_500, 10_000):
        parts = [table.slice(at, size) for at in range(0, rows, size)]

        def stored(parts: list[pa.Table] = parts) -> None:
            into = bench.new()
            for part in parts:
                into.append(part)

        yield bench.row(f"batch {size}", rows, stored, bench.rounds(rows))

    def symbols() -> None:
        bench.store.table(f"t{next(bench.numbers)}", time="timestamp", tags="symbol").append(table)

    yield bench.row("symbols", rows, symbols, bench.rounds(rows), "the symbol as a tag")

    few = rows_of(1_000)

    def ten_tables() -> None:
        for into in [bench.new() for _ in range(10)]:
            into.append(few)

    yield bench.row("tables", 10 * 1_000, ten_tables, bench.rounds(rows), "ten new tables each")


def queries(bench: Bench) -> Iterator[Result]:
    for rows in (1_000, 10_000, 100_000):
        into, rounds = bench.new(), bench.rounds(1_000)
        into.append(rows_of(rows))
        bench.store.compact(into.name)
        start, end = (
            START + timedelta(seconds=rows // 2),
            START + timedelta(seconds=rows // 2 + rows // 10),
        )

        def given(*range_: datetime, table: timestrata.Table = into, **more: Any) -> int:
            return int(arrow_of(table, *range_, **more).num_rows)

        yield bench.row(
            f"scan {rows}",
            rows,
            given,
            rounds,
            "all rows are given, as Arrow",
        )
        yield bench.row(
            f"range10 {rows}",
            rows,
            partial(given, start, end),
            rounds,
            "a tenth of all rows is given; counted as there, all rows over the time",
        )
        yield bench.row(
            f"recent1 {rows}",
            rows,
            partial(given, limit=rows // 100, reverse=True),
            rounds,
            "a hundredth of all rows is given; counted as there, all rows over the time",
        )
        if rows != 10_000:
            continue
        for size in (10, 100, 1_000):
            places = iter(range(0, 10**9, size))

            def page(
                table: timestrata.Table = into,
                size: int = size,
                rows: int = rows,
                places: Iterator[int] = places,
            ) -> Any:
                return arrow_of(table, limit=size, offset=next(places) % rows)

            yield bench.row(
                f"page {size}",
                1,
                page,
                rounds,
                "a scan with limit and offset, each page the next one",
            )
    yield from mixed(bench)


def mixed(bench: Bench) -> Iterator[Result]:
    batch, into = rows_of(100), bench.new()
    into.append(rows_of(10_000))

    def turn() -> None:
        into.append(batch)
        for at in range(10):
            first = START + timedelta(seconds=at * 900)
            into.scan(first, first + timedelta(seconds=100)).to_arrow()

    yield bench.row(
        "mixed",
        11,
        turn,
        bench.rounds(1_000),
        "of each eleven operations one stores 100 rows and ten read 100",
    )


def compression(bench: Bench) -> Iterator[Result]:
    rows = 2_000 if bench.few else TYPED_ROWS
    columns: dict[str, list[Any]] = {
        "float": [150.0 + (at * 7 % 400) / 100 for at in range(rows)],
        "integer": [1_000 + at * 10 for at in range(rows)],
        "string": [SYMBOLS[at * 7 % 4] for at in range(rows)],
        "boolean": [at % 97 == 0 for at in range(rows)],
    }
    times = rows_of(rows).column("timestamp")
    for kind, values in columns.items():
        into, taken = packed(bench, {"timestamp": times, "value": values})
        sizes = into.info()
        yield told(f"ratio {kind}", *ratio(sizes["value"], plain=rows if kind == "boolean" else None))
        if kind == "float":
            yield told("ratio timestamp", *ratio(sizes["timestamp"]))
        if kind == "boolean":
            continue
        note = "a whole compaction of the values and their times: read, ordered, encoded and synced"
        yield told(f"pack {kind}", rows / taken.median, note)
        scans = Taken()
        for _ in range(15):
            scans.add(partial(arrow_of, into, columns=["value"]))
        yield told(
            f"unpack {kind}",
            rows / scans.median,
            "a scan of the column from a compacted run, to Arrow",
        )
    into, taken = packed(bench, {"timestamp": times})
    note = "a whole compaction of times alone: read, ordered, encoded and synced"
    yield told("pack timestamp", rows / taken.median, note)
    yield bench.row(
        "unpack timestamp",
        rows,
        partial(arrow_of, into, columns=["timestamp"]),
        15,
        "a scan of the column, to Arrow",
    )


def packed(bench: Bench, columns: Mapping[str, Any]) -> tuple[timestrata.Table, Taken]:
    """A compacted table of some columns, and what its compactions took."""
    taken, into = Taken(), bench.new()
    for _ in range(5):
        into = bench.new()
        into.append(pa.table(dict(columns)))
        bench.store.flush()
        taken.add(partial(bench.store.compact, into.name))
    return into, taken


def ratio(column: Mapping[str, Any], *, plain: int | None = None) -> tuple[float, str]:
    """How many times smaller a column is than its values, or than so many bytes: a boolean has one there, and a bit of ours."""
    note = f"in a compacted run, by {', '.join(column['encodings'])}"
    if plain is None:
        return column["ratio"], note
    return plain / column["bytes"], f"{note}; a plain value is a byte, as there"


def told(id: str, value: float, note: str) -> Result:
    return Result(report="pulsora", id=id, side="ours", label=LABEL, value=value, runs=1, note=note)


def cold(bench: Bench) -> Iterator[Result]:
    """Blocks that are decoded by a store that has just been opened."""
    for rows in (1_000, 10_000):
        path, taken = bench.folder / f"cold-{rows}.store", Taken()
        with timestrata.open(path) as store:
            store.table("t", time="timestamp").append(rows_of(rows))
            store.compact("t")
        for _ in range(bench.rounds(10_000)):
            with timestrata.open(path, mode="r") as store:
                table = store.table("t")
                taken.add(partial(arrow_of, table))
        yield told(
            f"block {rows}",
            taken.median * 1e3,
            "all columns by the first scan after opening, file checks included",
        )


def hits(bench: Bench) -> Iterator[Result]:
    """Reads of the newest tenth of a table, by a store that has just been opened."""
    rows, path = 2_000 if bench.few else 100_000, bench.folder / "hits.store"
    with timestrata.open(path) as store:
        store.table("t", time="timestamp").append(rows_of(rows))
        store.compact("t")
    with timestrata.open(path, mode="r") as store:
        table, newest = store.table("t"), rows - rows // 10
        for at in range(1_000):
            start = START + timedelta(seconds=newest + at * 7_919 % (rows // 10))
            arrow_of(table, start, start + timedelta(seconds=100))
        cache = store.stats()["cache"]
    yield told(
        "hits",
        100 * cache["hit_rate"],
        "of 1,000 ranges of 100 rows, from the first one on; asked for are columns of decoded blocks",
    )


CHILD = """
import io, sys, timestrata
from pathlib import Path
def peak():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
text = Path(sys.argv[1]).read_bytes()
before = peak()
with timestrata.open(sys.argv[2]) as store:
    store.table("t", time="timestamp").ingest(io.BytesIO(text), format="csv")
print(peak() - before)
"""


def peak(bench: Bench) -> Iterator[Result]:
    text = bench.folder / "peak.csv"
    text.write_bytes(csv_of(rows_of(2_000 if bench.few else 100_000)))
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(text), str(bench.folder / "peak.store")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    yield told(
        "peak",
        int(done.stdout) * 1024 / 1e6,
        "what a process rose by, beyond Python and the text itself",
    )


def run(folder: Path, *, few: bool) -> Iterator[Result]:
    """All rows."""
    begin = time.monotonic()
    with timestrata.open(folder / "pulsora.store") as store:
        bench = Bench(store, folder, few, count())
        for group in (ingestion, queries, compression):
            yield from group(bench)
        yield from cold(bench)
        yield from hits(bench)
        yield from peak(bench)
    yield from serving.run(folder, lambda rows: csv_of(rows_of(rows)), few=few)
    print(f"({time.monotonic() - begin:.0f} s)", file=sys.stderr)
