"""J: that costs grow as they should."""

from __future__ import annotations

import math

from bench.python.timelog.data import Book
from bench.python.timelog.ingestion import append_all
from bench.python.timelog.queries import count
from bench.python.timelog.race import Bench, Line, both, reads
from bench.python.common.sample import median, quiet, timed
from bench.python.timelog.sides import Side

SHARES = (0.001, 0.01, 0.05, 0.1)


def seconds_of_rows(side: Side, book: Book, rows: int) -> float:
    """Time to store so many rows, one by one, and to read them: the least of some runs."""
    part, taken = book.head(rows), []
    for _ in range(5):
        log = side.open()
        with quiet():
            seconds, _ = timed(append_all, log, part)
            taken.append(seconds + timed(count, log)[0])
        log.close()
    return min(taken)


def slope(points: list[tuple[float, float]]) -> float:
    """The exponent that fits best: 1 is linear."""
    logs = [(math.log(rows), math.log(seconds)) for rows, seconds in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    over = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return over / sum((x - mean_x) ** 2 for x, _ in logs)


def scaling(bench: Bench, book: Book) -> None:
    """J2 and J3: from a thousandth of the largest size in doublings."""
    sizes = [len(book) * share // 100 for share in (1, 2, 4, 8, 16)]
    exponents: dict[bool, list[float]] = {True: [], False: []}
    doublings: dict[bool, list[float]] = {True: [], False: []}
    for sides in bench.turns(3):
        for side in sides:
            points = [(float(rows), seconds_of_rows(side, book, rows)) for rows in sizes]
            exponents[side is bench.ours].append(slope(points))
            doublings[side is bench.ours].append(points[-1][1] / points[-2][1])
    note = f"append and scan of {sizes[0]:,} to {sizes[-1]:,} rows, least of 5, median of turns"
    for name, found in (
        ("J2 exponent of time over rows", exponents),
        ("J3 time of twice the rows", doublings),
    ):
        bench.compare(name, "x", median(found[True]), median(found[False]), note=note)


def run(bench: Bench, book: Book) -> None:
    # Ranges by the times that rows have, so that it is known how many each must give.
    times, ranges, rows = book.sorted_times, [], 0
    for share in SHARES:
        first, last = book.time_at(0.5), book.time_at(0.5 + share)
        ranges.append((first, last))
        rows += sum(first <= ts < last for ts in times)
    with both(bench, book) as logs:
        for log in (logs.ours, logs.peer):
            given = sum(count(log[start:end]) for start, end in ranges)
            if given != rows:
                bench.fail("J1 rows of ranges", ValueError(f"{given} instead of {rows}"))
        line = Line(f"J1 ranges, each row counted [{rows:,} rows]", rows)
        reads(
            bench, logs, line, lambda log: sum(count(log[start:end]) for start, end in ranges)
        )
    scaling(bench, book)
