"""What operations took, by kind: per interval, over the steady part, and the slowest ones beside the floors."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from bench.python.soak.floor import Floor
from bench.python.soak.histogram import Histogram

# What may turn out to be slow is kept: an operation of this many medians, and no shorter than this.
KEPT_MEDIANS = 20
KEPT_NS_MIN = 1_000_000
KEPT_OF_A_KIND = 200


@dataclass(frozen=True, order=True)
class Slow:
    """An operation that took long, and for how much of it each floor's probes waited too, in nanoseconds."""

    ns: int
    kind: str
    # When it began, since the run did.
    at: int
    floors: tuple[tuple[str, int], ...]


class Kind:
    """One kind of operation of one model."""

    def __init__(self, model: str, name: str) -> None:
        self.model, self.name = model, f"{model} {name}"
        self.interval, self.steady, self.whole = Histogram(), Histogram(), Histogram()
        self.kept_from = KEPT_NS_MIN
        self.pending: list[tuple[int, int]] = []
        self.slowest: list[Slow] = []
        self.lock = threading.Lock()

    def add(self, start: int, end: int, is_steady: bool) -> None:
        ns = end - start
        with self.lock:
            self.interval.add(ns)
            if is_steady:
                self.steady.add(ns)
                if ns >= self.kept_from:
                    self.pending.append((start, end))

    def take(self, begin: int, floors: Sequence[Floor]) -> Histogram:
        """What was added since the last call. What was slow is held against the floors, once these have seen its end."""
        with self.lock:
            taken, self.interval = self.interval, Histogram()
            self.whole.merge(taken)
            seen = min((floor.seen_to for floor in floors), default=0)
            settled = [span for span in self.pending if span[1] <= seen or not floors]
            self.pending = [span for span in self.pending if span[1] > seen and floors]
            known = self.steady if self.steady.count >= 50 else self.whole
            self.kept_from = max(KEPT_NS_MIN, KEPT_MEDIANS * known.percentile(0.5))
        for start, end in settled:
            beside = tuple((floor.name, floor.overlap(start, end)) for floor in floors)
            heapq.heappush(self.slowest, Slow(end - start, self.name, start - begin, beside))
            if len(self.slowest) > KEPT_OF_A_KIND:
                heapq.heappop(self.slowest)
        return taken


class Recorder:
    """All kinds, which come into being with their first operation."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.is_steady = False
        self.kinds: dict[str, Kind] = {}
        self._lock = threading.Lock()

    def kind(self, model: str, name: str) -> Kind:
        with self._lock:
            return self.kinds.setdefault(f"{model} {name}", Kind(model, name))

    def all(self) -> list[Kind]:
        with self._lock:
            return sorted(self.kinds.values(), key=lambda kind: kind.name)

    def take(self, floors: Sequence[Floor]) -> dict[str, tuple[str, Histogram]]:
        """By kind, its model and what was added since the last call."""
        return {kind.name: (kind.model, kind.take(self.begin, floors)) for kind in self.all()}
