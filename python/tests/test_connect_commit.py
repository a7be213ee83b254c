"""One commit over several models, where the store is open and behind a server alike."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import timestrata
from serving import Served, either, losing

__all__ = ["either", "served"]  # fixtures

UTC = dt.timezone.utc


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server of each test's own: most count all that there is."""
    with Served(tmp_path / "served") as server:
        yield server


def counts(store: Any) -> dict[str, int]:
    """How much each model has; what doesn't exist has nothing."""
    return {
        "rooms": store.table("rooms").count() if "rooms" in store.tables() else 0,
        "events": len(store.topic("events").offsets()) if "events" in store.topics() else 0,
        "app": store.logs("app").count() if "app" in store.log_names() else 0,
        "code": len(store.graph("code")) if "code" in store.graphs() else 0,
        "door": len(store.timelog("door")) if "door" in store.timelogs() else 0,
    }


def stage(commit: Any, number: int) -> bytes:
    commit.table("rooms").append({"time": 1_700_000_000_000 + number, "celsius": 20.5})
    commit.topic("events").send({"key": b"\xff", "value": str(number)})
    commit.logs("app").write("measured", level="info", labels={"host": "a"}, number=number)
    block: bytes = commit.graph("code").put(f"block {number}", metadata={"n": number})
    commit.graph("code").link(block, "calls", block, weight=0.5)
    commit.timelog("door").append(number, {"number": number, "raw": b"\x00"})
    return block


def test_five_models_change_in_one_commit(either: Any) -> None:
    seqs = []
    for number in range(3):
        with either.commit() as commit:
            block = stage(commit, number)
            assert commit.seq is None and commit.topic_receipts("events") == []
            assert counts(either)["rooms"] == number
        seqs.append(commit.seq)
        assert [each.offset for each in commit.topic_receipts("events")] == [number]
        assert either.graph("code").get(block).content == f"block {number}"
    assert set(counts(either).values()) == {3}
    assert seqs == sorted(set(seqs))
    assert either.timelog("door")[1] == [{"number": 1, "raw": b"\x00"}]
    assert [row["time"] for row in either.table("rooms").scan()][0] == dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    entry = next(iter(either.logs("app").search("number:2")))
    assert (entry.level, entry.labels, entry.fields) == ("info", {"host": "a"}, {"number": 2})
    assert either.topic("events").get(2).key == b"\xff"
    with pytest.raises(ValueError, match="nothing for a topic .others."):
        commit.topic_receipts("others")


def test_a_block_that_raises_and_a_commit_that_fails_change_and_make_nothing(either: Any) -> None:
    with pytest.raises(KeyError), either.commit() as commit:
        stage(commit, 1)
        raise KeyError("none of it")
    assert commit.seq is None and set(counts(either).values()) == {0}
    either.topic("others").send("first")
    for _ in range(2):
        with pytest.raises(timestrata.ConflictError, match="others"), either.commit() as commit:
            stage(commit, 1)
            commit.topic("others").send("late", expected_offset=0)
        assert set(counts(either).values()) == {0} and either.topics() == ["others"]
    with either.commit() as commit:
        pass
    with pytest.raises(timestrata.ClosedError, match="within its block"):
        commit.topic("others")
    with pytest.raises(timestrata.InvalidArgumentError, match="one block"), commit:
        pass
    with pytest.raises(timestrata.ClosedError), either.commit() as commit:
        logs = commit.logs("app")
        commit.__exit__(None, None, None)
        logs.write("too late")
    assert either.log_names() == []
    with pytest.raises((ValueError, timestrata.InvalidArgumentError)):
        either.commit(durability="hopefully")


def test_parts_take_what_their_models_take(either: Any) -> None:
    either.timelog("door", codec="json", unit="s").append(5, "before")
    either.table("rooms", key="room", tags="room")
    with either.commit(durability="written") as commit:
        rooms = commit.table("rooms")
        rooms.append(pa.table({"time": pa.array([1, 2], pa.timestamp("ms")), "room": ["a", "b"], "n": [1, 2]}))
        rooms.append([{"time": "2024-05-01", "room": "a", "n": 3}])
        rooms.append([])
        events = commit.topic("events")
        events.send_batch(["x", timestrata.Record(b"y", key="k")])
        events.send(b"\x00\xff", partition=0)
        commit.logs("app").write_many(["begun", {"message": "done", "level": "warn"}])
        code = commit.graph("code")
        code.put_many(["f()", {"content": b"\x00", "source_uri": "file:a"}])
        f, g = code.put("f()"), code.put("g()", expected_version=0)
        code.link_many([(f, "calls", g), (g, "calls", f)])
        code.unlink(g, "calls", f)
        door = commit.timelog("door")
        door.delete(0, 6)
        door.append(dt.datetime(1970, 1, 1, 0, 0, 7, tzinfo=UTC), ["seven"])
    assert either.table("rooms").row("a")["n"] == 3 and either.table("rooms").count() == 2
    assert [either.topic("events").get(n).value for n in range(3)] == [b"x", b"y", b"\x00\xff"]
    assert [entry.message for entry in either.logs("app").search()] == ["begun", "done"]
    assert (len(either.graph("code")), either.graph("code").edge_count()) == (3, 1)
    assert list(either.timelog("door")) == [(7, ["seven"])]
    with either.commit() as commit:
        commit.table("rooms").delete("1970-01-01", "1970-01-02")
        commit.graph("code").delete(f, expected_version=either.graph("code").get(f).version)
        commit.timelog("door").delete(7)
    assert (either.table("rooms").count(), len(either.graph("code")), len(either.timelog("door"))) == (1, 2, 0)
    with either.commit() as commit:
        commit.table("rooms").delete()
    assert either.table("rooms").count() == 0
    with either.commit() as commit, pytest.raises(ValueError, match="t1 must be <= t2"):
        commit.timelog("door").delete(9, 1)
    with either.commit() as commit, pytest.raises((ValueError, TypeError)):
        commit.graph("code").put_many([{"no": "content"}])


def test_times_that_are_ints_are_in_the_tables_unit(either: Any) -> None:
    seconds = pa.timestamp("s")
    either.table("ticks").append(pa.table({"time": pa.array([1, 2], seconds), "n": [1, 2]}))
    with either.commit() as commit:
        commit.table("ticks").append([{"time": 1_700_000_000, "n": 3}])
        commit.table("ticks").append(pa.table({"time": [1_700_000_001], "n": [4]}))
        commit.table("ticks").delete(1, 2)
    assert [row["time"].timestamp() for row in either.table("ticks").scan()] == [2, 1_700_000_000, 1_700_000_001]
    # A new one has the unit that their size tells.
    with either.commit() as commit:
        commit.table("new").append([{"time": 1_700_000_000, "n": 3}])
    assert either.table("new").types["time"].startswith("Timestamp(s")


def test_a_commit_widens_columns_where_that_is_asked_for(either: Any) -> None:
    either.table("t").append({"time": "2024-01-01", "x": 1})
    with either.commit() as commit:
        commit.table("t").append([{"time": "2024-01-02", "x": 2.5}], on_mismatch="widen")
    assert [row["x"] for row in either.table("t").scan()] == [1.0, 2.5]


def test_a_table_comes_into_being_as_it_was_asked_for(either: Any) -> None:
    either.table("stock", key="item", tags=["item"])
    with pytest.raises(timestrata.ConflictError), either.commit() as commit:
        commit.table("stock").append({"time": "2024-05-01", "item": "lamp", "left": 2})
        commit.graph("code").put("f()", expected_version=4)
    for left in (2, 1):
        with either.commit() as commit:
            commit.table("stock").append({"time": "2024-05-01", "item": "lamp", "left": left})
    stock = either.table("stock")
    assert (stock.key, stock.tags, stock.count(), stock.row("lamp")["left"]) == (["item"], ["item"], 1, 1)
    either.table("rooms", tags="room")
    rooms = either.table("rooms")
    rooms.append({"time": "2024-05-01", "room": "hall"})
    assert rooms.tags == ["room"]


def test_no_rows_are_none_and_rows_without_columns_are_refused(either: Any) -> None:
    rooms = either.table("rooms")
    assert rooms.append([]) == rooms.append(()) == 0 and not rooms.exists
    for rows in ({}, [{}], [{}, {}]):
        with pytest.raises(timestrata.InvalidArgumentError, match="rows have columns"):
            rooms.append(rows)
        with pytest.raises(timestrata.InvalidArgumentError, match="rows have columns"), either.commit() as commit:
            commit.table("rooms").append(rows)
    assert either.tables() == []


def test_conditions_are_looked_at_at_the_end(either: Any) -> None:
    stock = either.table("stock", key="item")
    stock.append({"time": "2024-05-01", "item": "lamp", "left": 2})
    seq = either.last_commit()
    with either.commit() as commit:
        commit.table("stock").append({"time": "2024-05-01", "item": "lamp", "left": 1})
    with pytest.raises(timestrata.ConflictError, match="stock"), either.commit() as late:
        late.table("stock").append({"time": "2024-05-01", "item": "lamp", "left": 0}, if_unchanged_since=seq)
        late.logs("app").write("sold")
    assert stock.row("lamp")["left"] == 1 and either.log_names() == []
    # Keys are noted from the first such commit on.
    seq = either.last_commit()
    with either.commit() as commit:
        commit.table("stock").append({"time": "2024-05-01", "item": "lamp", "left": 0}, if_unchanged_since=seq)
    assert either.last_commit() == commit.seq > seq and stock.row("lamp")["left"] == 0
    with pytest.raises(timestrata.ConflictError), either.commit() as late:
        late.graph("code").put("f()", expected_version=4)
    assert either.graphs() == []


def test_what_came_of_records_is_done_once(either: Any) -> None:
    raw = either.topic("raw")
    raw.send_batch([str(number) for number in range(10)])
    with raw.consumer("double", idle_timeout=0) as consumer:
        with either.commit() as commit:
            for record in consumer.poll(5.0, max_records=4):
                commit.topic("doubled").send(str(2 * int(record.value)))
            commit.consumed(consumer)
            commit.consumed(consumer)
        assert consumer.committed() == 4
        with pytest.raises(RuntimeError), either.commit() as commit:
            commit.topic("doubled").send_batch([record.value for record in consumer.poll(5.0, max_records=4)])
            commit.consumed(consumer)
            raise RuntimeError("none of it")
        assert consumer.committed() == 4
    with (
        raw.consumer("one", idle_timeout=0) as consumer,
        raw.consumer("other", idle_timeout=0) as other,
        either.commit() as commit,
    ):
        commit.consumed(consumer)
        with pytest.raises(timestrata.InvalidArgumentError, match="one consumer"):
            commit.consumed(other)
    with raw.consumer("double", idle_timeout=0) as consumer:
        with either.commit() as commit:
            given = consumer.poll(5.0)
            while given:
                commit.topic("doubled").send_batch([str(2 * int(record.value)) for record in given])
                given = consumer.poll(0.2)
            commit.consumed(consumer)
    doubled = either.topic("doubled")
    assert [int(doubled.get(n).value) for n in doubled.offsets()] == list(range(0, 20, 2))
    alone = raw.consumer()
    with pytest.raises(timestrata.InvalidArgumentError, match="group"), either.commit() as commit:
        alone.poll(1.0)
        commit.consumed(alone)


def test_a_producer_that_another_took_the_place_of_sends_nothing(either: Any) -> None:
    topic = either.topic("bills")
    first, second = (topic.producer(producer_id="billing") for _ in range(2))
    with pytest.raises(timestrata.ConflictError, match="billing"), either.commit() as commit:
        commit.topic("bills").send("1", producer=first)
        commit.logs("app").write("billed")
    assert len(topic.offsets()) == 0 and either.log_names() == []
    assert second.send("a").offset == 0
    with either.commit() as commit:
        commit.topic("bills").send_batch(["b", "c"], producer=second)
    # What it sends by itself is numbered behind that.
    assert second.send("d").offset == 3 and second.next_sequence() == 4
    with either.commit() as commit:
        for producer, why in ((topic.producer(), "with an id"), (either.topic("others").producer(producer_id="x"), "of topic")):
            with pytest.raises(timestrata.InvalidArgumentError, match=why):
                commit.topic("bills").send("e", producer=producer)
        commit.topic("bills").send("e", producer=second)
        with pytest.raises(timestrata.InvalidArgumentError, match="of one producer"):
            commit.topic("bills").send("f")
    assert len(topic.offsets()) == 5


def test_threads_commit_over_the_same_models(either: Any) -> None:
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                with either.commit() as commit:
                    stage(commit, number * 100 + turn)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    assert set(counts(either).values()) == {60}


def test_a_commit_is_awaited(either: Any) -> None:
    async def main() -> None:
        async with either.commit() as commit:
            stage(commit, 1)
        assert commit.seq is not None

    asyncio.run(main())
    assert set(counts(either).values()) == {1}


def test_a_commit_whose_answer_is_lost_is_sent_once_and_what_it_consumed_is_done_once(served: Served) -> None:
    with losing(served) as proxy, timestrata.connect(proxy.url) as store:
        raw = store.topic("raw")
        raw.send_batch(["1", "2"])
        consumer = raw.consumer("double")
        lost: list[bytes] = []

        def loses_the_first(request: bytes) -> bool:
            if not request.startswith(b"POST /commit") or lost:
                return False
            lost.append(request)
            return True

        proxy.loses = loses_the_first
        with pytest.raises(timestrata.IoError, match="may have been done all the same"), store.commit() as commit:
            for record in consumer.poll(5.0):
                commit.topic("doubled").send(record.value)
            commit.consumed(consumer)
        assert commit.seq is None
        assert sum(request.startswith(b"POST /commit") for request in proxy.requests) == 1
        consumer.close()
        # It was made. Whoever begins anew goes on behind it.
        with raw.consumer("double") as consumer:
            assert consumer.poll(0.5) == [] and consumer.committed() == 2
        assert len(store.topic("doubled").offsets()) == 2


def test_commits_of_a_server_that_is_killed_are_whole(served: Served) -> None:
    acknowledged = 0
    for _ in range(5):
        with timestrata.connect(served.url) as store:
            killer = threading.Timer(0.3, served.kill)
            killer.start()
            try:
                while True:
                    with store.commit() as commit:
                        stage(commit, acknowledged)
                    acknowledged += 1
            except timestrata.IoError:
                pass
            killer.join()
        served.start()
        with timestrata.connect(served.url) as store:
            found = set(counts(store).values())
            assert len(found) == 1, found
            # One whose answer didn't come may have been made.
            assert found <= {acknowledged, acknowledged + 1}, (found, acknowledged)
            acknowledged = found.pop()
