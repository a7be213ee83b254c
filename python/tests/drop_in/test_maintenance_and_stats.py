"""Flush, compaction, their worker, and the figures that tell of them."""

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Make = Callable[..., Any]
LEAST, GREATEST = -(2**63), 2**63 - 1

FIGURES = {
    "storage": {
        "segments_l0",
        "segments_l1",
        "pages_total",
        "records_estimate",
        "min_ts",
        "max_ts",
        "tombstone_count",
    },
    "memtable": {"active_records", "ooo_records", "sealed_runs"},
    "operational": {
        "seals_total",
        "ooo_budget_hits",
        "backpressure_waits",
        "flushes_total",
        "compactions_total",
        "compaction_retries",
        "compaction_publish_ebusy",
        "busy_events",
        "extend_skipped",
    },
    "compaction_selection": {
        "select_calls",
        "select_l0_inputs",
        "select_l1_inputs",
        "select_no_work",
    },
    "adaptive": {"window", "ewma_density", "flush_count", "failures"},
    "config": {"time_unit", "maintenance", "busy_policy", "min_ts", "mostly_ordered_default"},
}


def test_stats_have_every_figure(log: Any) -> None:
    for _ in range(2):
        stats = log.stats()
        for group, names in FIGURES.items():
            assert names <= set(stats[group]), group
            if group not in ("storage", "config"):
                assert all(type(stats[group][name]) in (int, float) for name in names)
        log.extend(range(10), range(10))
        log.flush()
        log.compact()
        while log.maint_step():
            pass


def test_stats_of_an_empty_log_are_empty(log: Any) -> None:
    stats = log.stats()
    assert stats["storage"] == {
        "segments_l0": 0,
        "segments_l1": 0,
        "pages_total": 0,
        "records_estimate": 0,
        "min_ts": None,
        "max_ts": None,
        "tombstone_count": 0,
    }
    assert stats["memtable"] == {"active_records": 0, "ooo_records": 0, "sealed_runs": 0}
    assert set(stats["operational"].values()) == {0}
    assert set(stats["adaptive"].values()) == {0}


def test_stats_tell_how_the_log_was_made(make: Make) -> None:
    log = make(time_unit="us", busy_policy="flush", min_ts=5, mostly_ordered_default=False)
    assert log.stats()["config"] == {
        "time_unit": "us",
        "maintenance": "disabled",
        "busy_policy": "flush",
        "min_ts": 5,
        "mostly_ordered_default": False,
    }


def test_each_call_gives_figures_of_its_own(log: Any) -> None:
    stats = log.stats()
    stats["storage"]["records_estimate"] = 99
    stats["memtable"].clear()
    assert log.stats()["storage"]["records_estimate"] == 0
    assert "active_records" in log.stats()["memtable"]


def test_rows_move_from_the_memtable_to_level_0_to_level_1(log: Any) -> None:
    log.extend(range(10), "abcdefghij")
    stats = log.stats()
    assert stats["memtable"]["active_records"] == 10
    assert (stats["storage"]["segments_l0"], stats["storage"]["pages_total"]) == (0, 0)
    assert stats["storage"]["records_estimate"] == 10
    assert log.flush() is None
    stats = log.stats()
    assert stats["memtable"] == {"active_records": 0, "ooo_records": 0, "sealed_runs": 0}
    assert (stats["storage"]["segments_l0"], stats["storage"]["segments_l1"]) == (1, 0)
    assert stats["storage"]["pages_total"] == 1
    assert stats["storage"]["records_estimate"] == 10
    assert stats["operational"]["flushes_total"] == 1
    assert log.compact() is None
    while log.maint_step():
        pass
    stats = log.stats()
    assert stats["storage"]["segments_l0"] == 0
    assert stats["storage"]["segments_l1"] >= 1
    assert stats["operational"]["compactions_total"] >= 1
    assert stats["storage"]["records_estimate"] == len(log) == 10


def test_a_flush_of_nothing_is_nothing(log: Any) -> None:
    log.flush()
    log.append(1, "a")
    log.flush()
    log.flush()
    assert log.stats()["operational"]["flushes_total"] == 1
    assert log.stats()["storage"]["segments_l0"] == 1


def test_seals_by_a_flush_are_not_counted_as_seals(log: Any, make: Make) -> None:
    log.extend(range(10), range(10))
    log.flush()
    assert log.stats()["operational"]["seals_total"] == 0
    small = make(memtable_max_bytes=24 * 100, sealed_max_runs=8)
    for n in range(350):
        small.append(n, n)
    stats = small.stats()
    assert stats["operational"]["seals_total"] == stats["memtable"]["sealed_runs"] > 0
    assert stats["storage"]["records_estimate"] == 350


def test_late_rows_are_counted(log: Any) -> None:
    log.extend(range(10), range(10))
    log.append(3, "late")
    log.append(4, "late")
    assert log.stats()["memtable"] == {"active_records": 10, "ooo_records": 2, "sealed_runs": 0}
    log.flush()
    assert log.stats()["memtable"]["ooo_records"] == 0


def test_late_rows_beyond_their_budget_seal_early(make: Make) -> None:
    log = make(memtable_max_bytes=1 << 20, ooo_budget_bytes=24 * 10, busy_policy="silent")
    for n in range(100, 0, -1):
        log.append(n, n)
    stats = log.stats()
    assert stats["operational"]["ooo_budget_hits"] > 0
    assert stats["operational"]["seals_total"] > 0
    assert [stamp for stamp, _ in log] == list(range(1, 101))


def test_bounds_and_tombstones_in_stats_are_those_of_the_storage(log: Any) -> None:
    log.extend(range(10), range(10))
    log.flush()
    log.delete(0, 5)
    storage = log.stats()["storage"]
    assert (storage["min_ts"], storage["max_ts"], storage["tombstone_count"]) == (0, 9, 1)
    assert storage["records_estimate"] == len(log) == 5
    assert log.min_ts() == 5
    log.delete(100, 200)
    storage = log.stats()["storage"]
    assert (storage["max_ts"], storage["tombstone_count"]) == (199, 2)  # its extent included
    log.flush()
    log.compact()
    while log.maint_step():
        pass
    storage = log.stats()["storage"]
    assert (storage["min_ts"], storage["max_ts"], storage["tombstone_count"]) == (5, 9, 0)


def test_a_step_is_one_flush_or_one_compaction(make: Make) -> None:
    log = make(memtable_max_bytes=24 * 100, sealed_max_runs=8)
    assert log.maint_step() is False
    for n in range(350):
        log.append(n, n)
    assert log.stats()["memtable"]["sealed_runs"] > 0
    assert log.maint_step() is True
    while log.maint_step():
        pass
    stats = log.stats()
    assert stats["memtable"]["sealed_runs"] == 0
    assert stats["operational"]["flushes_total"] >= 1
    assert stats["storage"]["pages_total"] >= 1
    assert len(log) == 350


def test_steps_do_what_compact_asked_for(log: Any) -> None:
    log.append(1, "a")
    log.flush()
    assert log.maint_step() is False  # one segment is no reason to compact
    log.compact()
    assert log.maint_step() is True
    assert log.maint_step() is False
    assert log.stats()["operational"]["compactions_total"] == 1
    assert list(log) == [(1, "a")]


def test_a_step_compacts_once_there_are_enough_segments(make: Make) -> None:
    log = make(max_delta_segments=4)
    for n in range(4):
        log.append(n, n)
        log.flush()
    assert log.maint_step() is True
    assert log.stats()["storage"]["segments_l0"] == 0
    assert log.stats()["storage"]["segments_l1"] >= 1
    assert log.maint_step() is False


def test_an_adaptive_log_tells_its_window(make: Make) -> None:
    log = make(adaptive={"target_records": 100}, window_size=1_000)
    log.extend(range(1_000), range(1_000))
    log.flush()
    assert log.stats()["adaptive"]["window"] > 0


def test_maintenance_by_hand_has_no_worker(log: Any, peer_module: ModuleType) -> None:
    with pytest.raises(peer_module.TimelogError):
        log.start_maintenance()
    assert log.stop_maintenance() is None
    log.stop_maintenance()
    log.append(1, "a")
    assert list(log) == [(1, "a")]


def test_maintenance_in_the_background_has_no_steps(peer_module: ModuleType) -> None:
    with peer_module.Timelog() as log:
        with pytest.raises(peer_module.TimelogError):
            log.maint_step()
        log.stop_maintenance()
        with pytest.raises(peer_module.TimelogError):
            log.maint_step()
        log.stop_maintenance()
        log.append(1, "a")
        assert log.start_maintenance() is None
        log.start_maintenance()
        log.flush()
        log.compact()
        assert list(log) == [(1, "a")]


def test_the_background_flushes_what_is_sealed(peer_module: ModuleType) -> None:
    options = {"memtable_max_bytes": 24 * 100, "busy_policy": "flush", "maintenance_wakeup_ms": 5}
    with peer_module.Timelog(**options) as log:
        for n in range(2_000):
            log.append(n, n)
        deadline = time.monotonic() + 20
        while log.stats()["memtable"]["sealed_runs"] > 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert log.stats()["operational"]["flushes_total"] > 0
        assert sum(len(span) for span in log.views()) > 0
        assert [stamp for stamp, _ in log] == list(range(2_000))


def test_validate_finds_nothing_wrong(log: Any) -> None:
    assert log.validate() is None
    log.extend([(5, "a"), (3, "b")])
    log.flush()
    log.delete(3)
    assert log.validate() is None


def test_both_ends_are_kept_through_flushes(log: Any) -> None:
    log.extend([(GREATEST, "last"), (0, "middle")])
    for _ in range(3):
        log.flush()
        log.compact()
        while log.maint_step():
            pass
    assert list(log) == [(0, "middle"), (GREATEST, "last")]
    assert log.stats()["storage"]["max_ts"] == GREATEST
