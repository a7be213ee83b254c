"""Time logs: in memory beside the class that they replace, on a disk beside what their bytes take."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.metadata import version
from typing import Any

import timestrata

from bench.python.check.measure import Class, Measure, Pair, Place, Work, emptied, measure
from bench.python.timelog.data import START_NS

APPENDS, ROWS, POINTS = 20_000, 100_000, 2_000
STEP = 1_000
DURABLE = 10_000


def _pairs(rows: int) -> list[tuple[int, Any]]:
    return [(START_NS + at * STEP, {"order": at, "price": at % 97}) for at in range(rows)]


def _sides() -> tuple[Any, Any]:
    # The peer is only where benchmarks are run.
    from bench.python.timelog.sides import PEER_MODULE, side

    return side("timestrata"), side(PEER_MODULE)


@measure("timelog append", Class.PROCESSOR)
def append(place: Place) -> Iterator[Pair]:
    """Row by row into an empty log in memory."""
    pairs = _pairs(APPENDS)

    def run(log: Any) -> int:
        add = log.append
        for ts, value in pairs:
            add(ts, value)
        return len(log)

    ours, peer = _sides()
    yield Pair(_on_new(run, ours), _on_new(run, peer), peer.label)


@measure("timelog extend", Class.PROCESSOR)
def extend(place: Place) -> Iterator[Pair]:
    """A list of pairs at once."""
    pairs = _pairs(ROWS)

    def run(log: Any) -> int:
        log.extend(pairs)
        return len(log)

    ours, peer = _sides()
    yield Pair(_on_new(run, ours), _on_new(run, peer), peer.label)


def _on_new(run: Callable[[Any], Any], side: Any) -> Work:
    return Work(run, lambda: closing(side.open()))


def _filled(place: Place) -> Iterator[tuple[Any, Any, str]]:
    """A log of each side with the same rows, compacted."""
    from bench.python.timelog.sides import settle

    ours, peer = _sides()
    logs = []
    for side in (ours, peer):
        log = side.open()
        log.extend(_pairs(ROWS))
        settle(log)
        logs.append(log)
    yield logs[0], logs[1], peer.label
    for log in logs:
        log.close()


@measure("timelog range", Class.PROCESSOR)
def scan(place: Place) -> Iterator[Pair]:
    """A fifth of the rows, as a list."""
    start, end = START_NS + ROWS // 5 * STEP, START_NS + 2 * ROWS // 5 * STEP
    ours, peer, label = place.common(_filled)
    yield Pair(
        Work(lambda: list(ours.range(start, end))),
        Work(lambda: list(peer.range(start, end))),
        label,
    )


@measure("timelog point", Class.PROCESSOR)
def point(place: Place) -> Iterator[Pair]:
    """The rows at times that are drawn."""
    choose = random.Random(5)
    times = [START_NS + choose.randrange(ROWS) * STEP for _ in range(POINTS)]
    ours, peer, label = place.common(_filled)
    yield Pair(
        Work(lambda: [ours.at(ts) for ts in times]),
        Work(lambda: [peer.at(ts) for ts in times]),
        label,
    )


@measure("timelog append, on a disk", Class.WRITE)
def append_durable(place: Place) -> Iterator[Pair]:
    """Row by row, `written`, beside coding the same values and a write of each."""
    import cbor2

    pairs, path, plain = _pairs(DURABLE), place.new(), place.new()

    def ours(store: timestrata.Store) -> None:
        add = store.timelog("log").append
        for ts, value in pairs:
            add(ts, value)

    def floor() -> None:
        file = os.open(plain, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for ts, value in pairs:
            os.write(file, ts.to_bytes(8, "little") + cbor2.dumps(value))
        os.close(file)

    work = Work(ours, lambda: emptied(path))
    yield Pair(work, Work(floor), f"cbor2 {version('cbor2')} and writes", True)


@measure("timelog range, on a disk", Class.READ)
def scan_durable(place: Place) -> Iterator[Pair]:
    """Compacted rows as Python's values, beside decoding these alone."""
    import cbor2

    pairs = _pairs(DURABLE)
    with timestrata.open(place.new()) as store:
        log = store.timelog("log")
        log.extend(pairs)
        log.compact()
        coded = [(ts, cbor2.dumps(value)) for ts, value in pairs]
        yield Pair(
            Work(lambda: list(log)),
            Work(lambda: [(ts, cbor2.loads(each)) for ts, each in coded]),
            f"cbor2 {version('cbor2')}",
        )


MEASURES: tuple[Measure, ...] = (append, extend, scan, point, append_durable, scan_durable)
