"""Pictures of a run, each figure over time: memory, files, disk, and latencies by model beside the floors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.python.common.picture import FAINT, LINE, TEXT, WIDTH, Axis, Linear, framed, words
from bench.python.common.report import readable
from bench.python.soak.results import Line, Results
from bench.python.soak.verdict import MIB, is_unknown

LEFT, RIGHT, TOP, GAP = 90, 30, 66, 36
PANEL, LATENCY_PANEL = 170, 150
COLOURS = ("#2f6f8f", "#b5533c", "#5a8f3c", "#8c5a9e", "#a8a8a8")
MODELS = ("timelog", "table", "logs", "topic", "graph", "sql", "store")
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """A line of a picture, and whether it is drawn faintly, beside others."""

    label: str
    colour: str
    points: Points
    width: float = 1.5


# What a picture shows: its name, its title, what its figures are in, and which keys of a sample, with their labels.
LEVELS: tuple[tuple[str, str, str, float, tuple[tuple[str, str], ...]], ...] = (
    (
        "soak-memory", "Memory of the process", "MiB", MIB,
        (("rss", "resident"), ("anonymous", "anonymous"), ("in_use", "in use, by the allocator")),
    ),
    (
        "soak-files", "Open files, threads, and files of the store", "", 1.0,
        (("files", "files of the store"), ("open_files", "open files"), ("threads", "threads"), ("runs", "runs")),
    ),
    (
        "soak-disk", "The store on disk", "MiB", MIB,
        (("bytes", "all"), ("wal_bytes", "write-ahead log"), ("tree_bytes", "hashes of topics"),
         ("memtable_bytes", "rows in memory"), ("debt_bytes", "compaction to do")),
    ),
)  # fmt: skip


def drawn(results: Results) -> Iterator[tuple[str, str]]:
    """The pictures by their files' names, as `titles` has them."""
    samples = results.samples
    warm_up = float(results.run["settings"]["warm_up"])
    for name, title, unit, one, keys in LEVELS:
        curves = [
            Curve(label, colour, [(line["t"], line[key] / one) for line in samples])
            for (key, label), colour in zip(keys, COLOURS, strict=False)
            if not any(is_unknown(line, key) for line in samples)
        ]
        yield name, levels(title, unit, curves, warm_up)
    yield "soak-latencies", latencies(samples, warm_up)


def titles() -> Iterator[tuple[str, str]]:
    yield from ((name, title) for name, title, _, _, _ in LEVELS)
    yield "soak-latencies", "Latencies by model, and the floors"


def levels(title: str, unit: str, curves: Sequence[Curve], warm_up: float) -> str:
    """One panel, whose figures begin at nothing."""
    most = [y for curve in curves for _, y in curve.points]
    up = Linear.of(most, TOP + PANEL, TOP)
    suffix = f" {unit}" if unit else ""
    across = _across(curves)
    body = [
        *_shaded(across, warm_up, TOP, TOP + PANEL),
        *_lines(up, lambda value: f"{value:,g}{suffix}"),
        *_curves(curves, across, up),
        *_times(across, TOP + PANEL),
    ]
    return framed(title, TOP + PANEL + GAP, body, [(curve.colour, curve.label) for curve in curves])


def latencies(samples: list[Line], warm_up: float) -> str:
    """A panel a model and a floor: p50, p99 and the longest of each interval."""
    panels = [(name, _latencies(samples, "models", name)) for name in MODELS]
    panels += [
        (f"floor: {name}", _latencies(samples, "floors", name))
        for name in ("scheduler", "processor", "host", "disk")
    ]
    across = Linear.of((line["t"] for line in samples), LEFT, WIDTH - RIGHT, ticks=10)
    panels = [(name, curves) for name, curves in panels if any(curve.points for curve in curves)]
    body: list[str] = []
    for at, (name, curves) in enumerate(panels):
        top = TOP + at * LATENCY_PANEL
        bottom = top + LATENCY_PANEL - GAP
        up = Axis.of([y for curve in curves for _, y in curve.points], bottom, top + 14)
        body += _shaded(across, warm_up, top + 14, bottom)
        body.append(words(LEFT, top + 8, name, TEXT, 12))
        body += _lines(up, lambda value: _microseconds(value))
        body += [*_curves(curves, across, up), *_times(across, bottom)]
    legend = list(zip(COLOURS, ("p50", "p99", "longest of each interval"), strict=False))
    height = TOP + LATENCY_PANEL * len(panels)
    return framed("Latencies by model, and the floors", height, body, legend)


def _latencies(samples: list[Line], group: str, name: str) -> list[Curve]:
    """p50, p99 and the longest of samples in which there were operations, in microseconds."""
    known = [(line["t"], line[group][name]) for line in samples if line[group].get(name, [0])[0]]
    return [
        Curve(label, COLOURS[at], [(t, form[at + 1]) for t, form in known])
        for at, label in enumerate(("p50", "p99", "longest"))
    ]


def _microseconds(value: float) -> str:
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} us"


def _across(curves: Sequence[Curve]) -> Linear:
    return Linear.of(
        (x for curve in curves for x, _ in curve.points), LEFT, WIDTH - RIGHT, ticks=10
    )


def _shaded(across: Linear, warm_up: float, top: float, bottom: float) -> Iterator[str]:
    width = across.at(warm_up) - LEFT
    yield f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{bottom - top}" fill="#f3f3f3"/>'


def _lines(up: Linear | Axis, label: Callable[[float], str]) -> Iterator[str]:
    for tick in up.ticks():
        y = up.at(tick)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{LINE}"/>'
        yield words(LEFT - 8, y + 4, label(tick), FAINT, 10, "end")


def _times(across: Linear, bottom: float) -> Iterator[str]:
    in_minutes = across.most > 300
    for tick in across.ticks():
        shown = f"{readable(tick / 60)} min" if in_minutes else f"{tick:g} s"
        yield words(across.at(tick), bottom + 16, shown, FAINT, 10, "middle")


def _curves(curves: Sequence[Curve], across: Linear, up: Linear | Axis) -> Iterator[str]:
    for curve in curves:
        places = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in curve.points)
        yield (
            f'<polyline points="{places}" fill="none" stroke="{curve.colour}" '
            f'stroke-width="{curve.width}"/>'
        )
