"""The suite's 15 queries: for each name what it is asked about, and its words on both sides.

Most are the same on both. Where they differ, each has the words that are the quickest there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bench.python.tsbs.data import FIELDS, START, TAGS, Shape, hostname

HIGH_CPU = 90.0


@dataclass(frozen=True)
class Params:
    """What a query is asked about."""

    start: datetime
    end: datetime
    hosts: tuple[str, ...]

    @property
    def during(self) -> str:
        return f"time >= {literal(self.start)} AND time < {literal(self.end)}"

    @property
    def on_hosts(self) -> str:
        return f"hostname IN ({', '.join(repr(host) for host in self.hosts)})"


@dataclass(frozen=True)
class Sql:
    """One question in the words of both sides."""

    ours: str
    duck: str


@dataclass(frozen=True)
class Query:
    """A window of so many hours and so many hosts, both drawn by chance, and the words."""

    hours: int
    hosts: int
    sql: Callable[[Params], Sql]

    def drawn(self, shape: Shape, seed: str, times: int) -> list[Sql]:
        """As many as are asked for, about windows and hosts that follow from the seed.

        Where there are not so many hours of rows as the window has, it is all of them.
        """
        chance = random.Random(seed)
        window = min(timedelta(hours=self.hours), shape.end - START)
        room = int((shape.end - START - window).total_seconds())
        found = []
        for _ in range(times):
            start = START + timedelta(seconds=chance.randint(0, room))
            hosts = chance.sample(range(shape.hosts), self.hosts)
            found.append(self.sql(Params(start, start + window, tuple(map(hostname, hosts)))))
        return found


def literal(moment: datetime) -> str:
    return f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}'"


def each(function: str, fields: Sequence[str]) -> str:
    return ", ".join(f"{function}({field}) AS {field}" for field in fields)


def same(text: str) -> Sql:
    return Sql(ours=text, duck=text)


def by_minute(fields: int, hosts: int, hours: int) -> Query:
    """The most of some fields, of some hosts together, by the minute."""
    return Query(
        hours,
        hosts,
        lambda of: same(
            f"SELECT time_bucket(INTERVAL '1 minute', time) AS minute, {each('max', FIELDS[:fields])} "
            f"FROM cpu WHERE {of.on_hosts} AND {of.during} GROUP BY minute ORDER BY minute"
        ),
    )


def by_hour(hosts: int) -> Query:
    """The most of all fields, of some hosts together, by the hour."""
    return Query(
        8,
        hosts,
        lambda of: same(
            f"SELECT time_bucket(INTERVAL '1 hour', time) AS hour, {each('max', FIELDS)} "
            f"FROM cpu WHERE {of.on_hosts} AND {of.during} GROUP BY hour ORDER BY hour"
        ),
    )


def by_hour_and_host(fields: int) -> Query:
    """The average of some fields, of each host, by the hour."""
    return Query(
        12,
        0,
        lambda of: same(
            f"SELECT time_bucket(INTERVAL '1 hour', time) AS hour, hostname, {each('avg', FIELDS[:fields])} "
            f"FROM cpu WHERE {of.during} GROUP BY hour, hostname ORDER BY hour, hostname"
        ),
    )


def high_cpu(of: Params) -> Sql:
    """All columns of the rows with a busy processor."""
    hosts = f" AND {of.on_hosts}" if of.hosts else ""
    return same(f"SELECT * FROM cpu WHERE usage_user > {HIGH_CPU} AND {of.during}{hosts}")


def last_minutes(of: Params) -> Sql:
    """The most of one field in the last five minutes before some time."""
    return same(
        "SELECT time_bucket(INTERVAL '1 minute', time) AS minute, max(usage_user) AS usage_user "
        f"FROM cpu WHERE time < {literal(of.end)} GROUP BY minute ORDER BY minute DESC LIMIT 5"
    )


def last_point(_: Params) -> Sql:
    """The newest row of each host, of which there is one: hosts have a row a time.

    For DuckDB the join is the quickest by far: its newest times leave out most of the table, where `arg_max` of each
    column and `DISTINCT ON` read all of it.
    """
    columns = ["time", *TAGS, *FIELDS]
    newest = "SELECT hostname, max(time) AS time FROM cpu GROUP BY hostname"
    return Sql(
        ours=f"SELECT {', '.join(columns)} FROM latest_on(cpu, time, hostname)",
        duck=f"SELECT cpu.* FROM cpu JOIN ({newest}) AS newest "
        "ON cpu.hostname = newest.hostname AND cpu.time = newest.time",
    )


QUERIES: dict[str, Query] = {
    "single-groupby-1-1-1": by_minute(fields=1, hosts=1, hours=1),
    "single-groupby-1-1-12": by_minute(fields=1, hosts=1, hours=12),
    "single-groupby-1-8-1": by_minute(fields=1, hosts=8, hours=1),
    "single-groupby-5-1-1": by_minute(fields=5, hosts=1, hours=1),
    "single-groupby-5-1-12": by_minute(fields=5, hosts=1, hours=12),
    "single-groupby-5-8-1": by_minute(fields=5, hosts=8, hours=1),
    "cpu-max-all-1": by_hour(hosts=1),
    "cpu-max-all-8": by_hour(hosts=8),
    "double-groupby-1": by_hour_and_host(fields=1),
    "double-groupby-5": by_hour_and_host(fields=5),
    "double-groupby-all": by_hour_and_host(fields=len(FIELDS)),
    "high-cpu-1": Query(12, 1, high_cpu),
    "high-cpu-all": Query(12, 0, high_cpu),
    "groupby-orderby-limit": Query(1, 0, last_minutes),
    "lastpoint": Query(1, 0, last_point),
}
