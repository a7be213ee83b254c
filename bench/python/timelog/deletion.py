"""D and E: deletion, and the upkeep of storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.python.timelog.data import Book
from bench.python.timelog.ingestion import BACKGROUND, WriteCase, batches, opened
from bench.python.timelog.queries import count, points
from bench.python.timelog.race import BATCH_ROWS, Line, load, loaded
from bench.python.timelog.sides import Log, Side, settle


def tenth(book: Book) -> tuple[int, int]:
    """A range of time with about a tenth of all rows."""
    return book.time_at(0.45), book.time_at(0.55)


def with_rows(book: Book) -> Callable[[Side], Log]:
    return lambda side: loaded(side, book)


def delete_tenth(log: Log, book: Book) -> int:
    log.delete_range(*tenth(book))
    return count(log)


def delete_often(log: Log, book: Book, times: int) -> int:
    """Many short ranges, each half as long as its distance to the next."""
    step = (book.end - book.start) // times
    for at in range(times):
        start = book.start + at * step
        log.delete_range(start, start + step // 2)
    return count(log)


def delete_old(log: Log, book: Book) -> int:
    log.delete_before(book.time_at(0.5))
    return count(log)


def in_pieces(book: Book, *, deleted: bool) -> Callable[[Side], Log]:
    """A log whose rows came with several flushes; a tenth of them may be deleted."""

    def make(side: Side) -> Log:
        log = side.open()
        step = max(BATCH_ROWS, len(book) // 20)
        for at in range(0, len(book), step):
            log.extend(zip(book.times[at : at + step], book.rows[at : at + step], strict=True))
            log.flush()
        if deleted:
            log.delete_range(*tenth(book))
        return log

    return make


def after_delete(book: Book) -> Callable[[Side], Log]:
    def make(side: Side) -> Log:
        log = loaded(side, book)
        log.delete_range(*tenth(book))
        return log

    return make


def cases(book: Book, rounds: int = 5) -> Iterator[WriteCase]:
    """Deletion, with compaction at its end."""
    rows, (start, end) = len(book), tenth(book)
    inside = [ts for ts in book.times[:: max(1, rows // 5_000)] if start <= ts < end][:1_000]

    def line(name: str, amount: int, aim: float | None = None, **more: Any) -> Line:
        return Line(f"{name} [{book.name}]", amount, aim=aim, rounds=rounds, **more)

    yield line("D1 delete a tenth, then scan", rows, 1.2), with_rows(book), lambda log: (
        delete_tenth(log, book)
    )
    yield line("D2 delete the older half, then scan", rows), with_rows(book), lambda log: (
        delete_old(log, book)
    )
    yield line("D3 at() of deleted times", len(inside), unit="us"), after_delete(book), (
        lambda log: points(log, inside)
    )
    yield line("D4 scan after deleting", rows), after_delete(book), count
    yield line("D5 1,000 range deletes, then scan", rows, 1.2), with_rows(book), lambda log: (
        delete_often(log, book, 1_000)
    )
    yield line("E5 compaction, a tenth deleted", rows, 1.2), in_pieces(book, deleted=True), settle


def upkeep(book: Book) -> Iterator[WriteCase]:
    """E, with the order book only."""
    half = book.head(len(book) // 2)
    rows = len(half)

    def load_and_flush(log: Log) -> None:
        load(log, half)
        log.flush()

    def load_between(log: Log) -> None:
        log.start_maintenance()
        load(log, half)
        log.stop_maintenance()

    def line(name: str) -> Line:
        return Line(f"{name} [{rows:,} rows]", rows)

    yield line("E1 load, then flush"), opened(), load_and_flush
    yield line("E2 flushes, then compaction"), in_pieces(half, deleted=False), settle
    yield line("E3 load, background maintenance"), opened(**BACKGROUND), batches(half)
    yield line("E4 load between start and stop of maintenance"), opened(**BACKGROUND), load_between
