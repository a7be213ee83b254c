"""What all models stand on: opening, recovery and compaction of a store."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import timestrata

from bench.python.check.measure import Class, Measure, Pair, Place, Work, measure
from bench.python.table.data import SCHEMA, trades

STREAMS, ROWS, LOG_ROWS, RUNS = 20, 200, 100_000, 8
OPENS = 5
RUN_ROWS = 25_000
PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"


def _table(store: timestrata.Store, name: str) -> timestrata.Table:
    return store.table(name, time="timestamp", tags="symbol", schema=SCHEMA)


@measure("store open", Class.DISK)
def reopen(place: Place) -> Iterator[Pair]:
    """A store of twenty tables that was closed, opened and closed again, beside reading its files and a sync of one."""
    path, other = place.new(), place.new()
    with timestrata.open(path) as store:
        for at in range(STREAMS):
            _table(store, f"t{at}").append(trades(at, ROWS))
        store.flush()

    def ours() -> None:
        for _ in range(OPENS):
            timestrata.open(path).close()

    def floor() -> None:
        for _ in range(OPENS):
            for each in path.rglob("*"):
                if each.is_file():
                    each.read_bytes()
            _written(other, bytes(4_096))

    yield Pair(Work(ours), Work(floor), f"files and a sync, {PYTHON}", True)


def _written(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fdatasync(file.fileno())


@measure("store recovery", Class.DISK)
def recovery(place: Place) -> Iterator[Pair]:
    """A store that was not closed, opened: its log is read back. Beside reading and summing the log's bytes."""
    written, path = place.new(), place.new()
    store = timestrata.open(written, maintenance="manual")
    table = _table(store, "trades")
    for at in range(10):
        table.append(trades(at, LOG_ROWS // 10))
    # As a crash leaves it: a copy of what is there while it is open.
    left = place.new()
    shutil.copytree(written, left)
    store.close()

    def ours(closing: ExitStack) -> None:
        store = closing.enter_context(timestrata.open(path, maintenance="manual"))
        if not store.recovery.commits_replayed:
            raise AssertionError("nothing was read back")

    def floor() -> int:
        return sum(crc32(each.read_bytes()) for each in left.rglob("*") if each.is_file())

    work = Work(ours, lambda: _copied(left, path))
    yield Pair(work, Work(floor), f"files and CRC-32, {PYTHON}", True)


@contextmanager
def _copied(store: Path, path: Path) -> Iterator[ExitStack]:
    """Has a copy of a store's files at a path, and closes at the end what was opened meanwhile."""
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(store, path)
    with ExitStack() as closing:
        yield closing


@measure("store compaction", Class.WRITE)
def compaction(place: Place) -> Iterator[Pair]:
    """Eight flushed runs to compacted ones, beside sorting the same rows and writing them as Parquet."""
    filled, path, parquet = place.new(), place.new(), place.new()
    with timestrata.open(filled, maintenance="manual") as store:
        table = _table(store, "trades")
        for at in range(RUNS):
            table.append(trades(at, RUN_ROWS))
            store.flush()
    rows = pa.concat_tables(trades(at, RUN_ROWS) for at in range(RUNS))

    @contextmanager
    def opened() -> Iterator[timestrata.Store]:
        with _copied(filled, path), timestrata.open(path, maintenance="manual") as store:
            yield store

    def floor() -> None:
        ordered = rows.sort_by([("symbol", "ascending"), ("timestamp", "ascending")])
        pq.write_table(ordered, parquet, compression="zstd", compression_level=3)

    work = Work(lambda store: store.compact("trades"), opened)
    yield Pair(work, Work(floor), f"sort and Parquet of pyarrow {pa.__version__}", True)


MEASURES: tuple[Measure, ...] = (reopen, recovery, compaction)
