"""Tells a regression from noise: pure functions over ratios, without a clock or a file.

A *turn* is one ratio: the time of what ours is held against over ours, taken one after the other, so above 1 ours is the
quicker. A *round* is the turns of one process. Turns of a process have much in common that another process has not
(where its memory lies, which threads run where), so rounds are what is repeated, and the interval is made of both levels:
rounds are drawn with replacement, and then turns within them, as Kalibera and Jones do ("Rigorous Benchmarking in
Reasonable Time", ISMM 2013; the bootstrap of percentiles itself is Efron's). Medians stand where they have means: on a machine that
does other work too, a few turns take several times as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

import numpy as np
from numpy.typing import NDArray

Rounds = Sequence[Sequence[float]]

DRAWS = 2_000
CONFIDENCE = 0.95
# With fewer rounds nothing is known of how they differ.
ROUNDS_MIN = 4
# What seems slower, or faster, is measured again, at another time, before it is told.
ROUNDS_TO_TELL = 8
SEED = 2013


class Verdict(Enum):
    """What is said of a measure."""

    FINE = "fine"
    REGRESSION = "REGRESSION"
    IMPROVEMENT = "improvement"
    NOT_DECIDED = "not decided"
    # No baseline, or one that was held against something else.
    NEW = "new"
    OTHER = "not compared"

    @property
    def is_final(self) -> bool:
        """Whether more rounds would change nothing."""
        return self is not Verdict.NOT_DECIDED


@dataclass(frozen=True)
class Interval:
    """The value of a sample, and between which two the true one is."""

    low: float
    middle: float
    high: float


def ratio(rounds: Rounds) -> float:
    """The median of all turns."""
    return median(turn for turns in rounds for turn in turns)


def ratio_interval(rounds: Rounds) -> Interval:
    """The same with its interval."""
    return _interval(ratio(rounds), _drawn(rounds, np.random.default_rng(SEED)))


def slowdown(before: Rounds, now: Rounds) -> Interval:
    """How many times as long ours takes as before, measured by what it is held against; above 1 is slower.

    Both are samples, so both are drawn: a baseline of few rounds gives a wide interval.
    """
    choose = np.random.default_rng(SEED)
    drawn = _drawn(before, choose) / _drawn(now, choose)
    return _interval(ratio(before) / ratio(now), drawn)


def judge(before: Rounds, now: Rounds, threshold: float) -> tuple[Verdict, Interval]:
    """What is to be said of a measure whose time may differ by a share of `threshold`.

    An interval wholly beyond it is a regression or an improvement, one wholly within it is neither; all else is not
    decided, and so is what has too few rounds to tell.
    """
    found = slowdown(before, now)
    if min(len(before), len(now)) < ROUNDS_MIN:
        return Verdict.NOT_DECIDED, found
    slower, faster = 1 + threshold, 1 / (1 + threshold)
    if found.low >= faster and found.high <= slower:
        return Verdict.FINE, found
    if len(now) < ROUNDS_TO_TELL:
        return Verdict.NOT_DECIDED, found
    if found.low > slower:
        return Verdict.REGRESSION, found
    if found.high < faster:
        return Verdict.IMPROVEMENT, found
    return Verdict.NOT_DECIDED, found


def _drawn(rounds: Rounds, choose: np.random.Generator) -> NDArray[np.float64]:
    """Medians of samples that are drawn from the rounds, and from the turns of each that is drawn.

    All rounds have as many turns.
    """
    values = np.asarray(rounds, np.float64)
    count, turns = values.shape
    rows = choose.integers(0, count, (DRAWS, count, 1))
    places = choose.integers(0, turns, (DRAWS, count, turns))
    medians: NDArray[np.float64] = np.median(values[rows, places].reshape(DRAWS, -1), axis=1)
    return medians


def _interval(middle: float, drawn: NDArray[np.float64]) -> Interval:
    ordered, outside = np.sort(drawn).tolist(), (1 - CONFIDENCE) / 2
    low = ordered[math.floor(outside * (len(ordered) - 1))]
    high = ordered[math.ceil((1 - outside) * (len(ordered) - 1))]
    return Interval(min(low, middle), middle, max(high, middle))
