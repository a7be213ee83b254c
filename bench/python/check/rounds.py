"""Takes rounds of all measures, and more of those that are not decided until they are or the time is up."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.python.check.baseline import Line
from bench.python.check.judge import Interval, Rounds, Verdict, judge
from bench.python.check.measure import Measure, Round, Taker
from bench.python.common.apart import Apart, ApartError, apart

TURNS = 5
ROUNDS_FIRST, ROUNDS_OF_BASELINE, ROUNDS_MAX = 4, 8, 24


@dataclass
class Taken:
    """What was taken of a measure, and what it was held against."""

    rounds: list[list[float]] = field(default_factory=list)
    against: str = ""

    def add(self, taken: Round) -> None:
        self.rounds.append(taken.turns)
        self.against = taken.against


@dataclass(frozen=True)
class Found:
    """What is said of a measure; how many times as long it takes as before, where that is known."""

    measure: Measure
    taken: Taken
    before: Line | None
    verdict: Verdict
    slowdown: Interval | None

    @property
    def seems_changed(self) -> bool:
        """Whether the figure itself, whatever its interval, is beyond what is allowed."""
        if self.slowdown is None:
            return False
        allowed = 1 + self.measure.threshold
        return not 1 / allowed <= self.slowdown.middle <= allowed


def found(measure: Measure, taken: Taken, before: Line | None) -> Found:
    """Holds what was taken of a measure against its line of the baseline."""
    if before is None:
        return Found(measure, taken, before, Verdict.NEW, None)
    if before.against != taken.against:
        return Found(measure, taken, before, Verdict.OTHER, None)
    now: Rounds = taken.rounds
    return Found(measure, taken, before, *judge(before.rounds, now, measure.threshold))


class Run:
    """Measures with what was taken of each, and those that gave up, with the error."""

    def __init__(
        self, measures: Sequence[Measure], folder: Path, handicaps: dict[str, float]
    ) -> None:
        self.measures, self.folder, self.handicaps = list(measures), folder, handicaps
        self.taken = {measure.name: Taken() for measure in measures}
        self.failures: dict[str, str] = {}

    def take_round(self, measures: Iterable[Measure]) -> None:
        """One round: those of a model share a process, and stores that they only read."""
        models: dict[str, list[Measure]] = {}
        for measure in measures:
            if measure.name not in self.failures:
                models.setdefault(measure.model, []).append(measure)
        self.folder.mkdir(parents=True, exist_ok=True)
        for of in models.values():
            with (
                tempfile.TemporaryDirectory(dir=self.folder) as path,
                apart(Taker, Path(path), self.folder / "shared", self.handicaps) as taker,
            ):
                self._take_with(taker, of)
                taker("close")

    def _take_with(self, taker: Apart, measures: Iterable[Measure]) -> None:
        for measure in measures:
            try:
                self.taken[measure.name].add(taker("take", measure.name, TURNS).given)
            except ApartError as error:
                self.failures[measure.name] = str(error)

    def take(self, rounds: int) -> None:
        """So many rounds of all."""
        for number in range(rounds):
            start = time.monotonic()
            self.take_round(self.measures)
            _say(f"round {number + 1} of {rounds}: {time.monotonic() - start:.0f} s")

    def decide(self, before: Mapping[str, Line], end: float) -> None:
        """More rounds of what is not decided, until it is, or enough were taken, or `end` of the monotonic clock.

        What seems slower or faster comes first: on a busy machine there is no time for all.
        """
        while time.monotonic() < end:
            left = [
                one
                for one in self.all_found(before)
                if not one.verdict.is_final and len(one.taken.rounds) < ROUNDS_MAX
            ]
            again = [one.measure for one in left if one.seems_changed] or [
                one.measure for one in left
            ]
            if not again:
                return
            seconds = end - time.monotonic()
            _say(f"again, {seconds:.0f} s left: {'; '.join(each.name for each in again)}")
            self.take_round(again)

    def all_found(self, before: Mapping[str, Line]) -> list[Found]:
        """What is said of each measure that did not give up."""
        return [
            found(measure, self.taken[measure.name], before.get(measure.name))
            for measure in self.measures
            if measure.name not in self.failures
        ]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
