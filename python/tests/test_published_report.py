"""The page of published reports: each of their rows, with what was published, ours, and why where there is none."""

from __future__ import annotations

import importlib
import json
import xml.etree.ElementTree as xml
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# How many rows each report has: one that is lost is one that is left out silently.
ROWS = {"dls": 31, "kausaldb": 42, "merkql": 17, "pulsora": 49, "timelog": 64}


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(ROOT))
    names = ("catalogue", "kept", "page", "pictures", "releases", "results")
    modules = {name: importlib.import_module(f"bench.python.published.{name}") for name in names}
    stamps = importlib.import_module("bench.python.report.stamps")
    return SimpleNamespace(stamps=stamps, **modules)


REPORT = """
title = "Other"
version = "1"
model = "table"
peer = "other"
about = "About it."
durability = "Equal."

[[section]]
title = "One"
rows = [
  { id = "in 10", what = "rows in", unit = "rows/s", published = 100.0 },
  { id = "in 100", what = "rows in", unit = "rows/s", published = 400.0 },
  { id = "wait", what = "a wait", unit = "us", published = 5.0, p50 = 5e-6, p99 = 9e-6 },
  { id = "never", what = "a thing", unit = "x", why = "it has no such part" },
]
"""


def result(published: SimpleNamespace, id: str, side: str, value: float, **more: Any) -> Any:
    return published.results.Result(
        report="other", id=id, side=side, label=side, value=value, runs=3, **more
    )


@pytest.fixture
def other(published: SimpleNamespace, tmp_path: Path) -> tuple[Any, Any]:
    """A report of four rows, and results of three of them."""
    path = tmp_path / "other.toml"
    path.write_text(REPORT, encoding="utf-8")
    into = tmp_path / "report.json"
    latencies = {"p50": 2e-6, "p95": 3e-6, "p99": 4e-6, "cpu": 1e-3, "peak": 2e6}
    published.results.merge(
        into,
        [
            result(published, "in 10", "ours", 200.0),
            result(published, "in 100", "ours", 200.0, note="of 100"),
            result(published, "in 100", "peer", 100.0),
            result(published, "wait", "ours", 2.0, **latencies),
            result(published, "wait", "floor", 1.0),
        ],
    )
    return published.catalogue.read(path), published.results.read(into)


def test_each_row_has_what_was_published_ours_the_live_system_and_both_ratios(
    published: SimpleNamespace, other: tuple[Any, Any]
) -> None:
    report, lines = other
    text = published.page.text([report], lines, {})
    assert "| in 10 | rows in | 100 rows/s | 200 rows/s | - | - | 2.00 | - |" in text
    # Behind what was published, ahead of the live system.
    assert "| in 100 | rows in | 400 rows/s | 200 rows/s | 100 rows/s | - | **0.50** | 2.00 |" in text
    # Of times less is better.
    assert "| wait | a wait | 5.00 us | 2.00 us | - | 1.00 us | 2.50 | - |" in text
    assert "| wait | published | 5.00 us | - | 9.00 us | - | - | - |" in text
    assert "| wait | ours | 2.00 us | 3.00 us | 4.00 us | 1.00 ms | 2.0 MB | 3 |" in text
    assert "| [Other](#other) | 4 | 3 | 2 of 3 | 1 | 1 of 1 |" in text
    assert "; of 100." in text


def test_a_row_that_is_not_measured_says_so_and_why(
    published: SimpleNamespace, other: tuple[Any, Any]
) -> None:
    report, lines = other
    text = published.page.text([report], lines, {})
    assert "| never | a thing | - | not measured | - | - | - | - |" in text
    assert "- never: it has no such part." in text


def test_a_row_that_is_behind_says_why_as_far_as_that_is_known(
    published: SimpleNamespace, other: tuple[Any, Any]
) -> None:
    report, lines = other
    text = published.page.text([report], lines, {})
    assert "- in 100: behind: why is not known; of 100." in text
    assert "- in 10:" not in text
    (row,) = [row for row in report.rows if row.id == "in 100"]
    sides = published.page.found(lines, report, row)
    told = replace(row, behind="it does more")
    assert published.page.reason(told, sides) == "it does more"
    # A floor that is behind itself is a reason; one that is ahead is none.
    assert published.page.reason(told, sides | {"floor": {"value": 300.0}}) == (
        "the floor alone is 0.75 of what was published, it does more"
    )
    assert published.page.reason(told, sides | {"floor": {"value": 500.0}}) == "it does more"
    # Behind the live system alone is behind too.
    assert published.page.is_behind(replace(row, published=None), sides | {"peer": {"value": 300.0}})
    assert not published.page.is_behind(replace(row, published=None), sides)


def test_a_page_says_when_all_rows_of_a_report_were_measured(
    published: SimpleNamespace, other: tuple[Any, Any], tmp_path: Path
) -> None:
    report, lines = other
    path = tmp_path / "report.json"
    published.stamps.stamp(path, report, published.page.of_report(lines, report))
    stamps = published.stamps.read(path)
    assert stamps["other"]["commit"] in published.page.text([report], lines, stamps)
    later = [*lines, result(published, "never", "ours", 1.0).form()]
    assert "measured by themselves" in published.page.text([report], later, stamps)


def test_a_row_measured_again_keeps_no_side_of_before(
    published: SimpleNamespace, other: tuple[Any, Any], tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    published.results.merge(path, [result(published, "in 100", "ours", 300.0)])
    lines = [line for line in published.results.read(path) if line["id"] == "in 100"]
    assert [(line["side"], line["value"]) for line in lines] == [("ours", 300.0)]


def test_pictures_are_drawings_of_what_was_measured(
    published: SimpleNamespace, other: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    report, lines = other
    sweeps = {"other": (("other-sizes", "Rows in", "rows", "in "),)}
    for module in (published.page, published.pictures):
        monkeypatch.setattr(module, "SWEEPS", sweeps)
    drawn = dict(published.pictures.drawn(report, lines))
    assert list(drawn) == ["other", "other-latencies", "other-sizes"]
    assert list(drawn) == [name for name, _ in published.page.pictures(report)]
    shapes = {name: [element.tag.rpartition("}")[2] for element in xml.fromstring(svg).iter()] for name, svg in drawn.items()}
    # Background and legend, and a bar for each ratio.
    assert shapes["other"].count("rect") == 3 + 4
    assert shapes["other-sizes"].count("polyline") == 3
    assert shapes["other-latencies"].count("circle") == 2 + 3


def test_a_report_whose_rows_are_called_the_same_is_refused(
    published: SimpleNamespace, tmp_path: Path
) -> None:
    path = tmp_path / "other.toml"
    path.write_text(REPORT.replace('"in 100"', '"in 10"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.toml: two rows are called in 10"):
        published.catalogue.read(path)
    path.write_text(REPORT.replace("unit", "units"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.toml: .*units"):
        published.catalogue.read(path)


def test_no_row_of_a_report_is_left_out_silently(published: SimpleNamespace) -> None:
    reports = list(published.catalogue.reports())
    assert {report.key: len(report.rows) for report in reports} == ROWS
    lines = published.results.read()
    for report in reports:
        for row in report.rows:
            sides = published.page.found(lines, report, row)
            assert "ours" in sides or row.why, f"{report.key}, {row.id}"
            is_told = not published.page.is_behind(row, sides) or published.page.reason(row, sides)
            assert is_told, f"{report.key}, {row.id}: nothing says why ours is behind"
    known = {(report.key, row.id) for report in reports for row in report.rows}
    assert {(line["report"], line["id"]) for line in lines} <= known


def test_page_and_pictures_are_those_of_the_results(published: SimpleNamespace) -> None:
    reports, lines = list(published.catalogue.reports()), published.results.read()
    stamps = published.stamps.read(published.results.PATH)
    folder = ROOT / "docs" / "report"
    kept = published.kept.read(reports)
    text = published.page.text(reports, lines, stamps, published.releases.text(reports, kept))
    assert (folder / "index.md").read_text(encoding="utf-8") == text
    drawn = {name: svg for report in reports for name, svg in published.pictures.drawn(report, lines)}
    drawn.update(published.releases.drawn(reports, kept))
    # Those of a soak are held against its own results.
    there = {path.stem for path in folder.glob("*.svg") if not path.stem.startswith("soak-")}
    assert there == set(drawn)
    for name, svg in drawn.items():
        assert (folder / f"{name}.svg").read_text(encoding="utf-8") == svg, name


def test_results_are_lines_of_numbers(published: SimpleNamespace) -> None:
    for line in json.loads(published.results.PATH.read_text(encoding="utf-8")):
        assert line["side"] in published.results.SIDES and line["value"] >= 0, line
