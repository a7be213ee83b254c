"""The page of results and its picture are made of the results, and say what they don't know."""

from __future__ import annotations

import importlib
import re
import xml.etree.ElementTree as xml
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(ROOT))
    names = ("page", "picture", "stamps", "suites")
    return SimpleNamespace(
        lines=importlib.import_module("bench.python.common.report").read_lines,
        **{name: importlib.import_module(f"bench.python.report.{name}") for name in names}
    )


def row(
    suite: str, name: str, against: str, ratio: float, aim: float | None, **rest: Any
) -> dict[str, Any]:
    return {
        "suite": suite, "name": name, "unit": "rows/s", "value": 15.6e6, "against": against,
        "against_value": 4.2e6, "ratio": ratio, "aim": aim, "note": "median of 3", **rest,
    }  # fmt: skip


RESULTS = [
    row(
        "table",
        "CSV file to durable table, trades [DuckDB, 2 threads]",
        "DuckDB, 2 threads",
        3.71,
        1.0,
    ),
    row("table", "full scan to Arrow [memcpy]", "memcpy", 0.083, 0.5),
    row("table", "a | b", "-", 1.0, None),
    row("logs-python", "rare word [ripgrep]", "ripgrep", 0.5, 20.0, unit="ms"),
    row("logs", "scan", "3.35 us, a published figure", 2.6, None, unit="us"),
]


def section(text: str, title: str) -> str:
    return re.split(r"^## ", text, flags=re.MULTILINE)[
        [part.partition("\n")[0] for part in re.split(r"^## ", text, flags=re.MULTILINE)].index(
            title
        )
    ]


def test_a_page_has_each_row_with_figure_peer_ratio_aim_and_verdict(
    report: SimpleNamespace, tmp_path: Path
) -> None:
    results = tmp_path / "latest.json"
    suites = {suite.key: suite for suite in report.suites.SUITES}
    report.stamps.stamp(results, suites["table"], suites["table"].rows(RESULTS))
    text = report.page.text(RESULTS, report.stamps.read(results))
    tables = section(text, "Tables")
    assert (
        "| CSV file to durable table, trades | 15.6 M rows/s | DuckDB, 2 threads: 4.20 M rows/s | 3.71 | 1.00 | reached |"
        in tables
    )
    assert (
        "| full scan to Arrow | 15.6 M rows/s | memcpy: 4.20 M rows/s | 0.08 | 0.50 | **short** |"
        in tables
    )
    assert "| a \\| b | 15.6 M rows/s |" in tables
    assert "make bench SUITE=table" in tables
    stamp = report.stamps.read(results)["table"]
    assert all(stamp[key] in tables for key in ("date", "commit", "machine"))
    assert "| Tables | 2 | 1 |" in text
    # Both of its members, the one from Rust first.
    assert re.search(r"\| scan .*\n\| rare word ", section(text, "Logs"))


def test_a_page_says_which_suites_were_not_measured_and_which_in_parts(
    report: SimpleNamespace, tmp_path: Path
) -> None:
    results = tmp_path / "latest.json"
    suite = report.suites.SUITES[0]
    report.stamps.stamp(results, suite, suite.rows(RESULTS))
    later = [*RESULTS, row("table", "another", "DuckDB", 1.0, None)]
    text = report.page.text(later, report.stamps.read(results))
    assert "measured by themselves" in section(text, "Tables")
    assert report.stamps.read(results)["table"]["date"] not in section(text, "Tables")
    assert "Not measured yet" in section(text, "Topics")
    assert "`make bench SUITE=topic`" in section(text, "Topics")
    assert "| 3 |" not in section(text, "Topics")


def test_a_picture_has_a_figure_a_model_and_says_what_is_not_measured(
    report: SimpleNamespace,
) -> None:
    drawn = xml.fromstring(report.picture.svg(RESULTS))
    words = [element.text or "" for element in drawn.iter() if element.tag.endswith("text")]
    assert "3.71 x DuckDB" in words and "0.50 x ripgrep" in words
    assert sum(word.startswith("not measured yet: make bench SUITE=") for word in words) == 3
    models = {figure.label.partition(":")[0] for figure in report.suites.FIGURES}
    assert models == {"Table", "Time log", "Logs", "Topic", "Graph"}
    bars = [element for element in drawn.iter() if element.tag.endswith("rect")][1:]
    left = [float(bar.attrib["x"]) for bar in bars]
    # What is slower goes to the left of what is as fast.
    assert len(bars) == 2 and left[1] < left[0]


def test_the_picture_s_rows_are_rows_of_the_suites(report: SimpleNamespace) -> None:
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("bench",)
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in {".py", ".rs"} and "report" not in path.parts
    )
    for figure in report.suites.FIGURES:
        assert figure.row.pattern.split(",")[0].replace("\\", "") in sources, figure.label
        assert figure.peer.split("-")[0] in sources, figure.label


def test_page_and_picture_are_those_of_the_results(report: SimpleNamespace) -> None:
    path = ROOT / "bench" / "results" / "latest.json"
    results = report.lines(path)
    assert {row["suite"] for row in results} >= {"engine", "table", "timelog", "topic"}
    page = report.page.text(results, report.stamps.read(path))
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == page
    picture = report.picture.svg(results)
    assert (ROOT / "docs" / "benchmarks.svg").read_text(encoding="utf-8") == picture
