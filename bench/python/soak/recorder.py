"""What operations took, by kind: per interval, over the steady part, and the slowest ones beside the floors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from bench.python.soak.floor import Floor, covered
from bench.python.soak.histogram import Histogram
from bench.python.soak.lines import Lines

# What the store did in a span of time.
During = Callable[[int, int], tuple[str, ...]]
# What may turn out to be slow is kept: what takes so many medians of its kind, and so many of each floor. Medians move a
# little until the run is over, so it is less than what is slow then.
KEPT_MEDIANS = 30
KEPT_NS_MIN = 1_000_000


@dataclass(frozen=True, slots=True)
class Slow:
    """An operation that took long; for how much of it each floor's probes waited too, and all of them, in nanoseconds."""

    ns: int
    kind: str
    # When it began, since the run did.
    at: int
    floors: tuple[tuple[str, int], ...]
    together: int
    # What the store told of its work meanwhile.
    events: tuple[str, ...]


class Kind:
    """One kind of operation of one model."""

    def __init__(self, model: str, name: str) -> None:
        self.model, self.name = model, f"{model} {name}"
        self.interval, self.steady, self.whole = Histogram(), Histogram(), Histogram()
        self.kept_from = KEPT_NS_MIN
        self.pending: list[tuple[int, int]] = []
        # What was slow and has been held against the floors.
        self.settled: list[Slow] = []
        self.lock = threading.Lock()

    def add(self, start: int, end: int, is_steady: bool) -> None:
        ns = end - start
        with self.lock:
            self.interval.add(ns)
            if is_steady:
                self.steady.add(ns)
                if ns >= self.kept_from:
                    self.pending.append((start, end))

    def take(
        self, begin: int, floors: Sequence[Floor], during: During = lambda start, end: ()
    ) -> Histogram:
        """What was added since the last call. What was slow is held against the floors, once these have seen its end."""
        with self.lock:
            taken, self.interval = self.interval, Histogram()
            self.whole.merge(taken)
            seen = min((floor.seen_to for floor in floors), default=0)
            settled = [span for span in self.pending if span[1] <= seen or not floors]
            self.pending = [span for span in self.pending if span[1] > seen and floors]
            known = self.steady if self.steady.count >= 50 else self.whole
            medians = (
                known.percentile(0.5),
                *(floor.steady.percentile(0.5) for floor in floors if floor.is_a_wait),
            )
            self.kept_from = max(KEPT_NS_MIN, KEPT_MEDIANS * max(medians))
        for start, end in settled:
            parts = {floor.name: floor.waited(start, end) for floor in floors}
            beside = tuple((name, covered(of)) for name, of in parts.items())
            together = covered([part for of in parts.values() for part in of])
            events = during(start, end)
            self.settled.append(
                Slow(end - start, self.name, start - begin, beside, together, events)
            )
        return taken


class Recorder:
    """All kinds, which come into being with their first operation. What was slow goes to a file."""

    def __init__(self, begin: int, slow: Lines) -> None:
        self.begin = begin
        self.is_steady = False
        self.kinds: dict[str, Kind] = {}
        self._slow = slow
        self._lock = threading.Lock()

    def kind(self, model: str, name: str) -> Kind:
        with self._lock:
            return self.kinds.setdefault(f"{model} {name}", Kind(model, name))

    def all(self) -> list[Kind]:
        with self._lock:
            return sorted(self.kinds.values(), key=lambda kind: kind.name)

    def take(self, floors: Sequence[Floor], during: During) -> dict[str, tuple[str, Histogram]]:
        """By kind, its model and what was added since the last call."""
        taken = {}
        for kind in self.all():
            taken[kind.name] = (kind.model, kind.take(self.begin, floors, during))
            settled, kind.settled = kind.settled, []
            for slow in settled:
                self._slow.add(asdict(slow))
        return taken

    def slow(self) -> dict[str, list[Slow]]:
        """By kind, all that was slow enough to be kept."""
        found: dict[str, list[Slow]] = {kind.name: [] for kind in self.all()}
        for line in self._slow.all():
            floors = tuple((name, ns) for name, ns in line.pop("floors"))
            found[line["kind"]].append(Slow(**line | {"floors": floors}))
        return found
