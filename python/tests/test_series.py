"""Which series a table has, and aggregates that compacted runs keep of them."""

import datetime
from pathlib import Path
from typing import Any

import pytest

import timestrata

ROWS = 40_000


def rows(first: int, count: int) -> dict[str, list[Any]]:
    numbers = range(first, first + count)
    start = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
    return {
        "time": [start + datetime.timedelta(seconds=number) for number in numbers],
        "room": [f"room-{number % 4}" if number % 9 else None for number in numbers],
        "celsius": [number % 50 / 4 for number in numbers],
    }


def told(table: timestrata.Table, *times: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.series(*times)]


def test_series_are_those_of_the_rows_before_and_after_compaction(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "store", maintenance="manual") as store:
        table = store.table("rooms", time="time", tags=["room"])
        table.append(rows(0, ROWS))
        before = [told(table), told(table, "2024-05-01T01:00:00Z", "2024-05-01T05:00:00Z")]
        expected = {}
        for row in table.scan():
            first, _, count = expected.get(row["room"], (row["time"], None, 0))
            expected[row["room"]] = (first, row["time"], count + 1)
        assert {room: tuple(rest) for room, *rest in before[0]} == expected
        names = [name for name, *_ in before[0]]
        assert sorted(names, key=str) == sorted(expected, key=str) and len(names) == 5
        table.compact()
        after = [told(table), told(table, "2024-05-01T01:00:00Z", "2024-05-01T05:00:00Z")]
        assert after == before
        # Rows behind them, and deleted ones.
        table.append(rows(ROWS, 100))
        table.delete("2024-05-01T00:00:00Z", "2024-05-01T00:10:00Z")
        counts = sum(count for *_, count in told(table))
        assert counts == ROWS + 100 - 600 == table.count()
        ten_past = datetime.datetime(2024, 5, 1, 0, 10, tzinfo=datetime.UTC)
        assert all(first >= ten_past for _, first, *_ in told(table))


def test_series_of_a_table_without_tags_are_refused() -> None:
    with timestrata.open() as store:
        table = store.table("rooms")
        table.append(rows(0, 10))
        with pytest.raises(timestrata.InvalidArgumentError, match="has no tags"):
            table.series()


def test_aggregates_by_tag_read_no_row_of_compacted_runs(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "store", maintenance="manual") as store:
        table = store.table("rooms", time="time", tags=["room"])
        for part in range(4):
            table.append(rows(part * ROWS, ROWS))
        query = (
            "SELECT room, count(*) AS rows, avg(celsius) AS mean, min(celsius) AS low, max(celsius) AS high "
            "FROM rooms GROUP BY room ORDER BY room"
        )
        before = store.sql(query).to_pylist()
        table.compact()
        assert store.sql(query).to_pylist() == before
        [plan] = [
            row["plan"]
            for row in store.sql(f"EXPLAIN ANALYZE {query}").to_pylist()
            if "StreamScan" in row["plan"]
        ]
        scan = plan.split("StreamScan", 1)[1]
        assert "output_rows=0," in scan, plan
