"""Logs that open their store by a path: several of one store, with settings of their own, and who closes it."""

import multiprocessing
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import timestrata
from timestrata import Timelog


def is_free(path: Path) -> bool:
    """Whether nobody has the store open for writing, as another process sees it."""
    program = f"import timestrata; timestrata.open({str(path)!r}).close()"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    return run.returncode == 0


def test_several_logs_of_one_store_are_open_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store"
    one, other = Timelog(path=path, name="one"), Timelog(path=path, name="other")
    again = Timelog(path=tmp_path / "." / "store", name="one")
    one.append(1, "a")
    again.append(2, "b")
    other.append(3, "c")
    assert list(one) == [(1, "a"), (2, "b")]
    one.close()
    one.close()
    assert one.closed and not other.closed
    again.append(4, "d")
    again.close()
    other.append(5, "e", sync=True)
    assert not is_free(path)
    other.close()
    assert is_free(path)
    one.reopen()
    assert [time for time, _ in one] == [1, 2, 4]
    one.close()


def test_a_link_to_a_store_is_that_store(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "store")
    with Timelog(path=tmp_path / "store") as log, Timelog(path=tmp_path / "link") as same:
        log.append(1, "a")
        assert same[1] == ["a"]


def test_a_log_of_a_store_that_the_program_has_open_uses_that(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "store") as store:
        log = Timelog(path=tmp_path / "store", name="door")
        log.append(1, "a")
        assert store.timelog("door")[1] == ["a"]
        log.close()
        log.reopen()
        log.append(2, "b")
        del log
        assert len(store.timelog("door")) == 2
    with Timelog(path=tmp_path / "store", name="door") as log:
        assert len(log) == 2


def test_a_log_that_goes_away_gives_its_share_back(tmp_path: Path) -> None:
    path = tmp_path / "store"
    log = Timelog(path=path, name="one")
    other = Timelog(path=path, name="other")
    del log
    other.append(1, "a")
    del other
    assert is_free(path)


def test_each_log_writes_with_its_own_durability(tmp_path: Path) -> None:
    with (
        Timelog(path=tmp_path / "store", name="one", durability="buffered") as one,
        Timelog(path=tmp_path / "store", name="other", durability="synced") as other,
    ):
        one.append(1, "a")
        other.append(1, "b")
        assert (len(one), len(other)) == (1, 1)


def test_threads_that_open_and_close_at_once_meet_one_store(tmp_path: Path) -> None:
    path = tmp_path / "store"
    failures: list[BaseException] = []
    together = threading.Barrier(4)

    def use(number: int) -> None:
        try:
            for turn in range(15):
                together.wait(60)
                with Timelog(path=path, name=f"log {number}") as log:
                    log.append(turn, number)
        except BaseException as failure:
            failures.append(failure)
            together.abort()

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with timestrata.open(path) as store:
        assert [len(store.timelog(f"log {number}")) for number in range(4)] == [15] * 4


def _in_child(path: Path, log: Timelog, told: Any) -> None:
    try:
        log.append(2, "of the child")
    except timestrata.ForkedError:
        told.put("refused")
    try:
        Timelog(path=path, name="one")
    except timestrata.LockedError:
        told.put("locked")


def test_a_child_process_neither_uses_nor_closes_what_the_parent_opened(tmp_path: Path) -> None:
    path = tmp_path / "store"
    log = Timelog(path=path, name="one")
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    child = context.Process(target=_in_child, args=(path, log, told))
    child.start()
    assert [told.get(timeout=60), told.get(timeout=60)] == ["refused", "locked"]
    child.join(60)
    assert child.exitcode == 0
    log.append(1, "of the parent")
    assert list(log) == [(1, "of the parent")]
    log.close()


PRESETS = ["for_streaming", "for_bulk_ingest", "for_low_latency"]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_take_a_path(tmp_path: Path, preset: str) -> None:
    with getattr(Timelog, preset)(path=tmp_path / "store", name="door") as log:
        log.extend(range(1_000), range(1_000))
        log.flush()
    log.reopen()
    assert len(log) == 1_000
    log.close()


def test_settings_are_those_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Timelog(path=path, maintenance="disabled", memtable_max_bytes=1 << 20, history_min=0) as log:
        log.append(1, "a")
        with Timelog(path=path, name="other", maintenance="manual", memtable_bytes_max="1MiB", history_min=0) as same:
            same.append(1, "b")
        with pytest.raises(timestrata.InvalidArgumentError, match="settings of its own"):
            Timelog(path=path, name="third", busy_policy="raise")
    with pytest.raises(TypeError, match="'nonsense'"):
        Timelog(path=path, nonsense=1)
    with pytest.raises(ValueError, match="busy_policy"):
        Timelog(path=path, busy_policy="nonsense")


def test_a_log_is_opened_for_reading_beside_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Timelog(path=path, name="door") as log:
        log.append(1, "a")
        reader = Timelog(path=path, name="door", mode="r")
        assert list(reader) == [(1, "a")]
        with pytest.raises(timestrata.ReadOnlyError):
            reader.append(2, "b")
        reader.close()
        log.append(2, "b")
    with pytest.raises(timestrata.NotFoundError):
        Timelog(path=tmp_path / "none", mode="r+")
    with pytest.raises(timestrata.InvalidArgumentError, match="mode"):
        Timelog(path=path, mode="rw")
