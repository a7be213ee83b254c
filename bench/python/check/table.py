"""The table that a check prints, and the notes under it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bench.python.check.baseline import Line
from bench.python.check.judge import Interval, Verdict, ratio, ratio_interval
from bench.python.check.rounds import Found
from bench.python.common.report import readable

HEADING = (
    f"{'measure':<34} {'baseline':>9} {'now':>9}  {'interval':<17}  {'takes':>7}  {'interval':<17}  "
    f"{'allowed':>7}  {'rounds':>6}  verdict"
)

# What is to be done about measures of which this is said.
WHAT = {
    Verdict.NEW: "no baseline to hold it against yet; make bench-check UPDATE=1",
    Verdict.NOT_DECIDED: "repeat it on a quieter machine, or with more minutes (--minutes)",
}


def lines(found: Iterable[Found]) -> Iterator[str]:
    """A line a measure: its ratio then and now, and how much longer that is than it took."""
    yield HEADING
    for one in found:
        before = "-" if one.before is None else readable(ratio(one.before.rounds))
        now = ratio_interval(one.taken.rounds)
        ratios = f"{readable(now.low)} to {readable(now.high)}"
        yield (
            f"{one.measure.name:<34} {before:>9} {readable(now.middle):>9}  {ratios:<17}  "
            f"{_share(one.slowdown)}  {one.measure.threshold:>7.0%}  {len(one.taken.rounds):>6}  "
            f"{one.verdict.value:<12} held against {one.taken.against}"
        )


def _share(slowdown: Interval | None) -> str:
    if slowdown is None:
        return f"{'-':>7}  {'-':<17}"
    low, middle, high = (
        f"{each - 1:+.1%}" for each in (slowdown.low, slowdown.middle, slowdown.high)
    )
    return f"{middle:>7}  {f'{low} to {high}':<17}"


def notes(
    found: Sequence[Found],
    failures: Mapping[str, str],
    before: Mapping[str, Line],
    machine: str,
    names: Iterable[str],
) -> Iterator[str]:
    """What has to be said beside the table."""
    compared = [one for one in found if one.slowdown is not None and one.before is not None]
    for other in sorted({one.before.machine for one in compared if one.before} - {machine}):
        yield (
            f"note: the baseline is of another machine ({other}; this is {machine}): its ratios are compared all the "
            "same, but may differ for that alone"
        )
    for one in found:
        if one.verdict is Verdict.OTHER and one.before is not None:
            yield (
                f"not compared: {one.measure.name} was held against {one.before.against}, and is now against "
                f"{one.taken.against}; make bench-check UPDATE=1, once it is right"
            )
    for verdict, what in WHAT.items():
        named = [one.measure.name for one in found if one.verdict is verdict]
        if named:
            yield f"{verdict.value}: {'; '.join(named)}: {what}"
    for name in sorted(before.keys() - set(names)):
        yield f"note: the baseline has {name}, which is not measured any more; the next UPDATE=1 drops it"
    for name, error in failures.items():
        yield f"FAILED {name}: {error}"
    counts = Counter(one.verdict for one in found)
    told = [f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict]]
    if failures:
        told.append(f"{len(failures)} failed")
    yield f"{len(found) + len(failures)} measures: {', '.join(told)}"
