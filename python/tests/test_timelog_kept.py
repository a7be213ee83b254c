"""What a time log refuses and throws away by itself, and extends of any size, whole or not at all."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import timestrata
from timestrata import Store, Timelog

NOW_NS = 1_700_000_000 * 10**9


def test_what_is_old_or_too_much_goes_by_itself(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "store", maintenance="manual") as store:
        # Files whose newest entry, and which themselves, are older.
        log = store.timelog("door", unit="s", retention_age=0.000001)
        for entry in ((1, "old"), (2**33, "of a time to come")):
            log.append(*entry)
            log.flush()
            log.compact()
        assert list(log) == [(2**33, "of a time to come")]
        log.set_retention(bytes=1)
        assert (log.describe()["retention_age"], log.describe()["retention_bytes"]) == (None, 1)
        again = store.timelog("door", retention_age=60)
        assert (again.describe()["retention_age"], again.describe()["retention_bytes"]) == (60.0, 1)
        assert store.timelog("door").describe() == again.describe()
    with Timelog(path=tmp_path / "store", name="other", retention_bytes=5) as log:
        assert log.describe()["retention_bytes"] == 5
    with pytest.raises(timestrata.InvalidArgumentError, match="cutoff"):
        Timelog().set_retention(age=5)


def writes(log: Timelog, time: int) -> dict[str, Any]:
    import array

    return {
        "append": lambda: log.append(time, 1.0),
        "append synced": lambda: log.append(time, 1.0, sync=True),
        "item": lambda: log.__setitem__(time, 1.0),
        "extend": lambda: log.extend([(10**6, 1.0), (time, 1.0)]),
        "extend by parts": lambda: log.extend(iter([(time, 1.0)])),
        "bulk_append": lambda: log.bulk_append(array.array("q", [time]), [1.0]),
    }


@pytest.mark.parametrize("schema", [None, "float64"])
@pytest.mark.parametrize("way", list(writes(Timelog(), 0)))
def test_times_below_the_smallest_are_refused_whoever_writes(
    tmp_path: Path, schema: str | None, way: str
) -> None:
    with timestrata.open(tmp_path / "store") as store:
        log = store.timelog("door", schema=schema, min_ts=100)
        with pytest.raises(ValueError, match=r"timestamp 99 is below min_ts boundary \(100\)"):
            writes(log, 99)[way]()
        assert len(log) == 0
        writes(log, 100)[way]()
        assert len(log) > 0
        with pytest.raises(ValueError, match="min_ts"), store.commit() as commit:
            commit.timelog("door").append(99, 1.0)
        assert (log.min_ts_floor, log.describe()["min_ts"]) == (100, 100)
    with timestrata.open(tmp_path / "store") as store:
        with pytest.raises(ValueError, match="min_ts"):
            store.timelog("door").append(99, 1.0)
        with pytest.raises(timestrata.AlreadyExistsError, match="from 100 on"):
            store.timelog("door", min_ts=101)


def test_an_extend_of_any_size_is_one_commit_or_nothing(tmp_path: Path) -> None:
    value = b"x" * (1 << 20)
    with timestrata.open(tmp_path / "store", history_min=600) as store:
        log = store.timelog("large")
        log.append(0, b"first")
        before = store.stats()["last_seq"]
        log.extend([(time, value) for time in range(1, 101)])
        assert store.stats()["last_seq"] == before + 1
        assert len(log) == 101
        bad: list[Any] = [(time, value) for time in range(200, 300)]
        bad.append((300, object()))
        with pytest.raises(TypeError, match="'object'") as raised:
            log.extend(bad)
        assert "nothing was stored; it stopped behind row 100" in "".join(raised.value.__notes__)
        assert len(log) == 101
        # What comes one by one too, if it is wanted.
        log.extend(((time, value) for time in range(300, 370)), atomic=True)
        assert len(log) == 171

        def failing() -> Iterator[tuple[int, bytes]]:
            yield from ((time, value) for time in range(400, 470))
            raise LookupError("no more")

        with pytest.raises(LookupError):
            log.extend(failing(), atomic=True)
        assert len(log) == 171
    with timestrata.open(tmp_path / "store") as store:
        assert len(store.timelog("large")) == 171


def test_arrow_batches_are_one_commit_where_it_is_asked_for(store: Store) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no batches to give")
    log = store.timelog("typed", schema={"a": "int64"})
    times = pyarrow.array(range(10), pyarrow.timestamp("ms", "UTC"))
    good = pyarrow.record_batch({"time": times, "a": pyarrow.array(range(10))})
    table = pyarrow.Table.from_batches([good, good])
    log.extend(table, atomic=True)
    assert len(log) == 20

    def batches() -> Iterator[Any]:
        yield good
        raise LookupError("no more")

    reader = pyarrow.RecordBatchReader.from_batches(good.schema, batches())
    with pytest.raises(Exception, match="no more"):
        log.extend(reader, atomic=True)
    assert len(log) == 20


def test_an_iterator_in_memory_is_stored_whole_where_it_is_asked_for() -> None:
    log = Timelog()

    def failing() -> Iterator[tuple[int, int]]:
        yield from ((n, n) for n in range(5_000))
        raise LookupError("no more")

    with pytest.raises(LookupError):
        log.extend(failing(), atomic=True)
    assert len(log) == 0
    with pytest.raises(LookupError):
        log.extend(failing())
    assert len(log) == 4_096


def test_a_commit_over_several_models_extends_a_log(store: Store) -> None:
    log = store.timelog("door")
    with store.commit() as commit:
        part = commit.timelog("door")
        part.extend([(2, "b"), (1, "a")])
        part.extend([3, 4], ["c", "d"])
        with pytest.raises(TypeError):
            part.extend([(5, "e"), (6, object())])
        with pytest.raises(ValueError, match="same length"):
            part.extend([7], [])
    assert list(log) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


@pytest.mark.parametrize("way", ["extend", "extend by parts", "bulk_append", "to_dict"])
def test_other_threads_run_while_much_goes_in_or_out_of_memory(way: str) -> None:
    # One call took the interpreter for as long as it went on; by an endless iterator, for ever.
    import array

    log = Timelog()
    turns = itertools.count()
    stop = threading.Event()
    seen: list[int] = []

    def count() -> None:
        while not stop.is_set():
            seen.append(next(turns))

    rows = 1_000_000
    times = array.array("q", range(rows))
    ways = {
        "extend": lambda: log.extend(times, times),
        "extend by parts": lambda: log.extend(zip(times, times, strict=True)),
        "bulk_append": lambda: log.bulk_append(times, [None] * rows),
        "to_dict": log.to_dict,
    }
    if way == "to_dict":
        log.extend(times, times)
    other = threading.Thread(target=count)
    other.start()
    while not seen:
        other.join(0)
    before = len(seen)
    ways[way]()
    during = len(seen) - before
    stop.set()
    other.join()
    assert len(log) == rows
    assert during > 0


def test_an_endless_iterator_is_stopped_by_another_thread() -> None:
    log = Timelog()
    entry = (1, None)
    failures: list[BaseException] = []

    def extend() -> None:
        try:
            log.extend(itertools.repeat(entry))
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=extend)
    thread.start()
    while len(log) == 0:
        thread.join(0)
    log.close()
    thread.join(60)
    assert not thread.is_alive()
    assert type(failures[0]) is timestrata.TimelogError


def test_a_tail_of_a_store_that_is_read_only_sees_what_the_writer_commits(tmp_path: Path) -> None:
    # It looked at the store as it was when it was opened, for ever.
    with timestrata.open(tmp_path / "store") as store:
        log = store.timelog("door")
        log.append(1, "before")
        with timestrata.open(tmp_path / "store", mode="r") as reader:

            async def follow() -> list[tuple[int, Any]]:
                tail = reader.timelog("door").tail(since=0, interval=0.001)
                first = await anext(tail)
                log.append(2, "after")
                return [first, await asyncio.wait_for(anext(tail), 60)]

            assert asyncio.run(follow()) == [(1, "before"), (2, "after")]


def test_a_log_that_has_been_dropped_is_told_by_its_name(store: Store) -> None:
    log = store.timelog("door")
    log.append(1, "a")
    store.drop("door")
    uses = [lambda: len(log), lambda: log.append(2, "b"), lambda: log[1], lambda: list(log), lambda: log.max_ts()]
    for use in uses:
        with pytest.raises(timestrata.NotFoundError, match="time log 'door' has been dropped"):
            use()
    store.timelog("door").append(3, "c")
    with pytest.raises(timestrata.NotFoundError, match="'door' has been dropped"):
        log.append(4, "d")


def test_columns_are_added_to_a_typed_log_for_all_who_have_it_open(path: Path) -> None:
    with timestrata.open(path) as store:
        trades, other = store.timelog("trades", schema={"price": "float64"}), store.timelog("trades")
        trades.append(1, {"price": 7.5})
        iteration, tail = iter(other), other.tail()
        assert trades.alter(add={"shares": "int64", "at": "string"})
        assert not other.alter(add={"shares": "int64"})
        # Both handles, what was asked for before, and what follows.
        assert list(iteration) == [(1, {"price": 7.5})]
        old = {"price": 7.5, "shares": None, "at": None}
        assert list(trades) == list(other) == [(1, old)]
        other.append(2, {"price": 8.0, "shares": 100, "at": "x"})
        trades.extend([(3, {"price": 9.0, "shares": 2**40})])
        assert next(tail) == (2, {"price": 8.0, "shares": 100, "at": "x"})
        assert other[3] == [{"price": 9.0, "shares": 2**40, "at": None}]
        assert store.sql("SELECT sum(shares) AS s FROM trades").to_pylist() == [{"s": 100 + 2**40}]
        store.sql('ALTER TABLE trades ADD COLUMN "big" BIGINT')
        trades.append(4, {"price": 1.0, "big": 5})
        store.flush()
        trades.compact()
        assert [value["big"] for _, value in other] == [None, None, None, 5]
        with pytest.raises(timestrata.AlreadyExistsError, match="shares"):
            trades.alter(add={"shares": "string"})
        with pytest.raises(timestrata.InvalidArgumentError, match="ADD COLUMN"):
            store.sql("ALTER TABLE trades RENAME TO sales")
        for log in (store.timelog("door"), store.timelog("kitchen", schema="float64"), timestrata.Timelog()):
            with pytest.raises(timestrata.InvalidArgumentError, match="columns"):
                log.alter(add={"x": "int64"})
    with timestrata.open(path) as store:
        trades = store.timelog("trades")
        assert trades[1] == [{"price": 7.5, "shares": None, "at": None, "big": None}]
        late = trades.tail(after="c.0.0", late=True)
        assert next(late) == (1, {"price": 7.5, "shares": None, "at": None, "big": None})
