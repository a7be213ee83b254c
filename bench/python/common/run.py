"""A run of a suite: its groups one after the other, and what came out."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.python.common import report
from bench.python.common.report import Measure, line, told


@dataclass(kw_only=True)
class Run:
    """What all groups share, and what came out so far."""

    dir: Path
    quick: bool
    measures: list[Measure] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def many(self, full: int) -> int:
        """How many of something: `full`, or few of them in a quick run."""
        return max(full // 50, min(full, 2_000)) if self.quick else full

    def report(self, measure: Measure) -> None:
        if any(measure.name == other.name for other in self.measures):
            raise ValueError(f"there are two measures {measure.name}")
        print(line(measure), flush=True)
        self.measures.append(measure)

    def told(self, name: str, unit: str, value: float, note: str = "") -> None:
        self.report(told(name, unit, value, note))

    def fail(self, what: str, error: BaseException) -> None:
        text = f"{what}: {type(error).__name__}: {error}"
        self.failures.append(text)
        print(f"FAILED {text}", file=sys.stderr, flush=True)


Group = tuple[str, Callable[[], Any]]


def _play(run: Run, groups: Sequence[Group]) -> None:
    for name, group in groups:
        print(f"\n== {name}", flush=True)
        start = time.monotonic()
        try:
            group()
        except Exception as error:
            run.fail(name, error)
        print(f"({name}: {time.monotonic() - start:.1f} s)", file=sys.stderr, flush=True)


def play(run: Run, suite: str, groups: Sequence[Group], only: str, out: Path) -> int:
    """Runs the groups whose names hold `only`, and puts what they measured into the report."""
    print(report.heading(), flush=True)
    wanted = [(name, group) for name, group in groups if only in name]
    if run.quick:
        # Whatever the process holds by now isn't looked through before each measure.
        gc.freeze()
    try:
        _play(run, wanted)
    finally:
        gc.unfreeze()
    whole = len(wanted) == len(groups) and not run.failures
    report.merge_into(out, suite, run.measures, whole=whole)
    print(f"\n{len(run.measures)} measures in {out}")
    for failure in run.failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if run.failures else 0
