"""What becomes of calls to a server when something breaks: the server, the connection, the patience of who waits."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import timestrata
from conftest import Child
from serving import Proxy, Served, losing
from waiting import until

# A query that works for minutes, and reads nothing.
SLOW = "SELECT count(*) FROM range(100000) a CROSS JOIN range(1000000000) b"


@pytest.fixture
def served(path: Path) -> Iterator[Served]:
    settings = path.with_suffix(".toml")
    settings.write_text('[store]\nhistory_min = "10m"\n')
    with Served(path, "--config", str(settings)) as server:
        yield server


def is_write_to(*path: str) -> Callable[[bytes], bool]:
    """Says of a request whether it is a POST below a path."""
    begins = f"POST /{'/'.join(path)}".encode()
    return lambda request: request.startswith(begins)


def once(wanted: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    """True of the first request that is wanted, and of no other."""
    left = [True]

    def loses(request: bytes) -> bool:
        return wanted(request) and left != [] and left.pop()

    return loses


def sent(proxy: Proxy, wanted: Callable[[bytes], bool]) -> int:
    return sum(map(wanted, proxy.requests))


def test_calls_go_on_after_the_server_was_killed_and_started_anew(served: Served) -> None:
    with timestrata.connect(served.url) as store:
        rooms, topic = store.table("rooms"), store.topic("events")
        rooms.append({"time": "2024-05-01", "x": 1})
        topic.send_batch(["0", "1", "2", "3"])
        consumer = topic.consumer("ledger")
        assert [record.offset for record in consumer.poll(max_records=2)] == [0, 1]
        consumer.commit()
        assert [record.offset for record in consumer.poll(max_records=1)] == [2]
        served.kill()
        with pytest.raises(timestrata.IoError) as caught:
            rooms.append({"time": "2024-05-02", "x": 2})
        # Nobody was there to hear it.
        assert "all the same" not in str(caught.value)
        served.start()
        # What was acknowledged is there; what was given and not committed is given again.
        assert rooms.count() == 1
        assert rooms.append({"time": "2024-05-02", "x": 2}) == 1
        assert [record.offset for record in consumer.poll(5.0)] == [2, 3]
        consumer.commit()
        assert consumer.committed() == 4
        consumer.close()


def test_who_follows_goes_on_after_the_server_was_started_anew(served: Served) -> None:
    with timestrata.connect(served.url) as store:
        logs, door = store.logs("app"), store.timelog("door")
        of_door = door.tail()
        feed, tail = store.changes(store.changes(0).seq, follow=True), logs.tail()
        seen: list[str] = []
        failed = threading.Event()

        def follow(source: Any, show: Callable[[Any], str]) -> None:
            while True:
                try:
                    seen.append(show(next(source)))
                    return
                except timestrata.IoError:
                    failed.set()

        threads = [
            threading.Thread(target=follow, args=(feed, lambda commit: commit.changes[0].name)),
            threading.Thread(target=follow, args=(tail, lambda entry: entry.message)),
            threading.Thread(target=follow, args=(of_door, lambda entry: entry[1])),
        ]
        for thread in threads:
            thread.start()
        served.kill()
        until(failed.is_set)
        served.start()
        logs.write("back again")
        door.append(1, "opened again")
        for thread in threads:
            thread.join(60)
        assert sorted(seen) == ["app", "back again", "opened again"]


def test_a_write_whose_answer_is_lost_is_sent_once_and_said_to_be_in_doubt(served: Served) -> None:
    with losing(served) as proxy, timestrata.connect(proxy.url) as store:
        rooms = store.table("rooms")
        rooms.append({"time": "2024-05-01", "x": 1})
        writes: dict[str, tuple[Callable[[], Any], Callable[[bytes], bool]]] = {
            "append": (lambda: rooms.append({"time": "2024-05-02", "x": 2}), is_write_to("tables")),
            "send": (lambda: store.topic("events").send("1"), is_write_to("topics", "events", "records")),
            "write": (lambda: store.logs("app").write("hello"), is_write_to("logs/app/entries")),
            "put": (lambda: store.graph("code").put("block"), is_write_to("graphs")),
            "extend": (lambda: store.timelog("door").extend([(1, 1)]), is_write_to("timelogs")),
            "sql": (
                lambda: store.sql("INSERT INTO rooms (time, x) VALUES ('2024-05-03', 3)"),
                lambda request: request.startswith(b"POST /sql") and b"INSERT" in request,
            ),
        }
        for name in ("events",):
            store.topic(name)
        store.logs("app"), store.graph("code"), store.timelog("door")
        for name, (write, is_it) in writes.items():
            before = sent(proxy, is_it)
            proxy.loses = once(is_it)
            with pytest.raises(timestrata.IoError, match="it may have been done all the same") as caught:
                write()
            assert "look whether it was done" in str(caught.value.hint), name
            assert sent(proxy, is_it) == before + 1, name
        assert rooms.count() == 3 and len(store.topic("events").offsets()) == 1
        assert (len(store.logs("app")), len(store.graph("code")), len(store.timelog("door"))) == (1, 1, 1)


def test_what_comes_to_the_same_is_sent_again_and_done_once(served: Served) -> None:
    with losing(served) as proxy, timestrata.connect(proxy.url) as store:
        topic = store.topic("events")
        producer = topic.producer(producer_id="till-1")
        records = is_write_to("topics/events/records")
        proxy.loses = once(records)
        assert producer.send("a").offset == 0
        assert sent(proxy, records) == 2
        proxy.loses = once(records)
        assert [receipt.offset for receipt in producer.send_batch(["b", "c"])] == [1, 2]
        assert topic.offsets() == range(3)
        consumer = topic.consumer("ledger")
        polls = is_write_to("topics/events/groups/ledger/members")
        proxy.loses = once(lambda request: polls(request) and b"/poll" in request)
        assert [record.value for record in consumer.poll(5.0)] == [b"a", b"b", b"c"]
        proxy.loses = once(lambda request: polls(request) and b"/commit" in request)
        consumer.commit()
        assert consumer.committed() == 3
        proxy.loses = once(lambda request: request.startswith(b"GET /topics/events/offsets"))
        assert topic.offsets() == range(3)
        consumer.close()


def test_an_answer_that_ends_early_is_an_error_and_no_end(served: Served) -> None:
    with timestrata.connect(served.url) as store:
        rows = iter(store.sql("SELECT value, repeat('x', 1000) AS x FROM generate_series(1, 300000)"))
        assert next(rows)["value"] == 1
        served.kill()
        with pytest.raises(timestrata.IoError, match="no whole answer"):
            for _ in rows:
                pass
        served.start()


def test_who_has_had_enough_ends_the_query(served: Served) -> None:
    with timestrata.connect(served.url) as store:
        rows = iter(store.sql("SELECT value, repeat('x', 1000) AS x FROM generate_series(1, 3000000)"))
        next(rows)
        assert [query["state"] for query in store.queries()] != []
        del rows
        until(lambda: store.queries() == [])
        with pytest.raises(timestrata.TimedOutError):
            store.sql(SLOW, timeout="100ms")


def test_a_query_is_cancelled_by_its_number(served: Served) -> None:
    with timestrata.connect(served.url) as store:
        ended: list[BaseException] = []

        def ask() -> None:
            try:
                store.sql(SLOW)
            except BaseException as error:
                ended.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        until(lambda: store.queries() != [])
        [query] = store.queries()
        assert query["query"] == SLOW and query["worked"] >= 0 and query["state"] == "running"
        assert store.cancel_query(query["id"]) and not store.cancel_query(10**6)
        asking.join(60)
        assert [type(error) for error in ended] == [timestrata.CancelledError]


def test_ctrl_c_is_heard_and_ends_the_query(served: Served, child: Callable[..., Child]) -> None:
    program = """
        import signal, sys, timestrata
        # A process that a shell has put in the background is deaf to it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        store = timestrata.connect(sys.argv[1])
        print("ready", flush=True)
        try:
            store.sql(sys.argv[2])
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        try:
            next(store.changes(store.changes(0).seq, follow=True))
        except KeyboardInterrupt:
            print("again", flush=True)
    """
    with timestrata.connect(served.url) as store:
        process = child(program, served.url, SLOW)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        until(lambda: store.queries() != [])
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - begun < 10
        until(lambda: store.queries() == [])
        # In a request that waits for what may never come.
        until(lambda: _waits(served))
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "again\n"
        assert process.wait(60) == 0


def _waits(served: Served) -> bool:
    import urllib.request

    with urllib.request.urlopen(f"{served.url}/metrics", timeout=60) as answer:
        figures = answer.read().decode().splitlines()
    waiting = [line for line in figures if line.startswith("timestrata_topic_waits ")]
    return bool(waiting) and waiting[0].split()[1] != "0"


def test_threads_share_a_connection(served: Served) -> None:
    with timestrata.connect(served.url) as store:
        rooms, topic = store.table("rooms"), store.topic("events")
        rooms.append({"time": "2024-05-01", "thread": -1, "n": 0})
        producer = topic.producer(producer_id="shared")
        wrong: list[BaseException] = []

        def work(thread: int) -> None:
            try:
                for number in range(20):
                    rooms.append({"time": "2024-05-01", "thread": thread, "n": number})
                    producer.send(f"{thread}.{number}")
                    assert rooms.scan(where=f"thread = {thread}").count() == number + 1
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert wrong == []
        assert rooms.count() == 161 and topic.offsets() == range(160)
        assert len({record.value for record in topic.consumer().poll(max_records=1000)}) == 160


def test_large_answers_and_bodies_are_never_held_whole(served: Served, child: Callable[..., Child]) -> None:
    pytest.importorskip("pyarrow")
    program = """
        import resource, sys, pyarrow as pa, timestrata
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        store = timestrata.connect(sys.argv[1])
        few = store.sql("SELECT 1 AS x").count()
        batch = pa.RecordBatch.from_pydict({"time": pa.array([1], pa.timestamp("us", "UTC")), "x": ["x" * 1000]})
        before, rows = peak(), 0
        large = store.sql("SELECT value, repeat('x', 1000) AS x FROM generate_series(1, 400000)")
        for batch in pa.RecordBatchReader.from_stream(large):
            rows += batch.num_rows
        read = peak()
        schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("x", pa.string())])
        def batches():
            for number in range(40):
                times = pa.array(range(number * 5000, (number + 1) * 5000), pa.timestamp("us", "UTC"))
                yield pa.RecordBatch.from_arrays([times, pa.array(["x" * 1000] * 5000)], schema=schema)
        stored = store.table("large").append(pa.RecordBatchReader.from_batches(schema, batches()))
        print(rows, stored, read - before, peak() - read, flush=True)
    """
    process = child(program, served.url)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    rows, stored, read_mib, sent_mib = map(int, out.split())
    assert (rows, stored) == (400_000, 200_000)
    # 400 MB were read, and 200 MB sent.
    assert read_mib < 100 and sent_mib < 100
