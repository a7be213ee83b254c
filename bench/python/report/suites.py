"""The suites that there are, and the five figures of the picture."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """What `make bench SUITE=key` measures; `members` are the suites of its lines."""

    key: str
    title: str
    members: tuple[str, ...]
    about: str

    @property
    def command(self) -> str:
        return f"make bench SUITE={self.key}"

    def rows(self, results: list[Row]) -> list[Row]:
        """Its lines, those of its first member first."""
        return [row for member in self.members for row in results if row["suite"] == member]


SUITES = (
    Suite("table", "Tables", ("table",), "beside DuckDB, polars, SQLite and DataFusion, over the same rows"),
    Suite("tsbs", "Tables, by a public benchmark", ("tsbs",), "beside DuckDB's own table, on the rows and queries of TSBS, the Time Series Benchmark Suite"),
    Suite("timelog", "Time logs", ("timelog",), "beside timelog-lib in memory; on a disk beside SQLite, RocksDB and LMDB"),
    Suite("logs", "Logs", ("logs", "logs-python"), "from Rust, then beside ripgrep, grep, DuckDB and SQLite's FTS5"),
    Suite("topic", "Topics", ("topic",), "beside merkql, another log that can be proved, the disk, and SHA-256"),
    Suite("graph", "Graphs", ("graph", "graph-python"), "from Rust beside petgraph and RocksDB, from Python beside rustworkx, kuzu, networkx and SQLite"),
    Suite("store", "All models together", ("store-python", "store"), "one commit over five models beside one a model; what is read and sent on exactly once beside the same without that; the past, followers and views while it is written; all models in one query beside DuckDB; topics over HTTP beside the process itself"),
    Suite("engine", "The engine under them", ("engine",), "beside the disk, memory, and LMDB, redb, RocksDB, fjall and SQLite"),
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """One figure of the picture: the first row of a suite whose name and peer fit."""

    suite: str
    label: str
    peer: str
    row: re.Pattern[str]
    against: re.Pattern[str]

    def found(self, results: list[Row]) -> Row | None:
        for row in results:
            if (
                row["suite"] == self.suite
                and self.row.match(row["name"])
                and self.against.match(row["against"])
            ):
                return row
        return None


def _figure(suite: str, label: str, peer: str, row: str, against: str) -> Figure:
    return Figure(suite, label, peer, re.compile(row), re.compile(against))


# One a model; each is a job that people have, not the best row of its suite.
FIGURES = (
    _figure("table", "Table: a CSV file to durable rows", "DuckDB", r"CSV file to durable table, trades", r"DuckDB, 2 threads"),
    _figure("timelog", "Time log: extend by a list of pairs", "timelog-lib", r"extend of a list of pairs", r"timelog-lib"),
    _figure("logs-python", "Logs: count a rare word", "ripgrep", r"rare word", r"ripgrep$"),
    _figure("topic", "Topic: read a record at random", "merkql", r"random read, ", r"merkql"),
    _figure("graph-python", "Graph: walk all of it", "rustworkx", r"whole walk, ", r"rustworkx, descendants"),
)  # fmt: skip
