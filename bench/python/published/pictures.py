"""Pictures of the page: ratios row by row, throughput against size, and latencies. Axes are logarithmic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from bench.python.common.picture import FAINT, TEXT, WIDTH, Axis, framed, words
from bench.python.common.report import readable
from bench.python.published.catalogue import Report
from bench.python.published.page import SWEEPS, found
from bench.python.published.results import Lines

OURS, LIVE, PUBLISHED = "#2f6f8f", "#b5533c", "#a8a8a8"
Series = dict[str, list[tuple[float, float]]]
COLOURS = {"ours": OURS, "live": LIVE, "published": PUBLISHED}
LEFT, RIGHT, TOP, ROW = 150, 60, 64, 16


def drawn(report: Report, lines: Lines) -> Iterator[tuple[str, str]]:
    """The pictures of a report, by their files' names: those that `page.pictures` has."""
    yield report.key, ratios(report, lines)
    if any(row.p50 is not None for row in report.rows):
        yield f"{report.key}-latencies", latencies(report, lines)
    for name, title, of, rows in SWEEPS.get(report.key, ()):
        yield name, curves(title, of, *_series(report, lines, rows))


def _series(report: Report, lines: Lines, prefix: str) -> tuple[str, Series]:
    """The unit and the figures by size of rows whose ids begin so."""
    series: Series = {}
    rows = [row for row in report.rows if row.id.startswith(prefix)]
    for row in rows:
        sides = found(lines, report, row)
        values = {side: line["value"] for side, line in sides.items()}
        shown = (
            ("ours", values.get("ours")),
            ("live", values.get("peer")),
            ("published", row.published),
        )
        for side, value in shown:
            if value is not None:
                series.setdefault(side, []).append((float(row.id.removeprefix(prefix)), value))
    return rows[0].unit, series


def ratios(report: Report, lines: Lines) -> str:
    """How many times as good ours is as what was published, and as the live system."""
    rows = []
    for row in report.rows:
        sides = found(lines, report, row)
        if "ours" not in sides:
            continue
        ours = sides["ours"]["value"]
        others = (
            ("published", row.published),
            ("live", sides["peer"]["value"] if "peer" in sides else None),
        )
        held = [(name, row.ratio(ours, other)) for name, other in others if other is not None]
        held = [(name, ratio) for name, ratio in held if math.isfinite(ratio)]
        if held:
            rows.append((row.id, held))
    axis = Axis.of([1.0, *(ratio for _, held in rows for _, ratio in held)], LEFT, WIDTH - RIGHT)
    height = TOP + ROW * len(rows) + 28
    body = [*_grid(axis, height, lambda value: f"{value:g} x"), _bar_of_one(axis, height)]
    for at, (name, held) in enumerate(rows):
        y = TOP + at * ROW
        body.append(words(LEFT - 8, y + 11, name, TEXT, 11, "end"))
        for place, (side, ratio) in enumerate(held):
            x, end = sorted((axis.at(1.0), axis.at(ratio)))
            body.append(
                f'<rect x="{x:.1f}" y="{y + 1 + 7 * place}" width="{max(end - x, 1):.1f}" height="6" fill="{COLOURS[side]}">'
                f"<title>{readable(ratio)} x {side}</title></rect>"
            )
    legend = (
        ("published", f"over {report.title}'s published figure"),
        ("live", "over the live system"),
    )
    return picture(f"Ours beside {report.title}, times as good", height, body, legend)


def curves(title: str, of: str, unit: str, series: Series) -> str:
    """Figures against sizes."""
    height = 340
    across = Axis.of([x for points in series.values() for x, _ in points], LEFT, WIDTH - RIGHT)
    up = Axis.of([y for points in series.values() for _, y in points], height - 48, TOP)
    body = []
    for tick in up.ticks():
        y = up.at(tick)
        body.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>'
        )
        body.append(words(LEFT - 8, y + 4, f"{readable(tick)} {unit}", FAINT, 11, "end"))
    sizes = sorted({x for points in series.values() for x, _ in points})
    body += [words(across.at(x), height - 26, f"{x:,.0f}", FAINT, 11, "middle") for x in sizes]
    body.append(words(WIDTH / 2, height - 8, of, FAINT, 11, "middle"))
    for name, points in series.items():
        places = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in sorted(points))
        body.append(
            f'<polyline points="{places}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>'
        )
        body += [
            f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="3" fill="{COLOURS[name]}"/>'
            for x, y in points
        ]
    return picture(title, height, body, tuple((name, name) for name in series))


def latencies(report: Report, lines: Lines) -> str:
    """From the median to the 99th percentile, with a mark at the 95th, of rows that are about single calls."""
    rows = []
    for row in report.rows:
        sides = found(lines, report, row)
        if row.p50 is None or "p50" not in sides.get("ours", {}):
            continue
        spans = [("published", (row.p50, row.p95, row.p99))]
        spans += [
            (name, (side["p50"], side["p95"], side["p99"]))
            for name, side in (("ours", sides["ours"]), ("live", sides.get("peer", {})))
            if "p50" in side
        ]
        rows.append((row.id, spans))
    values = [value for _, spans in rows for _, span in spans for value in span if value]
    axis, step = Axis.of(values, LEFT, WIDTH - RIGHT), 30
    height = TOP + step * len(rows) + 28
    body = list(_grid(axis, height, lambda value: f"{readable(value * 1e6)} us"))
    for at, (name, spans) in enumerate(rows):
        y = TOP + at * step
        body.append(words(LEFT - 8, y + 16, name, TEXT, 11, "end"))
        for place, (side, (low, middle, high)) in enumerate(spans):
            across, colour = y + 5 + 8 * place, COLOURS[side]
            x, end = axis.at(low or high or 1), axis.at(high or low or 1)
            body.append(
                f'<line x1="{x:.1f}" y1="{across}" x2="{end:.1f}" y2="{across}" stroke="{colour}" stroke-width="3"/>'
            )
            body += [
                f'<circle cx="{axis.at(value):.1f}" cy="{across}" r="3" fill="{colour}"/>'
                for value in (low, middle, high) if value
            ]  # fmt: skip
    return picture(
        f"Latencies beside {report.title}: p50, p95, p99",
        height,
        body,
        tuple((name, name) for name in COLOURS),
    )


def _grid(axis: Axis, height: int, label: Callable[[float], str]) -> Iterator[str]:
    for tick in axis.ticks():
        x = axis.at(tick)
        yield f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 22}" stroke="#dddddd"/>'
        yield words(x, height - 8, label(tick), FAINT, 10, "middle")


def _bar_of_one(axis: Axis, height: int) -> str:
    x = axis.at(1.0)
    return f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 22}" stroke="{TEXT}"/>'


def picture(title: str, height: int, body: list[str], legend: tuple[tuple[str, str], ...]) -> str:
    """A picture of these parts, with a title and a mark of its colour for each name of the legend."""
    return framed(title, height, body, [(COLOURS[name], label) for name, label in legend])
