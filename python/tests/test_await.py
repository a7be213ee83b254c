"""Await forms: what writes, and SQL, without holding up an event loop; embedded and over a server alike."""

from __future__ import annotations

import asyncio
import io
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import timestrata
from serving import either, served
from timestrata import awaiting
from waiting import until

__all__ = ["either", "served"]  # fixtures

SLOW = "SELECT count(*) FROM range(100000) a CROSS JOIN range(1000000000) b"


def test_each_form_does_what_the_method_does(either: Any) -> None:
    async def body() -> None:
        rooms = either.table("rooms")
        assert await rooms.append_async({"time": ["2024-05-01", "2024-05-02"], "x": [1, 2]}, sync=True) == 2
        csv = io.BytesIO(b"time,x\n2024-05-03,3\n")
        assert (await rooms.ingest_async(csv, "csv"))["rows"] == 1
        rows = await either.sql_async("SELECT sum(x) AS x FROM rooms WHERE x < $1", [3], timeout="30s")
        assert rows.to_pylist() == rows.to_pylist() == [{"x": 3}]
        assert await rooms.delete_async("2024-05-03") == 1

        topic = either.topic("events")
        assert (await topic.send_async("a")).offset == 0
        assert [receipt.offset for receipt in await topic.send_batch_async(["b", "c"])] == [1, 2]
        producer = topic.producer(producer_id="p")
        assert (await producer.send_async("d", sequence=0)).offset == 3
        assert [receipt.offset for receipt in await producer.send_batch_async(["e"], sequence=1)] == [4]

        logs = either.logs("app")
        stamp = await logs.write_async("hello", level="info", n=1, call=2)
        assert [entry.fields for entry in logs.search()] == [{"n": 1, "call": 2}]
        assert (await logs.write_many_async(["more"]))[0] > stamp

        graph = either.graph("code")
        f = await graph.put_async("f", metadata={"a": 1})
        [g] = await graph.put_many_async(["g"])
        await graph.link_async(f, "calls", g, weight=2)
        await graph.link_many_async([(g, "calls", f)])
        assert graph.edge_count() == 2
        await graph.delete_async(f)
        assert len(graph) == 1 and graph.edge_count() == 0

        door = either.timelog("door")
        await door.append_async(1, "opened")
        await door.append_async("at", ts=2)
        await door.extend_async([(3, "x"), (4, "y")], sync=True)
        await door.delete_async(1, 3)
        assert list(door) == [(3, "x"), (4, "y")]

        with pytest.raises(timestrata.InvalidDataError):
            await rooms.append_async({"time": "2024-05-04", "x": "text"})
        with pytest.raises(timestrata.InvalidArgumentError):
            await either.sql_async("SELECT FROM")

    asyncio.run(body())


def test_many_write_at_once_and_the_loop_goes_on(either: Any) -> None:
    async def body() -> None:
        topic = either.topic("many")
        turns = 0

        async def turn() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        turning = asyncio.create_task(turn())
        receipts = await asyncio.gather(*(topic.send_async(str(number)) for number in range(100)))
        turning.cancel()
        assert sorted(receipt.offset for receipt in receipts) == list(range(100))
        # In a loop that each write held up they would all be done within a turn or two.
        assert turns > 5

    asyncio.run(body())


def test_cancelling_a_query_ends_it(either: Any) -> None:
    async def body() -> None:
        begun = time.monotonic()
        asking = asyncio.create_task(either.sql_async(SLOW))
        await asyncio.to_thread(until, lambda: either.queries() != [])
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.to_thread(until, lambda: either.queries() == [])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(either.sql_async(SLOW), 0.1)
        await asyncio.to_thread(until, lambda: either.queries() == [])
        assert time.monotonic() - begun < 20
        # The threads are free again.
        assert (await either.sql_async("SELECT 1 AS x")).to_pylist() == [{"x": 1}]

    asyncio.run(body())


def test_a_write_that_has_begun_is_waited_for_when_its_task_is_cancelled() -> None:
    begun, may_end, kept = threading.Event(), threading.Event(), []

    def write(value: int) -> int:
        begun.set()
        assert may_end.wait(60)
        kept.append(value)
        return value

    async def body() -> None:
        writing = asyncio.create_task(awaiting.write(write, 7))
        await asyncio.to_thread(begun.wait, 60)
        for _ in range(3):
            # However often.
            writing.cancel()
            await asyncio.sleep(0)
        assert not writing.done() and kept == []
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert kept == [7]

    asyncio.run(body())


def test_a_write_that_has_not_begun_is_not_made_when_its_task_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_end, made = threading.Event(), []

    async def body() -> None:
        with ThreadPoolExecutor(1) as one:
            monkeypatch.setattr(awaiting._threads, "calls", one)
            first = asyncio.create_task(awaiting.write(may_end.wait, 60))
            second = asyncio.create_task(awaiting.write(made.append, 2))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            may_end.set()
            assert await first
        assert made == []

    asyncio.run(body())


def test_an_error_of_a_write_that_was_cancelled_is_nobodys() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def write() -> None:
        begun.set()
        may_end.wait(60)
        raise RuntimeError("it could not be written")

    told: list[Any] = []

    async def body() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
        writing = asyncio.create_task(awaiting.write(write))
        await asyncio.to_thread(begun.wait, 60)
        writing.cancel()
        await asyncio.sleep(0)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await writing

    asyncio.run(body())
    assert told == []


def test_calls_wait_in_no_thread_of_others() -> None:
    names: list[str] = []

    async def body() -> None:
        await awaiting.write(lambda: names.append(threading.current_thread().name))

    asyncio.run(body())
    assert [name.startswith("timestrata-await") for name in names] == [True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_the_process_has_threads_of_its_own() -> None:
    async def two() -> int:
        return await awaiting.write(lambda: 2)

    assert asyncio.run(two()) == 2
    pid = os.fork()
    if pid == 0:
        os._exit(asyncio.run(two()))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2


def test_a_commit_over_models_is_made_without_holding_up_the_loop(tmp_path: Path) -> None:
    async def body(store: timestrata.Store) -> None:
        async with store.commit() as commit:
            commit.table("rooms").append({"time": "2024-05-01", "x": 1})
            commit.topic("events").send("a")
        assert commit.seq is not None
        assert [receipt.offset for receipt in commit.topic_receipts("events")] == [0]
        with pytest.raises(RuntimeError):
            async with store.commit() as given_up:
                given_up.table("rooms").append({"time": "2024-05-02", "x": 2})
                raise RuntimeError("not after all")
        assert store.table("rooms").count() == 1 and given_up.seq is None
        with pytest.raises(timestrata.InvalidArgumentError):
            async with commit:
                pass

    with timestrata.open(tmp_path / "store") as store:
        asyncio.run(body(store))


def test_what_is_followed_comes_as_it_is_written(either: Any) -> None:
    async def body() -> None:
        topic, logs = either.topic("followed"), either.logs("followed-log")
        consumer, tail = topic.consumer("readers", idle_timeout=30.0), logs.tail()

        async def first(source: Any) -> Any:
            async for one in source:
                return one

        reading, tailing = asyncio.create_task(first(consumer)), asyncio.create_task(first(tail))
        await topic.send_async("a")
        await logs.write_async("hello")
        assert (await reading).value == b"a" and (await tailing).message == "hello"
        # A task that is cancelled while it waits loses nothing.
        waiting = asyncio.create_task(first(consumer))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await topic.send_async("b")
        assert (await first(consumer)).value == b"b"
        consumer.close()

    asyncio.run(body())


def test_changes_are_followed_by_a_loop(either: Any) -> None:
    async def body() -> None:
        last = [commit.seq for commit in either.changes(0)]
        feed = either.changes(last[-1] if last else 0, follow=True)
        await either.timelog("noted").append_async(1, "x")
        async for commit in feed:
            if any(change.name == "noted" and change.kind == "inserted" for change in commit.changes):
                break
        waiting = asyncio.ensure_future(anext(feed))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await either.timelog("noted").append_async(2, "y")
        assert (await anext(feed)).changes[0].name == "noted"

    asyncio.run(body())


def test_arguments_are_those_of_the_method(either: Any) -> None:
    async def body() -> None:
        with pytest.raises(TypeError):
            await either.table("rooms").append_async()
        with pytest.raises(TypeError):
            await either.table("rooms").append_async({"x": 1}, nothing=1)

    asyncio.run(body())


def test_signatures_are_those_of_the_methods() -> None:
    import inspect

    classes = [timestrata.Store, timestrata.Table, timestrata.Topic, timestrata.Producer, timestrata.Logs,
               timestrata.Graph, timestrata.Timelog]  # fmt: skip
    seen = 0
    for cls in classes:
        for name in dir(cls):
            if name.endswith("_async"):
                own, method = getattr(cls, name), getattr(cls, name.removesuffix("_async"))
                assert str(inspect.signature(own)) == str(inspect.signature(method)), (cls, name)
                seen += 1
    assert seen == 18
