"""K: workloads as in production; the latencies of K1 are in `latency`."""

from __future__ import annotations

import math
from itertools import product

from bench.python.timelog.data import Book
from bench.python.timelog.deletion import tenth
from bench.python.timelog.ingestion import append_all, opened
from bench.python.timelog.queries import count
from bench.python.timelog.race import Bench, Line, Logs, load, loaded, reads, writes
from bench.python.common.sample import median, quiet, timed
from bench.python.timelog.sides import Log, settle


def writing_and_reading(bench: Bench, book: Book) -> None:
    """K2 and K3."""
    fifth, some = book.head(len(book) // 5), book.head(len(book) * 3 // 20)

    def from_memtable(log: Log) -> int:
        append_all(log, fifth)
        return count(log)

    def from_storage(log: Log) -> int:
        append_all(log, some)
        log.flush()
        return count(log)

    name = f"K2 append, then read the memtable [{len(fifth):,} rows]"
    writes(bench, Line(name, len(fifth)), opened(), from_memtable)
    name = f"K3 append, flush, then read storage [{len(some):,} rows]"
    writes(bench, Line(name, len(some)), opened(), from_storage)


def reading_around_deletion(bench: Bench, book: Book) -> None:
    """K4: the same scan, before and after a tenth is deleted, and after compaction."""
    part = book.head(len(book) // 5)
    ours, peer = loaded(bench.ours, part), loaded(bench.peer, part)
    logs = Logs(ours, peer)
    for when in ("before deletion", "after deletion", "after compaction"):
        if when == "after deletion":
            for log in (ours, peer):
                log.delete_range(*tenth(part))
        elif when == "after compaction":
            settle(ours)
            settle(peer)
        reads(bench, logs, Line(f"K4 scan {when} [{len(part):,} rows]", len(ours)), count)
    ours.close()
    peer.close()


def grid(bench: Bench, book: Book) -> None:
    """K5: storing with many settings; the figure is the geometric mean of their medians."""
    part = book.head(len(book) // 5)
    settings = product(
        ("background", "disabled"), ("silent", "flush"), (64 << 10, 1 << 20, 16 << 20), (2, 8)
    )
    rates: dict[bool, list[float]] = {True: [], False: []}
    worst, where = math.inf, ""
    for mode, policy, memtable, runs in settings:
        taken: dict[bool, list[float]] = {True: [], False: []}
        for sides in bench.turns(3):
            for side in sides:
                log = side.open(
                    maintenance=mode,
                    busy_policy=policy,
                    memtable_max_bytes=memtable,
                    sealed_max_runs=runs,
                )
                with quiet():
                    seconds, _ = timed(load, log, part)
                taken[side is bench.ours].append(len(part) / seconds)
                log.close()
        for which, found in taken.items():
            rates[which].append(median(found))
        if (ratio := rates[True][-1] / rates[False][-1]) < worst:
            worst, where = ratio, f"{mode}, {policy}, {memtable >> 10} KiB, {runs} sealed runs"
    ours, peer = (math.exp(sum(map(math.log, rates[key])) / len(rates[key])) for key in rates)
    note = f"{len(rates[True])} settings, median of turns each; least ratio {worst:.2f} at {where}"
    name = f"K5 storing with many settings [{len(part):,} rows]"
    bench.compare(name, "rows/s", ours, peer, note=note)


def run(bench: Bench, book: Book) -> None:
    writing_and_reading(bench, book)
    reading_around_deletion(bench, book)
    grid(bench, book)
