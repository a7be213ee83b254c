"""I: rows in the memtable, in storage, and in both."""

from __future__ import annotations

from bench.python.timelog.data import SECOND_NS, Book
from bench.python.timelog.ingestion import append_all, opened
from bench.python.timelog.queries import count, in_window, windows
from bench.python.timelog.race import Bench, Line, both, load, loaded, reads, writes
from bench.python.timelog.sides import Log, Side

RECENT_ROWS = 1_000


def mixed(side: Side, book: Book) -> Log:
    """Compacted rows, some flushed ones above them, and recent ones in the memtable.

    The same times in all three, so that every read merges.
    """
    log = loaded(side, book)
    step = max(1, len(book) // RECENT_ROWS)
    for at in range(2):
        again = book.times[at::step][:RECENT_ROWS], book.rows[at::step][:RECENT_ROWS]
        log.extend(zip(*again, strict=True))
        if at == 0:
            log.flush()
    return log


def in_memtable(side: Side, book: Book) -> Log:
    return load(side.open_for_bulk(), book)


def merge(bench: Bench, book: Book, rounds: int = 5) -> None:
    """I3."""
    times = book.times[:: max(1, len(book) // 1_000)][:1_000]
    with both(bench, book, mixed) as logs:
        scan = Line(f"I3 scan of all tiers [{book.name}]", len(book), rounds=rounds)
        reads(bench, logs, scan, count)
        small = Line(
            f"I3 windows of 1 us in all tiers [{book.name}]", len(times), "us", rounds=rounds
        )
        reads(bench, logs, small, lambda log: windows(log, times, 1_000))


def run(bench: Bench, book: Book) -> None:
    few = book.head(len(book) // 10)

    def write_and_read(log: Log) -> int:
        append_all(log, few)
        return count(log)

    line = Line(f"I1 append, then read the memtable [{len(few):,} rows]", len(few))
    writes(bench, line, opened(), write_and_read)
    with both(bench, few, in_memtable) as logs:
        reads(bench, logs, Line(f"I1 read the memtable [{len(few):,} rows]", len(few)), count)
    start = book.time_at(0.5)
    end = start + SECOND_NS
    rows = max(1, in_window(book, start, end))
    with both(bench, book) as logs:
        line = Line(f"I2 read a second of storage [{book.name}]", rows)
        reads(bench, logs, line, lambda log: count(log[start:end]))
    merge(bench, book)
