"""The suite `tsbs` makes the rows that its rule says, compares answers as it promises, and runs whole."""

from __future__ import annotations

import importlib
import json
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("numpy")
pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(ROOT))
    names = ("__main__", "answers", "data", "hits_data", "hits_queries", "queries")
    return SimpleNamespace(
        **{name: importlib.import_module(f"bench.python.tsbs.{name}") for name in names}
    )


def test_rows_are_those_of_their_seed_in_order_of_time_and_then_of_hosts(
    suite: SimpleNamespace,
) -> None:
    shape = suite.data.Shape(hosts=30, steps=200)
    table = pa.Table.from_batches(suite.data.batches(shape))
    assert table.equals(pa.Table.from_batches(suite.data.batches(shape)))
    assert table.column_names == ["time", *suite.data.TAGS, *suite.data.FIELDS]
    assert len(suite.data.TAGS) == len(suite.data.FIELDS) == 10
    rows = table.to_pylist()
    assert [row["hostname"] for row in rows] == [f"host_{at % 30}" for at in range(6_000)]
    first = suite.data.START
    assert [row["time"] for row in rows] == [first + timedelta(seconds=10 * (at // 30)) for at in range(6_000)]
    # A host keeps its tags, and is in a zone of its region.
    for before, after in zip(rows, rows[30:], strict=False):
        assert all(before[tag] == after[tag] for tag in suite.data.TAGS)
    for row in rows[:30]:
        zone = row["datacenter"].removeprefix(row["region"])
        assert len(zone) == 1 and zone in suite.data.ZONES[row["region"]]


def test_fields_walk_by_small_steps_between_0_and_100(suite: SimpleNamespace) -> None:
    shape = suite.data.Shape(hosts=50, steps=1_000)
    table = pa.Table.from_batches(suite.data.batches(shape))
    for name in suite.data.FIELDS:
        walk = table[name].to_numpy().reshape(shape.steps, shape.hosts)
        assert (walk == walk.round()).all() and walk.min() >= 0 and walk.max() <= 100
        steps = walk[1:] - walk[:-1]
        # What is written is rounded down, so steps of N(0, 1) are a little wider; some are cut at the ends.
        assert abs(steps).max() <= 7 and 0.9 < steps.std() < 1.2


def test_the_files_beside_have_the_same_rows(suite: SimpleNamespace, tmp_path: Path) -> None:
    files = suite.data.Files(tmp_path / "files")
    shape = suite.data.Shape(hosts=12, steps=30)
    rows = files.rows(shape)
    assert pq.read_table(files.parquet(shape)).equals(rows)
    order = [("hostname", "ascending"), ("time", "ascending")]
    assert pq.read_table(files.by_series(shape)).equals(rows.sort_by(order))


def test_there_are_the_benchmark_s_15_queries_and_the_43(suite: SimpleNamespace) -> None:
    assert set(suite.queries.QUERIES) == {
        "single-groupby-1-1-1", "single-groupby-1-1-12", "single-groupby-1-8-1", "single-groupby-5-1-1",
        "single-groupby-5-1-12", "single-groupby-5-8-1", "cpu-max-all-1", "cpu-max-all-8", "double-groupby-1",
        "double-groupby-5", "double-groupby-all", "high-cpu-1", "high-cpu-all", "groupby-orderby-limit", "lastpoint",
    }  # fmt: skip
    assert len({query.text for query in suite.hits_queries.QUERIES}) == 43


def test_windows_and_hosts_follow_from_the_seed_and_are_among_the_rows(
    suite: SimpleNamespace,
) -> None:
    def drawn(steps: int) -> list[Any]:
        found: list[Any] = []

        def keep(params: Any) -> Any:
            found.append(params)
            return suite.queries.same("")

        suite.queries.Query(12, 8, keep).drawn(suite.data.Shape(hosts=20, steps=steps), "a", 50)
        return found

    day = drawn(24 * 360)
    assert day == drawn(24 * 360) and len({params.start for params in day}) > 40
    for params in day:
        assert suite.data.START <= params.start
        assert params.end <= suite.data.START + timedelta(days=1)
        assert params.end - params.start == timedelta(hours=12)
        assert len(set(params.hosts)) == 8
    # Less than twelve hours of rows: all of them.
    hour = suite.data.START + timedelta(hours=1)
    assert {(params.start, params.end) for params in drawn(360)} == {(suite.data.START, hour)}


def test_answers_are_equal_but_for_the_order_of_rows_types_and_how_floats_round(
    suite: SimpleNamespace,
) -> None:
    def answer(columns: dict[str, object], places: list[int] | None = None) -> object:
        return suite.answers.Answer(pa.table(columns), places)

    base = answer({"host": ["a", "b"], "n": [1, 2], "x": [0.1, 1e9]})
    narrow = pa.array([2, 1], pa.int8())
    assert base == answer({"HOST": ["b", "a"], "m": narrow, "y": [1e9 * (1 + 1e-12), 0.1]})
    sums = pa.array([2, 1], pa.decimal128(38, 0))
    assert base == answer({"host": ["b", "a"], "n": sums, "x": [1e9, 0.1]})
    assert base != answer({"host": ["a", "b"], "n": [1, 2], "x": [0.1, 1e9 * (1 + 1e-8)]})
    assert base != answer({"host": ["a", "b"], "n": [1, 3], "x": [0.1, 1e9]})
    assert base != answer({"host": ["a", "a"], "n": [1, 2], "x": [0.1, 1e9]})
    assert base != answer({"host": ["a"], "n": [1], "x": [0.1]})
    assert base != answer({"host": ["a", "b"], "n": [1, 2]})
    assert base != answer({"host": ["a", "b"], "n": [1, 2], "x": [0.1, None]})
    # Numbers that floats can't tell apart.
    assert answer({"id": [2**60]}) != answer({"id": [2**60 + 1]})
    same_time = pa.array([1_000], pa.timestamp("ms", tz="UTC"))
    assert answer({"t": same_time}) == answer({"t": pa.array([1_000_000], pa.timestamp("us"))})
    # Only some columns, and none of them but the number of rows.
    assert answer({"a": [1], "b": [2]}, [1]) == answer({"a": [9], "b": [2]}, [1])
    assert answer({"a": [1]}, []) == answer({"a": [9]}, [])
    assert answer({"a": [1]}, []) != answer({"a": [1, 1]}, [])


def test_the_table_of_hits_has_what_its_queries_look_for(suite: SimpleNamespace) -> None:
    rows = suite.hits_data.table(20_000)
    assert rows.equals(suite.hits_data.table(20_000))
    times = rows["eventtime"].to_pylist()
    assert times == sorted(set(times))
    for column, value in (
        ("counterid", suite.hits_data.COUNTER),
        ("userid", suite.hits_data.USER),
        ("urlhash", suite.hits_data.URL_HASH),
        ("refererhash", suite.hits_data.REFERER_HASH),
    ):
        assert value in set(rows[column].to_pylist())
    urls, titles = (rows[name].to_pylist() for name in ("url", "title"))
    assert any("google" in url for url in urls) and any("Google" in title for title in titles)


def test_a_quick_run_measures_every_group_and_both_sides_agree(
    suite: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The process is the tests' own, so it keeps its processors.
    monkeypatch.setattr(suite.__main__, "hold_to_processors", lambda: None)
    out = tmp_path / "quick.json"
    words = ["tsbs", "--quick", "--dir", str(tmp_path / "dir"), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    assert suite.__main__.main() == 0
    names = [line["name"] for line in json.loads(out.read_text())]
    for where in ("400 hosts", "4,000 hosts", "just ingested"):
        for query in suite.queries.QUERIES:
            assert any(name.startswith(f"{query}, {where} [") for name in names), (query, where)
    assert sum(name.startswith("size on disk, ") for name in names) == 4
    assert sum(" of one series of " in name for name in names) == 4
    assert "hits, queries that are refused" in names
