"""Lets all sides do the same, in turns, and compares what they give and what it took.

Each turn begins with another side. An answer that differs is an error and no figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from bench.python.common.report import Measure
from bench.python.common.run import Run
from bench.python.common.sample import median, percentile, quiet, timed

OURS = "timestrata"
# Units in which a race is about times; in others it is about rates.
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
Work = Callable[[], Any]


class DiffersError(Exception):
    """Two sides gave different answers."""


def same(left: Any, right: Any) -> bool:
    """Whether two answers are equal; sums of floats may round differently."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return left == right or (len(left) == len(right) and all(map(same, left, right)))
    return bool(left == right)


def agree(answers: Mapping[str, Any]) -> None:
    for side, answer in answers.items():
        if not same(answers[OURS], answer):
            shown = f"{answers[OURS]!r:.200}, {side} {answer!r:.200}"
            raise DiffersError(f"{OURS} {shown}")


def turns(sides: list[str], rounds: int) -> list[list[str]]:
    """Who goes when: each turn begins with another side."""
    return [sides[turn % len(sides) :] + sides[: turn % len(sides)] for turn in range(rounds)]


def race(
    bench: Run,
    name: str,
    amount: int,
    works: Mapping[str, Work],
    aims: Mapping[str, float],
    *,
    unit: str = "rows/s",
    rounds: int = 5,
    answer: Callable[[Any], Any] = lambda given: given,
    note: str = "",
) -> None:
    """Times what each side does with `amount` of something; one line for each of the others.

    Figures are rates, or times for one of the amount where the unit is one of time.
    """
    try:
        taken: dict[str, list[float]] = {side: [] for side in works}
        for order in turns(list(works), 2 if bench.quick else rounds):
            answers = {}
            for side in order:
                with quiet():
                    seconds, given = timed(works[side])
                taken[side].append(seconds)
                answers[side] = answer(given)
                del given
            agree({side: answers[side] for side in works})
        how = f"{note + '; ' if note else ''}median of {len(taken[OURS])}"
        figures = {side: amount / median(seconds) for side, seconds in taken.items()}
        if unit in PER_SECOND:
            figures = {side: PER_SECOND[unit] / rate for side, rate in figures.items()}
        for side in works:
            if side == OURS:
                continue
            spread = ", ".join(
                f"{key} {min(taken[key]) * 1e3:.3g} to {max(taken[key]) * 1e3:.3g} ms"
                for key in (OURS, side)
            )
            aim = aims.get(side)
            text = f"{how}; {spread}"
            bench.report(
                Measure(f"{name} [{side}]", unit, figures[OURS], side, figures[side], aim, text)
            )
    except Exception as error:
        bench.fail(name, error)


def latencies(
    bench: Run,
    name: str,
    works: Mapping[str, Callable[[int], Any]],
    aims: Mapping[str, float],
    samples: int,
    floor: Callable[[int], Any] | None = None,
    *,
    answer: Callable[[Any], Any] = lambda given: given.num_rows,
    note: str = "",
) -> None:
    """p50 and p99 of single calls, which get a number from 0; each call on all sides in turn."""
    try:
        if floor is not None:
            works = {**works, "floor": floor}
        taken: dict[str, list[float]] = {side: [] for side in works}
        sides = list(works)
        with quiet():
            for sample in range(-3, samples):
                at = max(sample, 0)
                answers = {}
                for side in turns(sides, at % len(sides) + 1)[-1]:
                    seconds, given = timed(works[side], at)
                    if sample >= 0:
                        taken[side].append(seconds)
                    if side != "floor":
                        answers[side] = answer(given)
                agree(answers)
        for side in works:
            if side == OURS:
                continue
            for share, word in ((0.5, "p50"), (0.99, "p99")):
                ours, other = (percentile(taken[key], share) * 1e6 for key in (OURS, side))
                title, aim = f"{name}, {word} [{side}]", aims.get(side)
                text = f"{note + '; ' if note else ''}{samples} samples"
                bench.report(Measure(title, "us", ours, side, other, aim, text))
    except Exception as error:
        bench.fail(name, error)
