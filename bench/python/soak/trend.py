"""Whether a figure grows: a slope that outliers don't move, how sure it is, and how far the figure wavers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.python.common.sample import percentile

# Neighbouring samples are much alike; medians of so many windows are held against each other instead.
WINDOWS = 30
# Of the normal distribution: 95 % of it lies within so many deviations.
SURE = 1.96
SHARE_MAX = 0.02


@dataclass(frozen=True)
class Trend:
    """Of a steady part: the slope a second with its 95 % interval, the median, and how far it wavers."""

    slope: float
    low: float
    high: float
    median: float
    noise: float
    seconds: float

    @property
    def growth(self) -> float:
        """What the slope comes to over the steady part."""
        return self.slope * self.seconds

    def limit(self, least: float) -> float:
        """As much growth as can't be told from wavering, or is too little to count."""
        return max(self.noise, SHARE_MAX * abs(self.median), least)

    def grows(self, least: float) -> bool:
        """Whether it surely rises, and by more than it wavers."""
        return self.low > 0 and self.growth > self.limit(least)


def windowed(
    times: Sequence[float], values: Sequence[float], count: int
) -> tuple[list[float], list[float]]:
    """Medians of windows with as many samples each, one more or less."""
    count = min(count, len(values))
    ends = [round(at * len(values) / count) for at in range(count + 1)]
    spans = list(pairwise(ends))
    return (
        [statistics.median(times[first:last]) for first, last in spans],
        [statistics.median(values[first:last]) for first, last in spans],
    )


def trend(times: Sequence[float], values: Sequence[float]) -> Trend:
    """The slope of Theil and Sen, the median of those between any two windows; the interval is Sen's, by Kendall's test."""
    if len(values) < 3:
        raise ValueError(f"{len(values)} samples have no trend: it takes 3")
    x, y = windowed(times, values, WINDOWS)
    slopes = sorted(
        (y[b] - y[a]) / (x[b] - x[a])
        for a in range(len(x))
        for b in range(a + 1, len(x))
        if x[b] > x[a]
    )
    n = len(x)
    spread = SURE * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = slopes[max(math.floor((len(slopes) - spread) / 2), 0)]
    high = slopes[min(math.ceil((len(slopes) + spread) / 2), len(slopes) - 1)]
    slope = statistics.median(slopes)
    rest = [value - slope * time for time, value in zip(x, y, strict=True)]
    noise = percentile(rest, 0.9) - percentile(rest, 0.1)
    return Trend(slope, low, high, statistics.median(values), noise, times[-1] - times[0])
