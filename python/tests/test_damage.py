"""What is damaged is told of, left out where that is asked for, and saved from as far as it can be read."""

import datetime as dt
from pathlib import Path

import pytest

import timestrata

ROWS = 4_000
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def times(rows: range) -> list[dt.datetime]:
    return [EPOCH + dt.timedelta(seconds=n) for n in rows]


def runs_of(path: Path) -> list[Path]:
    return sorted(file for file in (path / "runs").iterdir() if file.is_file())


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


@pytest.fixture
def damaged(path: Path) -> Path:
    """A store with a table of one run in several blocks, one of which has a bit that is wrong."""
    with timestrata.open(path, maintenance="manual", run_batch_rows=256) as store:
        store.table("t").append({"time": times(range(ROWS)), "x": list(range(ROWS))})
        store.table("whole").append({"time": times(range(10)), "x": list(range(10))})
        store.flush()
        store.pin("before")
    file = max(runs_of(path), key=lambda file: file.stat().st_size)
    flip(file, file.stat().st_size // 2)
    return path


def test_a_backup_of_damage_is_refused_or_tells_of_it(damaged: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with timestrata.open(damaged, mode="r") as store:
        with pytest.raises(timestrata.CorruptionError, match="rows of stream 't'.*\n.*with_damage"):
            store.backup(copy)
        report = store.backup(copy, with_damage=True)
        (missing,) = report.damaged
        assert missing["stream"] == "t" and 0 < missing["rows"] < ROWS
    with timestrata.open(copy, mode="r") as store:
        assert store.table("whole").scan().count() == 10
        rows = store.table("t").scan(skip_damaged=True)
        assert rows.count() == ROWS - missing["rows"]


def test_a_scan_leaves_damage_out_where_that_is_asked_for_and_tells_of_it(damaged: Path) -> None:
    with timestrata.open(damaged, mode="r") as store:
        table = store.table("t")
        with pytest.raises(timestrata.CorruptionError, match="rows of stream 't'"):
            table.scan().to_pylist()
        assert store.table("whole").scan().count() == 10

        rows = table.scan(skip_damaged=True)
        assert rows.missing == []
        found = [row["x"] for row in rows.to_pylist()]
        assert found == sorted(found) and 0 < len(found) < ROWS
        lost = sorted(set(range(ROWS)) - set(found))
        assert sum(missing["rows"] for missing in rows.missing) == len(lost)
        first = rows.missing[0]
        assert (first["stream"], int(first["key_min"])) == ("t", lost[0] * 1_000_000)
        assert int(rows.missing[-1]["key_max"]) == lost[-1] * 1_000_000
        file = Path(first["path"])
        assert file.parent.name == "runs" and 0 <= first["offset"] < file.stat().st_size
        assert "checksum" in first["why"]

        # Each place once, however often the rows are read.
        told = rows.missing
        assert rows.count() == len(found) and rows.missing == told
        # Beside it nothing is missing, and of a scan that has met none nothing is told.
        beside = table.scan(end=EPOCH + dt.timedelta(seconds=lost[0]), skip_damaged=True)
        assert (beside.count(), beside.missing) == (lost[0], [])
        assert store.stats()["damaged"][0]["stream"] == "t"
        with pytest.raises(timestrata.InvalidArgumentError, match="goes without where"):
            table.scan(where="x > 3", skip_damaged=True)


def test_repair_makes_a_store_of_what_can_be_read(damaged: Path, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in runs_of(damaged)}
    tried = timestrata.repair(damaged, dry_run=True)
    assert tried.to is None and not tried.lost_nothing
    assert not (damaged.parent / f"{damaged.name}-repaired").exists()

    report = timestrata.repair(str(damaged), tmp_path / "rescued")
    assert report.to == str(tmp_path / "rescued")
    assert (report.missing, report.streams) == (tried.missing, tried.streams)
    assert (report.manifest_lost, report.lost) == (None, [])
    assert report.doubts == ["the pin 'before' lacks what is missing of run 1"]
    (missing,) = report.missing
    rows = {stream["name"]: stream["rows"] for stream in report.streams}
    assert rows == {"t": ROWS - missing["rows"], "whole": 10}
    assert report.pins == ["before"]
    assert f"lost: {missing['rows']} rows of stream 't'" in str(report)
    assert "with losses" in repr(report)
    assert {file: file.read_bytes() for file in runs_of(damaged)} == before
    with timestrata.open(report.to, mode="r") as store:
        assert store.check().is_sound
        assert store.table("t").scan().count() == ROWS - missing["rows"]

    with pytest.raises(timestrata.AlreadyExistsError):
        timestrata.repair(damaged, tmp_path / "rescued")
    with pytest.raises(timestrata.NotFoundError):
        timestrata.repair(tmp_path / "nothing")
    with timestrata.open(damaged), pytest.raises(timestrata.LockedError):
        timestrata.repair(damaged, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_store_without_its_manifest_is_repaired_from_its_runs(path: Path) -> None:
    with timestrata.open(path) as store:
        store.timelog("log").extend((n, n) for n in range(100))
        store.flush()
    for name in ("MANIFEST", "MANIFEST.copy"):
        (path / name).unlink()
    with pytest.raises(timestrata.TimestrataError, match="repair"):
        timestrata.open(path)
    report = timestrata.repair(path)
    assert report.lost_nothing and report.manifest_lost
    assert report.to == f"{path}-repaired"
    with timestrata.open(report.to) as store:
        assert len(store.timelog("log")) == 100


def test_stats_tell_of_damage_and_of_the_scrubber(path: Path) -> None:
    with timestrata.open(path, maintenance="manual", scrub_bytes_per_second=0) as store:
        figures = store.stats()
        assert (figures["damaged"], figures["troubles"]) == ([], [])
        assert figures["scrub"] == {
            "rounds": 0, "round_ended_ns": None, "round_bytes": 0, "bytes": 0, "found_damage": False,
        }
