"""A time log of plain Python values, whose time runs faster than the clock; what is old is cut off."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import timestrata
from bench.python.soak.loads.load import Load, Shared

# Milliseconds of the log's time a step, at most, and of what sums are kept apart.
STEP_MS = 1_000
BUCKET_MS = 1_000
BATCH = 20
CUT_EVERY = 50


class TimelogLoad(Load):
    model = "timelog"
    rate = 40.0

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.now = 1_700_000_000_000
        self.begin = self.now
        # By bucket of time, how many values there are and what they come to.
        self.buckets: dict[int, tuple[int, int]] = {}
        self.count = 0
        # What was appended last, unless it was deleted since.
        self.newest: tuple[int, int] | None = None
        self.kept = max(int(shared.settings.kept_seconds * self.rate * shared.settings.rate), 20)
        self.choices = [
            (self.append, 0.4), (self.append_synced, 0.03), (self.extend, 0.2), (self.late, 0.1),
            (self.range, 0.12), (self.at, 0.06), (self.length, 0.03), (self.ends, 0.03), (self.delete, 0.03),
        ]  # fmt: skip
        self.attach(shared.store)

    def attach(self, store: timestrata.Store) -> None:
        self.log = store.timelog("times", unit="ms")

    def step(self) -> None:
        super().step()
        if self.steps % CUT_EVERY == 0:
            self.cut()

    def _value(self, time: int) -> tuple[int, dict[str, Any]]:
        """A time and a value that is counted as written."""
        value = self.rng.randrange(1_000_000)
        count, total = self.buckets.get(time // BUCKET_MS, (0, 0))
        self.buckets[time // BUCKET_MS] = (count + 1, total + value)
        self.count += 1
        return time, {"v": value, "note": self.text(60)}

    def _next(self) -> int:
        self.now += self.rng.randrange(1, STEP_MS)
        return self.now

    def append(self, *, sync: bool = False) -> None:
        time, value = self._value(self._next())
        self.newest = (time, value["v"])
        self.timed("append synced" if sync else "append", self.log.append, time, value, sync=sync)

    def append_synced(self) -> None:
        self.append(sync=True)

    def extend(self) -> None:
        start = self.now
        self._next()
        times = [self.rng.randrange(start + 1, self.now + 1) for _ in range(BATCH)]
        self.timed("extend", self.log.extend, [self._value(time) for time in times])

    def late(self) -> None:
        """A value of a time that was written long ago, but isn't cut off yet."""
        oldest = max(self.begin, self.now - self.kept * STEP_MS // 4)
        time, value = self._value(self.rng.randrange(oldest, self.now + 1))
        self.timed("append late", self.log.append, time, value)

    def _span(self) -> tuple[int, int]:
        last = self.now // BUCKET_MS
        first = self.rng.randrange(self.begin // BUCKET_MS, last + 1)
        return first, min(first + 30, last + 1)

    def range(self) -> None:
        first, last = self._span()
        found = self.timed("range", lambda: list(self.log[first * BUCKET_MS : last * BUCKET_MS]))
        self._hold(found, first, last)

    def _hold(self, found: list[tuple[int, Any]], first: int, last: int) -> None:
        of = [self.buckets.get(bucket, (0, 0)) for bucket in range(first, last)]
        wanted = (sum(count for count, _ in of), sum(total for _, total in of))
        what = f"count and sum of buckets {first} to {last}"
        self.expect(what, (len(found), sum(value["v"] for _, value in found)), wanted)
        self.expect(f"order of {what}", all(a[0] <= b[0] for a, b in pairwise(found)), True)

    def at(self) -> None:
        """What was appended last is there for who reads it."""
        if self.newest is not None:
            time, value = self.newest
            found = self.timed("at", self.log.at, time)
            self.expect(
                f"whether {value} is at {time}", value in [each["v"] for each in found], True
            )

    def length(self) -> None:
        self.expect("length", self.timed("len", len, self.log), self.count)

    def ends(self) -> None:
        last = self.timed("last", self.log.last, 5)
        self.expect("greatest time", self.log.max_ts(), last[-1][0] if last else None)

    def delete(self) -> None:
        first, last = self._span()
        last = min(last, first + 3)
        self.timed("delete", self.log.delete_range, first * BUCKET_MS, last * BUCKET_MS)
        self._forget(range(first, last))

    def _forget(self, buckets: Any) -> None:
        for bucket in buckets:
            self.count -= self.buckets.pop(bucket, (0, 0))[0]
            if self.newest is not None and self.newest[0] // BUCKET_MS == bucket:
                self.newest = None

    def cut(self) -> None:
        """Retention of a time log is a call of its program's."""
        begin = (self.now - self.kept * STEP_MS // 2) // BUCKET_MS
        if begin * BUCKET_MS > self.begin:
            self.begin = begin * BUCKET_MS
            self.timed("cutoff", self.log.cutoff, self.begin)
            self._forget([bucket for bucket in self.buckets if bucket < begin])

    def verify(self) -> None:
        found = list(self.log)
        self.expect("length", len(found), self.count)
        self._hold(found, self.begin // BUCKET_MS, self.now // BUCKET_MS + 1)
