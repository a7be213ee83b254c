"""The verdict: a list of criteria, each with its figure and its limit, told from the lines of results alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.python.soak.results import WHY, Line, Results
from bench.python.soak.trend import Trend, trend

# Of a shorter steady part no slope is told: compactions alone let all figures rise and fall.
STEADY_SECONDS_MIN = 300.0
STEADY_SAMPLES_MIN = 30
LEFT_OUT_MAX = 0.05
# A hash of 32 bytes a record, those above them, and their runs' own.
TREE_BYTES_MAX = 64.0
MIB = float(1 << 20)
# What may not grow: its name, the line's key, its unit, how much of it one is, and the growth that is too little to count.
STEADY = (
    ("memory in use", "in_use", "MiB", MIB, MIB),
    ("anonymous memory", "anonymous", "MiB", MIB, MIB),
    ("resident memory", "rss", "MiB", MIB, MIB),
    ("open files", "open_files", "", 1.0, 2.0),
    ("threads", "threads", "", 1.0, 2.0),
    ("files of the store", "files", "", 1.0, 4.0),
    ("bytes of the store without hashes of topics", "bytes_bounded", "MiB", MIB, MIB),
    ("bytes of the write-ahead log", "wal_bytes", "MiB", MIB, MIB),
)


@dataclass(frozen=True)
class Criterion:
    """`passed` is None where the run was too short to tell."""

    name: str
    passed: bool | None
    figure: str
    limit: str

    @property
    def word(self) -> str:
        return "not judged" if self.passed is None else "passed" if self.passed else "**FAILED**"


def failed(criteria: list[Criterion]) -> bool:
    return any(criterion.passed is False for criterion in criteria)


def verdict(results: Results) -> list[Criterion]:
    return list(_criteria(results))


def _criteria(results: Results) -> Iterator[Criterion]:
    yield answers(results.run)
    yield pace(results.run)
    samples = steady(results.samples)
    times = [float(line["t"]) for line in samples]
    is_long = len(times) >= STEADY_SAMPLES_MIN and times[-1] - times[0] >= STEADY_SECONDS_MIN
    for name, key, unit, one, least in STEADY:
        if any(is_unknown(line, key) for line in samples):
            continue
        values = [float(value_of(line, key)) for line in samples]
        found = trend(times, values) if len(values) >= 3 else None
        yield level(name, found, unit, one, least, is_long=is_long)
    yield trees(results)
    yield stalls(results.kinds)


def steady(samples: list[Line]) -> list[Line]:
    """Those behind the warm-up."""
    return [line for line in samples if line["is_steady"]]


def is_unknown(line: Line, key: str) -> bool:
    """Whether the allocator did not tell what is in use."""
    return key == "in_use" and key not in line


def value_of(line: Line, key: str) -> float:
    if key == "bytes_bounded":
        return float(line["bytes"] - line["tree_bytes"])
    return float(line[key])


def answers(run: Line) -> Criterion:
    failures = run["failures"]
    steps = sum(done for done, _ in run["steps"].values())
    figure = f"{steps:,} steps, {len(failures)} failures" + "".join(
        f"; {each}" for each in failures[:3]
    )
    return Criterion("no wrong answer, no error", not failures, figure, "0 failures")


def pace(run: Line) -> Criterion:
    """A load that can't keep its pace says nothing of a store at that pace."""
    shares = {name: left / max(done + left, 1) for name, (done, left) in run["steps"].items()}
    name = max(shares, key=lambda each: shares[each])
    figure = f"{shares[name]:.1%} left out by {name}" if shares[name] else "none left out"
    return Criterion(
        "the load keeps its pace",
        shares[name] <= LEFT_OUT_MAX,
        figure,
        f"{LEFT_OUT_MAX:.0%} of steps",
    )


def level(
    name: str, found: Trend | None, unit: str, one: float, least: float, *, is_long: bool
) -> Criterion:
    """A figure that may waver and not grow."""
    if found is None:
        return Criterion(f"{name}: no growth", None, "no steady part", "-")
    hours, word = 3600 / one, f" {unit}" if unit else ""
    figure = (
        f"median {found.median / one:,.1f}{word}; {found.slope * hours:+,.2f}{word} an hour "
        f"({found.low * hours:+,.2f} to {found.high * hours:+,.2f}), {found.growth / one:+,.2f}{word} in all"
    )
    limit = f"{found.limit(least) / one:,.2f}{word} in all, or an interval with 0"
    return Criterion(
        f"{name}: no growth", not found.grows(least) if is_long else None, figure, limit
    )


def trees(results: Results) -> Criterion:
    """Hashes of records that have gone are kept, so they grow with what is sent, and with nothing else."""
    records, last = (
        results.run["records"],
        results.samples[-1]["tree_bytes"] if results.samples else 0,
    )
    each = last / max(records, 1)
    figure = f"{each:.1f} B a record, of {records:,}"
    return Criterion(
        "hashes of topics", each <= TREE_BYTES_MAX, figure, f"{TREE_BYTES_MAX:.0f} B a record"
    )


def stalls(kinds: list[Line]) -> Criterion:
    """Operations that took much longer than usual, by what the floors did at the same time."""
    counts = {name: sum(kind["slow"].get(name, 0) for kind in kinds) for name in WHY}
    of = sum(kind["steady"][0] for kind in kinds)
    figure = (
        f"{sum(counts.values())} of {of:,} operations were slow: {counts['disk']} while the disk stalled, "
        f"{counts['scheduler']} while the scheduler did, {counts['processor']} while threads waited for a processor, {counts['host']} while processors waited for their host, "
        f"{counts['neither']} while none did"
    )
    passed = counts["neither"] == 0 if of else None
    return Criterion("no stall of the store's own", passed, figure, "0 while none did")
