"""A time log: appends in order and late, batches, deletes of ranges."""

from __future__ import annotations

from typing import Any

import timestrata
from lab.lanes.lane import Lane, Step

SPAN = 1 << 40


class TimelogLane(Lane):
    model = "timelog"

    def __init__(self, seed: str, number: int) -> None:
        super().__init__(seed, number)
        self.rows: list[tuple[int, Any]] = []
        self.start = number * SPAN
        self.newest = self.start

    def attach(self, store: timestrata.Store) -> None:
        self.log = store.timelog("times", unit="ns") if _has(store) else None

    def _time(self) -> int:
        if self.rng.random() < 0.75 or self.newest == self.start:
            self.newest += self.rng.randrange(4)
            return self.newest
        return self.rng.randrange(self.start, self.newest)

    def _next(self) -> Step:
        kind = self.rng.random()
        if kind < 0.1 and self.rows:
            lo = self.rng.choice(self.rows)[0]
            hi = lo + 1 + self.rng.randrange(6)
            self.rows = [row for row in self.rows if not lo <= row[0] < hi]
            return Step("delete", {"lo": lo, "hi": hi})
        if kind < 0.13:
            return Step("sync", synced=True)
        count = self.rng.randrange(2, 20) if kind < 0.3 else 1
        pairs = [(self._time(), [self.drawn, part, self.text()]) for part in range(count)]
        self.rows.extend(pairs)
        # Rows of one time keep the order in which they were committed.
        self.rows.sort(key=lambda row: row[0])
        synced = self.sync()
        return Step("append" if count == 1 else "extend", {"pairs": pairs}, synced)

    def _append(self, step: Step) -> None:
        time, value = step.arguments["pairs"][0]
        self.log.append(time, value, sync=step.synced)

    def _extend(self, step: Step) -> None:
        self.log.extend(step.arguments["pairs"], sync=step.synced)

    def _delete(self, step: Step) -> None:
        self.log.delete_range(step.arguments["lo"], step.arguments["hi"])

    def _sync(self, step: Step) -> None:
        self.log.sync()

    def expected(self) -> Any:
        return self.rows

    def found(self) -> Any:
        if self.log is None:
            return []
        return list(self.log[self.start : self.start + SPAN])

    def inspect(self) -> None:
        if self.log is None:
            return
        times = [time for time, _ in self.log[self.start : self.start + SPAN]]
        backwards = [time for time, _ in reversed(self.log) if self.start <= time < self.start + SPAN]
        if times != backwards[::-1]:
            raise AssertionError("a time log read backwards has other rows")
        if times and self.log.at(times[0]) != [
            value for time, value in self.found() if time == times[0]
        ]:
            raise AssertionError(f"at({times[0]}) differs from a scan")


def _has(store: timestrata.Store) -> bool:
    return store.mode != "r" or "times" in store.timelogs()
