"""B and H: queries by time, and the patterns of trading programs that are made of them."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from bench.python.timelog.data import ORDER, SECOND_NS, SEED, STATUS, Book
from bench.python.timelog.race import Line
from bench.python.timelog.sides import Log

ReadCase: TypeAlias = tuple[Line, Callable[[Log], Any]]


def count(rows: Any) -> int:
    """Rows of an iterator, at the speed of C."""
    numbers = itertools.count()
    deque(zip(rows, numbers, strict=False), maxlen=0)
    return next(numbers)


def drain(rows: Any) -> None:
    """Takes every row of an iterator and keeps none."""
    deque(rows, maxlen=0)


def picks(book: Book, number: int) -> list[int]:
    """Times at random that rows have."""
    return random.Random(SEED).choices(book.times, k=number)


def windows(log: Log, starts: list[int], width: int) -> int:
    """Rows in windows from these times on, asked for one by one."""
    rows, get = 0, log.range
    for start in starts:
        rows += len(list(get(start, start + width)))
    return rows


def points(log: Log, times: list[int]) -> int:
    rows, at = 0, log.at
    for ts in times:
        rows += len(at(ts))
    return rows


def in_window(book: Book, start: int, end: int) -> int:
    """How many rows there are, for the amount of a line."""
    return bisect_left(book.sorted_times, end) - bisect_left(book.sorted_times, start)


def scans(book: Book, line: Callable[..., Line]) -> Iterator[ReadCase]:
    """B1 to B4: rows of one range."""
    middle, end = book.time_at(0.5), book.end
    second = middle + SECOND_NS
    late_start = book.time_at(0.01)
    minute = min(book.start + 60 * SECOND_NS, end)

    def rows(start: int, end: int) -> int:
        return max(1, in_window(book, start, end))

    yield line("B1 a slice of one second", rows(middle, second)), lambda log: count(
        log[middle:second]
    )
    yield line("B2 since the first hundredth", rows(late_start, end)), lambda log: count(
        log[late_start:]
    )
    yield line("B3 the first minute", rows(book.start, minute)), lambda log: count(log[:minute])
    yield line("B4 full scan", len(book)), drain


def lookups(book: Book, line: Callable[..., Line]) -> Iterator[ReadCase]:
    """B5 and B6: many small questions."""
    times = picks(book, 1_000)
    # As wide as ten rows on average.
    ten = max(1, (book.end - book.start) * 10 // len(book))
    yield line("B5 at() 1,000 times", 1_000, unit="us"), lambda log: points(log, times)
    yield line("B6 windows of 1 us, 1,000 of them", 1_000, unit="us"), lambda log: windows(
        log, times, 1_000
    )
    yield line("B7 windows of 10 rows, 1,000 of them", 1_000, unit="us"), lambda log: windows(
        log, times, ten
    )


def life_of(log: Log, order: int, start: int, end: int) -> list[str]:
    """H1: the statuses of one order, of all that happened in a while."""
    return sorted(row[STATUS] for _, row in log[start:end] if row[ORDER] == order)


def seconds_one_by_one(log: Log, start: int, number: int) -> int:
    """H3: rows of some seconds, a query each."""
    return sum(
        count(log[start + at * SECOND_NS : start + (at + 1) * SECOND_NS]) for at in range(number)
    )


def seconds_in_one_pass(log: Log, start: int, number: int) -> int:
    """H3B: the same with one query."""
    counts = [0] * number
    for ts, _ in log[start : start + number * SECOND_NS]:
        counts[(ts - start) // SECOND_NS] += 1
    return sum(counts)


def patterns(book: Book, line: Callable[..., Line]) -> Iterator[ReadCase]:
    """H: what a trading program asks."""
    order = book.rows[len(book) // 2][ORDER]
    around = (book.time_at(0.49), book.time_at(0.51))
    minute = min(book.start + 60 * SECOND_NS, book.end)
    first_minute = max(1, in_window(book, book.start, minute))
    start, times = book.start, picks(book, 100)
    yield line("H1 life of an order", max(1, in_window(book, *around))), lambda log: life_of(
        log, order, *around
    )
    yield line("H2 replay of a minute", first_minute), lambda log: sum(
        row[ORDER] for _, row in log[start:minute]
    )
    yield line("H3 60 seconds, a query each", first_minute), lambda log: seconds_one_by_one(
        log, start, 60
    )
    yield line("H3B 60 seconds in one pass", first_minute), lambda log: seconds_in_one_pass(
        log, start, 60
    )
    yield line("H4 100 exact times", 100, unit="us"), lambda log: points(log, times)


def cases(book: Book, line: Callable[..., Line]) -> Iterator[ReadCase]:
    yield from scans(book, line)
    yield from lookups(book, line)
    yield from patterns(book, line)
