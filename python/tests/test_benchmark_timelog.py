"""The benchmark suite's report and its order book say what they promise."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("bench.timelog.report")


def names(path: Path) -> list[tuple[str, str]]:
    return [(line["suite"], line["name"]) for line in json.loads(path.read_text())]


def test_a_report_keeps_what_other_suites_measured(report: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "latest.json"
    report.merge_into(path, [report.told("a", "us", 1.0), report.told("b", "us", 1.0)], whole=True)
    lines = json.loads(path.read_text())
    path.write_text(json.dumps([{**lines[0], "suite": "engine"}, *lines]))
    report.merge_into(path, [report.told("b", "us", 2.0)], whole=False)
    assert names(path) == [("engine", "a"), ("timelog", "a"), ("timelog", "b")]
    report.merge_into(path, [report.told("c", "us", 2.0)], whole=True)
    assert names(path) == [("engine", "a"), ("timelog", "c")]


def test_a_ratio_above_one_is_always_the_better_figure(report: ModuleType) -> None:
    rate = report.Measure("rate", "rows/s", 20.0, "other", 10.0, 2.0, "")
    time = report.Measure("time", "us", 5.0, "other", 10.0, 2.5, "")
    assert (rate.ratio, rate.verdict, time.ratio, time.verdict) == (2.0, "reached", 2.0, "SHORT")


def test_the_order_book_has_the_rows_that_its_seed_gives(
    report: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numpy")
    monkeypatch.syspath_prepend(str(ROOT))
    data = importlib.import_module("bench.timelog.data")
    for late_share in (0.05, 0.2):
        book = data.order_book(20_000, late_share)
        again = data.order_book(20_000, late_share)
        assert (book.times, book.rows) == (again.times, again.rows)
        assert abs(book.late_share() - late_share) < 0.01
        assert len(set(book.times)) < len(book)
        assert list(data.csv_rows(data.csv_text(book))) == list(book.pairs())
