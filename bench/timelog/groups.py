"""All groups of measures, and the rows that they share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from bench.timelog import (
    alone,
    analytics,
    complexity,
    deletion,
    durable,
    ingestion,
    latency,
    million,
    production,
    queries,
    spans,
    tiers,
)
from bench.timelog.data import Book, market, order_book
from bench.timelog.queries import ReadCase
from bench.timelog.race import Bench, Line, both, reads, writes

SMALL_ROWS, MILLION, LARGE_ROWS, DURABLE_ROWS = 100_000, 1_000_000, 10_000_000, 200_000
# Of the lines on reading, those that are taken with every set of rows.
EVERYWHERE = ("B1", "B2", "B4", "B5", "B6", "B7", "C3", "C8", "F3", "F5", "F6", "G1", "H1", "H3 ")
# With two logs of ten million rows and the rows themselves.
LARGE_BYTES_FREE = 9 << 30


class Sources:
    """Sets of rows, each made when it is first asked for."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def book(self, rows: int, late_share: float) -> Book:
        return order_book(self._bench.many(rows), late_share)

    @cached_property
    def small(self) -> Book:
        return self.book(SMALL_ROWS, 0.05)

    @cached_property
    def small_less_ordered(self) -> Book:
        return self.book(SMALL_ROWS, 0.2)


def read_cases(book: Book, rounds: int) -> Iterator[ReadCase]:
    def line(name: str, amount: int, unit: str = "rows/s", **more: Any) -> Line:
        return Line(f"{name} [{book.name}]", amount, unit, rounds=rounds, **more)

    for module in (queries, analytics, spans):
        yield from module.cases(book, line)


def reading(bench: Bench, letters: str, book: Book) -> None:
    """Lines of some categories on a loaded log."""
    with both(bench, book) as logs:
        for line, run in read_cases(book, 5):
            if line.name[0] in letters:
                reads(bench, logs, line, run)


def essentials(bench: Bench, book: Book, rounds: int) -> None:
    """The lines that are taken with every set of rows."""
    for case in ingestion.cases(book, rounds):
        writes(bench, *case)
    with both(bench, book) as logs:
        for line, run in read_cases(book, rounds):
            if line.name.startswith(EVERYWHERE):
                reads(bench, logs, line, run)
    for delete in deletion.cases(book, rounds):
        if delete[0].name.startswith(("D1", "D5", "E2")):
            writes(bench, *delete)
    tiers.merge(bench, book, rounds)


def large(bench: Bench, sources: Sources, late_share: float) -> None:
    what = f"{LARGE_ROWS:,} rows"
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free < LARGE_BYTES_FREE and not bench.quick:
        bench.skip(what, f"{free >> 30} GiB of memory free, {LARGE_BYTES_FREE >> 30} are needed")
        return
    essentials(bench, sources.book(LARGE_ROWS, late_share), 3)


def real(bench: Bench, kind: str) -> None:
    book = market(bench.market, kind)
    if book is None:
        bench.skip(f"real {kind}", f"no such file in {bench.market}")
        return
    essentials(bench, book, 5)


def deletion_and_upkeep(bench: Bench, sources: Sources) -> None:
    for case in (*deletion.cases(sources.small), *deletion.upkeep(sources.small)):
        writes(bench, *case)


def with_a_million(bench: Bench, sources: Sources) -> None:
    million.run(bench, sources.book(MILLION, 0.05), sources.book(MILLION, 0.2))


Group = Callable[[Bench, Sources], None]

GROUPS: tuple[tuple[str, Group], ...] = (
    ("a million rows", with_a_million),
    ("latency", lambda bench, sources: latency.run(bench, sources.book(MILLION, 0.05))),
    ("memory and the hot hour", lambda bench, _: alone.run(bench)),
    ("durable", lambda bench, sources: durable.run(bench, sources.book(DURABLE_ROWS, 0.05))),
    (
        "A ingestion",
        lambda bench, sources: ingestion.run(bench, sources.small, sources.small_less_ordered),
    ),
    ("B queries", lambda bench, sources: reading(bench, "B", sources.small)),
    ("C analytics", lambda bench, sources: reading(bench, "C", sources.small)),
    ("D, E deletion and upkeep", deletion_and_upkeep),
    ("F, G spans and iterators", lambda bench, sources: reading(bench, "FG", sources.small)),
    ("H applications", lambda bench, sources: reading(bench, "H", sources.small)),
    ("I tiers", lambda bench, sources: tiers.run(bench, sources.small)),
    ("J complexity", lambda bench, sources: complexity.run(bench, sources.small)),
    ("K production", lambda bench, sources: production.run(bench, sources.small)),
    ("order book of 100,000, 20% late", lambda b, s: essentials(b, s.small_less_ordered, 5)),
    ("order book of 10 M, 5% late", lambda bench, sources: large(bench, sources, 0.05)),
    ("order book of 10 M, 20% late", lambda bench, sources: large(bench, sources, 0.2)),
    ("real trades", lambda bench, _: real(bench, "trades")),
    ("real quotes", lambda bench, _: real(bench, "quotes")),
)
