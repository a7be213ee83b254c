"""The rows: a generated order book, and real trades and quotes.

The order book: events about 278 us apart on average (exponential gaps, 3,600 a second), of
which one in ten has the very time of the one before it. Each event belongs to an order, which
has up to six of them (new, then parts filled, at last filled or cancelled). Prices walk at
random in whole ticks. A share of the rows comes late: by 5 ms and an exponential delay of
50 ms on average, so each of them has a smaller time than some row before it.

The same seed gives the same rows with every version of numpy: only the raw bits of PCG64,
which numpy promises to keep, are used.
"""

from __future__ import annotations

import csv
import gzip
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20_130_717
START_NS = 1_700_000_000_000_000_000
SECOND_NS = 1_000_000_000
MEAN_GAP_NS = 277_778
LATE_BY_NS, LATE_MEAN_NS = 5_000_000, 50_000_000
TICKERS = ("AAPL", "MSFT", "NVDA", "AMZN", "GOOG", "META", "TSLA", "ORCL")
EVENTS_AN_ORDER = 6

# Where the parts of a row are: the real rows have the same, in the same places.
ORDER, TICKER, SIDE, STATUS, PRICE, QUANTITY, FEE = range(7)

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Book:
    """Rows in the order in which they arrive, and their times beside them."""

    name: str
    times: list[int]
    rows: list[Any]

    def __len__(self) -> int:
        return len(self.rows)

    def head(self, rows: int) -> Book:
        """Its first rows."""
        return Book(self.name, self.times[:rows], self.rows[:rows])

    def pairs(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Any]]:
        """Rows as the logs take them."""
        return zip(self.times[start:end], self.rows[start:end], strict=True)

    @cached_property
    def sorted_times(self) -> list[int]:
        return sorted(self.times)

    @cached_property
    def packed_times(self) -> array[int]:
        return array("q", self.times)

    @property
    def start(self) -> int:
        return self.sorted_times[0]

    @property
    def end(self) -> int:
        """Just after the last."""
        return self.sorted_times[-1] + 1

    def time_at(self, share: float) -> int:
        """The time that `share` of all rows are not above."""
        return self.sorted_times[min(int(share * len(self)), len(self) - 1)]

    def late_share(self) -> float:
        """Rows with a smaller time than one before them."""
        times = np.array(self.times, dtype=np.int64)
        return float(np.mean(times < np.maximum.accumulate(times)))


class _Draw:
    """Numbers at random that no version of numpy changes."""

    def __init__(self, seed: int, rows: int) -> None:
        self._bits = np.random.PCG64(seed)
        self._rows = rows

    def uniform(self) -> Any:
        """From 0 up to 1, which is left out."""
        return (self._bits.random_raw(self._rows) >> np.uint64(11)) * 2.0**-53

    def exponential(self, mean: float) -> Any:
        return (-np.log1p(-self.uniform()) * mean).astype(np.int64)

    def below(self, limit: int) -> Any:
        return (self.uniform() * limit).astype(np.int64)


def order_book(rows: int, late_share: float, seed: int = SEED) -> Book:
    """Generates the order book."""
    draw = _Draw(seed, rows)
    gaps = draw.exponential(MEAN_GAP_NS / 0.9) * (draw.uniform() >= 0.1)
    times = START_NS + np.cumsum(gaps)
    # An order's events are spread over the some hundred rows around it.
    orders = (np.arange(rows) // (64 * EVENTS_AN_ORDER)) * 64 + draw.below(64)
    sides = draw.below(2)
    statuses = draw.below(4)
    prices = 10_000 + np.cumsum(draw.below(3) - 1) + sides
    quantities = 1 + draw.below(500)
    arrivals = times.copy()
    late = draw.uniform() < late_share
    arrivals[late] += LATE_BY_NS + draw.exponential(LATE_MEAN_NS)[late]
    order = np.argsort(arrivals, kind="stable")

    def column(values: Any, words: tuple[str, ...] | None = None) -> list[Any]:
        given: list[Any] = values[order].tolist()
        return given if words is None else [words[at] for at in given]

    columns = (
        column(orders),
        column(orders % len(TICKERS), TICKERS),
        column(sides, ("buy", "sell")),
        column(statuses, ("new", "partial", "filled", "cancelled")),
        column(prices),
        column(quantities),
        column(prices * quantities * 5e-6),
    )
    name = f"{rows:,} rows, {late_share:.0%} late"
    return Book(name, column(times), list(zip(*columns, strict=True)))


def market(folder: Path, kind: str) -> Book | None:
    """Real `trades` or `quotes`, by the clock that received them; none if they are not there."""
    path = folder / f"spot_btcusdt_20240808_{kind}.csv.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt", newline="") as file:
        lines = list(csv.DictReader(file))
    make = _trade if kind == "trades" else _quote
    times = [int(line["local_ts_ns"]) for line in lines]
    return Book(f"{len(lines):,} real {kind}", times, [make(line) for line in lines])


def _trade(line: dict[str, str]) -> Row:
    price, quantity = float(line["price"]), float(line["qty"])
    side = line["side"]
    return (int(line["trade_id"]), line["symbol"], side, "filled", price, quantity, 0.0)


def _quote(line: dict[str, str]) -> Row:
    bid, quantity = float(line["bid"]), float(line["bid_qty"])
    ask = (float(line["ask"]), float(line["ask_qty"]))
    return (int(line["update_id"]), line["symbol"], "buy", "new", bid, quantity, 0.0, *ask)


def csv_text(book: Book) -> str:
    """A book as the text of a CSV file."""
    return "\n".join(
        ",".join(map(str, (ts, *row))) for ts, row in zip(book.times, book.rows, strict=True)
    )


def csv_rows(text: str) -> Iterator[tuple[int, Any]]:
    """Reads that back, row by row."""
    for ts, order, ticker, side, status, price, quantity, fee in csv.reader(text.splitlines()):
        row = (int(order), ticker, side, status, int(price), int(quantity), float(fee))
        yield int(ts), row
