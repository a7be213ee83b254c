"""Memory a row, and the hot hour: each side in a process of its own, in turns."""

from __future__ import annotations

from typing import Any

from bench.python.timelog.child import CLEAR, STATUS, play
from bench.python.timelog.race import Bench
from bench.python.common.report import Measure
from bench.python.common.sample import median

ROWS, HOT_ROWS = 1_000_000, 6_000_000
Figures = dict[bool, list[dict[str, Any]]]


def in_turns(bench: Bench, what: str, rows: int, rounds: int) -> Figures:
    """Figures of ours (`True`) and of the peer."""
    found: Figures = {True: [], False: []}
    for sides in bench.turns(rounds):
        for side in sides:
            found[side is bench.ours].append(play(side.module, what, rows))
    return found


def memory(bench: Bench) -> None:
    if not (STATUS.exists() and CLEAR.exists()):
        bench.skip("memory a row", "this system has no /proc/self/status")
        return
    rows = bench.many(ROWS)
    for what, how in (("memory", "extend"), ("memory-bulk", "bulk_append")):
        found = in_turns(bench, what, rows, 3)
        for key, when, aim in (
            ("stored", f"after {how}", 3.0),
            ("settled", f"{how} and compaction", 3.0),
            ("peak", f"peak of upkeep after {how}", None),
        ):
            ours, peer = (median([each[key] for each in found[mine]]) for mine in (True, False))
            name = f"memory a row, {when} [{rows:,} rows]"
            note = "anonymous resident memory beyond that of the objects, in a process of its own"
            bench.compare(name, "B/row", ours, peer, aim, f"{note}; median of {len(found[True])}")


def hot_hour(bench: Bench) -> None:
    rows = bench.many(HOT_ROWS)
    found = in_turns(bench, "hot-hour", rows, 3)

    def of(mine: bool, what: str) -> float:
        if what == "growth":
            return median([each["cpu_ns"][-1] / each["cpu_ns"][0] for each in found[mine]])
        if what == "cpu_ns":
            return median([sum(each["cpu_ns"]) / 6 for each in found[mine]])
        return median([each[what] for each in found[mine]])

    name = f"one hot hour [{rows:,} rows]"
    left = "; ".join(
        f"{label}: {of(mine, 'segments'):.0f} segments left, {of(mine, 'waits'):.0f} waits"
        for mine, label in ((True, bench.ours.label), (False, bench.peer.label))
    )
    how = f"processor time of all threads, `append` in the background mode; {left}"
    growth = of(True, "growth")
    flat = f"{name}, last sixth / first"
    bench.report(Measure(flat, "x", growth, "a flat cost", 1.0, 0.8, how))
    bench.compare(f"{flat}, both", "x", growth, of(False, "growth"), note=how)
    ours, peer = of(True, "cpu_ns"), of(False, "cpu_ns")
    bench.compare(f"{name}, processor time", "ns", ours, peer, 1.0, how)
    ours, peer = (rows / of(mine, "seconds") for mine in (True, False))
    bench.compare(f"{name}, streamed", "rows/s", ours, peer, note=how)


def run(bench: Bench) -> None:
    memory(bench)
    hot_hour(bench)
