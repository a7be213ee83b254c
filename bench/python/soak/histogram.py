"""Latencies in buckets that are a sixteenth of a power of two wide: cheap to add to, exact to 6 %."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

STEPS = 16


def bucket_of(ns: int) -> int:
    if ns < STEPS:
        return max(ns, 0)
    power = ns.bit_length() - 5
    return power * STEPS + (ns >> power)


def middle_of(bucket: int) -> int:
    """A value from the middle of a bucket."""
    if bucket < 2 * STEPS:
        return bucket
    power, rest = divmod(bucket, STEPS)
    power, rest = power - 1, rest + STEPS
    return (rest << power) + (1 << power) // 2


# Up to 78 hours; what is longer is in the last one.
BUCKETS = bucket_of(1 << 48)


class Histogram:
    """How often which latency was seen, and the longest exactly. As large when it is empty as when it is full."""

    __slots__ = ("count", "counts", "longest")

    def __init__(self) -> None:
        self.counts = array("Q", bytes(8 * BUCKETS))
        self.count = 0
        self.longest = 0

    def add(self, ns: int) -> None:
        self.counts[min(bucket_of(ns), BUCKETS - 1)] += 1
        self.count += 1
        self.longest = max(self.longest, ns)

    def merge(self, other: Histogram) -> None:
        for bucket, count in enumerate(other.counts):
            self.counts[bucket] += count
        self.count += other.count
        self.longest = max(self.longest, other.longest)

    def percentile(self, share: float) -> int:
        """The latency that `share` (0 to 1) of all are not above; 0 of none."""
        wanted = share * self.count
        seen = 0
        for bucket, count in enumerate(self.counts):
            seen += count
            if count and seen >= wanted:
                return min(middle_of(bucket), self.longest)
        return self.longest

    def over(self, ns: float) -> int:
        """How many were longer, as far as the buckets tell."""
        return sum(
            count for bucket, count in enumerate(self.counts) if count and middle_of(bucket) > ns
        )

    def form(self) -> list[float]:
        """How many, and p50, p99 and the longest in microseconds."""
        values = (self.percentile(0.5), self.percentile(0.99), self.longest)
        return [self.count, *(round(value / 1e3, 1) for value in values)]


def merged(parts: Iterable[Histogram]) -> Histogram:
    whole = Histogram()
    for part in parts:
        whole.merge(part)
    return whole
