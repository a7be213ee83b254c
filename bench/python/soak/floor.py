"""What the machine itself takes, all along: how late a thread wakes, how long one waits for a processor, how long a virtual
processor waits for its host, and a write and its sync.

All are measured by threads of the same process, so the first has in it what threads of Python wait for each other.
"""

from __future__ import annotations

import os
import threading
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter_ns

from bench.python.soak.histogram import Histogram

# A probe that waited for longer is kept, to be held against operations that were slow at the same time.
STALL_NS_MIN = 500_000
KEPT_NS = 180 * 1_000_000_000
FORGOTTEN_MIN = 256
SLEEP_NS = 1_000_000
# As much as a small commit, and between two of them: often enough to meet a stall that an operation waits for.
WRITE_BYTES = 512
# Between two looks at all threads.
LOOK_GAP_SECONDS = 0.05
TASKS = Path("/proc/self/task")
PROCESSORS = Path("/proc/stat")
# Which of a processor's counts there is the time that the host took, in ticks.
STOLEN = 8
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
WRITE_GAP_SECONDS = 0.015
FILE_BYTES = 1 << 20


class Spans:
    """Spans of time in the order of their ends, the latest of them: 16 bytes each, since a machine that stalls often would else
    seem to be a store that grows."""

    def __init__(self) -> None:
        self._starts, self._ends = array("q"), array("q")

    def add(self, start: int, end: int) -> None:
        self._starts.append(start)
        self._ends.append(end)

    def forget(self, before: int) -> None:
        """Those that ended before; now and then, many at once."""
        first = bisect_left(self._ends, before)
        if first > FORGOTTEN_MIN:
            del self._starts[:first], self._ends[:first]

    def within(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a span of time that they cover."""
        first = bisect_right(self._ends, start)
        parts = (
            (max(start, since), min(end, until))
            for since, until in zip(self._starts[first:], self._ends[first:], strict=True)
        )
        return [(since, until) for since, until in parts if since < until]


class Floor:
    """A thread that measures again and again; `waited` tells which parts of a span of time it spent waiting."""

    name = ""
    # Whether it is what one operation may have to wait for, so that less than many of it is not slow.
    is_a_wait = True

    def __init__(self) -> None:
        self.interval, self.steady = Histogram(), Histogram()
        self.is_steady = False
        self.stalls = Spans()
        self.seen_to = perf_counter_ns()
        self._lock = threading.Lock()

    def add(self, start: int, end: int) -> None:
        """Notes a probe that waited from `start` to `end`."""
        with self._lock:
            self.interval.add(end - start)
            if self.is_steady:
                self.steady.add(end - start)
            if end - start >= STALL_NS_MIN:
                self.stalls.add(start, end)
                self.stalls.forget(end - KEPT_NS)
            self.seen_to = end

    def take(self) -> Histogram:
        """What was measured since the last call."""
        with self._lock:
            taken, self.interval = self.interval, Histogram()
        return taken

    def waited(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a span of time in which a probe waited."""
        with self._lock:
            return self.stalls.within(start, end)

    def probe(self) -> None:
        raise NotImplementedError

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.probe()


def covered(parts: list[tuple[int, int]]) -> int:
    """Nanoseconds that some parts of time cover together."""
    total, seen = 0, 0
    for since, until in sorted(parts):
        total += max(0, until - max(since, seen))
        seen = max(seen, until)
    return total


class SchedulerFloor(Floor):
    """How much later than asked a thread wakes that sleeps for a millisecond."""

    name = "scheduler"

    def probe(self) -> None:
        asked = perf_counter_ns() + SLEEP_NS
        time.sleep(SLEEP_NS / 1e9)
        self.add(asked, max(asked, perf_counter_ns()))


class CountedFloor(Floor):
    """How long that one of several waited, between two looks, which waited longest; something else counts it for each."""

    is_a_wait = False

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, int] = {}

    def counts(self) -> Iterator[tuple[str, int]]:
        """Nanoseconds that each has waited so far, by name."""
        raise NotImplementedError

    def probe(self) -> None:
        time.sleep(LOOK_GAP_SECONDS)
        counts = dict(self.counts())
        longest = max(
            (count - self.known.get(name, count) for name, count in counts.items()), default=0
        )
        self.known = counts
        end = perf_counter_ns()
        self.add(end - longest, end)


class ProcessorFloor(CountedFloor):
    """For how long the thread of the process that waited longest had work and no processor.

    The kernel counts that. A thread that mostly sleeps gets a processor soon, so the other floor tells nothing of one that
    holds what all wait for, and is kept from going on.
    """

    name = "processor"

    def counts(self) -> Iterator[tuple[str, int]]:
        return _delays()


def _delays() -> Iterator[tuple[str, int]]:
    """Nanoseconds that each thread has waited for a processor; none where the kernel doesn't count them."""
    for thread in os.listdir(TASKS):
        try:
            yield thread, int((TASKS / thread / "schedstat").read_text(encoding="ascii").split()[1])
        except (FileNotFoundError, ProcessLookupError):
            # It has ended, or nothing is counted.
            continue


class HostFloor(CountedFloor):
    """For how long the virtual processor that waited longest had work and was not run by the machine below.

    The kernel counts that too, by its tick. A thread whose processor stands still has one by all other counts, and floors that are
    on another one see nothing of it.
    """

    name = "host"

    def counts(self) -> Iterator[tuple[str, int]]:
        stolen = _stolen(PROCESSORS.read_text(encoding="ascii"))
        return ((name, ticks * TICK_NS) for name, ticks in stolen)


def _stolen(counts: str) -> Iterator[tuple[str, int]]:
    """Ticks by processor; none where the kernel doesn't count them."""
    for line in counts.splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name != "cpu" and len(values) >= STOLEN:
            yield name, int(values[STOLEN - 1])


class DiskFloor(Floor):
    """A write and its fdatasync, in a file of the store's file system whose blocks are there already."""

    name = "disk"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(self.file, bytes(FILE_BYTES))
        os.fsync(self.file)
        self.at = 0
        self.bytes = os.urandom(WRITE_BYTES)

    def probe(self) -> None:
        start = perf_counter_ns()
        os.pwrite(self.file, self.bytes, self.at)
        os.fdatasync(self.file)
        self.add(start, perf_counter_ns())
        self.at = (self.at + WRITE_BYTES) % FILE_BYTES
        time.sleep(WRITE_GAP_SECONDS)

    def run(self, stop: threading.Event) -> None:
        try:
            super().run(stop)
        finally:
            os.close(self.file)
