"""Entries that were acknowledged are there after a reopen, after kill -9, and for other readers."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import timestrata

ChildOf = Callable[..., Any]


def test_a_closed_store_opens_with_every_entry(path: Path) -> None:
    with timestrata.open(path) as store:
        logs = store.logs("app", message_bytes_max=5_000, labels={"service": "api"})
        logs.write_many(
            {"message": f"m{n}", "level": "info", "source_time": n, "fields": {"n": n, "big": 2**64 + n}}
            for n in range(3_000)
        )
        store.flush()
        logs.write("last", sync=True, nested={"a": [1.5, None]})
        expected = [entry.to_dict() for entry in logs.search()]
        columns, position = logs.columns, list(logs.search(limit=2_500))[-1].position
    with timestrata.open(path) as store:
        assert store.recovery.clean
        logs = store.logs("app")
        assert (logs.message_bytes_max, logs.columns, logs.labels) == (5_000, columns, {})
        assert [entry.to_dict() for entry in logs.search()] == expected
        assert len(list(logs.search(after=position))) == 501
        assert logs.write("later") > expected[-1]["timestamp"]


def test_kill_9_loses_nothing_acknowledged(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import itertools, sys, timestrata
        logs = timestrata.open(sys.argv[1], memtable_bytes_max="64KiB").logs("app")
        for n in itertools.count():
            if n % 10 == 9:
                entries = [{"message": "many", "fields": {"n": n, "part": part}} for part in range(5)]
                print(n, logs.write_many(entries)[0])
            else:
                print(n, logs.write("one", level="warn", n=n))
        """,
        path,
    )
    lines = [process.stdout.readline() for _ in range(3_000)]
    process.send_signal(signal.SIGKILL)
    # A last line may be torn; whole ones were acknowledged.
    lines += process.stdout.read().split("\n")[:-1]
    process.wait()
    acknowledged = {int(n): int(timestamp) for n, timestamp in map(str.split, lines)}
    with timestrata.open(path) as store:
        logs = store.logs("app")
        found: dict[int, list[timestrata.LogEntry]] = {}
        for entry in logs.search():
            found.setdefault(entry.fields["n"], []).append(entry)
        for n, timestamp in acknowledged.items():
            parts = [0, 1, 2, 3, 4] if n % 10 == 9 else [None]
            assert [entry.fields.get("part") for entry in found[n]] == parts
            assert found[n][0].timestamp == timestamp
        # Of the write under way all or nothing is there, and nothing else is.
        [*rest] = (entries for n, entries in found.items() if n not in acknowledged)
        assert [len(entries) for entries in rest] in ([], [1], [5])
        assert store.check()


def test_entries_of_many_threads_are_all_there_each_with_a_time_of_its_own(path: Path) -> None:
    each, threads = 300, 6
    timestamps: list[list[int]] = [[] for _ in range(threads)]

    def write(logs: timestrata.Logs, thread: int) -> None:
        for n in range(each):
            if n % 3 == 2:
                times = logs.write_many([{"message": "m", "fields": {"thread": thread, "n": n}}])
                timestamps[thread].append(times[0])
            else:
                timestamps[thread].append(logs.write("m", sync=n % 50 == 0, thread=thread, n=n))

    with timestrata.open(path) as store:
        logs = store.logs("app")
        workers = [threading.Thread(target=write, args=(logs, n)) for n in range(threads)]
        for worker in workers:
            worker.start()
        while any(worker.is_alive() for worker in workers):
            seen = [entry.timestamp for entry in logs.search()]
            assert seen == sorted(set(seen))
        for worker in workers:
            worker.join()
        assert len(logs) == each * threads
        for thread in range(threads):
            own = [e for e in logs.search() if e.fields["thread"] == thread]
            assert [e.fields["n"] for e in own] == list(range(each))
            assert [e.timestamp for e in own] == timestamps[thread] == sorted(timestamps[thread])


def test_threads_that_share_an_answer_get_each_entry_once(path: Path) -> None:
    with timestrata.open(path) as store:
        logs = store.logs("app")
        logs.write_many(f"word {n}" for n in range(50_000))
        for filter in ("", "word"):
            shared = iter(logs.search(filter))
            parts: list[list[int]] = [[], [], []]

            def read(part: list[int]) -> None:
                part.extend(entry.timestamp for entry in shared)

            readers = [threading.Thread(target=read, args=(part,)) for part in parts]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            assert all(part == sorted(part) for part in parts)
            everything = [entry.timestamp for entry in logs.search()]
            assert sorted(time for part in parts for time in part) == everything


def test_a_reader_follows_the_writer_and_writes_nothing(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import sys, timestrata
        with timestrata.open(sys.argv[1]) as store:
            logs = store.logs("app")
            for line in sys.stdin:
                print(logs.write(line.strip()))
        """,
        path,
    )

    def write(message: str) -> int:
        process.stdin.write(f"{message}\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    first = write("one")
    with timestrata.open(path, mode="r") as reader:
        logs = reader.logs("app")
        tail = logs.tail("two")
        assert [entry.message for entry in logs.search()] == ["one"]
        write("not wanted")
        second = write("two")
        entry = next(tail)
        assert (entry.timestamp, entry.message) == (second, "two")
        assert [entry.timestamp for entry in logs.search(end=first + 1)] == [first]
        for refused in (lambda: logs.write("x"), lambda: logs.write_many(["x"]), lambda: logs.drop()):
            with pytest.raises(timestrata.ReadOnlyError):
                refused()
        with pytest.raises(timestrata.NotFoundError):
            reader.logs("other")
    process.communicate(timeout=60)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_refused_and_harms_nothing(path: Path) -> None:
    with timestrata.open(path) as store:
        logs = store.logs("app")
        logs.write_many(map(str, range(100)))
        answer, tail = logs.search(), logs.tail()
        entries = iter(answer)
        entry = next(entries)
        readable, writable = os.pipe()
        pid = os.fork()
        if pid == 0:
            outcomes = []
            for call in (
                lambda: logs.write("from the child"),
                lambda: logs.write_many(["from the child"]),
                lambda: logs.search(),
                lambda: list(answer),
                lambda: next(entries),
                lambda: next(tail),
                lambda: logs.count(),
            ):
                try:
                    call()
                    outcomes.append("went through")
                except timestrata.ForkedError:
                    outcomes.append("refused")
                except BaseException as error:
                    outcomes.append(repr(error))
            # What was read is the child's too.
            outcomes.append(entry.message)
            del logs, answer, tail, entries, entry, store, call
            os.write(writable, ",".join(outcomes).encode())
            os._exit(0)
        os.close(writable)
        with os.fdopen(readable) as answers:
            assert answers.read() == ",".join(["refused"] * 7 + ["0"])
        assert os.waitpid(pid, 0)[1] == 0
        logs.compact()
        logs.write("still here")
        assert len(list(entries)) == 99
        assert next(tail).message == "still here"


def test_a_long_search_hears_ctrl_c_and_loses_nothing(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import itertools, signal, sys, timestrata
        # A process that a shell has put in the background is deaf to it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with timestrata.open(sys.argv[1]) as store:
            logs = store.logs("app")
            logs.write_many(f"word {n}" for n in range(100_000))
            seen, expected = [], [entry.timestamp for entry in logs.search()]
            found = iter(logs.search("word"))
            try:
                print("ready")
                for count in itertools.count():
                    for _ in logs.search("nothing"):
                        pass
                    seen += [entry.timestamp for entry in itertools.islice(found, 10)]
            except KeyboardInterrupt:
                print("heard")
            seen += [entry.timestamp for entry in found]
            # Entries of a list that was interrupted are gone with it; they are ten at most.
            missing = len(expected) - len(seen)
            print("all" if missing <= 10 and set(seen) <= set(expected) else missing)
        """,
        path,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, errors, output) == (0, "", "heard\nall\n")
