"""The picture: five figures, one a model, each a ratio against a named peer."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.python.common.picture import FAINT, TEXT, WIDTH, words
from bench.python.common.report import readable
from bench.python.report.suites import FIGURES, SUITES, Figure, Row

ROW, TOP, LEFT, RIGHT = 46, 52, 330, 40
# The axis is logarithmic, and goes to the next power of ten.
RATIO_MAX_LEAST = 10.0
BAR, LESS = "#2f6f8f", "#b5533c"


def svg(results: list[Row]) -> str:
    """The whole picture. A figure that is not measured yet says so in its place."""
    found = [figure.found(results) for figure in FIGURES]
    ratios = [row["ratio"] for row in found if row is not None and row["ratio"] > 0]
    most = 10.0 ** math.ceil(math.log10(max([RATIO_MAX_LEAST, *ratios])))
    least = 0.1 if any(ratio < 1 for ratio in ratios) else 1.0
    height = TOP + ROW * len(FIGURES) + 30
    body = "\n".join(
        [
            *axis(least, most, height),
            *(part for at, (figure, row) in enumerate(zip(FIGURES, found, strict=True)) for part in bar(at, figure, row, least, most)),
        ]
    )  # fmt: skip
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13" role="img">\n'
        "<title>Five figures, one a model, each held against a named peer</title>\n"
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        f"{words(16, 24, 'How many times as fast as a named peer, on the same machine and data', TEXT, 15)}\n"
        f"{body}\n</svg>\n"
    )


def axis(least: float, most: float, height: int) -> Iterator[str]:
    for power in range(round(math.log10(least)), round(math.log10(most)) + 1):
        x = place(10.0**power, least, most)
        yield f'<line x1="{x:.1f}" y1="{TOP - 10}" x2="{x:.1f}" y2="{height - 24}" stroke="#dddddd"/>'
        yield words(x, height - 8, f"{10.0**power:g} x", FAINT, 11, "middle")


def bar(at: int, figure: Figure, row: Row | None, least: float, most: float) -> Iterator[str]:
    y = TOP + at * ROW
    yield words(16, y + 12, figure.label, TEXT, 13)
    if row is None:
        command = next(suite.command for suite in SUITES if figure.suite in suite.members)
        yield words(16, y + 28, f"against {figure.peer}", FAINT, 11)
        yield words(LEFT + 8, y + 16, f"not measured yet: {command}", FAINT, 12)
        return
    unit = row["unit"]
    yield words(
        16,
        y + 28,
        f"{readable(row['value'])} {unit}; {row['against']}: {readable(row['against_value'])} {unit}",
        FAINT,
        11,
    )
    one, end = place(1.0, least, most), place(max(row["ratio"], least), least, most)
    x, width = min(one, end), max(abs(end - one), 1.0)
    yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="22" fill="{BAR if row["ratio"] >= 1 else LESS}"/>'
    yield words(max(one, end) + 6, y + 16, f"{readable(row['ratio'])} x {figure.peer}", TEXT, 13)


def place(ratio: float, least: float, most: float) -> float:
    """Where a ratio is on the axis."""
    share = math.log10(ratio / least) / math.log10(most / least)
    return LEFT + share * (WIDTH - LEFT - RIGHT - 110)
