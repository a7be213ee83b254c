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


def test_offsets_and_what_all_models_take_are_one_commit(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "store") as store:
        raw = store.topic("raw")
        raw.send_batch(["1", "2", "3"])
        models = (
            store.table("rooms"),
            store.topic("events"),
            store.logs("app"),
            store.graph("code"),
            store.timelog("door"),
        )
        rooms, events, app, code, door = models
        with raw.consumer("sums") as consumer:
            records = consumer.poll()
            also: list[tuple[Any, Any]] = [
                (door, [(1, "opened")]),
                (rooms, {"time": "2024-05-01", "celsius": 20.5}),
                (events, ["seen"]),
                (app, ["measured"]),
                (code, ["measure()"]),
            ]
            before = store.last_commit()
            consumer.commit(records[1], also=also)
            assert store.last_commit() == before + 1
            assert consumer.committed() == 2 and set(counts(store).values()) == {1}
            # An offset that would go back, and what a model doesn't take: nothing of all is there.
            with pytest.raises(timestrata.ConflictError):
                consumer.commit(records[0], also=also)
            with pytest.raises(TypeError, match="not of str"):
                consumer.commit(also=[("door", [(2, "closed")]), *also])
            with pytest.raises(TypeError):
                consumer.commit(also=[*also, (door, [("no time", 1)])])
            with timestrata.open() as elsewhere, pytest.raises(ValueError, match="another store"):
                consumer.commit(also=[(elsewhere.timelog("door"), [(1, "x")])])
            assert consumer.committed() == 2 and set(counts(store).values()) == {1}
            # Without a record: all that was given. A log's entries have the labels of who writes them.
            labelled = app.with_labels({"host": "web-1"})
            consumer.commit(also=[(door, [(2, "closed")]), (labelled, ["served"])])
            assert consumer.committed() == 3 and len(door) == 2
            assert [entry.message for entry in app.search("host=web-1")] == ["served"]


def test_a_block_that_raises_changes_and_makes_nothing() -> None:
    store = timestrata.open()
    with pytest.raises(KeyError), store.commit() as commit:
        stage(commit, 1)
        raise KeyError("none of it")
    assert commit.seq is None
    assert set(counts(store).values()) == {0} and store.streams == []
    assert store.stats()["last_seq"] == 0


def test_a_commit_that_fails_has_made_no_streams(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "store") as store:
        store.topic("others").send("first")
        before = store.streams
        for _ in range(2):
            with pytest.raises(timestrata.ConflictError, match="offset 1 is next"), store.commit() as commit:
                stage(commit, 1)
                commit.topic("others").send("late", expected_offset=0)
            assert store.streams == before and set(counts(store).values()) == {0}
        # Their names are free, for other kinds too.
        store.timelog("rooms").append(1, "another kind")
        store.drop("rooms")
        with store.commit() as commit:
            stage(commit, 1)
        assert set(counts(store).values()) == {1}
        store.timelog("door").append(2, "by itself")
        store.topic("events", create=True).send("by itself")
    with timestrata.open(tmp_path / "store") as store:
        assert sorted(counts(store).values()) == [1, 1, 1, 2, 2]


def test_threads_that_make_the_same_models_in_commits_of_which_some_fail() -> None:
    store = timestrata.open()
    store.topic("others").send("first")
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(20):
                with contextlib.suppress(timestrata.ConflictError), store.commit() as commit:
                    commit.topic(f"new{turn}").send(str(number))
                    commit.graph(f"graph{turn}").put(f"block {number}")
                    if number == 0:
                        commit.topic("others").send("late", expected_offset=0)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    for turn in range(20):
        assert len(store.topic(f"new{turn}", create=False).offsets()) == 3
        assert len(store.graph(f"graph{turn}", create=False)) == 3


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


def test_a_time_log_with_columns_takes_values_and_whole_commits_alone() -> None:
    store = timestrata.open()
    trades = store.timelog("trades", schema={"price": "float64", "size": "int64"})
    with store.commit() as commit:
        commit.timelog("trades").append(1, {"price": 20.5, "size": 3})
        commit.timelog("trades").append(2, {"price": None, "size": 4})
        commit.topic("events").send("traded")
    assert list(trades) == [(1, {"price": 20.5, "size": 3}), (2, {"price": None, "size": 4})]
    with pytest.raises(TypeError), store.commit() as commit:
        commit.topic("events").send("traded")
        commit.timelog("trades").append(3, {"price": "much", "size": 1})
    with store.commit() as commit:
        commit.timelog("trades").delete(1)
        commit.timelog("trades").append(3, {"price": 1.0, "size": 5})
    assert [time for time, _ in trades] == [2, 3]
    assert len(store.topic("events").offsets()) == 1


def test_rows_of_a_range_go_with_the_commit() -> None:
    store = timestrata.open()
    rooms = store.table("rooms")
    rooms.append([{"time": time, "celsius": 20.0} for time in range(1, 7)])
    with pytest.raises(KeyError), store.commit() as commit:
        commit.table("rooms").delete(1, 3)
        raise KeyError
    assert rooms.count() == 6
    with store.commit() as commit:
        commit.table("rooms").append({"time": 2, "celsius": 1.0})
        commit.table("rooms").delete(1, 3)
        commit.table("rooms").delete(start=5)
        commit.topic("events").send("cleared")
    assert [row["celsius"] for row in rooms.scan()] == [1.0, 20.0, 20.0]
    with pytest.raises(timestrata.NotFoundError), store.commit() as commit:
        commit.table("none").delete(1, 2)


def changed_by(store: Store, name: str) -> None:
    stock = store.table("stock")
    if name == "a row":
        stock.append({"time": 5, "item": "nut", "left": 0})
    elif name == "a commit":
        with store.commit() as commit:
            commit.table("stock").append({"time": 5, "item": "nut", "left": 0})
    elif name == "many rows":
        stock.append([{"time": 5, "item": f"nut{n}" if n else "nut", "left": 0} for n in range(999)])
    elif name == "a range":
        stock.delete(1, 4)
    else:
        stock.delete(where="item = 'nut'")


@pytest.mark.parametrize("way", ["a row", "a commit", "many rows", "a range", "a condition"])
@pytest.mark.parametrize("key", [["item"], ["time", "item"]])
def test_a_row_that_was_changed_since_it_was_read_is_not_replaced(
    way: str, key: list[str], tmp_path: Path
) -> None:
    with timestrata.open(tmp_path / "store") as store:
        stock = store.table("stock", key=key)
        stock.append({"time": 2, "item": "bolt", "left": 5})
        with store.commit() as commit:
            # Keys are noted from here on.
            commit.table("stock").append(
                {"time": 2, "item": "nut", "left": 5}, if_unchanged_since=store.stats()["last_seq"]
            )
        for number in range(2):
            # Other keys, and other models, are none of it.
            seq = store.stats()["last_seq"]
            stock.append({"time": 9, "item": "bolt", "left": number})
            with store.commit() as commit:
                commit.table("stock").append(
                    {"time": 2, "item": "nut", "left": number}, if_unchanged_since=seq
                )
                commit.topic("events").send("taken")
        if key == ["time", "item"] and way in ("a row", "a commit", "many rows"):
            # Of another time, so it is another key.
            return
        seq = store.stats()["last_seq"]
        changed_by(store, way)
        rows = stock.count()
        with pytest.raises(timestrata.ConflictError), store.commit() as commit:
            commit.topic("events").send("taken")
            commit.table("stock").append({"time": 2, "item": "nut", "left": 9}, if_unchanged_since=seq)
        assert (stock.count(), len(store.topic("events").offsets())) == (rows, 2)
        with store.commit() as commit:
            commit.table("stock").append(
                {"time": 2, "item": "nut", "left": 9}, if_unchanged_since=store.stats()["last_seq"]
            )
        assert [row["left"] for row in stock.scan(where="item = 'nut'")] == [9]


def test_tables_that_keep_every_row_have_no_key_to_be_unchanged() -> None:
    store = timestrata.open()
    store.table("rooms").append({"time": 1, "celsius": 1.0})
    with pytest.raises(timestrata.InvalidArgumentError, match="every row"), store.commit() as commit:
        commit.table("rooms").append({"time": 1, "celsius": 2.0}, if_unchanged_since=1)
    assert store.table("rooms").count() == 1


def test_stock_that_threads_take_by_conditions_is_taken_once() -> None:
    store = timestrata.open()
    stock = store.table("stock", key="item")
    stock.append({"time": 1, "item": "nut", "left": 60})

    def take() -> None:
        while True:
            seq = store.stats()["last_seq"]
            left = stock.row("nut")["left"]
            if left == 0:
                return
            with contextlib.suppress(timestrata.ConflictError), store.commit() as commit:
                row = {"time": 1, "item": "nut", "left": left - 1}
                commit.table("stock").append(row, if_unchanged_since=seq)
                commit.topic("taken").send(str(left))

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    taken = [int(row["value"]) for row in store.topic("taken").scan()]
    assert taken == list(range(60, 0, -1))


def test_a_producer_that_another_one_has_followed_commits_nothing_more(tmp_path: Path) -> None:
    for turn in range(2):
        with timestrata.open(tmp_path / "store") as store:
            bills = store.topic("bills", partitions=2)
            first, second = (bills.producer(producer_id="billing") for _ in range(2))
            other = bills.producer(producer_id="other")
            for producer in (second, other):
                with store.commit() as commit:
                    commit.topic("bills").send_batch(["1", "2"], partition=1, producer=producer)
            before = store.stats()["last_seq"]
            with pytest.raises(timestrata.ConflictError, match="has epoch"), store.commit() as commit:
                commit.logs("app").write("billed")
                commit.topic("bills").send("3", partition=1, producer=first)
            with pytest.raises(timestrata.ConflictError, match="has epoch"):
                first.send("3")
            assert store.stats()["last_seq"] == before and store.logs("app").count() == 0
            assert bills.offsets(1).stop == 4 * (turn + 1)
            assert second.next_sequence(1) == 2 * (turn + 1)
            wrong = (
                (bills.producer(), "producer_id"),
                (store.topic("others").producer(producer_id="billing"), "is of topic"),
                (timestrata.open().topic("bills").producer(producer_id="billing"), "another store"),
            )
            for producer, words in wrong:
                with pytest.raises(timestrata.InvalidArgumentError, match=words):
                    with store.commit() as commit:
                        commit.topic("bills").send("3", producer=producer)
            with pytest.raises(timestrata.InvalidArgumentError, match="of one producer"):
                with store.commit() as commit:
                    commit.topic("bills").send("3", partition=1)
                    commit.topic("bills").send("4", partition=1, producer=second)


def test_a_block_of_another_version_than_was_expected_is_a_conflict() -> None:
    for keep_versions in (1, 3):
        store = timestrata.open()
        code = store.graph("code", keep_versions=keep_versions)
        with store.commit() as commit:
            block = commit.graph("code").put("f()", id=bytes(16), expected_version=0)
        for expected in (1, 2):
            with store.commit() as commit:
                commit.graph("code").put(f"f({expected})", id=block, expected_version=expected)
        for expected in (0, 2, 4):
            with pytest.raises(timestrata.ConflictError, match="has version 3"):
                with store.commit() as commit:
                    commit.topic("events").send("changed")
                    commit.graph("code").put("g()", id=block, expected_version=expected)
            with pytest.raises(timestrata.ConflictError), store.commit() as commit:
                commit.graph("code").delete(block, expected_version=expected)
        assert code.get(block).content == "f(2)"
        with store.commit() as commit:
            commit.graph("code").delete(block, expected_version=3)
        with pytest.raises(timestrata.ConflictError, match="is not there"), store.commit() as commit:
            commit.graph("code").put("f()", id=block, expected_version=3)
        assert len(code) == 0


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
