"""The page of the five reports, and its pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from bench.python.common.report import readable
from bench.python.published.catalogue import Report, Row
from bench.python.published.results import Lines, SideName
from bench.python.report.page import known
from bench.python.report.stamps import Stamp

# Rows of one thing at several sizes: their picture's name, its title, what the size is of, and how the rows' ids begin.
SWEEPS = {
    "pulsora": (("pulsora-ingest", "Rows from CSV, a new table each", "rows a body", "whole "),),
    "merkql": (("merkql-payloads", "A record sent and synced", "bytes a record", "send "),),
}

HEAD = """# Five published reports, row by row

Timestrata does the work of five systems, each of which has published a report of benchmarks. Here is each of their rows:
the figure that was published, on its machine; ours, on the one named below; and, where that system runs here too, its
figure of the same run, in turns with ours, or just before and after where it is a program of its own. `make report` measures all of it and writes this page; nothing in it is
typed but the published figures, which `bench/published` has.

A ratio above 1 says that ours is better. A published figure is of another machine, and often of other durability:
the ratio to the live system is the one that compares. What each report's rows do not say about themselves stands above them.
"""
ABSENT = "-"
# What was measured of a row, by side.
Sides = dict[SideName, dict[str, Any]]
SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def text(
    reports: list[Report], lines: Lines, stamps: dict[str, Stamp], releases: Iterable[str] = ()
) -> str:
    """The whole page; `releases` are the lines of the part about them."""
    parts = [HEAD, "\n".join(_overview(reports, lines)) + "\n"]
    parts += ["\n".join(releases)]
    parts += ["\n".join(_report(report, lines, stamps.get(report.key))) for report in reports]
    return "\n".join(parts)


def of_report(lines: Lines, report: Report) -> Lines:
    """What was measured of a report's rows."""
    return [line for line in lines if line["report"] == report.key]


def found(lines: Lines, report: Report, row: Row) -> Sides:
    """What was measured of a row, by side."""
    return {line["side"]: line for line in of_report(lines, report) if line["id"] == row.id}


def _overview(reports: list[Report], lines: Lines) -> Iterator[str]:
    yield "| report | rows | measured | ahead of what was published | beside the live system | ahead of it |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for report in reports:
        of = [(row, found(lines, report, row)) for row in report.rows]
        ours = [(row, sides) for row, sides in of if "ours" in sides]
        held = [
            row.ratio(sides["ours"]["value"], row.published) for row, sides in ours if row.published
        ]
        live = [
            row.ratio(sides["ours"]["value"], sides["peer"]["value"])
            for row, sides in ours
            if "peer" in sides
        ]
        ahead = f"{sum(ratio >= 1 for ratio in held)} of {len(held)}"
        beside = f"{sum(ratio >= 1 for ratio in live)} of {len(live)}" if live else ABSENT
        yield f"| [{report.title}](#{report.key}) | {len(of)} | {len(ours)} | {ahead} | {len(live)} | {beside} |"


def _report(report: Report, lines: Lines, stamp: Stamp | None) -> Iterator[str]:
    yield f"## {report.title}\n"
    if stamp is not None and known(of_report(lines, report), stamp):
        yield f"{stamp['date']}, commit `{stamp['commit']}`, {stamp['machine']}.\n"
    else:
        yield "Some of these rows were measured by themselves, or not yet; `make report` measures all.\n"
    yield f"{report.title} {report.version}, beside our {report.model}. {report.about}\n"
    yield f"{report.durability}\n"
    peers = {line["label"] for line in of_report(lines, report) if line["side"] == "peer"}
    yield (
        f"Live: {', '.join(sorted(peers))}.\n"
        if peers
        else f"{report.title} did not run here: its figures are those published.\n"
    )
    yield from (f"![{title}]({name}.svg)\n" for name, title in pictures(report))
    for section in report.sections:
        yield f"### {section.title}\n"
        yield "| row | what | published | ours | live | floor | ours / published | ours / live |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
        yield from (_line(row, found(lines, report, row)) for row in section.rows)
        notes = list(_notes(section.rows, report, lines))
        if notes:
            yield ""
            yield from notes
        latencies = [
            row
            for row in section.rows
            if any("p50" in side for side in found(lines, report, row).values())
        ]
        if latencies:
            yield "\n| row | side | p50 | p95 | p99 | processor | memory | runs |"
            yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
            for row in latencies:
                yield from _latencies(row, found(lines, report, row))
        yield ""


def _line(row: Row, sides: Sides) -> str:
    def value(side: SideName) -> float | None:
        return sides[side]["value"] if side in sides else None

    ours = value("ours")

    def shown(figure: float | None) -> str:
        return ABSENT if figure is None else f"{readable(figure)} {row.unit}"

    def ratio(other: float | None) -> str:
        if ours is None or other is None:
            return ABSENT
        found = row.ratio(ours, other)
        if not math.isfinite(found):
            return ABSENT
        if found >= 1:
            return readable(found)
        return f"**{readable(found)}**" if found >= 0.1 else f"**{found:.1g}**"

    peer = value("peer")
    return (
        f"| {row.id} | {row.what} | {shown(row.published)} | {shown(ours) if ours is not None else 'not measured'} | "
        f"{shown(peer)} | {shown(value('floor'))} | {ratio(row.published)} | {ratio(peer)} |"
    )


def is_behind(row: Row, sides: Sides) -> bool:
    """Whether ours is worse than what was published, or than the live system."""
    if "ours" not in sides:
        return False
    others = (row.published, sides["peer"]["value"] if "peer" in sides else None)
    return any(
        row.ratio(sides["ours"]["value"], other) < 1 for other in others if other is not None
    )


def reason(row: Row, sides: Sides) -> str:
    """Why ours is behind, as far as that is known: that the machine itself is, of which floors tell, and what else was found."""
    reasons = [row.behind] if row.behind else []
    if row.published and "floor" in sides:
        floor = row.ratio(sides["floor"]["value"], row.published)
        if floor < 1:
            reasons.insert(0, f"the floor alone is {readable(floor)} of what was published")
    return ", ".join(reasons)


def _notes(rows: tuple[Row, ...], report: Report, lines: Lines) -> Iterator[str]:
    for row in rows:
        sides = found(lines, report, row)
        notes = [row.why] if row.why else []
        if is_behind(row, sides):
            notes.append(f"behind: {reason(row, sides) or 'why is not known'}")
        # Of each side what another one doesn't say too.
        notes += dict.fromkeys(side["note"] for side in sides.values() if "note" in side)
        if notes:
            yield f"- {row.id}: {'; '.join(notes)}."


def _latencies(row: Row, sides: Sides) -> Iterator[str]:
    if row.p50 is not None:
        cells = " | ".join(_seconds(getattr(row, key)) for key in ("p50", "p95", "p99"))
        yield f"| {row.id} | published | {cells} | - | - | - |"
    for side in sides.values():
        if "p50" not in side:
            continue
        cells = " | ".join(_seconds(side.get(key)) for key in ("p50", "p95", "p99"))
        memory = f"{side['peak'] / 1e6:.1f} MB" if "peak" in side else ABSENT
        yield f"| {row.id} | {side['label']} | {cells} | {_seconds(side.get('cpu'))} | {memory} | {side['runs']:,} |"


def _seconds(value: float | None) -> str:
    if value is None:
        return ABSENT
    size, unit = next((each for each in SECONDS if value >= each[0]), SECONDS[-1])
    return f"{readable(value / size)} {unit}"


def pictures(report: Report) -> Iterator[tuple[str, str]]:
    """The pictures of a report: their files' names and titles."""
    yield report.key, f"Ours beside {report.title}, row by row"
    if any(row.p50 is not None for row in report.rows):
        yield f"{report.key}-latencies", f"Latencies beside {report.title}"
    yield from ((name, title) for name, title, _, _ in SWEEPS.get(report.key, ()))
