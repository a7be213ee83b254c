"""What a measure is, and how turns are taken of it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import Any, TypeVar

import timestrata

from bench.python.common.race import OURS, DiffersError, same, turns
from bench.python.common.sample import quiet

# Shorter work is done several times a sample.
SAMPLE_SECONDS_MIN = 0.006
# A turn has several samples of each side where they are short.
SAMPLES_MAX, TURN_SECONDS = 5, 0.1


Clock = Callable[[], int]


class Class(Enum):
    """What a measure is bound by, and by which share it may differ from the baseline until that is a change."""

    # One thread, in memory: what counts is the processors' time of the process, whoever else has them meanwhile.
    PROCESSOR = 0.05
    READ = 0.10
    WRITE = 0.15
    # What waits for the disk, or takes many files up; its noise is that of the machine's other users too.
    DISK = 0.20

    @property
    def threshold(self) -> float:
        return self.value

    @property
    def clock(self) -> Clock:
        return process_time_ns if self is Class.PROCESSOR else perf_counter_ns


@dataclass(frozen=True)
class Work:
    """What one side does in a turn. `around` opens what it is done on, and closes it; neither is timed."""

    run: Callable[..., Any]
    around: Callable[[], AbstractContextManager[Any]] | None = None


@dataclass(frozen=True)
class Pair:
    """Both sides of a measure, on the same amount of the same; `against` names the other one, with its version."""

    ours: Work
    other: Work
    against: str
    # What each side gives, to be compared; of a floor, which gives something else, nothing is.
    is_floor: bool = False
    answer: Callable[[Any], Any] = field(default=lambda given: given)


Given = TypeVar("Given")


class Place:
    """A folder for the stores of one process, one for files that all share, and what its measures have in common."""

    def __init__(self, folder: Path, shared: Path) -> None:
        self.folder, self.shared = folder, shared
        self._paths = 0
        self._common: dict[Any, Any] = {}
        self._closing = ExitStack()

    def new(self) -> Path:
        """A path where nothing is."""
        self._paths += 1
        return self.folder / str(self._paths)

    def common(self, make: Callable[[Place], Iterator[Given]]) -> Given:
        """What a generator yields, which is made once for all measures of this process."""
        if make not in self._common:
            self._common[make] = self._closing.enter_context(contextmanager(make)(self))
        given: Given = self._common[make]
        return given

    def close(self) -> None:
        self._closing.close()


@contextmanager
def emptied(path: Path, **settings: Any) -> Iterator[Any]:
    """An empty store at a path, whatever was there before."""
    shutil.rmtree(path, ignore_errors=True)
    with timestrata.open(path, **settings) as store:
        yield store


@dataclass(frozen=True)
class Measure:
    """A measure by its name. `pair` opens what it needs, gives its pair, and closes again."""

    name: str
    kind: Class
    pair: Callable[[Place], Iterator[Pair]]

    @property
    def threshold(self) -> float:
        return self.kind.threshold

    @property
    def model(self) -> str:
        """What it is a part of: those of one model are measured in one process."""
        return self.name.partition(" ")[0]


def measure(name: str, kind: Class) -> Callable[[Callable[[Place], Iterator[Pair]]], Measure]:
    """Makes a measure of a function that yields its pair once."""
    return lambda pair: Measure(name, kind, pair)


@dataclass(frozen=True)
class Round:
    """The turns of one process."""

    against: str
    turns: list[float]


class Taker:
    """Takes a round of measures; made in a process of its own, which takes one of each."""

    def __init__(self, folder: Path, shared: Path, handicaps: dict[str, float]) -> None:
        # Measures are made of what is here.
        from bench.python.check.measures import MEASURES

        self.place, self.handicaps = Place(folder, shared), handicaps
        self.measures = {each.name: each for each in MEASURES}
        shared.mkdir(parents=True, exist_ok=True)

    def take(self, name: str, count: int) -> Round:
        return round_of(self.measures[name], self.place, count, self.handicaps.get(name, 1.0))

    def close(self) -> None:
        self.place.close()


def round_of(of: Measure, place: Place, count: int, handicap: float = 1.0) -> Round:
    """So many turns of a measure, once each side has done its work to warm up.

    With a handicap ours takes so many times as long as it does: this is how the check itself is tried.

    Raises:
        DiffersError: the sides gave different answers.
    """
    with contextmanager(of.pair)(place) as pair:
        return Round(pair.against, _turns(pair, of.kind.clock, count, handicap))


def _turns(pair: Pair, clock: Clock, count: int, handicap: float) -> list[float]:
    sides = {OURS: pair.ours, "other": pair.other}
    answers, samplers, taken = {}, {}, 0.0
    for side, work in sides.items():
        once = Sampler(work, clock)
        seconds, answers[side] = once.sample()
        # What is done on something new can't be done twice.
        repeats = 1 if work.around else max(1, math.ceil(SAMPLE_SECONDS_MIN / max(seconds, 1e-6)))
        samplers[side] = Sampler(work, clock, repeats, handicap if side == OURS else 1.0)
        start = perf_counter_ns()
        samplers[side].sample()
        taken += (perf_counter_ns() - start) / 1e9
    if not pair.is_floor:
        ours, other = (pair.answer(answers[side]) for side in sides)
        if not same(ours, other):
            raise DiffersError(f"ours gave {ours!r:.200}, {pair.against} {other!r:.200}")
    answers.clear()
    samples = max(1, min(SAMPLES_MAX, round(TURN_SECONDS / taken)))
    return [_turn(samplers, samples, first) for first in range(count)]


def _turn(samplers: dict[str, Sampler], samples: int, first: int) -> float:
    """One ratio, of the least of some samples of each side: what else the machine does only adds to them."""
    least = dict.fromkeys(samplers, math.inf)
    with quiet():
        for order in turns(list(samplers), first + samples)[first:]:
            for side in order:
                least[side] = min(least[side], samplers[side].sample()[0])
    return least["other"] / least[OURS]


@dataclass(frozen=True)
class Sampler:
    """Times a work, some times over, by a clock; with a handicap it lasts so many times as long."""

    work: Work
    clock: Clock
    repeats: int = 1
    handicap: float = 1.0

    def sample(self) -> tuple[float, Any]:
        """Seconds that the work takes once, and what it gave."""
        if self.work.around:
            with self.work.around() as given:
                return self._timed(partial(self.work.run, given))
        # The other side has had the processor's caches to itself.
        self.work.run()
        return self._timed(self.work.run)

    def _timed(self, run: Callable[[], Any]) -> tuple[float, Any]:
        clock, answer = self.clock, None
        start = clock()
        for _ in range(self.repeats):
            answer = run()
        if self.handicap > 1:
            end = start + (clock() - start) * self.handicap
            while clock() < end:
                pass
        return (clock() - start) / 1e9 / self.repeats, answer
