"""A store of ours and a DuckDB file with the same rows, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import timestrata

from bench.python.common.apart import Apart, apart
from bench.python.common.files import fresh
from bench.python.common.race import OURS, Work, race
from bench.python.common.sample import Timed
from bench.python.tsbs.answers import Answer
from bench.python.tsbs.bench import Bench
from bench.python.tsbs.queries import Sql

DUCK = f"DuckDB {duckdb.__version__}"
THREADS = 2


class Duck:
    """A DuckDB file. Times in it have no zone, and are UTC: that is the quicker of its types."""

    def __init__(self, path: Path) -> None:
        self.path = fresh(path)
        fresh(path.with_name(f"{path.name}.wal"))
        self.connection = duckdb.connect(path)
        self.connection.execute(f"SET threads = {THREADS}; SET TimeZone = 'UTC'")

    def create(self, name: str, schema: pa.Schema) -> None:
        self.append(name, schema.empty_table(), "CREATE TABLE {} AS SELECT")

    def append(self, name: str, rows: pa.Table, how: str = "INSERT INTO {} SELECT") -> None:
        zoned = [field.name for field in rows.schema if pa.types.is_timestamp(field.type)]
        plain = ", ".join(f"CAST({column} AS TIMESTAMP) AS {column}" for column in zoned)
        self.connection.register("given", rows)
        self.connection.execute(f"{how.format(name)} * REPLACE ({plain}) FROM given")
        self.connection.unregister("given")

    def ask(self, query: str) -> pa.Table:
        return self.connection.sql(query).to_arrow_table()

    def checkpoint(self) -> None:
        self.connection.execute("CHECKPOINT")


class Ours:
    """A store of ours."""

    def __init__(self, path: Path) -> None:
        self.store = timestrata.open(fresh(path))

    def create(self, name: str, schema: pa.Schema, **options: Any) -> None:
        self.store.table(name, schema=schema, **options)

    def append(self, name: str, rows: pa.Table) -> None:
        self.store.table(name).append(rows)

    def compact(self, name: str) -> None:
        self.store.compact(name)

    def ask(self, query: str) -> pa.Table:
        return self.store.sql(query).to_arrow()

    def run_bytes(self) -> int:
        """Bytes of the runs of all streams: what rows take, without the log."""
        return sum(stream["run_bytes"] for stream in self.store.stats()["streams"].values())


@dataclass
class Sides:
    """The same rows on both sides."""

    ours: Apart
    duck: Apart
    duck_path: Path


@contextmanager
def opened(bench: Bench) -> Iterator[Sides]:
    """Both sides, without rows."""
    path = bench.dir / "tsbs.duckdb"
    with apart(Ours, bench.dir / "tsbs.store") as ours, apart(Duck, path) as duck:
        yield Sides(ours, duck, path)


def create(on: Sides, name: str, schema: pa.Schema, **options: Any) -> None:
    """A table of ours, and DuckDB's of the same columns beside it."""
    on.duck("create", name, schema)
    on.ours("create", name, schema, **options)


def fill(on: Sides, name: str, rows: pa.Table, **options: Any) -> None:
    """A table of that name on both sides, compacted here and written to its file there."""
    create(on, name, rows.schema, **options)
    on.ours("append", name, rows)
    on.ours("compact", name)
    on.duck("append", name, rows)
    on.duck("checkpoint")


# What a side is asked in the turn of some number.
Ask = Callable[[int], Timed | pa.Table]


def asked(
    bench: Bench,
    on: Sides,
    name: str,
    queries: Sequence[Sql],
    *,
    aims: Mapping[str, float],
    places: Sequence[int] | None = None,
    others: Mapping[str, Ask] | None = None,
) -> None:
    """Races all sides through the same queries, one a turn, once each side has answered the first."""
    asks: dict[str, Ask] = {
        OURS: lambda at: on.ours("ask", queries[at].ours),
        DUCK: lambda at: on.duck("ask", queries[at].duck),
        **(others or {}),
    }
    try:
        for ask in asks.values():
            ask(0)
    except Exception as error:
        bench.fail(name, error)
        return

    def in_turns(ask: Ask) -> Work:
        numbers = cycle(range(len(queries)))
        return lambda: ask(next(numbers))

    race(
        bench,
        name,
        1,
        {side: in_turns(ask) for side, ask in asks.items()},
        dict(aims),
        unit="ms",
        rounds=bench.rounds,
        answer=lambda table: Answer(table, places),
    )
