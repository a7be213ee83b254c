"""A store lists, drops and describes what is in it, and takes settings as people write them."""

import io
import threading
from datetime import timedelta
from pathlib import Path

import pytest

import timestrata
from timestrata import Store


def test_a_time_log_is_made_once_and_keeps_codec_and_unit(store: Store) -> None:
    first = store.timelog("log", codec="bytes", unit="us")
    assert (first.codec, first.unit, first.name) == ("bytes", "us", "log")
    again = store.timelog("log")
    assert (again.codec, again.unit) == ("bytes", "us")
    store.timelog("log", codec="bytes", unit="us")
    with pytest.raises(timestrata.AlreadyExistsError, match="codec"):
        store.timelog("log", codec="cbor")
    with pytest.raises(ValueError):
        store.timelog("log", unit="ms")
    first.append(1, b"a")
    assert list(again) == [(1, b"a")]


@pytest.mark.parametrize(("codec", "unit"), [("xml", "ms"), ("cbor", "min"), ("", "ms")])
def test_unknown_codecs_and_units_are_refused(store: Store, codec: str, unit: str) -> None:
    with pytest.raises(timestrata.InvalidArgumentError):
        store.timelog("log", codec=codec, unit=unit)  # type: ignore[arg-type]
    assert store.streams == []


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 256])
def test_names_that_cannot_be_are_refused(store: Store, name: str) -> None:
    with pytest.raises(ValueError):
        store.timelog(name)


def test_streams_are_listed_and_dropped(store: Store) -> None:
    for name in ("b", "a", "c/../d", "ü"):
        store.timelog(name).append(1, name)
    assert sorted(store.streams) == sorted(store.timelogs()) == ["a", "b", "c/../d", "ü"]
    store.drop("a")
    assert "a" not in store.streams
    with pytest.raises(KeyError):
        store.compact("a")
    assert list(store.timelog("a")) == []
    assert list(store.timelog("b")) == [(1, "b")]


def test_figures_tell_of_each_stream(store: Store) -> None:
    log = store.timelog("log")
    log.extend(range(100), range(100))
    figures = store.stats()
    assert figures["streams"]["log"]["memtable_rows"] == 100
    assert figures["background_error"] is None
    store.flush()
    figures = store.stats()
    assert figures["streams"]["log"]["memtable_rows"] == 0
    assert figures["streams"]["log"]["run_rows"] == 100
    assert figures["flushes"] >= 1


def test_a_sound_store_checks_as_sound(path: Path) -> None:
    with timestrata.open(path) as store:
        store.timelog("log").extend(range(1_000), range(1_000))
        store.flush()
        report = store.check()
        assert report
        assert report.is_sound
        assert report.rows >= 1_000
        assert [finding for finding in report.findings if finding.is_damage] == []


def test_a_check_tells_rows_that_are_in_no_file_yet(path: Path) -> None:
    """`rows` of a store that had not been flushed were 0, as if there were none."""
    with timestrata.open(path) as store:
        store.timelog("log").extend(range(100), range(100))
        report = store.check()
        assert (report.rows, report.memory_rows) == (0, 100)
        assert report.wal_commits >= 1
        assert "rows=0 memory_rows=100 wal_commits=" in repr(report)
        store.flush()
        report = store.check()
        assert (report.rows, report.memory_rows) == (100, 0)


@pytest.mark.parametrize("kind", [str, Path])
def test_a_tilde_leads_home(
    kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`open("~/x.store")` made a directory of that name in the current one."""
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    with timestrata.open(kind("~/a.store")) as store:
        assert store.path == home / "a.store"
        store.table("t").ingest(io.BytesIO(b"time,x\n2024-05-01,2\n"), format="csv")
        store.backup(kind("~/copy"))
        (home / "more.csv").write_text("time,x\n2024-05-02,3\n")
        store.table("t").ingest(kind("~/more.csv"))
        assert len(store.table("t")) == 2
    with timestrata.Timelog(path=kind("~/log.store")):
        pass
    timestrata.SigningKey.generate(kind("~/key"), "example.org/log")
    assert timestrata.SigningKey.open(kind("~/key")).path == home / "key"
    assert sorted(entry.name for entry in home.iterdir()) == [
        "a.store", "copy", "key", "log.store", "more.csv"
    ]
    # Only a shell knows the folders of others.
    with timestrata.open(kind("~nobody-of-that-name")) as store:
        assert store.path == here / "~nobody-of-that-name"
    assert [entry.name for entry in here.iterdir()] == ["~nobody-of-that-name"]


def test_an_open_store_is_found_wherever_the_program_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path was looked up anew each time: runs seemed to be missing after a `chdir`."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with timestrata.open("a.store") as store, timestrata.Timelog(path="log.store") as log:
        table = store.table("t")
        rows = [{"time": n, "x": n} for n in range(1_000_000_000, 1_000_000_100)]
        table.append(rows[:50])
        store.flush()
        monkeypatch.chdir(elsewhere)
        assert len(table.scan().to_pylist()) == 50
        table.append(rows[50:])
        store.flush()
        store.compact()
        assert len(table.scan().to_pylist()) == 100
        assert store.check().is_sound
        log.append(1, "x")
        log.flush()
        assert list(log) == [(1, "x")]
    assert list(elsewhere.iterdir()) == []
    with timestrata.open(tmp_path / "a.store") as store:
        assert len(store.table("t")) == 100


def test_every_object_shows_itself_on_one_line(path: Path, tmp_path: Path) -> None:
    with timestrata.open(path) as store:
        log = store.timelog("log")
        store.pin("now")
        objects = [
            store,
            log,
            iter(log),
            store.recovery,
            store.check(),
            store.backup(tmp_path / "copy"),
            *store.pins(),
        ]
        for one in objects:
            shown = repr(one)
            assert shown.startswith(f"<{type(one).__name__} ")
            assert "\n" not in shown
        assert str(path) in repr(store)


def test_a_path_is_a_str_or_a_path(path: Path) -> None:
    with timestrata.open(str(path)) as store:
        assert store.path == path
    with timestrata.open(path) as store:
        assert store.path == path
    with pytest.raises(TypeError):
        timestrata.open(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "size", ["64MiB", "64 mib", 64 << 20, "67108864", "0.0625GiB", "67108864B"]
)
def test_sizes_are_written_as_people_do(size: int | str) -> None:
    timestrata.open(memtable_bytes_max=size, memory_bytes_max="1GB").close()


@pytest.mark.parametrize("size", ["64XiB", "", "MiB", "-1", "1.5B", "1e3", -1, 2**64, "9" * 50])
def test_sizes_that_cannot_be_read_are_refused(size: int | str) -> None:
    with pytest.raises(timestrata.InvalidArgumentError, match="memtable_bytes_max"):
        timestrata.open(memtable_bytes_max=size)


@pytest.mark.parametrize("interval", ["100ms", "2s", "1.5s", "1m", 0.25, 3, timedelta(seconds=1)])
def test_durations_are_written_as_people_do(interval: str | float | timedelta) -> None:
    timestrata.open(sync_interval=interval).close()


@pytest.mark.parametrize("interval", ["100", "fast", "-1s", -1, float("nan"), timedelta(-1)])
def test_durations_that_cannot_be_read_are_refused(interval: str | float | timedelta) -> None:
    with pytest.raises(timestrata.InvalidArgumentError, match="sync_interval"):
        timestrata.open(sync_interval=interval)


@pytest.mark.parametrize(
    "settings",
    [
        {"memtable_bytes_max": 1.5},
        {"memtable_bytes_max": True},
        {"sync_interval": []},
        {"sync_interval": False},
        {"memtable": 1},
    ],
)
def test_settings_of_the_wrong_type_or_name_are_type_errors(settings: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=next(iter(settings))):
        timestrata.open(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "choice",
    [
        {"mode": "a"},
        {"durability": "maybe"},
        {"maintenance": "never"},
        {"busy_policy": "silent"},
        {"mode": "r"},
        {"memory_bytes_max": "1MiB"},
    ],
)
def test_choices_that_have_no_meaning_are_refused(choice: dict[str, str]) -> None:
    with pytest.raises(timestrata.InvalidArgumentError, match=next(iter(choice))):
        timestrata.open(**choice)  # type: ignore[arg-type]


def test_many_threads_write_and_read_at_once(path: Path) -> None:
    writers, rows = 4, 2_000
    with timestrata.open(path, memtable_bytes_max="64KiB") as store:
        log = store.timelog("log")
        failures: list[BaseException] = []

        def guard(work: object, *arguments: object) -> None:
            try:
                work(*arguments)  # type: ignore[operator]
            except BaseException as error:
                failures.append(error)

        def write(writer: int) -> None:
            for n in range(rows):
                log.append(n, [writer, n])

        def read() -> None:
            while len(log) < writers * rows:
                times = [time for time, _ in log]
                assert times == sorted(times)

        threads = [threading.Thread(target=guard, args=(write, n)) for n in range(writers)]
        threads += [threading.Thread(target=guard, args=(read,))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        for writer in range(writers):
            assert [v[1] for _, v in log if v[0] == writer] == list(range(rows))


def test_one_iterator_in_many_threads_gives_each_entry_once(store: Store) -> None:
    log = store.timelog("log")
    log.extend(range(10_000), range(10_000))
    entries = iter(log)
    seen: list[int] = []

    def read() -> None:
        while True:
            try:
                seen.append(next(entries)[0])
            except StopIteration:
                return
            except ValueError:
                continue  # another thread is at it

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(10_000))
