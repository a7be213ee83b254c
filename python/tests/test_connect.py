"""A store behind a server is used as one that is open here: the same calls give the same."""

from __future__ import annotations

import datetime as dt
import inspect
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import timestrata
from serving import COMMAND, Served
from timestrata import remote

UTC = dt.timezone.utc
# The remote class of each embedded one.
CLASSES: dict[type, type] = {
    timestrata.Store: remote.RemoteStore,
    timestrata.Table: remote.RemoteTable,
    timestrata.Topic: remote.RemoteTopic,
    timestrata.Producer: remote.RemoteProducer,
    timestrata.Consumer: remote.RemoteConsumer,
    timestrata.Logs: remote.RemoteLogs,
    timestrata.LogTail: remote.RemoteLogTail,
    timestrata.Graph: remote.RemoteGraph,
    timestrata.Timelog: remote.RemoteTimelog,
    timestrata.TimelogIter: remote.RemoteTimelogIter,
    timestrata.Changes: remote.RemoteChanges,
}
# What a server can't be asked for, and why.
LEFT_OUT = {
    "Store.timelog": {"schema"},  # a server makes no typed time log
    "Store.table": {"schema"},  # a table of a server comes into being with its first rows
    # A server makes a log as its first entries need it.
    "Store.logs": {
        "message_bytes_max", "columns_max", "retention_age", "retention_bytes", "compression",
    },
    "Table.scan": {"skip_damaged"},  # a server gives all rows, or says what is damaged
    "Topic.checkpoint": {"key"},  # no key goes over the network: the server signs by its own
    "Producer.send_batch": {"also"},  # a request changes one model
    "Producer.send_batch_async": {"also"},
    "Consumer.commit": {"also"},
    "Graph.walk": {"filter"},  # a program's own function doesn't go over the network
}  # fmt: skip
# What only a remote object has.
ADDED = {"RemoteStore": {"url"}}
# Made by other names of the same module.
NOT_OF_SERVERS = {"Timelog": {"for_bulk_ingest", "for_low_latency", "for_streaming"}, "TimelogIter": {"view"}}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("served") / "store"
    settings = path.with_suffix(".toml")
    key = timestrata.SigningKey.generate(path.with_suffix(".key"), "example.org/log")
    settings.write_text(f'[store]\nhistory_min = "10m"\n[topics]\nkey_file = "{key.path}"\n')
    with Served(path, "--config", str(settings)) as server:
        yield server


@pytest.fixture(params=["open", "connect"])
def either(request: pytest.FixtureRequest, served: Served, tmp_path: Path) -> Iterator[Any]:
    """A store that is open here, and one behind a server. What each test makes has names of its own."""
    if request.param == "open":
        with timestrata.open(tmp_path / "store", history_min=600) as store:
            yield store
    else:
        with timestrata.connect(served.url) as store:
            yield store


# What there is


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def parameters(method: Any) -> dict[str, inspect.Parameter]:
    """What a method takes beside its object."""
    taken = dict(inspect.signature(method).parameters)
    taken.pop("self", None)
    return taken


@pytest.mark.parametrize("own", CLASSES, ids=lambda cls: cls.__name__)
def test_a_remote_class_has_what_the_embedded_one_has_or_says_what_to_do_instead(own: type) -> None:
    there = CLASSES[own]
    missing = set(getattr(there, "MISSING", {}))
    offered = public(there) - {"MISSING"}
    assert offered - public(own) == ADDED.get(there.__name__, set())
    assert not offered & missing
    left = public(own) - offered - missing - NOT_OF_SERVERS.get(own.__name__, set())
    assert left == set(), f"{there.__name__} has neither these nor a word for them"


@pytest.mark.parametrize("own", CLASSES, ids=lambda cls: cls.__name__)
def test_what_both_have_takes_the_same(own: type) -> None:
    there = CLASSES[own]
    for name in sorted(public(there) & public(own)):
        mine = inspect.getattr_static(own, name)
        theirs = inspect.getattr_static(there, name)
        if isinstance(theirs, property):
            assert not callable(mine) or inspect.isdatadescriptor(mine), name
            continue
        expected = parameters(getattr(own, name))
        for left in LEFT_OUT.get(f"{own.__name__}.{name}", set()):
            del expected[left]
        given = parameters(getattr(there, name))
        assert list(expected) == list(given), f"{own.__name__}.{name}"
        for parameter, one in expected.items():
            other = given[parameter]
            assert one.kind == other.kind, f"{own.__name__}.{name}({parameter})"
            if parameter != "obj_or_none":
                assert one.default == other.default, f"{own.__name__}.{name}({parameter})"


def test_what_a_server_does_not_do_says_so_and_what_to_do_instead(served: Served) -> None:
    with timestrata.connect(served.url) as store:
        with pytest.raises(AttributeError, match="a server doesn't do 'commit': .*of its own"):
            store.commit()
        with pytest.raises(AttributeError, match="a server doesn't do 'views'"):
            store.timelog("door").views()
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            store.nothing()
        assert not hasattr(store, "flush")


@pytest.mark.parametrize(
    ("url", "words"),
    [("localhost:8080", {}), ("http://", {}), ("http://a?b", {}), ("http://a", {"token": "a\nb"}),
     ("https://a", {"certificates": b"none"}), ("http://a", {"token": "a", "token_file": "b"}),
     ("http://a", {"timeout": 0})],
)  # fmt: skip
def test_bad_addresses_and_options_are_refused_before_anything_is_sent(url: str, words: Any) -> None:
    with pytest.raises(timestrata.InvalidArgumentError):
        timestrata.connect(url, **words)


def test_no_server_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(timestrata.IoError, match="no whole answer from http://127.0.0.1:1") as caught:
        timestrata.connect("http://127.0.0.1:1")
    assert "see that a server runs there" in str(caught.value.hint)
    assert "all the same" not in str(caught.value)


def test_a_closed_connection_takes_no_calls(served: Served) -> None:
    store = timestrata.connect(served.url)
    table = store.table("closing")
    with store:
        assert not store.closed
    assert store.closed
    for call in (store.tables, table.count, lambda: store.sql("SELECT 1"), store.__enter__):
        with pytest.raises(timestrata.ClosedError):
            call()
    store.close()


# Tables and SQL


def test_rows_go_in_and_come_out(either: Any) -> None:
    rooms = either.table("rooms", tags="room")
    assert not rooms.exists and rooms.count() == 0
    rows = {
        "time": ["2024-05-01", "2024-05-02", "2024-05-03"],
        "room": ["hall", "attic", "hall"],
        "celsius": [20.5, None, 21.5],
        "big": [2**53 + 1, -(2**63), 2**63 - 1],
    }
    assert rooms.append(rows) == 3
    assert rooms.append({"time": dt.datetime(2024, 5, 4), "room": "zürich 日本", "celsius": 19.0, "big": 1}) == 1
    assert rooms.exists and rooms.count() == len(rooms) == 4 and "rooms" in either.tables()
    assert (rooms.time, rooms.key, rooms.tags) == ("time", [], ["room"])
    assert rooms.columns == ["time", "room", "celsius", "big"] and rooms.types["big"] == "Int64"
    found = rooms.scan().to_pylist()
    assert [row["time"] for row in found] == [dt.datetime(2024, 5, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    assert [row["big"] for row in found] == [2**53 + 1, -(2**63), 2**63 - 1, 1]
    assert [row["celsius"] for row in found] == [20.5, None, 21.5, 19.0]
    scanned = rooms.scan("2024-05-02", dt.datetime(2024, 5, 4), columns=["room"], reverse=True)
    assert scanned.columns == ["room"]
    assert [row["room"] for row in scanned] == ["hall", "attic"]
    # Read a second time.
    assert [row["room"] for row in scanned] == ["hall", "attic"] and scanned.count() == 2
    assert [row["big"] for row in rooms.scan(where="celsius > 20", limit=1, offset=1)] == [2**63 - 1]
    picked = rooms.scan(where="room = $1", params=["zürich 日本"], columns=["celsius"])
    assert picked.to_pylist() == [{"celsius": 19.0}]
    assert [row["celsius"] for row in rooms.head(1)] == [20.5]
    assert [row["celsius"] for row in rooms.tail(2)] == [21.5, 19.0]
    assert [(row["room"], row["celsius"]) for row in rooms.latest("room", end="2024-05-04")] == [("hall", 21.5), ("attic", None)]
    assert rooms.count("2024-05-02", "2024-05-04") == 2
    assert rooms.count(dt.datetime(2024, 5, 2, tzinfo=UTC)) == 3
    assert rooms.min_time() == dt.datetime(2024, 5, 1, tzinfo=UTC)
    assert rooms.max_time() == dt.datetime(2024, 5, 4, tzinfo=UTC)
    assert rooms.delete("2024-05-01", "2024-05-02") == 1
    assert rooms.delete(where="room = $1", params=["attic"]) == 1
    assert rooms.count() == 2
    rooms.drop()
    assert "rooms" not in either.tables()


def test_rows_have_keys_and_times_are_ints(either: Any) -> None:
    users = either.table("users", key="name")
    assert users.append([{"ts": 1_700_000_000, "name": "ada", "age": 36}, {"ts": 1_700_000_001, "name": "bob", "age": 1}]) == 2
    assert users.append({"ts": 1_700_000_002, "name": "ada", "age": 37}) == 1
    row = users.row("ada")
    assert row is not None and (row["age"], users.row("nobody")) == (37, None)
    assert users.key == ["name"] and users.count() == 2
    assert users.count(1_700_000_002) == 1
    assert [row["name"] for row in users.scan(1_700_000_001, 1_700_000_002)] == ["bob"]


def test_every_kind_of_rows_is_taken(either: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    np = pytest.importorskip("numpy")
    pd = pytest.importorskip("pandas")
    kinds = either.table("kinds")
    times = pa.array([1_700_000_000_000_000_001, None, 1], pa.timestamp("ns", "UTC"))
    table = pa.table({"time": times.drop_null(), "bytes": [b"\xff\x00", None], "text": ["a", None]})
    assert kinds.append(table) == 2
    assert kinds.append(table.to_batches()[0]) == 2
    assert kinds.append({"time": np.array(["2024-05-01T00:00:00.000000003"], "datetime64[ns]"), "text": ["b"]}) == 1
    assert kinds.append(pd.DataFrame({"time": pd.to_datetime(["2024-05-02"]), "text": ["c"]})) == 1
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert kinds.append(reader) == 2
    found = kinds.scan().to_arrow()
    assert found.schema.field("time").type == pa.timestamp("ns", "UTC")
    assert found["time"].cast(pa.int64()).to_pylist() == sorted([1_700_000_000_000_000_001, 1] * 3 + [
        1_714_521_600_000_000_003, 1_714_608_000_000_000_000,
    ])
    assert found["bytes"].to_pylist().count(b"\xff\x00") == 3
    exact = kinds.scan(np.datetime64("2024-05-01T00:00:00.000000003", "ns"), limit=1)
    assert [row["text"] for row in exact] == ["b"]
    with pytest.raises(TypeError):
        kinds.append(7)
    with pytest.raises(timestrata.InvalidDataError):
        kinds.append({"time": ["2024-05-01", "2024-05-02"], "text": ["a"]})


def test_rows_that_do_not_fit_are_refused_whole(either: Any) -> None:
    fits = either.table("fits")
    assert fits.append({"time": "2024-05-01", "x": 1}) == 1
    with pytest.raises(timestrata.InvalidDataError, match="x"):
        fits.append({"time": ["2024-05-02", "2024-05-03"], "x": ["one", "two"]})
    assert fits.count() == 1
    assert fits.append({"time": "2024-05-02", "x": 1.5}, on_mismatch="widen") == 1
    assert [row["x"] for row in fits.scan()] == [1.0, 1.5]
    with pytest.raises(timestrata.InvalidArgumentError):
        fits.scan("2024-05-02", "2024-05-01").count()
    with pytest.raises(timestrata.NotFoundError):
        either.sql("SELECT * FROM nothing")
    with pytest.raises(timestrata.InvalidArgumentError):
        either.sql("SELEC 1")


def test_files_are_taken_in(either: Any, tmp_path: Path) -> None:
    import gzip
    import io

    flights = either.table("flights")
    assert flights.ingest(io.BytesIO(b"time,delay\n2024-04-30,3\n"), format="csv")["rows"] == 1
    csv = b"time,delay\n2024-05-01,5\n2024-05-02,x\n"
    with pytest.raises(timestrata.InvalidDataError, match="delay"):
        flights.ingest(io.BytesIO(csv), format="csv")
    report = flights.ingest(io.BytesIO(csv), "csv", on_error="skip")
    assert (report["rows"], report["skipped"], len(report["errors"])) == (1, 1, 1)
    packed = tmp_path / "more.csv.gz"
    packed.write_bytes(gzip.compress(b"time;delay\n2024-05-03;7\n"))
    assert flights.ingest(packed, delimiter=";")["rows"] == 1
    lines = tmp_path / "more.jsonl"
    lines.write_text('{"time": "2024-05-04", "delay": 9}\n')
    assert flights.ingest(str(lines))["rows"] == 1
    assert [row["delay"] for row in flights.scan()] == [3, 5, 7, 9]
    with pytest.raises(TypeError, match="source must be a path"):
        flights.ingest(7)

    class Breaks:
        def read(self, size: int) -> bytes:
            raise RuntimeError("the disk went away")

    with pytest.raises(RuntimeError, match="the disk went away"):
        flights.ingest(Breaks(), format="csv")
    assert flights.count() == 4


def test_sql_reads_and_writes(either: Any) -> None:
    numbers = either.table("numbers")
    numbers.append({"time": ["2024-05-01", "2024-05-02"], "x": [1, 2]})
    rows = either.sql("SELECT sum(x) AS total FROM numbers WHERE time > $1", [dt.datetime(2024, 5, 1)])
    assert rows.to_pylist() == [{"total": 2}] == rows.to_pylist()
    assert either.sql("SELECT $a AS a, $b IS NULL AS b", {"a": "ä", "b": None}, timeout="10s").to_pylist() == [{"a": "ä", "b": True}]
    assert either.sql("SELECT $1 AS x", [2**63 - 1]).to_pylist() == [{"x": 2**63 - 1}]
    written = either.sql("INSERT INTO numbers (time, x) VALUES ('2024-05-03', 3)")
    # What it answers is kept: to ask again would be to do it again.
    assert written.to_pylist() == written.to_pylist() == [{"count": 1}]
    assert numbers.count() == 3
    with pytest.raises(TypeError):
        either.sql("SELECT $1", "text")


def test_names_may_have_any_character(either: Any) -> None:
    for name in ("a b", "ä/ö", "100%", "x?y&z=#", 'say "hi"', "..."):
        try:
            table = either.table(name)
            assert table.append({"time": "2024-05-01", "x": 1}) == 1
        except timestrata.InvalidArgumentError:
            # The store takes no such name, wherever it is.
            continue
        assert table.count() == 1 and name in either.tables()
        assert table.count("2024-05-01") == 1


# Moments, changes, and what a store is asked


def test_the_store_as_it_was_is_read_and_not_written(either: Any) -> None:
    door = either.table("door then")
    door.append({"time": "2024-05-01", "x": 1})
    seqs = [commit.seq for commit in either.changes(0)]
    door.append({"time": "2024-05-02", "x": 2})
    then = either.at(seqs[-1])
    assert then.table("door then").count() == 1 and door.count() == 2
    assert then.sql('SELECT count(*) AS n FROM "door then"').to_pylist() == [{"n": 1}]
    with pytest.raises(timestrata.ReadOnlyError):
        then.table("door then").append({"time": "2024-05-03", "x": 3})
    with pytest.raises(timestrata.NotFoundError):
        then.topic("then")
    with pytest.raises(timestrata.InvalidArgumentError):
        either.at(10**9)
    with pytest.raises(timestrata.NotFoundError):
        either.at(pin="none")
    with pytest.raises(timestrata.InvalidArgumentError):
        either.at()


def test_changes_are_followed_and_noted(either: Any) -> None:
    seen = [commit.seq for commit in either.changes(0)]
    begin = seen[-1] if seen else 0
    feed = either.changes(begin, follow=True)
    table = either.table("changing")
    table.append({"time": ["2024-05-01", "2024-05-02"], "x": [1, 2]})
    commit = next(feed)
    [change] = [change for change in commit.changes if change.name == "changing"]
    assert (change.kind, change.model, change.part, change.range) == ("inserted", "table", "rows", None)
    assert [row["x"] for row in change.rows] == [1, 2]
    assert commit.seq == feed.seq > begin and abs(commit.time - dt.datetime.now(UTC)) < dt.timedelta(minutes=5)
    follower = either.changes(begin, name="copier")
    assert next(follower).seq == commit.seq and follower.save() == commit.seq
    assert either.followers()["copier"] == commit.seq
    door = either.timelog("changing door")
    door.append(5, "opened")
    door.delete_range(0, 10)
    later = [change for commit in either.changes(name="copier") for change in commit.changes]
    assert [(change.kind, change.range) for change in later][-1] == ("deleted_range", (0, 10))
    either.remove_follower("copier")
    assert "copier" not in either.followers()
    with pytest.raises(timestrata.InvalidArgumentError):
        either.changes()
    with pytest.raises(timestrata.InvalidArgumentError):
        either.changes(begin).save()


def test_what_is_dropped_is_gone(either: Any) -> None:
    either.table("going").append({"time": "2024-05-01", "x": 1})
    either.timelog("going log").append(1, 1)
    for name in ("going", "going log"):
        either.drop(name)
    assert "going" not in either.tables() and "going log" not in either.timelogs()
    with pytest.raises(timestrata.NotFoundError):
        either.drop("going")


# Topics


def test_records_go_in_and_come_out(either: Any) -> None:
    topic = either.topic("events", partitions=2)
    sent = topic.send({"key": b"\xff\x00", "value": b"\x00\xfe", "headers": [("h", b"\xff"), ("h", "2")], "timestamp": 5}, partition=1)
    assert sent == topic.get(sent.offset, 1) or (sent.topic, sent.partition, sent.offset, sent.timestamp) == ("events", 1, 0, 5)
    record = topic.get(0, 1)
    assert record is not None
    assert (record.key, record.value, record.timestamp) == (b"\xff\x00", b"\x00\xfe", 5)
    assert record.headers == [("h", b"\xff"), ("h", b"2")]
    with pytest.raises(timestrata.OutOfRangeError, match="ends at 1: there is no record 7 yet"):
        topic.get(7, 1)
    receipts = topic.send_batch(["one", b"two", timestrata.Record(None, key="k")], partition=0)
    assert [receipt.offset for receipt in receipts] == [0, 1, 2]
    assert [topic.get(offset).value for offset in range(3)] == [b"one", b"two", None]
    assert (topic.partitions, topic.offsets(), topic.offsets(1)) == (2, range(3), range(1))
    assert topic.offset_at_time(0, 1) == 0 and topic.offset_at_time(6, 1) is None
    assert [row["value"] for row in topic.scan(1, 3)] == [b"two", None]
    assert topic.describe()["offsets"] == [range(3), range(1)]
    topic.set_partitions(3)
    assert topic.partitions == 3
    topic.set_retention(records=2)
    assert topic.describe()["retention_records"] == 2
    assert topic.retain()["expired"] >= 0
    with pytest.raises(timestrata.NotFoundError):
        either.topic("none", create=False)
    assert either.topic("events").name in either.topics()


def test_producers_send_once(either: Any) -> None:
    topic = either.topic("once")
    producer = topic.producer(producer_id="till-1")
    assert producer.send("a", sequence=0).offset == producer.send("a", sequence=0).offset == 0
    assert producer.next_sequence() == 1
    assert [receipt.offset for receipt in producer.send_batch(["b", "c"])] == [1, 2]
    assert producer.next_sequence() == 3
    with pytest.raises(timestrata.ConflictError):
        producer.send("d", expected_offset=9)
    assert producer.send("d", expected_offset=3).offset == 3
    later = topic.producer(producer_id="till-1")
    with pytest.raises(timestrata.ConflictError):
        producer.send("e")
    assert later.send("e").offset == 4
    with pytest.raises(timestrata.InvalidArgumentError):
        topic.producer().send("f", sequence=0)


def test_a_group_goes_on_where_it_was(either: Any) -> None:
    topic = either.topic("read")
    topic.send_batch([str(number) for number in range(10)])
    with topic.consumer("ledger") as consumer:
        given = consumer.poll(max_records=4)
        assert [record.value for record in given] == [b"0", b"1", b"2", b"3"]
        assert consumer.assignment == [("read", 0)] and consumer.position() == 4 and consumer.lag() == 6
        consumer.commit()
        assert consumer.committed() == 4
        assert next(consumer).value == b"4"
        consumer.commit()
        assert [next(consumer).offset for _ in range(2)] == [5, 6]
        assert consumer.position() == 7
    with topic.consumer("ledger", idle_timeout=0.01) as consumer:
        assert [record.offset for record in consumer] == [5, 6, 7, 8, 9]
        consumer.commit(topic.get(6))
        assert consumer.committed() == 7
        consumer.seek(2)
        assert [record.offset for record in consumer.poll(max_records=1)] == [2]
        assert consumer.poll(0.01) != [] and consumer.poll(0.01) == []
    assert topic.groups() == {"ledger": {0: 7}}
    topic.reset_group("ledger", 9)
    with topic.consumer("ledger") as consumer:
        assert [record.offset for record in consumer.poll(5.0)] == [9]
        assert topic.members("ledger") == {consumer.member: [("read", 0)]}
    with pytest.raises(timestrata.ClosedError):
        consumer.poll()


def test_what_failed_is_not_committed_by_itself(either: Any) -> None:
    topic = either.topic("failing")
    topic.send_batch(["0", "1", "2"])
    with pytest.raises(RuntimeError), topic.consumer("careful", auto_commit=0.0) as consumer:
        assert next(consumer).offset == 0
        assert next(consumer).offset == 1
        raise RuntimeError("it could not be handled")
    with topic.consumer("careful") as consumer:
        assert [record.offset for record in consumer.poll(5.0)] == [1, 2]


def test_one_reads_alone(either: Any) -> None:
    topic = either.topic("alone", partitions=2)
    topic.send_batch([{"value": str(number), "timestamp": number} for number in range(4)], partition=0)
    topic.send_batch(["x", "y"], partition=1)
    with topic.consumer() as consumer:
        assert len(consumer.poll()) == 6 and consumer.poll() == []
        consumer.seek(1, 1)
        assert [record.value for record in consumer.poll()] == [b"y"]
        assert consumer.seek_to_time(2) == 2
        consumer.pause(0)
        assert consumer.poll() == []
        consumer.resume(0)
        assert [record.value for record in consumer.poll()] == [b"2", b"3"]
        consumer.assign([1])
        assert consumer.assignment == [("alone", 1)]
        consumer.seek(0, 1)
        assert [record.value for record in consumer.poll()] == [b"x", b"y"]
        with pytest.raises(timestrata.InvalidArgumentError):
            consumer.commit(topic.get(0, 1))
    with topic.consumer(reset="latest") as consumer:
        assert consumer.poll() == []
        topic.send("z", partition=1)
        assert [record.value for record in consumer.poll(5.0)] == [b"z"]


def test_proofs_hold(either: Any, served: Served, tmp_path: Path) -> None:
    topic = either.topic("proved")
    topic.send_batch(["a", "b", "c"])
    size, root = topic.root()
    _, before = topic.root(size=2)
    assert size == 3
    proof = topic.consistency_proof(2, 3)
    assert timestrata.verify_consistency(2, before, 3, root, proof)
    assert topic.inclusion_proof(0, 3)[0] != topic.inclusion_proof(2, 3)[0]
    assert topic.last_checkpoint() is None
    if isinstance(either, timestrata.Store):
        key = timestrata.SigningKey.generate(tmp_path / "key", "example.org/here")
        note = topic.checkpoint(key)
    else:
        key = timestrata.SigningKey.open(served.store.with_suffix(".key"))
        note = topic.checkpoint()
    assert topic.last_checkpoint() == note
    record = topic.get(1)
    assert timestrata.verify(topic.prove(1), record, key.vkey)
    with pytest.raises(timestrata.VerificationError):
        topic.prove(1).check(topic.get(0), key.vkey)


# Logs


def test_entries_go_in_and_come_out_as_they_are(either: Any) -> None:
    logs = either.logs("app", labels={"host": "web-1"})
    assert list(logs.search()) == [] and len(logs) == 0
    fields = {"level": "high", "time": "2024-05-01", "msg": "not the message", "n": 2**70, "nested": {"a": [1.5, None, "ü"]}}
    assert logs.write("first", level="info", n=1) < (first := logs.write_many([
        {"message": "disk is full", "level": "error", "source_time": 1_700_000_000_000_000_001, "fields": fields},
    ])[0])
    stamps = logs.with_labels({"app": "api"}).write_many([
        "plain", {"message": "with a level", "level": 30, "labels": {"host": "web-2"}}, {"message": "", "fields": {}},
    ])
    assert len(stamps) == 3 and stamps[0] > first
    [_, one, plain, levelled, empty] = list(logs.search())
    assert (one.message, one.level, one.source_time, one.timestamp) == ("disk is full", "error", 1_700_000_000_000_000_001, first)
    assert one.fields == fields and one.labels == {"host": "web-1"}
    assert (plain.level, plain.labels) == (None, {"host": "web-1", "app": "api"})
    assert (levelled.level, levelled.labels, empty.message) == ("warn", {"host": "web-2", "app": "api"}, "")
    assert [entry.timestamp for entry in (plain, levelled, empty)] == list(stamps)
    again = logs.write_many([one])
    assert logs.count() == 6 and next(iter(logs.search(newest_first=True))).fields == fields
    assert len(again) == 1
    for wrong in ({"level": "info"}, {"message": "m", "other": 1}, 7):
        with pytest.raises((TypeError, timestrata.InvalidArgumentError)):
            logs.write_many([wrong])
    with pytest.raises(timestrata.InvalidArgumentError):
        logs.write("m", level="shouting")
    assert logs.count() == 6


def test_logs_are_searched(either: Any) -> None:
    logs = either.logs("searched")
    stamps = [logs.write("served", level="error" if status >= 500 else "info", status=status) for status in (200, 404, 503)]
    assert [entry.fields["status"] for entry in logs.search("served status>=400", newest_first=True)] == [503, 404]
    assert logs.count("level>=warn or status:4*") == 2
    found = logs.search(limit=1)
    [entry] = list(found)
    assert found.position == entry.position
    assert [entry.timestamp for entry in logs.search(after=found.position)] == stamps[1:]
    assert [entry.timestamp for entry in logs.search(after=entry, start=stamps[2])] == stamps[2:]
    assert logs.search().to_arrow().num_rows == 3 if _has("pyarrow") else True
    buckets = logs.histogram(step="1h")
    assert sum(bucket.count for bucket in buckets) == 3 and sum(bucket.levels["info"] for bucket in buckets) == 2
    [facet] = logs.facets(fields="status")
    assert (facet.field, facet.count, facet.others, len(facet.values)) == ("status", 3, 0, 3)
    assert [entry.timestamp for entry in logs.context(stamps[1], before=1, after=0)] == stamps[:2]
    assert logs.context(5) == []
    with pytest.raises(timestrata.InvalidArgumentError):
        logs.search("((")
    with pytest.raises(timestrata.InvalidArgumentError):
        logs.count(start=2, end=1)


def test_logs_are_followed(either: Any) -> None:
    logs = either.logs("followed")
    logs.write("before")
    tail, everything = logs.tail("disk"), logs.tail(after=0)
    assert next(everything).message == "before"
    stamps = logs.write_many(["all is well", "disk is full", "disk is fuller"])
    assert [next(tail).message, next(tail).message] == ["disk is full", "disk is fuller"]
    assert tail.position == str(stamps[2])
    assert [next(everything).timestamp for _ in range(3)] == list(stamps)


def _has(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None


# Graphs


def test_graphs_are_written_and_walked(either: Any) -> None:
    graph = either.graph("code", keep_versions=3)
    f = graph.put("def f(): g()", source_uri="f.py", metadata={"lines": 1, "ü": [None]})
    g = graph.put(b"\xff\x00")
    h, i = UUID(int=7), bytes(15) + b"i"
    assert graph.put_many([{"id": h, "content": "h"}, {"id": i, "content": b"i", "metadata": '{"a": 1}'}]) == [h.bytes, i]
    graph.link(f, "calls", g, weight=2, valid_from="2024-05-01", properties={"line": 7})
    graph.link_many([(g, "calls", h.bytes), {"source": h.bytes, "kind": "uses", "target": i}])
    block = graph.get(f)
    assert block is not None
    assert (block.id, block.content, block.version, block.source_uri) == (f, "def f(): g()", 1, "f.py")
    assert block.metadata == {"lines": 1, "ü": [None]} and block.is_text
    assert graph.get(g).content == b"\xff\x00" and graph.get(i).content == b"i"
    assert graph.get(bytes(16)) is None and f in graph and not graph.contains(bytes(16))
    assert [block and block.id for block in graph.get_many([f, bytes(16)])] == [f, None]
    [edge] = graph.edges(f)
    assert (edge.source, edge.kind, edge.target, edge.weight, edge.properties) == (f, "calls", g, 2.0, {"line": 7})
    assert edge.valid_from == 1_714_521_600_000_000_000
    assert graph.neighbors(f) == [(g, "calls")] and graph.neighbors([f, i]) == [[(g, "calls")], []]
    assert graph.neighbors(f, as_of="2024-04-30") == [] and graph.degree(g, "both") == 2
    walk = graph.walk(f, depth=2)
    assert (walk.ids, walk.depths, walk.parents) == ([f, g, h.bytes], [0, 1, 2], [None, f, g])
    assert walk.kinds == [None, "calls", "calls"] and walk.is_cut
    route = graph.shortest_path(f, i)
    assert (route.ids, route.kinds, route.cost) == ([f, g, h.bytes, i], ["calls", "calls", "uses"], 3.0)
    assert graph.shortest_path(i, f) is None and graph.reachable(f, h, kinds="calls") and not graph.reachable(f, i, kinds="calls")
    assert graph.shortest_path(f, i, weighted=True).cost == 4.0
    assert [block.id for block in graph.find("f.py")] == [f] == [block.id for block in graph.find(metadata={"lines": 1})]
    assert (len(graph), graph.edge_count(), bool(graph)) == (4, 3, True)
    graph.put("def f(): pass", id=f)
    assert [block.version for block in graph.versions(f)] == [2, 1] and graph.versions(bytes(16)) == []
    graph.unlink(f, "calls", g)
    graph.unlink_all(kind="uses")
    assert graph.edge_count() == 1
    assert graph.change(delete=[g], put=["new"], link=[(f, "makes", h.bytes)], unlink=[(g, "calls", h.bytes)]) != []
    assert (g in graph, graph.edge_count()) == (False, 1)
    graph.delete(f)
    graph.delete_many([h, i])
    assert len(graph) == 1 and "code" in either.graphs()
    with pytest.raises(timestrata.InvalidArgumentError):
        graph.get("no id")
    with pytest.raises(timestrata.NotFoundError):
        either.graph("none", create=False)


# Time logs


@pytest.mark.parametrize("codec", ["cbor", "json", "bytes"])
def test_objects_go_in_and_come_out_by_time(either: Any, codec: Any) -> None:
    log = either.timelog(f"log {codec}", codec=codec, unit="ns")
    objects: list[Any] = {
        "cbor": [None, b"\xff", 2**70, -(2**64), float("inf"), {"cbor": "x", "base64": "y"}, {1: [b"z"]}, "ü", 1.0],
        "json": [None, 2**70, {"base64": "eA=="}, [1.5, "ü"], "text", True],
        "bytes": [b"", b"\xff\x00", b"text"],
    }[codec]
    log.extend([(2**62 + number, value) for number, value in enumerate(objects)])
    assert [value for _, value in log] == objects and len(log) == len(objects)
    assert [type(value) for _, value in log] == [type(value) for value in objects]
    assert log.at(2**62) == [objects[0]] == log[2**62]
    assert list(log[: 2**62 + 1]) == [(2**62, objects[0])]
    assert (log.name, log.codec, log.unit, log.time_unit) == (f"log {codec}", codec, "ns", "ns")
    with pytest.raises(timestrata.AlreadyExistsError):
        either.timelog(f"log {codec}", unit="s")


def test_time_logs_are_sliced_and_deleted(either: Any) -> None:
    log = either.timelog("sliced")
    assert not log and log.min_ts() is None and list(log) == []
    log.extend([5, 1, 3, 3], ["five", "one", "three", "more"])
    log.append("now")
    log.append("at", ts=7)
    log.append(dt.datetime(1970, 1, 1, 0, 0, 0, 9_000, tzinfo=UTC), "nine")
    log[11] = None
    assert list(log[:11]) == [(1, "one"), (3, "three"), (3, "more"), (5, "five"), (7, "at"), (9, "nine")]
    assert (len(log), bool(log), 3 in log, 4 in log) == (8, True, True, False)
    assert (log.min_ts(), log.next_ts(3), log.prev_ts(3), log.prev_ts(1)) == (1, 5, 1, None)
    assert log.first(2) == [(1, "one"), (3, "three")] and log.last(2)[0] == (11, None)
    assert list(log.range(3, 5)) == [(3, "three"), (3, "more")] == list(log.equal(3)) == list(log.point(3))
    assert list(log.until(3)) == [(1, "one")] and next(log.since(6)) == (7, "at")
    assert next(reversed(log))[1] == "now" and log.to_dict(0, 4) == {1: "one", 3: "more"}
    with log.all() as entries:
        assert len(entries) == 8 and entries.next_batch(2) == [(1, "one"), (3, "three")] and len(entries) == 6
    assert entries.closed and list(entries) == []
    log.delete(3)
    log.delete(5, 8)
    assert [time for time, _ in log[:12]] == [1, 9, 11]
    log.cutoff(2)
    del log[9:10]
    assert [time for time, _ in log[:12]] == [11]
    del log[11]
    log.delete_before(2**62)
    assert len(log) == 0
    with pytest.raises(TypeError):
        log.append("text", 1)
    with pytest.raises(timestrata.InvalidDataError):
        log.extend([(1, 2, 3)])


def test_typed_logs_of_a_store_are_read_and_written(served: Served, tmp_path: Path) -> None:
    path = tmp_path / "typed"
    with timestrata.open(path) as store:
        store.timelog("trades", schema={"price": "float64", "n": "int64"}).append(1, {"price": 7.5, "n": 2**62})
        store.timelog("floats", schema="float64", unit="s").append(1, 0.5)
        store.timelog("pickles", codec="pickle").append(1, {3})
    with Served(path) as server, timestrata.connect(server.url) as store:
        trades = store.timelog("trades")
        trades.append(2, {"price": None, "n": 1})
        assert list(trades) == [(1, {"price": 7.5, "n": 2**62}), (2, {"price": None, "n": 1})]
        floats = store.timelog("floats")
        floats.append(2, 1.5)
        assert list(floats[1:]) == [(1, 0.5), (2, 1.5)] and len(floats) == 2
        with pytest.raises(timestrata.InvalidArgumentError, match="pickles"):
            store.timelog("pickles")


def test_many_entries_of_one_time_come_page_by_page(either: Any) -> None:
    log = either.timelog("pages", unit="s")
    log.extend([(number // 9_000, number) for number in range(20_000)])
    assert [value for _, value in log] == list(range(20_000))
    assert [value for _, value in reversed(log)] == [
        *range(18_000, 20_000)[::-1], *range(9_000, 18_000)[::-1], *range(9_000)[::-1],
    ] or sorted(value for _, value in reversed(log)) == list(range(20_000))
    assert [value for _, value in log.last(10_000)] == list(range(10_000, 20_000))


# Who may ask


def test_a_token_opens_what_its_scopes_say(tmp_path: Path) -> None:
    path = tmp_path / "guarded"
    with timestrata.open(path) as store:
        store.table("orders").append({"time": "2024-05-01", "x": 1})

    def token(*scopes: str) -> str:
        words = [word for scope in scopes for word in ("--scope", scope)]
        command = [str(COMMAND), "token", "create", str(path), "--name", "me", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    reads, writes = token("read"), token("write")
    file = tmp_path / "token"
    file.write_text(f"# mine\n{reads}\n")
    with Served(path) as server:
        for wrong in ({}, {"token": "tsk_wrong"}):
            with pytest.raises(timestrata.InvalidArgumentError) as caught:
                timestrata.connect(server.url, **wrong)
            assert caught.value.hint == "give a token that the server knows"
        with timestrata.connect(server.url, token_file=file) as store:
            assert store.table("orders").count() == 1
            assert store.sql("SELECT x FROM orders").to_pylist() == [{"x": 1}]
            for write in (
                lambda: store.table("orders").append({"time": "2024-05-02", "x": 2}),
                lambda: store.sql("DELETE FROM orders"),
                lambda: store.topic("new"),
                lambda: store.drop("orders"),
            ):
                with pytest.raises(timestrata.ReadOnlyError):
                    write()
        with timestrata.connect(server.url, token=writes) as store:
            assert store.table("orders").append({"time": "2024-05-02", "x": 2}) == 1
            with pytest.raises(timestrata.ReadOnlyError):
                store.table("orders").scan()
        file.write_text("\n")
        with pytest.raises(timestrata.InvalidArgumentError, match="no token"):
            timestrata.connect(server.url, token_file=file)


def test_the_environment_names_the_token_as_it_does_for_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, secret = tmp_path / "store", tmp_path / "secret"
    timestrata.open(path).close()
    secret.write_text("a secret of at least sixteen letters\n")
    with Served(path, "--token-file", str(secret)) as server:
        with pytest.raises(timestrata.InvalidArgumentError):
            timestrata.connect(server.url)
        monkeypatch.setenv("TIMESTRATA_TOKEN_FILE", str(secret))
        assert timestrata.connect(server.url).tables() == []
