"""C: analytics over rows, in plain Python as a program would write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from bench.python.timelog.data import FEE, PRICE, QUANTITY, SECOND_NS, SIDE, STATUS, TICKER, Book
from bench.python.timelog.queries import ReadCase, count, in_window
from bench.python.timelog.race import Line
from bench.python.timelog.sides import Log

WINDOWS = 10


def counts_one_by_one(log: Log, start: int) -> tuple[int, ...]:
    """C1."""
    return tuple(
        count(log[start + at * SECOND_NS : start + (at + 1) * SECOND_NS]) for at in range(WINDOWS)
    )


def counts_in_one_pass(log: Log, start: int) -> tuple[int, ...]:
    """C1B."""
    counts = [0] * WINDOWS
    for ts, _ in log[start : start + WINDOWS * SECOND_NS]:
        counts[(ts - start) // SECOND_NS] += 1
    return tuple(counts)


def share_of_buys(log: Log) -> float:
    """C2."""
    buys = rows = 0
    for _, row in log:
        buys += row[SIDE] == "buy"
        rows += 1
    return buys / rows


def mean_price(log: Log) -> float:
    """C3: the price, weighted by volume."""
    worth, volume = 0.0, 0.0
    for _, row in log:
        worth += row[PRICE] * row[QUANTITY]
        volume += row[QUANTITY]
    return worth / volume


def filled(log: Log) -> tuple[int, int, int]:
    """C4."""
    whole = part = none = 0
    for _, row in log:
        status = row[STATUS]
        if status == "filled":
            whole += 1
        elif status == "partial":
            part += 1
        else:
            none += 1
    return whole, part, none


def tickers(log: Log) -> dict[str, int]:
    """C5."""
    return dict(Counter(row[TICKER] for _, row in log))


def spread(log: Log) -> float:
    """C6: how far buying and selling are apart."""
    sides: dict[str, list[float]] = {"buy": [], "sell": []}
    for _, row in log:
        sides[row[SIDE]].append(float(row[PRICE]))
    means = [sum(prices) / max(1, len(prices)) for prices in sides.values()]
    return means[1] - means[0]


def fees(log: Log) -> float:
    """C7."""
    total = 0.0
    for _, row in log:
        total += row[FEE]
    return total


def gaps(log: Log, start: int) -> dict[int, int]:
    """C8: how often rows were how far apart, in powers of two."""
    found: Counter[int] = Counter()
    before = start
    for ts, _ in log[start : start + WINDOWS * SECOND_NS]:
        found[(ts - before).bit_length()] += 1
        before = ts
    return dict(found)


def cases(book: Book, line: Callable[..., Line]) -> Iterator[ReadCase]:
    start = book.time_at(0.3)
    some = max(1, in_window(book, start, start + WINDOWS * SECOND_NS))
    yield line("C1 counts of ten seconds, a query each", some), lambda log: counts_one_by_one(
        log, start
    )
    yield line("C1B counts of ten seconds, one pass", some), lambda log: counts_in_one_pass(
        log, start
    )
    whole: tuple[tuple[str, Callable[[Log], Any]], ...] = (
        ("C2 share of buys", share_of_buys),
        ("C3 price weighted by volume", mean_price),
        ("C4 fill rate", filled),
        ("C5 counts of tickers", tickers),
        ("C6 spread", spread),
        ("C7 sum of fees", fees),
    )
    for name, run in whole:
        yield line(name, len(book)), run
    yield line("C8 histogram of gaps", some), lambda log: gaps(log, start)
