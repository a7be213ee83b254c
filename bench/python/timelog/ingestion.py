"""A: data ingestion. Timing begins with rows in memory, but for A0, which reads CSV too."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from bench.python.timelog.data import SEED, Book, csv_rows, csv_text
from bench.python.timelog.race import BATCH_ROWS, Bench, Line, load, writes
from bench.python.common.sample import median, quiet, timed
from bench.python.timelog.sides import Log, Side

WriteCase: TypeAlias = tuple[Line, Callable[[Side], Log], Callable[[Log], Any]]

BACKGROUND = {"maintenance": "background", "busy_policy": "flush"}
SMALL_MEMTABLE = {"memtable_max_bytes": 64 << 10}


def opened(**settings: Any) -> Callable[[Side], Log]:
    """Makes empty logs with these settings."""
    return lambda side: side.open(**settings)


def append_all(log: Log, book: Book) -> None:
    append = log.append
    for ts, row in zip(book.times, book.rows, strict=True):
        append(ts, row)


def batches(book: Book) -> Callable[[Log], Any]:
    def run(log: Log) -> None:
        load(log, book)

    return run


def shuffled(book: Book) -> Book:
    """The same rows, in no order at all."""
    pairs = list(book.pairs())
    random.Random(SEED).shuffle(pairs)
    return Book(f"{len(book):,} rows, shuffled", [ts for ts, _ in pairs], [row for _, row in pairs])


def cases(book: Book, rounds: int = 5) -> Iterator[WriteCase]:
    """What is done with every set of rows."""
    rows = len(book)
    note = f"`extend` of pairs, {BATCH_ROWS:,} a call; {book.late_share():.1%} late"

    def line(name: str, amount: int, note: str = "", aim: float | None = None) -> Line:
        return Line(f"{name} [{book.name}]", amount, aim=aim, note=note, rounds=rounds)

    aim = 1.2 if "20% late" in book.name else None
    yield line("A2 extend in batches", rows, note, aim), opened(), batches(book)
    yield (
        line("A2B extend in batches, background maintenance", rows, note),
        opened(**BACKGROUND),
        batches(book),
    )


def cases_of_order_book(book: Book) -> Iterator[WriteCase]:
    """The rest, with the order book only."""
    half, tenth, fifth = (book.head(len(book) // part) for part in (2, 10, 5))
    text, pairs = csv_text(half), list(half.pairs())
    mixed = shuffled(fifth)

    def line(name: str, of: Book, note: str = "") -> Line:
        return Line(f"{name} [{len(of):,} rows]", len(of), note=note)

    yield line("A0 end to end, with reading CSV", half), opened(), lambda log: log.extend(
        csv_rows(text)
    )
    yield line("A0 the log alone", half, "pairs made before"), opened(), lambda log: log.extend(
        pairs
    )
    yield line("A1 append, a call a row", tenth), opened(), lambda log: append_all(log, tenth)
    yield (
        line("A3 streaming append, background maintenance", half),
        opened(**BACKGROUND),
        lambda log: append_all(log, half),
    )
    yield line("A4 shuffled rows", mixed, "nearly all late"), opened(), batches(mixed)
    yield (
        line("A5 memtable of 64 KiB", fifth, "many flushes"),
        opened(**SMALL_MEMTABLE),
        batches(fifth),
    )


def cost_of_disorder(bench: Bench, ordered: Book, less: Book) -> None:
    """A6: how much longer rows of which more are late take."""
    rows = len(ordered) * 2 // 5
    costs: dict[bool, list[float]] = {True: [], False: []}
    for sides in bench.turns(7):
        for side in sides:
            seconds = []
            for book in (ordered.head(rows), less.head(rows)):
                log = side.open()
                with quiet():
                    seconds.append(timed(load, log, book)[0])
                log.close()
            costs[side is bench.ours].append(seconds[1] / seconds[0])
    bench.compare(
        f"A6 time with 20% late beside 5% late [{rows:,} rows]",
        "x",
        median(costs[True]),
        median(costs[False]),
        note="median of pairs of runs, a fresh log each",
    )


def run(bench: Bench, ordered: Book, less: Book) -> None:
    for book in (ordered, less):
        for case in cases(book):
            writes(bench, *case)
    for case in cases_of_order_book(ordered):
        writes(bench, *case)
    cost_of_disorder(bench, ordered, less)
