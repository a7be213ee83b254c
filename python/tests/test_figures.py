"""What a store tells of itself in numbers: of a stored time log, and of its cache."""

from pathlib import Path
from typing import Any

import pytest

import timestrata
from timestrata import Store, Timelog


def test_figures_of_a_stored_log_are_those_of_its_stream(log: Timelog) -> None:
    """All of them were those of an empty log: ten rows, and no active record."""
    log.extend(range(10), range(10))
    assert log.stats()["memtable"] == {"active_records": 10, "ooo_records": 0, "sealed_runs": 0}
    log.append(3, "late")
    assert log.stats()["memtable"] == {"active_records": 10, "ooo_records": 1, "sealed_runs": 0}
    log.flush()
    stats = log.stats()
    assert stats["memtable"] == {"active_records": 0, "ooo_records": 0, "sealed_runs": 0}
    assert (stats["storage"]["segments_l0"], stats["storage"]["segments_l1"]) == (1, 0)
    assert stats["storage"]["records_estimate"] == 11
    assert stats["operational"]["flushes_total"] == 1
    log.append(20, "later")
    log.compact()
    stats = log.stats()
    assert (stats["storage"]["segments_l0"], stats["storage"]["segments_l1"]) == (0, 1)
    assert stats["operational"]["compactions_total"] >= 1
    log.append(30, "more")
    log.delete_range(0, 5)
    assert log.stats()["storage"]["tombstone_count"] >= 1


def test_figures_of_a_stored_log_are_of_no_other(store: Store) -> None:
    one, other = store.timelog("one"), store.timelog("other")
    one.extend(range(10), range(10))
    assert other.stats()["memtable"]["active_records"] == 0
    assert one.stats()["memtable"]["active_records"] == 10


def test_the_cache_tells_what_it_answered(path: Path) -> None:
    with timestrata.open(path, cache_bytes_max="4MiB") as store:
        table = store.table("t")
        table.append({"time": [*range(1_000)], "v": [n * 0.37 for n in range(1_000)]})
        cache = store.stats()["cache"]
        assert (cache["hits"], cache["misses"], cache["hit_rate"]) == (0, 0, None)
        assert cache["bytes_max"] == 4 << 20
        store.compact()
        assert table.scan().to_arrow().num_rows == 1_000
        first = store.stats()["cache"]
        assert first["misses"] > 0
        assert 0 < first["bytes"] <= 4 << 20
        assert table.scan().to_arrow().num_rows == 1_000
        again = store.stats()["cache"]
        assert again["hits"] > first["hits"]
        assert again["misses"] == first["misses"]
        assert again["hit_rate"] == again["hits"] / (again["hits"] + again["misses"])


def test_a_store_holds_few_files_open_however_many_it_has(path: Path) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("no /proc here to count open files by")
    settings: dict[str, Any] = {"maintenance": "manual", "level0_runs_max": 1_000}
    with timestrata.open(path, wal_segment_bytes="64KiB", **settings) as store:
        before = len(list(descriptors.iterdir()))
        logs = [store.timelog(f"log {n}") for n in range(30)]
        for round_ in range(10):
            for log in logs:
                log.append(round_, "row")
            store.flush()
        assert len(list((path / "runs").iterdir())) == 300
        iterators = [iter(log) for log in logs]
        assert [next(iterator) for iterator in iterators] == [(0, "row")] * 30
        # All runs are mapped now, and have been read.
        assert len(list(descriptors.iterdir())) <= before + 8
        assert [sum(1 for _ in iterator) for iterator in iterators] == [9] * 30
        assert len(list(descriptors.iterdir())) <= before + 8
