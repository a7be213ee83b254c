"""The benchmarks' report, and the rows that they make, are what they promise."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

import timestrata

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("bench.python.common.report")


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("bench.python.table.data")


def names(path: Path) -> list[tuple[str, str]]:
    return [(line["suite"], line["name"]) for line in json.loads(path.read_text())]


def test_a_report_keeps_what_other_suites_measured(report: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "latest.json"
    both = [report.told("a", "us", 1.0), report.told("b", "us", 1.0)]
    report.merge_into(path, "timelog", both, whole=True)
    lines = json.loads(path.read_text())
    path.write_text(json.dumps([{**lines[0], "suite": "engine"}, *lines]))
    report.merge_into(path, "timelog", [report.told("b", "us", 2.0)], whole=False)
    assert names(path) == [("engine", "a"), ("timelog", "a"), ("timelog", "b")]
    assert len(path.read_text().splitlines()) == 5, "a line each"
    report.merge_into(path, "timelog", [report.told("c", "us", 2.0)], whole=True)
    assert names(path) == [("engine", "a"), ("timelog", "c")]


def test_a_file_of_rows_that_was_not_finished_is_written_again(
    rows: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "trades.csv"

    def killed(begun: Path) -> None:
        begun.write_text("half of ")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rows.made(path, killed)
    assert not path.exists()
    assert rows.made(path, lambda begun: begun.write_text("all of it")) == path
    assert rows.made(path, killed).read_text() == "all of it"


def test_a_ratio_above_one_is_always_the_better_figure(report: ModuleType) -> None:
    rate = report.Measure("rate", "rows/s", 20.0, "other", 10.0, 2.0, "")
    time = report.Measure("time", "us", 5.0, "other", 10.0, 2.5, "")
    assert (rate.ratio, rate.verdict, time.ratio, time.verdict) == (2.0, "reached", 2.0, "SHORT")


def test_the_order_book_has_the_rows_that_its_seed_gives(
    report: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numpy")
    monkeypatch.syspath_prepend(str(ROOT))
    data = importlib.import_module("bench.python.timelog.data")
    for late_share in (0.05, 0.2):
        book = data.order_book(20_000, late_share)
        again = data.order_book(20_000, late_share)
        assert (book.times, book.rows) == (again.times, again.rows)
        assert abs(book.late_share() - late_share) < 0.01
        assert len(set(book.times)) < len(book)
        assert list(data.csv_rows(data.csv_text(book))) == list(book.pairs())


def test_trades_are_those_of_their_seed_and_late_ones_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.syspath_prepend(str(ROOT))
    data = importlib.import_module("bench.python.table.data")
    rows = data.trades(3, 20_000)
    assert rows.equals(data.trades(3, 20_000)) and not rows.equals(data.trades(4, 20_000))
    late = data.late(rows)
    assert not late.equals(rows) and late.sort_by("timestamp").equals(rows)
    files = data.Files(tmp_path, tmp_path)
    assert files.csv(10).read_text().splitlines()[0] == '"timestamp","symbol","price","volume"'
    with timestrata.open(tmp_path / "s") as store:
        table = store.table("t", time="timestamp")
        table.ingest(files.csv(1_000))
        assert table.scan().to_arrow()["volume"] == data.trades(0, 1_000)["volume"]


def test_graphs_are_those_of_their_seed_and_come_in_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.syspath_prepend(str(ROOT))
    data = importlib.import_module("bench.python.graph.data")
    for make in (data.uniform, data.power_law):
        shape, again = make(500, 4_000), make(500, 4_000)
        assert shape.arrow.equals(again.arrow)
        assert 3_500 < shape.edges <= 4_000
        with timestrata.open(tmp_path / shape.name) as store:
            graph = store.graph("g")
            graph.link_many(shape.arrow)
            assert graph.edge_count() == shape.edges
            busiest = shape.ids()[shape.busiest()]
            assert graph.degree(busiest) == max(graph.degree(id) for id in shape.ids())
    # A tenth of the nodes gets more than half of a power law's edges.
    assert (shape.targets < shape.nodes // 10).mean() > 0.5


def test_a_clone_that_stands_alone_has_logs_and_a_code_graph(
    report: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    stand_in = importlib.import_module("bench.python.logs.stand_in")
    corpus = importlib.import_module("bench.python.logs.corpus")
    folder = tmp_path / corpus.STAND_IN / "logs"
    first = {path.name: path.read_text() for path in stand_in.made_in(folder).iterdir()}
    again = {path.name: path.read_text() for path in stand_in.made_in(tmp_path / "other").iterdir()}
    assert first == again
    assert set(corpus.ALL) < set(first)
    text = corpus.written(tmp_path / "all.log", folder, corpus.ALL, 50_000, 3)
    lines = text.path.read_text().splitlines()
    assert len(lines) == text.lines == 50_000
    assert sum(corpus.RARE in line for line in lines) == 3
    # What the suite looks for, and days that go on.
    assert any("invalid user" in line for line in lines) and any("Googlebot" in line for line in lines)
    assert {f"{day:02}/May/2015:" in text.path.read_text() for day in (1, 2, 3)} == {True}

    library = importlib.import_module("bench.python.graph.library")
    source = "import json\nfrom . import other\nclass A:\n    def f(self):\n        g()\ndef g():\n    json.dumps(1)\n    other.h()\n"
    edges = set(library._edges_of("pack.mod", ast.parse(source)))
    assert edges == {
        ("pack.mod", "json", "imports"), ("pack.mod", "pack.other", "imports"),
        ("pack.mod", "pack.mod.A", "contains"), ("pack.mod.A", "pack.mod.A.f", "contains"),
        ("pack.mod", "pack.mod.g", "contains"), ("pack.mod.A.f", "pack.mod.g", "calls"),
    }  # fmt: skip
