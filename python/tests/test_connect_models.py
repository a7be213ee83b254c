"""Topics, logs, graphs and time logs behind a server: the same calls give the same as where the store is open."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import timestrata
from serving import Served, either, served

__all__ = ["either", "served"]  # fixtures

UTC = dt.timezone.utc


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


def test_a_batch_over_partitions_is_sent_once(either: Any) -> None:
    topic = either.topic("spread", partitions=3)
    producer = topic.producer(producer_id="till-1")
    batch = [{"key": str(number), "value": str(number)} for number in range(30)]
    first = producer.send_batch(batch, sequence={0: 0, 1: 0, 2: 0})
    assert producer.send_batch(batch, sequence={0: 0, 1: 0, 2: 0}) == first
    assert sum(len(topic.offsets(partition)) for partition in range(3)) == 30
    with pytest.raises(timestrata.InvalidArgumentError, match="sequence for each"):
        producer.send_batch(batch, sequence=0)
    with pytest.raises(timestrata.ConflictError, match="were sent before"):
        producer.send_batch(batch, sequence={0: producer.next_sequence(0), 1: 0, 2: 0})
    # Whoever says none sends other records, each behind the last.
    assert producer.send_batch(batch) != first
    with pytest.raises(timestrata.InvalidArgumentError):
        topic.producer().send_batch(batch, sequence={0: 0})


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
    with topic.consumer(reset="error") as consumer:
        with pytest.raises(timestrata.OutOfRangeError):
            consumer.poll()
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
        assert topic.checkpoint_all(key) == [note]
        log_vkey = topic.log_vkey(key)
    else:
        key = timestrata.SigningKey.open(served.store.with_suffix(".key"))
        note = topic.checkpoint()
        assert topic.checkpoint_all() == [note]
        log_vkey = topic.log_vkey()
    assert topic.last_checkpoint() == note
    record = topic.get(1)
    for vkey in (key.vkey, log_vkey):
        assert timestrata.verify(topic.prove(1), record, vkey)
    assert timestrata.verify_checkpoints(note, note, [], log_vkey)
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


def test_logs_have_a_clock_and_figures(either: Any) -> None:
    logs = either.logs("clocked", clock="source_time", retention_age=86_400.0)
    assert (logs.describe()["clock"], logs.describe()["retention_age"]) == ("source_time", 86_400.0)
    logs.write_many([
        {"message": "second", "source_time": 2, "fields": {"n": 2}},
        {"message": "first", "source_time": 1, "fields": {"n": 1}},
    ])
    found = list(logs.search())
    assert [entry.message for entry in found] == ["first", "second"]
    assert [entry.message for entry in logs.search(after=found[0])] == ["second"]
    assert [entry.message for entry in logs.search(by="timestamp")] == ["second", "first"]
    assert logs.stats("| stats sum(n)").to_pylist() == [{"sum(n)": 3.0}]
    either.logs("plain").write("third")
    told = either.log_stats(["clocked", "plain"], "| stats count by log").to_pylist()
    assert told == [{"log": "clocked", "count": 2}, {"log": "plain", "count": 1}]
    logs.set_retention()
    either.logs("clocked", clock="timestamp")
    assert (logs.describe()["clock"], logs.describe()["retention_age"]) == ("timestamp", None)
    assert logs.columns == [] and logs.message_bytes_max == 1 << 20
    with pytest.raises(timestrata.AlreadyExistsError):
        either.logs("clocked", message_bytes_max=5_000)


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


def test_time_logs_are_followed(either: Any) -> None:
    door = either.timelog("followed door")
    door.extend([(5, "old"), (5, "older")])
    now, everything = door.tail(), door.tail(since=5)
    assert [next(everything), next(everything)] == [(5, "old"), (5, "older")]
    place = now.cursor
    door.extend([(5, {"a": b"\xff"}), (9, 2**70), (1, "passed")])
    wanted = [(5, {"a": b"\xff"}), (9, 2**70)]
    for tail in (now, everything, door.tail(after=place)):
        assert [next(tail), next(tail)] == wanted
    assert now.cursor.startswith("t.9.1.")
    with pytest.raises(timestrata.InvalidArgumentError, match="no place of a tail"):
        door.tail(after="x")
    with pytest.raises(timestrata.InvalidArgumentError, match="not both"):
        door.tail(5, after=place)


def test_late_entries_of_time_logs_are_followed_also_by_name(either: Any) -> None:
    door = either.timelog("followed late")
    door.append(5, "old")
    tail, named = door.tail(late=True), door.tail(late=True, name="followed late")
    door.append(1, "late")
    door.extend([(9, "a"), (2, "b")])
    assert [next(tail) for _ in range(3)] == [(1, "late"), (9, "a"), (2, "b")]
    assert next(named) == (1, "late")
    named.save()
    again = door.tail(late=True, name="followed late")
    assert [next(again), next(again)] == [(9, "a"), (2, "b")]
    again.save()
    assert either.followers()["followed late"] == either.last_commit()
    either.remove_follower("followed late")
    with pytest.raises(timestrata.InvalidArgumentError, match="with a name"):
        tail.save()
    with pytest.raises(timestrata.InvalidArgumentError, match="late=True"):
        door.tail(name="followed late")


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


def test_limits_of_a_time_log_are_said_over_a_server_too(either: Any) -> None:
    log = either.timelog("limited", unit="s", retention_age=60, min_ts=-5)
    wanted = {"name": "limited", "codec": "cbor", "unit": "s", "retention_age": 60.0, "retention_bytes": None, "min_ts": -5}
    assert log.describe() == wanted
    with pytest.raises(ValueError, match="below min_ts"):
        log.append(-6, "early")
    log.append(-5, "on time")
    # What is not asked for stays; what is set anew has no other bound.
    again = either.timelog("limited", retention_bytes=10**9)
    assert again.describe() == wanted | {"retention_bytes": 10**9}
    log.set_retention(age=3600)
    assert again.describe() == wanted | {"retention_age": 3600.0}
    log.set_retention()
    assert again.describe() == wanted | {"retention_age": None}
    with pytest.raises(timestrata.AlreadyExistsError):
        either.timelog("limited", min_ts=0)


def test_a_commit_extends_a_time_log_over_a_server_too(either: Any) -> None:
    log = either.timelog("extended")
    with either.commit() as commit:
        part = commit.timelog("extended")
        part.extend([(2, (1, "b")), (1, dt.date(2024, 1, 1))])
        part.extend([3], [None])
        with pytest.raises(TypeError):
            part.extend([(4, 4), (5, object())])
    assert list(log) == [(1, dt.date(2024, 1, 1)), (2, (1, "b")), (3, None)]
