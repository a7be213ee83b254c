"""Times of single calls: K1, and the lines about `append` and `at`.

Beside them stands the floor: the same two looks at the clock around a call of C that does next
to nothing. What is below it cannot be seen, however fast a log is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from bench.python.timelog.data import Book
from bench.python.timelog.ingestion import BACKGROUND
from bench.python.timelog.queries import picks
from bench.python.timelog.race import Bench, both
from bench.python.common.report import told
from bench.python.common.sample import (
    latencies_of_one,
    latencies_of_pair,
    latencies_of_two,
    median,
    percentile,
    quiet,
)

SHARES = {"p50": 0.5, "p99": 0.99}
WARM_UP = 500
TURNS = 15
# Of each turn, the times of all its calls.
Samples = dict[str, list[list[int]]]


def over_turns(turns: list[list[int]], share: float) -> float:
    """The median of each turn's percentile: a turn that was disturbed does not count."""
    return median([percentile(each, share) for each in turns])


def empty_append() -> Callable[[Any], None]:
    """The floor of `append`: keeps a pair, and never grows, as a list would now and then."""
    return deque[Any](maxlen=1_000).append


def report(bench: Bench, name: str, taken: Samples, note: str, aim: float | None) -> None:
    turns, calls = len(taken["ours"]), len(taken["ours"][0])
    for which, share in SHARES.items():
        ours, peer, least = (over_turns(taken[key], share) for key in ("ours", "peer", "floor"))
        told_with = f"median of {turns} turns of {calls:,} calls; floor {least:.0f} ns; {note}"
        bench.compare(f"{name}, {which}", "ns", ours, peer, aim, told_with)
        bench.report(told(f"{name}, {which}: the floor", "ns", least, note))


def appends(bench: Bench, book: Book, name: str, aim: float | None, **settings: Any) -> None:
    """One call at a time, a fresh log each round."""
    part = book.head(WARM_UP + min(20_000, bench.many(20_000)))
    given = list(part.pairs())
    taken: Samples = {"ours": [], "peer": [], "floor": []}
    for sides in bench.turns(TURNS):
        for side in sides:
            log = side.open(**settings)
            with quiet():
                times = latencies_of_two(log.append, given)
            taken["ours" if side is bench.ours else "peer"].append(times[WARM_UP:])
            log.close()
        with quiet():
            taken["floor"].append(latencies_of_pair(empty_append(), given)[WARM_UP:])
    note = f"{part.late_share():.1%} late; floor: a deque's append of (ts, obj)"
    report(bench, name, taken, note, aim)


def lookups(bench: Bench, book: Book) -> None:
    """`at(ts)` and `log[ts]`, one call at a time."""
    given = picks(book, WARM_UP + bench.many(10_000))
    with both(bench, book) as logs:
        for name, method in (("at(ts)", "at"), ("log[ts]", "__getitem__")):
            taken: Samples = {"ours": [], "peer": [], "floor": []}
            for sides in bench.turns(TURNS):
                for side in sides:
                    call = getattr(logs.of(bench, side), method)
                    with quiet():
                        times = latencies_of_one(call, given)
                    taken["ours" if side is bench.ours else "peer"].append(times[WARM_UP:])
                with quiet():
                    taken["floor"].append(latencies_of_one({}.get, given)[WARM_UP:])
            note = "compacted; floor: get of an empty dict"
            report(bench, f"{name} [{len(book):,} rows]", taken, note, 3.0)


def run(bench: Bench, book: Book) -> None:
    appends(bench, book, "K1 append, background maintenance", 1.0, **BACKGROUND)
    appends(bench, book, "K1B append, flushed by hand", 1.0)
    lookups(bench, book)
