"""What a release measured of the published rows, kept: `bench/results/VERSION.json`, a file a release.

Only our figures and those of the systems beside which they were taken; what was published stays in `bench/published`.
A file of a release that is out is never written again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.python.common.arguments import ROOT
from bench.python.common.report import write_lines
from bench.python.published import results
from bench.python.published.catalogue import Report, Row
from bench.python.published.results import Lines
from bench.python.report.stamps import Stamp, digest

FOLDER = ROOT / "bench" / "results"
CHANGELOG = ROOT / "CHANGELOG.md"
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
KEYS = ("report", "id", "side", "value", "unit", "stamp")


class KeptError(Exception):
    """A release that can't be kept, or a kept file that can't be used: which, why, and what to do."""


@dataclass(frozen=True)
class Kept:
    """A release's lines: report, id, side, value, unit and stamp of each."""

    release: str
    lines: Lines

    def ours(self, report: Report) -> dict[str, float]:
        """Our figures of a report's rows, by their ids."""
        return {
            line["id"]: line["value"]
            for line in self.lines
            if line["report"] == report.key and line["side"] == "ours"
        }


def number(release: str) -> tuple[int, ...]:
    """A version's place among others.

    Raises:
        KeptError: it is no version.
    """
    found = VERSION.fullmatch(release)
    if found is None:
        raise KeptError(f"{release!r} is not the version of a release, such as 0.1.0")
    return tuple(int(part) for part in found.groups())


def versions(changelog: Path = CHANGELOG) -> list[str]:
    """The versions that the changelog has, newest first."""
    text = changelog.read_text(encoding="utf-8")
    return [found[1] for found in re.finditer(rf"^## ({VERSION.pattern})\b", text, re.MULTILINE)]


def keep(
    release: str,
    reports: Sequence[Report],
    lines: Lines,
    stamps: dict[str, Stamp],
    folder: Path = FOLDER,
    changelog: Path = CHANGELOG,
) -> Path:
    """Writes what was measured as that of a release.

    Raises:
        KeptError: it is no version or none of the changelog's, it is kept already, a row is of no report, or a
            report's rows were not all measured together.
    """
    number(release)
    known = versions(changelog)
    if release not in known:
        raise KeptError(
            f"{release} is not in {changelog.name}, which has {', '.join(known) or 'no version'}"
        )
    path = folder / f"{release}.json"
    if path.exists():
        raise KeptError(
            f"{path} is there: {release} is kept already; remove the file to keep it anew"
        )
    by_key = {report.key: report for report in reports}
    rows = {(report.key, row.id): row for report in reports for row in report.rows}
    forms = []
    for line in lines:
        row = _known(
            rows, line, "the results have", "mend bench/published, or measure the report anew"
        )
        stamp = _stamp(by_key[line["report"]], lines, stamps)
        values = (line["report"], row.id, line["side"], line["value"], row.unit, stamp)
        forms.append(dict(zip(KEYS, values, strict=True)))
    if not any(form["side"] == "ours" for form in forms):
        raise KeptError("nothing is measured yet: make report")
    write_lines(path, forms)
    return path


def _stamp(report: Report, lines: Lines, stamps: dict[str, Stamp]) -> str:
    stamp, of = stamps.get(report.key), [line for line in lines if line["report"] == report.key]
    if stamp is None or stamp["lines"] != digest(of):
        raise KeptError(
            f"the rows of {report.key} were not all measured together: make report, then keep them"
        )
    return f"{stamp['date']}, {stamp['commit']}, {stamp['machine']}"


def _known(rows: dict[tuple[str, str], Row], line: dict[str, Any], who: str, what: str) -> Row:
    row = rows.get((line["report"], line["id"]))
    if row is None:
        raise KeptError(
            f"{who} {line['id']!r} of {line['report']}, which is no row of a report: {what}"
        )
    return row


def read(reports: Sequence[Report], folder: Path = FOLDER) -> list[Kept]:
    """All kept releases, oldest first. Files with other names than a version's are of others.

    Raises:
        KeptError: a file that can't be used.
    """
    paths = [path for path in folder.glob("*.json") if VERSION.fullmatch(path.stem)]
    return [_read(path, reports) for path in sorted(paths, key=lambda path: number(path.stem))]


def _read(path: Path, reports: Sequence[Report]) -> Kept:
    rows = {(report.key, row.id): row for report in reports for row in report.rows}
    try:
        lines: Lines = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise KeptError(f"{path.name} is not JSON: {error}") from error
    if not isinstance(lines, list):
        raise KeptError(f"{path.name} is not a list of lines; git has it as it was written")
    for at, line in enumerate(lines, 1):
        if not isinstance(line, dict) or tuple(line) != KEYS or line["side"] not in results.SIDES:
            raise KeptError(
                f"{path.name}, line {at}: it must have {', '.join(KEYS)}, and is {line!r:.80}"
            )
        if not isinstance(line["value"], (int, float)) or line["value"] < 0:
            raise KeptError(f"{path.name}, line {at}: {line['value']!r} is no figure")
        row = _known(
            rows, line, f"{path.name} has", "a row that is kept keeps its name in bench/published"
        )
        if line["unit"] != row.unit:
            raise KeptError(
                f"{path.name} has {row.id!r} of {line['report']} in {line['unit']}, and bench/published in {row.unit}"
            )
    return Kept(path.stem, lines)
