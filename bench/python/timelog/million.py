"""The lines that are asked for with a million rows."""

from __future__ import annotations

import gc

from bench.python.timelog.data import Book
from bench.python.timelog.deletion import delete_often, delete_tenth, in_pieces, with_rows
from bench.python.timelog.ingestion import batches, opened
from bench.python.timelog.queries import drain, picks, windows
from bench.python.timelog.race import Bench, Line, Logs, both, reads, writes
from bench.python.common.sample import timed
from bench.python.timelog.sides import Log, Side, settle
from bench.python.timelog.spans import in_batches, total

MEMTABLE_ROWS = 600_000


def storing(bench: Bench, book: Book, less: Book) -> None:
    rows, pairs = len(book), list(book.pairs())
    ordered = Book(book.name, book.sorted_times, book.rows)
    times = ordered.packed_times
    name = f"[{rows:,} rows]"
    line = Line(f"extend of a list of pairs {name}", rows, aim=1.5, note="5% late, one call")
    writes(bench, line, opened(), lambda log: log.extend(pairs))
    line = Line(f"bulk_append of an int64 array and a list {name}", rows, aim=3.0, note="in order")
    writes(bench, line, opened(), lambda log: log.bulk_append(times, ordered.rows))
    late_times = book.packed_times
    line = Line(f"bulk_append, 5% late {name}", rows, note="one call")
    writes(bench, line, opened(), lambda log: log.bulk_append(late_times, book.rows))
    line = Line(f"extend in batches, 20% late {name}", rows, aim=1.2)
    writes(bench, line, opened(), batches(less))


def reading(bench: Bench, book: Book) -> None:
    rows = len(book)
    times = picks(book, 2_000)
    ten = max(1, (book.end - book.start) * 10 // rows)
    with both(bench, book) as logs:
        size = f"[{rows:,} rows]"
        reads(bench, logs, Line(f"full iteration {size}", rows, aim=1.2), drain)
        reads(bench, logs, Line(f"next_batch(1000) {size}", rows, aim=1.2), in_batches)
        line = Line(f"windows of 10 rows {size}", len(times), "us", aim=2.0)
        reads(bench, logs, line, lambda log: windows(log, times, ten))
        line = Line(f"times of spans summed with numpy {size}", rows, aim=1.0)
        reads(bench, logs, line, lambda log: total(log, book))
        ends(bench, logs, book)
        garbage(bench, logs)


def ends(bench: Bench, logs: Logs, book: Book) -> None:
    """The greatest time, and those before some."""
    size = f"[{len(book):,} rows]"
    reads(bench, logs, Line(f"max_ts() {size}", 1, "us", aim=1_000.0), lambda log: log.max_ts())
    some = picks(book, 5)
    line = Line(f"prev_ts() {size}", len(some), "us", aim=1_000.0)
    reads(bench, logs, line, lambda log: tuple(map(log.prev_ts, some)))


def garbage(bench: Bench, logs: Logs) -> None:
    """A full collection with a log open.

    All logs of a process are walked together, so what each costs is what is saved by closing it.
    """

    def collect() -> float:
        return sorted(timed(gc.collect)[0] for _ in range(3))[1] * 1e3

    with_both = collect()
    logs.ours.close()
    with_peer = collect()
    logs.peer.close()
    with_none = collect()
    ours, peer = with_none + max(with_both - with_peer, 0.0), max(with_peer, with_none)
    note = f"the objects are alive in any case: {with_none:.3g} ms with no log open"
    bench.compare("gc.collect() with a log open", "ms", ours, peer, note=note)


def arrays(bench: Bench, book: Book) -> None:
    """`to_numpy` of floats that are kept as objects."""
    floats = Book(book.name, book.times, [(row[4] + 0.25) for row in book.rows])

    def run(log: Log) -> tuple[int, float]:
        times, values = log.to_numpy()
        return len(times), float(values[0]) + float(values[-1])

    with both(bench, floats) as logs:
        line = Line(f"to_numpy of float objects [{len(book):,} rows]", len(book), "ns", aim=1.0)
        reads(bench, logs, line, run)


def deleting(bench: Bench, book: Book) -> None:
    rows, size = len(book), f"[{len(book):,} rows]"
    line = Line(f"delete a tenth, then scan {size}", rows, aim=1.2)
    writes(bench, line, with_rows(book), lambda log: delete_tenth(log, book))
    line = Line(f"1,000 range deletes, then scan {size}", rows, aim=1.2)
    writes(bench, line, with_rows(book), lambda log: delete_often(log, book, 1_000))
    line = Line(f"compaction, a tenth deleted {size}", rows, aim=1.2)
    writes(bench, line, in_pieces(book, deleted=True), settle)


def alternating(bench: Bench, book: Book) -> None:
    """`append` and `at` in turns, above many rows in the memtable."""
    rows = min(len(book), bench.many(MEMTABLE_ROWS))
    below = Book("", book.sorted_times[:rows], book.rows[:rows])
    start, steps = below.end, 30

    def make(side: Side) -> Log:
        log = side.open_for_bulk()
        log.bulk_append(below.packed_times, below.rows)
        return log

    def run(log: Log) -> int:
        found = 0
        for ts in range(start, start + steps):
            log.append(ts, ts)
            found += len(log.at(ts))
        return found

    note = "preset for bulk ingest: a memtable of 16 MiB"
    line = Line(f"append and at() in turns over {rows:,} recent rows", steps, "us", 100.0, note)
    writes(bench, line, make, run)


def run(bench: Bench, book: Book, less: Book) -> None:
    for group in (reading, arrays, deleting, alternating):
        group(bench, book)
    storing(bench, book, less)
