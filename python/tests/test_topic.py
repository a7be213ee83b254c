"""Topics: records in, records out, consumers and groups, proofs that need no store."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import timestrata
from waiting import PATIENCE_S

WRITTEN = {"durability": "written"}


@pytest.fixture
def store() -> Iterator[timestrata.Store]:
    with timestrata.open() as store:
        yield store


def values(records: list[timestrata.Record]) -> list[bytes | None]:
    return [record.value for record in records]


def test_a_record_comes_back_with_all_its_parts(store: timestrata.Store) -> None:
    topic = store.topic("t")
    time = datetime(2024, 5, 1, 12, tzinfo=UTC)
    sent = [
        timestrata.Record(b"value", key="key", headers=[("a", b"1"), ("a", b"2")], timestamp=time),
        {"value": None, "key": b"", "timestamp": "2024-05-01T12:00:00.000000001Z"},
        {"value": bytearray(b"bytes"), "headers": {"b": "text"}},
        memoryview(b"view"),
        "text",
    ]
    receipts = topic.send_batch(sent)
    assert [receipt.offset for receipt in receipts] == [0, 1, 2, 3, 4]
    first, second, third, fourth, fifth = topic.consumer().poll()
    assert (first.key, first.value) == (b"key", b"value")
    assert first.headers == [("a", b"1"), ("a", b"2")]
    assert first.timestamp == 1_714_564_800_000_000_000
    assert (first.topic, first.partition, first.offset) == ("t", 0, 0)
    # No bytes are not the same as none.
    assert (second.key, second.value, second.headers) == (b"", None, [])
    assert second.timestamp == 1_714_564_800_000_000_001
    assert (third.value, third.headers) == (b"bytes", [("b", b"text")])
    assert (fourth.value, fifth.value) == (b"view", b"text")
    assert topic.get(0) == first != second
    assert receipts[0].timestamp == first.timestamp
    assert hash(topic.get(0)) == hash(first)


def test_what_is_no_record_is_refused_and_nothing_is_sent(store: timestrata.Store) -> None:
    topic = store.topic("t", record_bytes_max=10)
    with pytest.raises(ValueError, match='no part "colour"'):
        topic.send({"value": b"", "colour": 1})
    with pytest.raises(TypeError, match="a record's value must be bytes"):
        topic.send({"value": 1})
    with pytest.raises(TypeError, match="a header's value"):
        topic.send({"headers": {"a": 1.5}})
    with pytest.raises(timestrata.TooLargeError, match="record 1 has 11 bytes, 10 is most"):
        topic.send_batch([b"fits", b"x" * 11])
    with pytest.raises(timestrata.InvalidArgumentError, match="no partition 1"):
        topic.send(b"", partition=1)
    assert topic.offsets() == range(0)
    several = store.topic("several", partitions=2)
    several.send_batch([{"value": b"a", "partition": 1}, {"value": b"b", "partition": 0}])
    assert [several.offsets(n) for n in range(2)] == [range(1)] * 2


def test_names_and_options_that_make_no_sense_are_refused(store: timestrata.Store) -> None:
    for name in ["", "../../../escaped", "a/b", "a b", "x" * 250, "__hidden", "."]:
        with pytest.raises(timestrata.InvalidArgumentError):
            store.topic(name)
    with pytest.raises(timestrata.InvalidArgumentError, match="0 partitions"):
        store.topic("t", partitions=0)
    with pytest.raises(ValueError, match="'producer' or 'store'"):
        store.topic("t", timestamp="mine")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="retention_age"):
        store.topic("t", retention_age=-1)
    with pytest.raises(timestrata.NotFoundError):
        store.topic("t", create=False)
    assert store.topics() == []
    store.topic("t", partitions=2)
    assert store.topic("t").partitions == 2
    with pytest.raises(timestrata.AlreadyExistsError):
        store.topic("t", partitions=3)
    with pytest.raises(timestrata.InvalidArgumentError, match="not a topic"):
        store.timelog("log").append(1, 1)
        store.topic("log")


def test_a_producer_that_repeats_itself_is_answered_with_the_first_receipt(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s") as store:
        producer = store.topic("t").producer(producer_id="loader")
        first = producer.send(b"a", sequence=0)
        assert producer.send(b"b").offset == 1
        assert producer.send(b"a", sequence=0) == first
        with pytest.raises(timestrata.ConflictError, match="2 is next"):
            producer.send(b"c", sequence=5)
        with pytest.raises(timestrata.InvalidArgumentError, match="producer_id"):
            store.topic("t").producer().send(b"c", sequence=0)
    with timestrata.open(tmp_path / "s") as store:
        producer = store.topic("t").producer(producer_id="loader")
        assert producer.next_sequence() == 2
        assert producer.send(b"a", sequence=0) == first
        assert store.topic("t").offsets() == range(2)


def test_an_append_may_expect_its_offset(store: timestrata.Store) -> None:
    producer = store.topic("t").producer()
    producer.send(b"a", expected_offset=0)
    with pytest.raises(timestrata.ConflictError, match="offset 1 is next, 0 was expected"):
        producer.send(b"b", expected_offset=0)


def test_records_are_arrow_and_offsets_are_found_by_time(store: timestrata.Store) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    topic = store.topic("t")
    topic.send_batch({"value": str(n), "timestamp": n * 10} for n in range(1_000))
    table = pyarrow.table(topic.scan(100, 200))
    assert table.column_names == ["offset", "timestamp", "key", "value", "headers"]
    assert table["offset"].to_pylist() == list(range(100, 200))
    assert table["value"][0].as_py() == b"100"
    assert topic.offset_at_time(995) == 100
    assert topic.offset_at_time(10_000) is None
    # What was asked for stays what it was.
    rows = topic.scan(990)
    topic.send(b"later")
    assert rows.to_arrow().num_rows == 10


def test_a_group_goes_on_where_it_was(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t")
        topic.send_batch([b"1", b"2", b"3"])
        with topic.consumer(group="g") as consumer:
            assert values(consumer.poll(max_records=2)) == [b"1", b"2"]
            consumer.commit()
            assert values(consumer.poll()) == [b"3"]
            assert (consumer.position(), consumer.committed(), consumer.lag()) == (3, 2, 0)
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t")
        assert topic.groups() == {"g": {0: 2}}
        with topic.consumer(group="g") as consumer:
            assert values(consumer.poll()) == [b"3"]
            topic.reset_group("g", 0)
        with topic.consumer(group="g") as consumer:
            assert len(consumer.poll()) == 3


def test_iterating_commits_no_more_than_was_given(store: timestrata.Store) -> None:
    topic = store.topic("t")
    topic.send_batch([str(n) for n in range(10)])
    with topic.consumer(group="g", idle_timeout=0.0) as consumer:
        for record in consumer:
            if record.value == b"3":
                break
        assert consumer.position() == 4
        consumer.commit()
        assert consumer.committed() == 4
        # What was read ahead is given by the next call, whatever that is.
        assert values(consumer.poll(max_records=1)) == [b"4"]
        assert [record.value for record in consumer] == [b"5", b"6", b"7", b"8", b"9"]
        consumer.seek(8)
        assert next(consumer).value == b"8"
        consumer.commit(topic.get(5))
        assert consumer.committed() == 6


def test_members_share_and_a_stale_one_is_refused(store: timestrata.Store) -> None:
    topic = store.topic("t", partitions=4)
    for partition in range(4):
        topic.send(str(partition), partition=partition)
    first = topic.consumer(group="g", member="first")
    assert len(first.poll()) == 4
    second = topic.consumer(group="g", member="second")
    assert second.poll() == []
    # The first lets go of what is the second's now when it is heard of next.
    assert first.poll() == []
    assert len(second.poll()) == 2
    assert len(first.assignment) == len(second.assignment) == 2
    members = topic.members("g")
    assert sorted(members) == ["first", "second"]
    assert sorted(sum(members.values(), [])) == [("t", n) for n in range(4)]
    mine = topic.get(0, partition=second.assignment[0][1])
    assert mine is not None
    with pytest.raises(timestrata.ConflictError, match="'second' has"):
        first.commit(mine)
    second.close()
    second.close()
    with pytest.raises(timestrata.ClosedError):
        second.poll()
    first.poll()
    assert len(first.assignment) == 4


def test_records_offsets_and_rows_of_tables_are_one_commit(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s") as store:
        topic, table = store.topic("t"), store.table("sums", key="sum")
        other = store.table("other")
        rows = {"time": "2024-05-01", "sum": 1}
        topic.producer().send_batch([b"1", b"2"], also=[(table, rows), (other, [rows, rows])])
        assert (topic.offsets(), table.count(), other.count()) == (range(2), 1, 2)
        with topic.consumer(group="g") as consumer:
            read = consumer.poll()
            consumer.commit(also=[(table, {"time": "2024-05-02", "sum": len(read)})])
            assert (consumer.committed(), table.count()) == (2, 2)
            # A row that doesn't fit: nothing of the commit is there.
            topic.reset_group("g", 0)
            with pytest.raises(timestrata.InvalidDataError):
                consumer.commit(read[1], also=[(table, {"time": "2024-05-02", "sum": "many"})])
            assert (consumer.committed(), table.count()) == (0, 2)
            # An offset that would go back: no row either.
            topic.reset_group("g", 2)
            with pytest.raises(timestrata.ConflictError):
                consumer.commit(read[0], also=[(table, rows)])
            with pytest.raises(timestrata.InvalidArgumentError, match="given twice"):
                consumer.commit(also=[(table, rows), (store.table("sums"), rows)])
            with timestrata.open() as elsewhere:
                foreign = elsewhere.table("sums")
                with pytest.raises(timestrata.InvalidArgumentError, match="another store"):
                    consumer.commit(also=[(foreign, rows)])
            assert table.count() == 2


def test_a_poll_waits_and_hears_what_comes(store: timestrata.Store) -> None:
    topic = store.topic("t")
    found: list[bytes | None] = []
    with topic.consumer() as consumer:
        thread = threading.Thread(target=lambda: found.extend(values(consumer.poll(None))))
        thread.start()
        topic.send(b"at last")
        thread.join(30)
        assert found == [b"at last"]


def test_topics_that_come_later_are_read(store: timestrata.Store) -> None:
    with store.consumer(["pay*", "other"]) as consumer:
        assert consumer.poll() == []
        store.topic("payments").send(b"a")
        store.topic("other").send(b"b")
        store.topic("unwanted").send(b"c")
        assert sorted(values(consumer.poll()), key=str) == [b"a", b"b"]
        with pytest.raises(ValueError, match="say which"):
            consumer.position()
        assert consumer.position(topic="other") == 1


def test_async_for_gives_records_and_a_cancelled_task_loses_none(store: timestrata.Store) -> None:
    topic = store.topic("t")

    async def read() -> tuple[list[bytes | None], list[bytes | None]]:
        async with asyncio.timeout(60):
            consumer = topic.consumer(group="g", idle_timeout=0.3)
            is_waiting = asyncio.Event()

            async def wait() -> timestrata.Record:
                is_waiting.set()
                return await anext(consumer)

            waiting = asyncio.ensure_future(wait())
            await is_waiting.wait()
            waiting.cancel()
            topic.send_batch([b"1", b"2", b"3"])
            first = [record.value async for record in consumer]
            consumer.commit()
            topic.send(b"4")
            return first, [record.value async for record in consumer]

    assert asyncio.run(read()) == ([b"1", b"2", b"3"], [b"4"])
    assert topic.groups() == {"g": {0: 3}}


def test_retention_throws_away_and_readers_are_told(store: timestrata.Store) -> None:
    topic = store.topic("t", retention_records=10)
    topic.send_batch([str(n) for n in range(100)])
    consumer = topic.consumer(reset="error")
    with pytest.raises(timestrata.OutOfRangeError, match="no offset is committed"):
        consumer.poll()
    assert topic.retain() == {"expired": 90, "superseded": 0, "groups": 0}
    assert topic.offsets() == range(90, 100)
    assert topic.get(5) is None
    with pytest.raises(timestrata.OutOfRangeError, match="ends at 100"):
        topic.get(100)
    topic.set_retention(records=None)
    assert topic.describe()["retention_records"] is None
    assert topic.describe()["offsets"] == [range(90, 100)]


VERIFY = """
import json, sys, timestrata
proof, record, vkey = sys.argv[1:]
print(timestrata.verify(open(proof).read(), json.load(open(record)), vkey))
"""


def test_a_process_without_the_store_verifies_a_proof(tmp_path: Path) -> None:
    key = timestrata.SigningKey.generate(tmp_path / "key", "example.org/log")
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t")
        topic.send_batch([{"value": str(n), "key": "k", "timestamp": n} for n in range(1_000)])
        with pytest.raises(timestrata.OutOfRangeError, match="no checkpoint yet"):
            topic.prove(7)
        note = topic.checkpoint(key)
        assert note.startswith("example.org/log/t/0\n1000\n")
        assert topic.last_checkpoint() == note
        proof = topic.prove(7)
        record = topic.get(7)
    assert record is not None
    assert (proof.offset, proof.origin, proof.checkpoint) == (7, "example.org/log/t/0", note)
    parts = {"value": "7", "key": "k", "timestamp": 7}
    (tmp_path / "7.tlog-proof").write_text(str(proof))

    def verified(parts: dict[str, object]) -> str:
        (tmp_path / "record").write_text(json.dumps(parts))
        command = [sys.executable, "-c", VERIFY, "7.tlog-proof", "record", key.vkey]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert verified(parts) == "True"
    for altered in ({"value": "8"}, {"key": None}, {"timestamp": 8}, {"headers": {"a": "b"}}):
        assert verified({**parts, **altered}) == "False", altered
    assert timestrata.verify(proof, record, key.vkey)
    other = timestrata.SigningKey.generate(tmp_path / "other", "example.org/log")
    assert not timestrata.verify(proof, record, other.vkey)
    with pytest.raises(timestrata.VerificationError):
        proof.check(record, other.vkey)
    with pytest.raises(timestrata.InvalidArgumentError, match="a private key"):
        timestrata.verify(proof, record, (tmp_path / "key").read_text())
    with pytest.raises(timestrata.InvalidArgumentError, match="no blank line"):
        timestrata.verify("c2sp.org/nonsense", record, key.vkey)
    with pytest.raises(ValueError, match="timestamp"):
        timestrata.verify(proof, {"value": "7"}, key.vkey)
    cut = str(proof).replace("index 7\n", "index 8\n")
    assert not timestrata.verify(cut, record, key.vkey)


def test_a_key_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    key = timestrata.SigningKey.generate(tmp_path / "key", "example.org/log")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(timestrata.AlreadyExistsError):
        timestrata.SigningKey.generate(tmp_path / "key", "example.org/log")
    assert timestrata.SigningKey.open(tmp_path / "key").vkey == key.vkey
    with pytest.raises(timestrata.NotFoundError):
        timestrata.SigningKey.open(tmp_path / "none")
    with pytest.raises(timestrata.InvalidArgumentError):
        timestrata.SigningKey.generate(tmp_path / "odd", "a name+with spaces")
    (tmp_path / "public").write_text(key.vkey)
    with pytest.raises(timestrata.InvalidArgumentError, match="a private key"):
        timestrata.SigningKey.open(tmp_path / "public")


def test_trees_are_consistent_and_exported(tmp_path: Path) -> None:
    key = timestrata.SigningKey.generate(tmp_path / "key", "example.org/log")
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t")
        topic.send_batch([str(n) for n in range(300)])
        old, old_root = topic.root()
        topic.send_batch([str(n) for n in range(700)])
        new, new_root = topic.root()
        proof = topic.consistency_proof(old, new)
        assert timestrata.verify_consistency(old, old_root, new, new_root, proof)
        assert not timestrata.verify_consistency(old, new_root, new, old_root, proof)
        assert topic.root(size=300) == (300, old_root)
        with pytest.raises(timestrata.OutOfRangeError):
            topic.root(size=1_001)
        topic.checkpoint(key)
        done = topic.export_tiles(tmp_path / "out")
        # Four tiles of leaves and four of entries, and the one above.
        assert done == {"size": 1_000, "tiles": 9, "gone": 0}
        assert (tmp_path / "out" / "tile" / "0" / "001").stat().st_size == 256 * 32
        assert (tmp_path / "out" / "tile" / "1" / "000.p" / "3").stat().st_size == 3 * 32
        assert (tmp_path / "out" / "checkpoint").read_text() == topic.last_checkpoint()
        entry = topic.entry(0)
        bundle = (tmp_path / "out" / "tile" / "entries" / "000").read_bytes()
        assert bundle[:2] + bundle[2 : 2 + len(entry)] == len(entry).to_bytes(2) + entry
        assert topic.export_tiles(tmp_path / "out") == done


def test_exports_of_a_topic_that_keeps_entries_stay_whole(tmp_path: Path) -> None:
    key = timestrata.SigningKey.generate(tmp_path / "key", "example.org/log")
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t", keep_entries=True)
        assert topic.describe()["keep_entries"] is True
        topic.send_batch({"key": str(n % 3), "value": str(n)} for n in range(600))
        before = topic.entry(4)
        topic.set_retention(records=50, compact=True)
        assert topic.retain()["expired"] == 550
        topic.checkpoint(key)
        # Three tiles of leaves, three of entries, and the one above.
        assert topic.export_tiles(tmp_path / "out") == {"size": 600, "tiles": 7, "gone": 0}
        bundle = (tmp_path / "out" / "tile" / "entries" / "000").read_bytes()
        assert before in bundle
        assert topic.get(4) is None and topic.entry(4) == before
        with pytest.raises(timestrata.AlreadyExistsError, match="keep_entries"):
            store.topic("t", keep_entries=False)


def test_all_partitions_are_signed_and_checkpoints_held_against_each_other(tmp_path: Path) -> None:
    key = timestrata.SigningKey.generate(tmp_path / "key", "example.org/log")
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t", partitions=2)
        topic.send_batch([str(n) for n in range(3)], partition=1)
        old = topic.checkpoint_all(key)
        topic.send("4", partition=1)
        new = topic.checkpoint_all(key)
        assert new[0] == old[0] == topic.last_checkpoint(0) and new[1] != old[1]
        proof = topic.consistency_proof(3, 4, 1)
        own = topic.log_vkey(key, 1)
        assert own.startswith("example.org/log/t/1+")
        for vkey in (own, key.vkey):
            assert timestrata.verify_checkpoints(old[1], new[1], proof, vkey)
        assert not timestrata.verify_checkpoints(new[1], old[1], proof, own)
        assert not timestrata.verify_checkpoints(old[1], new[1], [], own)
        assert not timestrata.verify_checkpoints(old[0], new[1], [], key.vkey)
        with pytest.raises(timestrata.InvalidArgumentError, match="32 bytes"):
            timestrata.verify_checkpoints(old[1], new[1], [b"short"], own)
        with pytest.raises(timestrata.InvalidArgumentError):
            timestrata.verify_checkpoints(old[1], new[1], proof, "no key")
        with pytest.raises(timestrata.InvalidArgumentError, match="no partition 2"):
            topic.log_vkey(key, 2)


def test_a_reader_sees_what_another_process_sends(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t")
        topic.send_batch([b"1", b"2"])
        with timestrata.open(tmp_path / "s", mode="r") as reader:
            seen = reader.topic("t")
            assert seen.offsets() == range(2)
            consumer = seen.consumer()
            assert len(consumer.poll()) == 2
            before = seen.root()
            topic.send(b"3")
            assert values(consumer.poll(10.0)) == [b"3"]
            assert seen.root() == topic.root() != before
            # A reader that proves writes nothing.
            assert topic.offsets() == seen.offsets() == range(3)
            with pytest.raises(timestrata.ReadOnlyError):
                seen.send(b"4")


def test_a_reader_in_another_process_proves_and_writes_nothing(tmp_path: Path) -> None:
    prove = """
import sys, timestrata
with timestrata.open(sys.argv[1], mode="r") as store:
    print(store.topic("t").prove(int(sys.argv[2])), end="")
"""
    path = tmp_path / "s"
    key = timestrata.SigningKey.generate(tmp_path / "key", "example.org/log")
    # By hand: in the background the writer makes the next file of its log, sooner or later.
    with timestrata.open(path, maintenance="manual") as store:
        topic = store.topic("t")
        topic.send_batch([f"record {n}" for n in range(300)])
        topic.checkpoint(key)
        files = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
        for offset in (0, 299):
            command = [sys.executable, "-c", prove, str(path), str(offset)]
            proof = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            record = topic.get(offset)
            assert timestrata.verify(proof, record, key.vkey)
            assert not timestrata.verify(proof, topic.get(offset ^ 1), key.vkey)
        assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == files
        topic.send("the next")
        assert topic.get(300).value == b"the next"


def test_records_that_can_not_be_read_are_reported_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with timestrata.open(path) as store:
        topic, other = store.topic("t", compression="none"), store.topic("other")
        for first in range(0, 100_000, 1_000):
            records = [str(first + n).zfill(200) for n in range(1_000)]
            topic.producer(durability="written").send_batch(records)
        other.send_batch([b"1", b"2"])
        store.flush()
        store.compact()
    largest = max(path.rglob("runs/*"), key=lambda file: file.stat().st_size)
    with largest.open("r+b") as file:
        file.seek(largest.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    with timestrata.open(path) as store:
        # Of the other topics nothing is lost, and this one goes on.
        assert values(store.topic("other").consumer().poll()) == [b"1", b"2"]
        topic = store.topic("t")
        assert topic.send(b"later").offset == 100_000
        read: list[int] = []
        passed: list[tuple[int, int]] = []
        with topic.consumer(group="g") as consumer:
            while not read or read[-1] != 100_000:
                try:
                    records = consumer.poll(max_records=10_000)
                except timestrata.CorruptionError as error:
                    here = consumer.position()
                    assert here is not None
                    passed.append((here, consumer.skip()))
                    assert f"records from offset {here} to before {passed[-1][1]}" in str(error)
                else:
                    read.extend(record.offset or 0 for record in records)
            consumer.commit()
        lost = [offset for start, stop in passed for offset in range(start, stop)]
        assert lost
        assert len(lost) < 50_000
        assert sorted(read + lost) == list(range(100_001))
        assert not store.check()


@pytest.mark.parametrize("how", ["iterating", "polling"])
def test_an_exception_leaves_what_was_being_handled_uncommitted(
    store: timestrata.Store, how: str
) -> None:
    topic = store.topic("t")
    topic.send_batch([str(n) for n in range(10)])

    def handle_until_the_fourth(consumer: timestrata.Consumer) -> None:
        if how == "iterating":
            for record in consumer:
                if record.value == b"3":
                    raise RuntimeError("not done")
        while records := consumer.poll(max_records=3):
            if b"3" in values(records):
                raise RuntimeError("not done")

    for _ in range(2):
        with (
            pytest.raises(RuntimeError, match="not done"),
            topic.consumer(group="g", auto_commit=60.0, idle_timeout=0.0) as consumer,
        ):
            handle_until_the_fourth(consumer)
    with topic.consumer(group="g", auto_commit=60.0, idle_timeout=0.0) as consumer:
        assert consumer.committed() == 3
        # Whoever ends a loop by itself is done with the last one.
        for record in consumer:
            if record.value == b"5":
                break
    with topic.consumer(group="g") as consumer:
        assert consumer.committed() == 6


def test_a_topic_goes_whole_and_an_old_handle_removes_no_new_one(store: timestrata.Store) -> None:
    old = store.topic("ev")
    old.send(b"1")
    with pytest.raises(timestrata.InvalidArgumentError, match="a part of topic 'ev'"):
        store.drop("ev/0")
    store.drop("ev")
    assert store.streams == []
    store.topic("ev").send(b"2")
    with pytest.raises(timestrata.NotFoundError, match="was removed"):
        old.drop()
    with pytest.raises(timestrata.NotFoundError, match="was removed"):
        old.offsets()
    assert store.topics() == ["ev"]


def test_a_record_that_says_another_place_is_not_verified(
    store: timestrata.Store, tmp_path: Path
) -> None:
    topic = store.topic("t")
    topic.send_batch([b"0", b"1"])
    key = timestrata.SigningKey.generate(tmp_path / "key", "example.org/log")
    topic.checkpoint(key)
    record, proof = topic.get(1), topic.prove(1)
    assert record is not None
    said = {"value": b"1", "timestamp": record.timestamp}
    assert timestrata.verify(proof, record, key.vkey)
    assert timestrata.verify(proof, said, key.vkey)
    assert timestrata.verify(proof, said | {"topic": "t", "partition": 0, "offset": 1}, key.vkey)
    for wrong in [{"topic": "other"}, {"partition": 1}, {"offset": 0}]:
        assert not timestrata.verify(proof, said | wrong, key.vkey)


def test_a_consumer_that_waits_can_be_used_by_other_threads(store: timestrata.Store) -> None:
    # It waited with its lock held, and took it again before anybody else could.
    topic = store.topic("t", partitions=1)
    consumer = topic.consumer()
    given: list[bytes | None] = []

    def use() -> None:
        for _ in range(200):
            assert consumer.position() in (0, None)
            consumer.resume()
            assert consumer.lag() == 0

    waits = threading.Thread(target=lambda: given.append(next(consumer).value), daemon=True)
    uses = threading.Thread(target=use, daemon=True)
    waits.start()
    uses.start()
    uses.join(PATIENCE_S)
    assert not uses.is_alive(), "who uses the consumer waits for who iterates over it"
    assert waits.is_alive() and not given
    topic.send(b"x")
    waits.join(PATIENCE_S)
    assert given == [b"x"]
