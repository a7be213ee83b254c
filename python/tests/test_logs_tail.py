"""What is written to a log comes to who follows it: each entry once, in order, none left out."""

import asyncio
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import timestrata
from timestrata import LogEntry, Logs, Store

ChildOf = Callable[..., Any]


@pytest.fixture
def logs(store: Store) -> Logs:
    return store.logs("app")


def test_a_tail_begins_now_or_behind_a_place(logs: Logs) -> None:
    [first, second] = [logs.write("disk 1"), logs.write("net 2")]
    now = logs.tail()
    places: list[Any] = [first, list(logs.search())[0], str(first)]
    tails = [now, logs.tail("disk"), *(logs.tail(after=place) for place in places)]
    logs.write_many(["net 3", "disk 4"])
    assert [next(tail).message for tail in tails] == ["net 3", "disk 4", "net 2", "net 2", "net 2"]
    assert next(now).message == "disk 4"
    assert logs.tail(after=0).position == "0"
    assert next(logs.tail(after=second)).message == "net 3"


def test_a_tail_goes_on_from_a_position_in_another_store(path: Path) -> None:
    with timestrata.open(path) as store:
        logs = store.logs("app")
        tail = logs.tail()
        logs.write_many(f"entry {n}" for n in range(2_500))
        seen = [next(tail).message for _ in range(1_700)]
        position = tail.position
        store.flush()
    with timestrata.open(path) as store:
        logs = store.logs("app")
        tail = logs.tail(after=position)
        logs.write("entry 2500")
        seen += [next(tail).message for _ in range(801)]
    assert seen == [f"entry {n}" for n in range(2_501)]


def test_a_position_passes_what_was_looked_at_and_not_wanted(logs: Logs) -> None:
    tail = logs.tail("disk")
    logs.write("disk")
    entry = next(tail)
    assert tail.position == entry.position
    last = logs.write("net")
    assert tail._fill(0)
    assert tail.position == str(last)
    assert tail._take() is None


def test_a_tail_waits_for_what_threads_write(logs: Logs) -> None:
    count, threads = 400, 4
    tail = logs.tail()

    def write(thread: int) -> None:
        for n in range(count):
            logs.write("x", thread=thread, n=n)

    writers = [threading.Thread(target=write, args=(thread,)) for thread in range(threads)]
    for writer in writers:
        writer.start()
    seen = [next(tail) for _ in range(count * threads)]
    for writer in writers:
        writer.join()
    assert [entry.timestamp for entry in seen] == [entry.timestamp for entry in logs.search()]


def test_a_tail_ends_when_the_store_is_closed(store: Store, logs: Logs) -> None:
    tail, waiting = logs.tail(), logs.tail()
    logs.write_many(["1", "2"])
    ended: list[list[str]] = []
    thread = threading.Thread(target=lambda: ended.append([e.message for e in waiting]))
    thread.start()
    assert next(tail).message == "1"
    store.close()
    thread.join(30)
    # What was read is given; another may have been closed before it has read anything.
    assert [entry.message for entry in tail] == ["2"]
    assert ended in ([["1", "2"]], [[]])


def test_a_tail_of_a_log_that_is_removed_says_so(logs: Logs) -> None:
    tail = logs.tail()
    logs.drop()
    with pytest.raises(timestrata.NotFoundError):
        next(tail)


def test_async_for_gives_entries_as_they_arrive(logs: Logs) -> None:
    async def run() -> list[str]:
        async with asyncio.timeout(60):
            tail = logs.tail("wanted")
            seen = []
            for n in range(3):
                asked = asyncio.ensure_future(tail.__anext__())
                # Runs behind the first look of the one who asks, which so finds nothing yet.
                asyncio.get_running_loop().call_soon(logs.write_many, ["other", f"wanted {n}"])
                seen.append((await asked).message)
            logs.write_many(f"wanted {n}" for n in range(3, 2_000))
            async for entry in tail:
                seen.append(entry.message)
                if len(seen) == 2_000:
                    break
            return seen

    assert asyncio.run(run()) == [f"wanted {n}" for n in range(2_000)]


def test_a_task_that_is_cancelled_loses_no_entry(logs: Logs) -> None:
    async def run() -> list[str]:
        async with asyncio.timeout(60):
            tail = logs.tail()
            is_waiting = asyncio.Event()

            async def wait() -> LogEntry:
                is_waiting.set()
                return await anext(tail)

            task = asyncio.ensure_future(wait())
            await is_waiting.wait()
            task.cancel()
            logs.write_many(["1", "2"])
            return [(await anext(tail)).message for _ in range(2)]

    assert asyncio.run(run()) == ["1", "2"]


def test_an_async_tail_ends_when_the_store_is_closed(store: Store, logs: Logs) -> None:
    async def run() -> list[str]:
        async with asyncio.timeout(60):
            tail = logs.tail()
            logs.write("1")
            seen = [(await anext(tail)).message]
            store.close()
            return seen + [entry.message async for entry in tail]

    assert asyncio.run(run()) == ["1"]


def test_a_tail_that_waits_hears_ctrl_c(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import signal, sys, timestrata
        # A process that a shell has put in the background is deaf to it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with timestrata.open(sys.argv[1]) as store:
            logs = store.logs("app")
            tail = logs.tail()
            try:
                print("ready")
                next(tail)
            except KeyboardInterrupt:
                logs.write("behind it")
                print("heard", next(tail).message)
        """,
        path,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=10)
    assert (process.returncode, errors, output) == (0, "", "heard behind it\n")
