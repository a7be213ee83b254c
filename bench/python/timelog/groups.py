"""All groups of measures, and the rows that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.python.timelog import (
    alone,
    analytics,
    complexity,
    deletion,
    demo,
    durable,
    ingestion,
    latency,
    million,
    production,
    queries,
    spans,
    tiers,
)
from bench.python.timelog.data import Book, market, order_book
from bench.python.timelog.queries import ReadCase
from bench.python.timelog.race import Bench, Line, both, reads, writes

SMALL_ROWS, MILLION, LARGE_ROWS, DURABLE_ROWS = 100_000, 1_000_000, 10_000_000, 200_000
# The lines that are taken with every set of rows, by how their names begin.
EVERYWHERE = (
    *("A2", "B1", "B2", "B4", "B5", "B6", "B7", "C3", "C8", "D1", "D5", "E5"),
    *("F3", "F5", "F6", "G1", "H1", "H3 ", "I3"),
)
# With ten million rows, a line of which each run takes long must have its reason.
LARGE = ("A2 ", "B1", "B2", "B4", "B5", "B6", "B7", "C3", "F5", "F6", "G1", "D1", "E5", "I3")
LARGE_LESS_ORDERED = ("A2 ", "B4", "B5", "B7", "D1", "E5", "I3")
# Two logs of ten million rows and the rows themselves.
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


def some(bench: Bench, book: Book, names: tuple[str, ...], rounds: int = 5) -> None:
    """The lines whose names begin so, of all categories that change little with the rows."""
    changes = (*ingestion.cases(book, rounds), *deletion.cases(book, rounds))
    for case in changes:
        if case[0].name.startswith(names):
            writes(bench, *case)
    with both(bench, book) as logs:
        for line, run in read_cases(book, rounds):
            if line.name.startswith(names):
                reads(bench, logs, line, run)
    if "I3" in names:
        tiers.merge(bench, book, rounds)


def bytes_free() -> int | None:
    """Memory that programs can have without swapping; none where nobody says."""
    found = Path("/proc/meminfo")
    for line in found.read_text().splitlines() if found.exists() else ():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return None


def large(bench: Bench, sources: Sources, late_share: float, names: tuple[str, ...]) -> None:
    free = bytes_free()
    if free is not None and free < LARGE_BYTES_FREE and not bench.quick:
        why = f"{free >> 30} GiB of memory are free, {LARGE_BYTES_FREE >> 30} are needed"
        bench.skip(f"{LARGE_ROWS:,} rows", why)
        return
    some(bench, sources.book(LARGE_ROWS, late_share), names, 3)


def real(bench: Bench, kind: str) -> None:
    book = market(bench.market, kind)
    if book is None:
        bench.skip(f"real {kind}", f"no such file in {bench.market}")
        return
    some(bench, book, EVERYWHERE)


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
    # Without the lines on storing, which are in A.
    ("order book of 100,000, 20% late", lambda b, s: some(b, s.small_less_ordered, EVERYWHERE[1:])),
    ("order book of 10 M, 5% late", lambda bench, sources: large(bench, sources, 0.05, LARGE)),
    (
        "order book of 10 M, 20% late",
        lambda bench, sources: large(bench, sources, 0.2, LARGE_LESS_ORDERED),
    ),
    ("the peer's demo", lambda bench, _: demo.run(bench)),
    ("real trades", lambda bench, _: real(bench, "trades")),
    ("real quotes", lambda bench, _: real(bench, "quotes")),
)
