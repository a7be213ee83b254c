"""A table of metrics with tags, late rows and retention by age; and one with an upsert key, a row a host."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import timestrata
from bench.python.soak.loads.load import Load, Shared

SECOND_US = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOSTS = 200
ROWS = 40
METRICS = {"at": "timestamp[us, tz=UTC]", "host": "string", "v": "int64", "load": "float64"}
CURRENT = {"at": "timestamp[us, tz=UTC]", "host": "string", "v": "int64"}
RANGE = "SELECT count(*) AS n, sum(v) AS total FROM metrics WHERE at >= $1 AND at < $2"


class TableLoad(Load):
    model = "table"
    rate = 25.0

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.age_us = int(shared.settings.kept_seconds * SECOND_US)
        # By second of their time, how many rows there are and what they come to.
        self.buckets: dict[int, tuple[int, int]] = {}
        self.hosts: dict[str, int] = {}
        self.choices = [
            (self.append, 0.35), (self.append_synced, 0.03), (self.upsert, 0.2), (self.sql, 0.08), (self.scan, 0.08),
            (self.counted, 0.06), (self.row, 0.1), (self.delete, 0.02), (self.delete_host, 0.04), (self.latest, 0.02),
            (self.each, 0.02),
        ]  # fmt: skip
        self.attach(shared.store)
        self.metrics.set_retention(age=shared.settings.kept_seconds)

    def attach(self, store: timestrata.Store) -> None:
        self.store = store
        self.metrics = store.table("metrics", time="at", tags="host", schema=METRICS)
        self.current = store.table("current", time="at", key="host", schema=CURRENT)

    def step(self) -> None:
        super().step()
        if self.steps % 100 == 0:
            oldest = (time.time_ns() // 1000 - self.age_us) // SECOND_US
            for bucket in [bucket for bucket in self.buckets if bucket < oldest]:
                del self.buckets[bucket]

    def _rows(self) -> dict[str, list[Any]]:
        """Rows of now, some of them late, counted as written."""
        now = time.time_ns() // 1000
        rows: dict[str, list[Any]] = {name: [] for name in METRICS}
        for _ in range(ROWS):
            late = self.rng.randrange(self.age_us // 10) if self.rng.random() < 0.15 else 0
            value = self.rng.randrange(1_000_000)
            count, total = self.buckets.get((now - late) // SECOND_US, (0, 0))
            self.buckets[(now - late) // SECOND_US] = (count + 1, total + value)
            each = (
                moment(now - late),
                host_of(self.rng.randrange(HOSTS)),
                value,
                self.rng.random() * 8,
            )
            for name, cell in zip(METRICS, each, strict=True):
                rows[name].append(cell)
        return rows

    def append(self, *, sync: bool = False) -> None:
        rows = self._rows()
        given = self.timed(
            "append synced" if sync else "append", self.metrics.append, rows, sync=sync
        )
        self.expect("rows appended", given, ROWS)

    def append_synced(self) -> None:
        self.append(sync=True)

    def upsert(self) -> None:
        rows = []
        for _ in range(self.rng.choice((1, 1, 10))):
            host, value = host_of(self.rng.randrange(HOSTS)), self.rng.randrange(1_000_000)
            self.hosts[host] = value
            rows.append({"at": moment(time.time_ns() // 1000), "host": host, "v": value})
        self.timed("upsert", self.current.append, rows)

    def _span(self) -> tuple[int, int]:
        """Some seconds that retention can't have reached."""
        last = time.time_ns() // 1000 // SECOND_US + 1
        first = self.rng.randrange(last - max(self.age_us // SECOND_US // 2, 1), last)
        return first, min(first + 5, last)

    def _wanted(self, first: int, last: int) -> tuple[int, int]:
        of = [self.buckets.get(bucket, (0, 0)) for bucket in range(first, last)]
        return sum(count for count, _ in of), sum(total for _, total in of)

    def sql(self) -> None:
        first, last = self._span()
        ends = [moment(first * SECOND_US), moment(last * SECOND_US)]
        row = self.timed("sql", lambda: self.store.sql(RANGE, ends).to_pylist())[0]
        self.expect(
            f"count and sum of {ends}, by SQL",
            (row["n"], row["total"] or 0),
            self._wanted(first, last),
        )

    def scan(self) -> None:
        first, last = self._span()
        ends = (moment(first * SECOND_US), moment(last * SECOND_US))
        rows = self.timed("scan", lambda: self.metrics.scan(*ends, columns=["v"]).to_pylist())
        found = (len(rows), sum(row["v"] for row in rows))
        self.expect(f"count and sum of {ends}, scanned", found, self._wanted(first, last))

    def counted(self) -> None:
        first, last = self._span()
        ends = (moment(first * SECOND_US), moment(last * SECOND_US))
        self.expect(
            f"count of {ends}",
            self.timed("count", self.metrics.count, *ends),
            self._wanted(first, last)[0],
        )

    def row(self) -> None:
        host = host_of(self.rng.randrange(HOSTS))
        row = self.timed("row", self.current.row, host)
        self.expect(f"row of {host}", None if row is None else row["v"], self.hosts.get(host))

    def delete(self) -> None:
        first, _ = self._span()
        ends = (moment(first * SECOND_US), moment((first + 1) * SECOND_US))
        self.timed("delete range", self.metrics.delete, *ends)
        self.buckets.pop(first, None)

    def delete_host(self) -> None:
        host = host_of(self.rng.randrange(HOSTS))
        self.timed("delete where", self.current.delete, where="host = $1", params=[host])
        self.hosts.pop(host, None)

    def latest(self) -> None:
        first, _ = self._span()
        rows = self.timed(
            "latest", lambda: self.metrics.latest("host", moment(first * SECOND_US)).to_pylist()
        )
        hosts = {row["host"] for row in rows}
        self.expect("whether each host has one newest row", len(hosts), len(rows))

    def each(self) -> None:
        rows = self.timed("scan keyed", lambda: self.current.scan().to_pylist())
        self.expect("rows by key", {row["host"]: row["v"] for row in rows}, self.hosts)
        self.expect("rows of one key", len(rows), len(self.hosts))

    def verify(self) -> None:
        self.each()
        last = time.time_ns() // 1000 // SECOND_US + 1
        first = last - self.age_us // SECOND_US // 2
        ends = [moment(first * SECOND_US), moment(last * SECOND_US)]
        row = self.store.sql(RANGE, ends).to_pylist()[0]
        self.expect(
            f"count and sum of {ends}", (row["n"], row["total"] or 0), self._wanted(first, last)
        )


def moment(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def host_of(number: int) -> str:
    return f"host-{number:03}"
