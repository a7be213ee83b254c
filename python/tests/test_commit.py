"""One commit over several models: all that its block changes, or nothing."""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import timestrata
from timestrata import Store

ChildOf = Callable[..., Any]
Counts = dict[str, int]


def counts(store: Store) -> Counts:
    """How much each model has; what doesn't exist has nothing."""
    return {
        "rows": store.table("rooms").count() if "rooms" in store.tables() else 0,
        "records": len(store.topic("events").offsets()) if "events" in store.topics() else 0,
        "entries": store.logs("app").count() if "app" in store.log_names() else 0,
        "blocks": len(store.graph("code")) if "code" in store.graphs() else 0,
        "values": len(store.timelog("door")) if "door" in store.timelogs() else 0,
    }


def stage(commit: timestrata.Commit, number: int) -> None:
    commit.table("rooms").append({"time": 1_700_000_000 + number, "celsius": 20.5})
    commit.topic("events").send({"key": "k", "value": str(number)})
    commit.logs("app").write("measured", level="info", number=number)
    block = commit.graph("code").put(f"block {number}")
    commit.graph("code").link(block, "calls", block)
    commit.timelog("door").append(number, {"number": number})


def test_five_models_change_in_one_commit(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "store") as store:
        for number in range(3):
            before = store.stats()["last_seq"]
            with store.commit() as commit:
                stage(commit, number)
                assert commit.seq is None and store.stats()["last_seq"] == before
            assert commit.seq == before + 1 == store.stats()["last_seq"]
            assert store.stats()["synced_seq"] == commit.seq, "a topic is part of it"
            assert [each.offset for each in commit.topic_receipts("events")] == [number]
        assert set(counts(store).values()) == {3}
    with timestrata.open(tmp_path / "store", mode="r") as store:
        assert set(counts(store).values()) == {3}
        assert [entry.fields["number"] for entry in store.logs("app").search()] == [0, 1, 2]
        assert store.timelog("door")[1] == [{"number": 1}]
        assert store.graph("code").edge_count() == 3


def test_a_block_that_raises_changes_and_makes_nothing() -> None:
    store = timestrata.open()
    with pytest.raises(KeyError), store.commit() as commit:
        stage(commit, 1)
        raise KeyError("none of it")
    assert commit.seq is None
    assert set(counts(store).values()) == {0} and store.streams == []
    assert store.stats()["last_seq"] == 0


def test_a_part_that_conflicts_leaves_all_as_it_was() -> None:
    store = timestrata.open()
    with store.commit() as commit:
        stage(commit, 0)
    before = counts(store)
    with pytest.raises(timestrata.ConflictError, match="offset 1 is next, 0 was expected"):
        with store.commit() as commit:
            stage(commit, 1)
            commit.topic("events").send("late", expected_offset=0)
    with pytest.raises(timestrata.ConflictError, match="version"):
        block = store.graph("code").put("v", id="00" * 16, version=7)
        with store.commit() as commit:
            stage(commit, 1)
            commit.graph("code").put("v", id=block, version=3)
    store.graph("code").delete(block)
    with pytest.raises(timestrata.InvalidDataError, match="celsius"):
        with store.commit() as commit:
            stage(commit, 1)
            commit.table("rooms").append({"time": 5, "celsius": "warm"})
    assert counts(store) == before
    with store.commit() as commit:
        stage(commit, 1)
    assert set(counts(store).values()) == {2}


def test_what_the_block_takes_back_goes_and_what_it_brings_stays() -> None:
    store = timestrata.open()
    door, code = store.timelog("door"), store.graph("code")
    door.extend([(time, time) for time in range(10)])
    f, g = code.put_many(["f()", "g()"])
    code.link(f, "calls", g)
    with store.commit() as commit:
        commit.timelog("door").delete(0, 5)
        commit.timelog("door").delete(7)
        commit.timelog("door").append(2, "new")
        commit.graph("code").unlink(f, "calls", g)
        commit.graph("code").delete(g)
        commit.graph("code").put_many(["h()"])
        commit.graph("code").link_many([(f, "calls", f)])
    assert list(door) == [(2, "new"), (5, 5), (6, 6), (8, 8), (9, 9)]
    assert (len(code), code.edge_count(), g in code) == (2, 1, False)


def test_records_are_consumed_and_made_once_whatever_fails_between() -> None:
    store = timestrata.open()
    raw = store.topic("raw")
    raw.send_batch([str(number) for number in range(20)])
    failures = iter([True, False, True, False])
    while True:
        # As a process that died and began again.
        consumer = raw.consumer("double", idle_timeout=0)
        records = consumer.poll(max_records=12)
        if not records:
            break
        try:
            with store.commit() as commit:
                for record in records:
                    commit.topic("doubled").send(str(2 * int(record.value or b"")))
                    commit.table("sums").append({"time": record.offset, "value": int(record.value or b"")})
                commit.consumed(consumer)
                if next(failures, False):
                    raise RuntimeError("it died here")
        except RuntimeError:
            pass
        consumer.close()
    made = [int(row["value"]) for row in store.topic("doubled").scan()]
    assert made == [2 * number for number in range(20)]
    assert store.table("sums").count() == 20


def test_records_that_iterating_has_not_given_are_not_consumed() -> None:
    store = timestrata.open()
    raw = store.topic("raw")
    raw.send_batch(["a", "b", "c"])
    with raw.consumer("readers", idle_timeout=0) as consumer:
        for record in consumer:
            with store.commit() as commit:
                commit.timelog("seen").append(record.offset or 0, record.value)
                commit.consumed(consumer)
            if record.offset == 1:
                break
        # All that was given is done, as `Consumer.commit` has it, and the one that was read ahead is not.
        assert consumer.committed() == 2
    assert len(store.timelog("seen")) == 2


def test_a_commit_has_one_block_and_takes_nothing_outside_of_it() -> None:
    store = timestrata.open()
    commit = store.commit()
    with pytest.raises(timestrata.ClosedError, match="within its block"):
        commit.table("rooms")
    with commit:
        rooms, events = commit.table("rooms"), commit.topic("events")
        assert commit.table("rooms") is rooms
        rooms.append({"time": "2024-05-01", "celsius": 1.0})
        consumers = [store.topic("in").consumer(name) for name in ("one", "two")]
        commit.consumed(consumers[0])
        with pytest.raises(timestrata.InvalidArgumentError, match="one consumer"):
            commit.consumed(consumers[1])
        with pytest.raises(TypeError):
            commit.timelog("door").append(1, object())
    for use in (lambda: rooms.append({"time": 1}), lambda: events.send("x"), commit.__enter__):
        with pytest.raises((timestrata.ClosedError, timestrata.InvalidArgumentError)):
            use()
    assert counts(store) == {"rows": 1, "records": 0, "entries": 0, "blocks": 0, "values": 0}
    with store.commit() as empty:
        pass
    assert empty.seq == store.stats()["last_seq"]
    with pytest.raises(ValueError, match="durability"):
        store.commit(durability="for ever")  # type: ignore[arg-type]


def test_a_time_log_with_columns_says_that_it_is_not_taken() -> None:
    store = timestrata.open()
    store.timelog("trades", schema={"price": "float64"})
    with pytest.raises(timestrata.InvalidArgumentError, match="columns"), store.commit() as commit:
        commit.timelog("trades")


def test_tables_of_other_libraries_and_new_columns_are_taken() -> None:
    store = timestrata.open()
    arrow = pa.table({"time": pa.array([1, 2], pa.timestamp("s")), "celsius": [20.5, None]})
    with store.commit() as commit:
        commit.table("rooms").append(arrow)
        commit.table("rooms").append([{"time": 3, "celsius": 1.0, "room": "attic"}])
        commit.graph("code").put_many(pa.table({"content": ["f()", "g()"]}))
        commit.graph("code").link_many(
            pa.table({"source": [bytes(16)], "kind": ["calls"], "target": [bytes(15) + b"g"]})
        )
    assert [row["room"] for row in store.table("rooms").scan()] == [None, None, "attic"]
    assert (len(store.graph("code")), store.graph("code").edge_count()) == (2, 1)


def test_kill_9_between_commits_over_five_models_leaves_each_whole_or_absent(
    path: Path, child: ChildOf
) -> None:
    program = """
        import sys, timestrata
        store = timestrata.open(sys.argv[1], memtable_bytes_max="64KiB", wal_segment_bytes="256KiB")
        number = len(store.timelog("door"))
        while True:
            with store.commit(durability="written") as commit:
                commit.table("rooms").append({"time": 1_700_000_000 + number, "celsius": 20.5})
                commit.topic("events").send({"key": "k", "value": "x" * (number % 5000)})
                commit.logs("app").write("measured", number=number)
                commit.graph("code").put(f"block {number}")
                commit.timelog("door").append(number, number)
            number += 1
            print(number, flush=True)
    """
    acknowledged = 0
    for turn in range(4):
        process = child(program, path)
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged >= 60 * (turn + 1):
                break
        process.kill()
        out, _ = process.communicate()
        acknowledged = max([acknowledged, *map(int, out.split()[:-1])])
        with timestrata.open(path, mode="r") as store:
            (count,) = set(counts(store).values())
            assert count >= acknowledged
            assert [value for _, value in store.timelog("door")] == list(range(count))


def test_threads_commit_over_the_same_models_beside_flushes_and_compactions(path: Path) -> None:
    store = timestrata.open(path, memtable_bytes_max="64KiB", wal_segment_bytes="256KiB")
    failed: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for number in range(25):
                with store.commit() as commit:
                    stage(commit, 100 * thread + number)
                    commit.logs("app").write("x" * 3_000)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and store.stats()["flushes"] > 0
    store.compact()
    assert counts(store) == {"rows": 100, "records": 100, "entries": 200, "blocks": 100, "values": 100}
    store.close()
    with timestrata.open(path, mode="r") as reader:
        assert counts(reader)["entries"] == 200


def test_a_commit_of_a_closed_or_read_only_store_is_refused(tmp_path: Path) -> None:
    store: Any = timestrata.open(tmp_path / "store")
    with store.commit() as commit:
        stage(commit, 1)
    store.close()
    with pytest.raises(timestrata.ClosedError):
        store.commit()
    with timestrata.open(tmp_path / "store", mode="r") as reader:
        with pytest.raises(timestrata.ReadOnlyError), reader.commit() as commit:
            commit.logs("app").write("no")


def test_what_a_thread_adds_while_the_block_ends_is_in_it_or_refused() -> None:
    for _ in range(30):
        store = timestrata.open()
        added = 0
        with store.commit() as commit:
            door = commit.timelog("door")
            begun = threading.Event()

            def work(door: timestrata.CommitTimelog = door, begun: threading.Event = begun) -> None:
                nonlocal added
                with contextlib.suppress(timestrata.ClosedError):
                    while True:
                        door.append(added, "value")
                        added += 1
                        begun.set()

            thread = threading.Thread(target=work)
            thread.start()
            begun.wait()
        thread.join()
        assert len(store.timelog("door")) == added
