"""The page's part about releases: how ours, over what was published, has changed from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from bench.python.common.picture import FAINT, TEXT, WIDTH, Axis, words
from bench.python.common.report import readable
from bench.python.published.catalogue import Report
from bench.python.published.kept import Kept
from bench.python.published.pictures import LEFT, OURS, RIGHT, TOP, picture

NAME, TITLE = "releases", "Ours over what was published, release by release"
# Of each report, rows that have changed by this share at least, and how many of them at most.
CHANGE_LEAST, CHANGES_MOST = 0.10, 5
PANEL, GAP = 96, 34
BAND = "#c7dbe6"


@dataclass(frozen=True)
class Point:
    """All ratios of a report in one release: half of them are between the quartiles."""

    release: str
    low: float
    middle: float
    high: float


def ratios(report: Report, kept: Sequence[Kept]) -> dict[str, list[float]]:
    """Of each row that all of these releases have: ours over what was published, by release."""
    figures = [release.ours(report) for release in kept]
    return {
        row.id: [row.ratio(ours[row.id], row.published) for ours in figures]
        for row in report.rows
        if row.published and all(ours.get(row.id) for ours in figures)
    }


def points(report: Report, kept: Sequence[Kept]) -> list[Point]:
    """What is drawn of a report; nothing, where no row is in all of these releases."""
    rows = ratios(report, kept)
    found = []
    for at, release in enumerate(kept):
        values = [ratio[at] for ratio in rows.values()]
        if values:
            low, high = quartiles(values)
            found.append(Point(release.release, low, median(values), high))
    return found


def quartiles(values: list[float]) -> tuple[float, float]:
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high


def text(reports: Sequence[Report], kept: Sequence[Kept]) -> Iterator[str]:
    """The part of the page."""
    yield "## Over releases\n"
    if not kept:
        yield "No release's figures are kept yet: `make report KEEP=VERSION` keeps them.\n"
        return
    if len(kept) == 1:
        yield f"The figures of one release are kept, {kept[0].release}: from the second one on, what has changed is drawn here.\n"
        return
    before, now = kept[-2:]
    yield (
        "Ours over what was published, of all rows that each of these releases has: a report's median and, as a band, its "
        "quartiles. Above 1 ours is better. Releases may have been measured on different machines: "
        f"{'; '.join(f'{one.release} on {machines(one)}' for one in kept)}.\n"
    )
    yield f"![{TITLE}]({NAME}.svg)\n"
    yield f"Rows that changed most from {before.release} to {now.release}, by {CHANGE_LEAST:.0%} at least:\n"
    changes = [(report, *change) for report in reports for change in changed(report, before, now)]
    if not changes:
        yield "none.\n"
        return
    yield f"| report | row | ours / published, {before.release} | {now.release} | times as good |"
    yield "| --- | --- | --- | --- | --- |"
    for report, id, old, new in changes:
        times = readable(new / old) if new >= old else f"**{readable(new / old)}**"
        yield f"| {report.title} | {id} | {readable(old)} | {readable(new)} | {times} |"
    yield ""


def machines(kept: Kept) -> str:
    """Where a release was measured."""
    found = {line["stamp"].split(", ", 2)[2] for line in kept.lines}
    return " and ".join(sorted(found))


def changed(report: Report, before: Kept, now: Kept) -> list[tuple[str, float, float]]:
    """The rows of a report that changed most, with both ratios; most changed first, whichever way."""
    rows = [(id, old, new) for id, (old, new) in ratios(report, [before, now]).items()]
    rows = [row for row in rows if _change(row) >= 1 + CHANGE_LEAST]
    return sorted(rows, key=_change, reverse=True)[:CHANGES_MOST]


def _change(row: tuple[str, float, float]) -> float:
    _, old, new = row
    return max(new / old, old / new)


def drawn(reports: Sequence[Report], kept: Sequence[Kept]) -> Iterator[tuple[str, str]]:
    """The picture by its file's name, where there are two releases to draw."""
    if len(kept) > 1:
        yield NAME, svg(reports, kept)


def svg(reports: Sequence[Report], kept: Sequence[Kept]) -> str:
    """A panel a report, all on one scale of releases; each has its own logarithmic one of ratios."""
    panels = [(report, found) for report in reports if (found := points(report, kept))]
    height = TOP + (PANEL + GAP) * len(panels) + 16
    body: list[str] = []
    for at, (report, found) in enumerate(panels):
        body += _panel(report, found, TOP + at * (PANEL + GAP))
    return picture(TITLE, height, body, (("ours", "median, and quartiles as a band"),))


def across(at: int, count: int) -> float:
    """Where the release of that place is."""
    return LEFT + (WIDTH - LEFT - RIGHT) * (at + 0.5) / count


def _panel(report: Report, found: list[Point], top: float) -> Iterator[str]:
    up = Axis.of([v for each in found for v in (each.low, each.high, 1.0)], top + PANEL, top)
    yield words(16, top + 12, report.title, TEXT, 13)
    for tick in up.ticks():
        y, colour = up.at(tick), TEXT if tick == 1 else "#dddddd"
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{colour}"/>'
        yield words(LEFT - 8, y + 4, f"{tick:g} x", FAINT, 10, "end")
    places = [(across(at, len(found)), each) for at, each in enumerate(found)]
    edge = [(x, up.at(each.high)) for x, each in places]
    edge += [(x, up.at(each.low)) for x, each in reversed(places)]
    yield f'<polygon points="{_joined(edge)}" fill="{BAND}" fill-opacity="0.7"/>'
    middle = [(x, up.at(each.middle)) for x, each in places]
    yield f'<polyline points="{_joined(middle)}" fill="none" stroke="{OURS}" stroke-width="2"/>'
    for (x, y), each in zip(middle, found, strict=True):
        shown = f"{each.release}: {readable(each.low)}, {readable(each.middle)}, {readable(each.high)} x"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{OURS}"><title>{shown}</title></circle>'
        yield words(x, top + PANEL + 14, each.release, FAINT, 10, "middle")


def _joined(places: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
