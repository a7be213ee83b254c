"""Times and what they come to."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

# A sample that is shorter is taken over several runs.
SAMPLE_NS_MIN = 3_000_000


@contextmanager
def quiet() -> Iterator[None]:
    """No garbage collector while something is timed; what there is goes before."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0 to 1) of all values are not above."""
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


@dataclass(frozen=True)
class Timed:
    """What some work gave, which was timed where it was done."""

    seconds: float
    given: Any


def timed(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    """Seconds that some work takes, and what it gives."""
    start = perf_counter_ns()
    result = work(*given)
    seconds = (perf_counter_ns() - start) / 1e9
    return (result.seconds, result.given) if isinstance(result, Timed) else (seconds, result)


def seconds_of(repeats: int, work: Callable[..., Any], *given: Any) -> float:
    """Seconds that one of some runs takes."""
    start = perf_counter_ns()
    for _ in range(repeats):
        work(*given)
    return (perf_counter_ns() - start) / 1e9 / repeats


def repeats_for(seconds: float) -> int:
    """How many runs of `seconds` make one sample."""
    return max(1, math.ceil(SAMPLE_NS_MIN / 1e9 / max(seconds, 1e-7)))


# Three loops that differ in the call alone: a wrapper around it would be most of the time.


def latencies_of_two(
    call: Callable[[Any, Any], Any], given: Sequence[tuple[Any, Any]]
) -> list[int]:
    """Nanoseconds of each `call(a, b)` alone, the two looks at the clock included."""
    clock, taken = perf_counter_ns, [0] * len(given)
    for at, (first, second) in enumerate(given):
        start = clock()
        call(first, second)
        taken[at] = clock() - start
    return taken


def latencies_of_pair(call: Callable[[Any], Any], given: Sequence[tuple[Any, Any]]) -> list[int]:
    """The same for `call((a, b))`."""
    clock, taken = perf_counter_ns, [0] * len(given)
    for at, (first, second) in enumerate(given):
        start = clock()
        call((first, second))
        taken[at] = clock() - start
    return taken


def latencies_of_one(call: Callable[[Any], Any], given: Sequence[Any]) -> list[int]:
    """The same for `call(a)`."""
    clock, taken = perf_counter_ns, [0] * len(given)
    for at, each in enumerate(given):
        start = clock()
        call(each)
        taken[at] = clock() - start
    return taken
