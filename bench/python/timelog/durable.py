"""The durable log beside other embedded stores, and what its arrays cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.python.timelog.data import Book
from bench.python.timelog.latency import empty_append, over_turns
from bench.python.timelog.queries import drain
from bench.python.timelog.race import Bench
from bench.python.common.report import Measure, told
from bench.python.common.sample import (
    latencies_of_pair,
    latencies_of_two,
    median,
    percentile,
    quiet,
    timed,
)
from bench.python.timelog.stores import OTHERS, Store

WARM_UP = 500
EXTEND_ROWS = 1_000
APPEND_AIM_NS = 500
FIELDS = ("order", "ticker", "side", "status", "price", "quantity", "fee")


@dataclass
class Taken:
    """Figures of one store."""

    append_ns: list[list[int]] = field(default_factory=list)
    extend: list[float] = field(default_factory=list)
    scan: list[float] = field(default_factory=list)


def measure(store: Store, pairs: list[tuple[int, Any]], appended: int, into: Taken) -> None:
    """Appends some rows, stores the others in batches, reads all, and checks them."""
    with quiet():
        into.append_ns.append(latencies_of_two(store.append, pairs[:appended])[WARM_UP:])
    rest = pairs[appended:]
    batches = [rest[at : at + EXTEND_ROWS] for at in range(0, len(rest), EXTEND_ROWS)]

    def extend() -> None:
        for batch in batches:
            store.extend(batch)

    with quiet():
        into.extend.append(len(rest) / timed(extend)[0])
    with quiet():
        into.scan.append(len(pairs) / timed(lambda: drain(iter(store)))[0])
    if list(store) != sorted(pairs, key=itemgetter(0)):
        raise ValueError("other rows came back, or in another order")


def contestants(bench: Bench) -> dict[str, Callable[[Path], Store]]:
    found: dict[str, Callable[[Path], Store]] = {other.label: other for other in OTHERS}
    if bench.ours.is_durable:
        return {bench.ours.label: lambda path: bench.ours.open_at(path / "ours"), **found}
    bench.skip("the durable log", f"{bench.ours.label} keeps nothing; the others are only told")
    return found


def report(bench: Bench, taken: dict[str, Taken], floor: float, rows: int) -> None:
    lines: tuple[tuple[str, str, Callable[[Taken], float]], ...] = (
        ("append p50", "ns", lambda each: over_turns(each.append_ns, 0.5)),
        ("append p99", "ns", lambda each: over_turns(each.append_ns, 0.99)),
        (f"extend, {EXTEND_ROWS:,} rows a commit", "rows/s", lambda each: median(each.extend)),
        ("scan with CBOR values", "rows/s", lambda each: median(each.scan)),
    )
    ours = taken.pop(bench.ours.label, None)
    note = f"{rows:,} rows, none waits for the disk, all outlive a killed process"
    for name, unit, of in lines:
        for label, others in taken.items():
            if ours is None:
                bench.report(told(f"durable: {name} [{label}]", unit, of(others), note))
                continue
            aim = None if "p99" in name else 1.0
            full = f"durable: {name} [{label}]"
            bench.report(Measure(full, unit, of(ours), label, of(others), aim, note))
    if ours is not None:
        value = over_turns(ours.append_ns, 0.5)
        name = "durable: append p50, under half a microsecond"
        bench.report(Measure(name, "ns", value, "500 ns", APPEND_AIM_NS, 1.0, note))
    bench.report(told("durable: append p50: the floor", "ns", floor, "a deque's append of a pair"))


def stores(bench: Bench, book: Book) -> None:
    values = [dict(zip(FIELDS, row, strict=True)) for row in book.rows]
    pairs = list(zip(book.times, values, strict=True))
    appended = min(len(pairs) // 2, WARM_UP + 20_000)
    made = contestants(bench)
    taken = {label: Taken() for label in made}
    floor: list[int] = []
    for turn in range(bench.rounds(3)):
        names = list(made)[turn:] + list(made)[:turn]
        for label in names:
            with TemporaryDirectory(dir=bench.dir) as folder:
                store = made[label](Path(folder))
                measure(store, pairs, appended, taken[label])
                store.close()
        with quiet():
            floor += latencies_of_pair(empty_append(), pairs[:appended])[WARM_UP:]
    report(bench, taken, percentile(floor, 0.5), len(pairs))


def typed_arrays(bench: Bench, book: Book) -> None:
    """`to_numpy` of a durable log whose values are typed columns: nothing may be copied."""
    name = "durable, typed: to_numpy without a copy"
    if not bench.ours.is_durable:
        bench.skip(name, f"{bench.ours.label} keeps nothing")
        return
    with TemporaryDirectory(dir=bench.dir) as folder:
        try:
            log = bench.ours.factory(path=Path(folder) / "ours", schema="float64", time_unit="ns")
        except (TypeError, ValueError) as error:
            bench.skip(name, f"no codec of typed columns yet: {error}")
            return
        log.extend(book.sorted_times, [float(row[4]) for row in book.rows])
        log.flush()
        log.compact()
        first, seconds = log.to_numpy(), timed(log.to_numpy)[0]
        again = log.to_numpy()
        # A copy would stand somewhere else each time, while both are alive.
        places = [[each.__array_interface__["data"][0] for each in made] for made in (first, again)]
        copies = sum(a != b for a, b in zip(*places, strict=True))
        note = f"{copies} of 2 arrays copied, {seconds / len(book) * 1e9:.3g} ns a row"
        bench.report(Measure(name, "arrays", 2 - copies, "both", 2, 1.0, note))
        del first, again
        log.close()


def run(bench: Bench, book: Book) -> None:
    for group in (stores, typed_arrays):
        try:
            group(bench, book)
        except Exception as error:
            bench.fail(f"durable: {group.__name__}", error)
