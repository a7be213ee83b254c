"""An acknowledged write is there after a reopen, after kill -9, and for other readers."""

import os
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import timestrata

ChildOf = Callable[..., Any]


def test_a_closed_store_opens_with_everything_and_nothing_to_replay(path: Path) -> None:
    with timestrata.open(path) as store:
        assert store.recovery.created
        log = store.timelog("log", unit="ns")
        log.extend(range(1_000), range(1_000))
        log.append(5, "late")
        log.delete(10, 20)
        expected = list(log)
    with timestrata.open(path) as store:
        assert not store.recovery.created
        assert store.recovery.clean
        assert store.recovery.commits_replayed == 0
        log = store.timelog("log")
        assert (log.codec, log.unit) == ("cbor", "ns")
        assert list(log) == expected


def test_a_store_that_is_only_let_go_keeps_everything(path: Path) -> None:
    timestrata.open(path).timelog("log").append(1, "a")
    with timestrata.open(path) as store:
        assert list(store.timelog("log")) == [(1, "a")]


def test_a_store_left_open_at_exit_is_closed_cleanly(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import sys, timestrata
        store = timestrata.open(sys.argv[1], durability="buffered")
        log = store.timelog("log")
        log.append(1, "a")
        keep = [store, log, iter(log)]
        keep.append(keep)
        """,
        path,
    )
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    with timestrata.open(path) as store:
        assert store.recovery.clean
        assert list(store.timelog("log")) == [(1, "a")]


def test_threads_that_nobody_waits_for_end_in_silence_with_the_interpreter(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import itertools, sys, threading, timestrata
        store = timestrata.open(sys.argv[1])
        log, topic, app = store.timelog("log"), store.topic("topic"), store.logs("app")
        table, graph = store.table("table", time="time"), store.graph("graph")
        consumer = topic.consumer()
        begun = []

        def again(work):
            def run(is_there):
                for n in itertools.count():
                    work(n)
                    is_there.set()
            begun.append(threading.Event())
            threading.Thread(target=run, args=(begun[-1],), daemon=True).start()

        again(lambda n: log.append(n, "x"))
        again(lambda n: list(log[:5]))
        again(lambda n: topic.send(b"x"))
        again(lambda n: consumer.poll(0.01))
        again(lambda n: app.write("x"))
        again(lambda n: table.append([{"time": n, "x": 1}]))
        again(lambda n: graph.put(str(n)))
        again(lambda n: store.sql("SELECT count(*) FROM app"))
        for one in begun:
            assert one.wait(60)
        """,
        path,
    )
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    with timestrata.open(path) as store:
        assert store.check()
        assert len(store.timelog("log")) > 0


def test_kill_9_loses_nothing_acknowledged(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import itertools, sys, timestrata
        log = timestrata.open(sys.argv[1], memtable_bytes_max="64KiB").timelog("log")
        for n in itertools.count():
            if n % 10 == 9:
                log.extend([(n, [n, part]) for part in range(5)])
            else:
                log.append(-n, [n, 0])
            print(n)
        """,
        path,
    )
    acknowledged = [int(process.stdout.readline()) for _ in range(3_000)]
    process.send_signal(signal.SIGKILL)
    # A last line may be torn; whole ones were acknowledged.
    acknowledged += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    process.wait()
    with timestrata.open(path) as store:
        log = store.timelog("log")
        for n in acknowledged:
            if n % 10 == 9:
                assert log[n] == [[n, part] for part in range(5)]
            else:
                assert log[-n] == [[n, 0]]
        # Of the write under way all or nothing is there, and nothing else is.
        expected = sum(5 if n % 10 == 9 else 1 for n in acknowledged)
        assert len(log) - expected in (0, 1, 5)
        assert store.check()


def test_a_second_writer_is_refused_by_the_name_of_the_first(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import sys, timestrata
        with timestrata.open(sys.argv[1]) as store:
            print("open")
            sys.stdin.readline()
        """,
        path,
    )
    assert process.stdout.readline() == "open\n"
    with pytest.raises(timestrata.LockedError, match=str(process.pid)) as caught:
        timestrata.open(path)
    assert isinstance(caught.value, OSError)
    assert caught.value.hint
    process.communicate("go\n", timeout=60)
    timestrata.open(path).close()


def test_a_second_writer_in_the_same_process_is_refused_too(path: Path) -> None:
    with timestrata.open(path):
        with pytest.raises(timestrata.LockedError, match="this process"):
            timestrata.open(path)


def test_a_reader_follows_the_writer(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import sys, timestrata
        with timestrata.open(sys.argv[1]) as store:
            log = store.timelog("log")
            for line in sys.stdin:
                log.append(int(line), line.strip())
                if int(line) % 2:
                    store.flush()
                print("done")
        """,
        path,
    )

    def write(n: int) -> None:
        process.stdin.write(f"{n}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"

    write(0)
    with timestrata.open(path, mode="r") as reader:
        log = reader.timelog("log")
        assert list(log) == [(0, "0")]
        for n in range(1, 6):
            write(n)
            assert len(log) == n
            reader.refresh()
            assert list(log) == [(k, str(k)) for k in range(n + 1)]
    process.communicate(timeout=60)


def test_a_read_only_store_takes_no_writes(path: Path) -> None:
    with timestrata.open(path) as store:
        store.timelog("log").append(1, "a")
    with timestrata.open(path, mode="r") as store:
        log = store.timelog("log")
        assert list(log) == [(1, "a")]
        writes: list[Callable[[], object]] = [
            lambda: log.append(2, "b"),
            lambda: log.extend([(2, "b")]),
            lambda: log.delete(1),
            lambda: store.drop("log"),
            lambda: store.pin("now"),
        ]
        for write in writes:
            with pytest.raises(timestrata.ReadOnlyError) as caught:
                write()
            assert isinstance(caught.value, OSError)
        with pytest.raises(timestrata.NotFoundError):
            store.timelog("other")
        assert list(log) == [(1, "a")]


def test_a_reader_needs_no_write_permission(path: Path) -> None:
    with timestrata.open(path) as store:
        store.timelog("log").append(1, "a")
    files = [path, *path.rglob("*")]
    for file in files:
        file.chmod(0o555 if file.is_dir() else 0o444)
    try:
        with timestrata.open(path, mode="r") as store:
            assert list(store.timelog("log")) == [(1, "a")]
    finally:
        for file in files:
            file.chmod(0o755 if file.is_dir() else 0o644)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_refused_and_harms_nothing(path: Path) -> None:
    with timestrata.open(path) as store:
        log = store.timelog("log")
        log.extend(range(100), range(100))
        entries = iter(log)
        next(entries)
        readable, writable = os.pipe()
        pid = os.fork()
        if pid == 0:
            outcomes = []
            for call in (
                lambda: log.append(1, "from the child"),
                lambda: list(log),
                lambda: next(entries),
                lambda: store.flush(),
                lambda: store.close(),
            ):
                try:
                    call()
                    outcomes.append("went through")
                except timestrata.ForkedError:
                    outcomes.append("refused")
                except BaseException as error:
                    outcomes.append(repr(error))
            del log, entries, store, call
            timestrata.open().timelog("own").append(1, "the child may have its own")
            os.write(writable, ",".join(outcomes).encode())
            os._exit(0)
        os.close(writable)
        if not select.select([readable], [], [], 60)[0]:
            # It hangs: its end of the pipe is closed then, and nothing was said.
            os.kill(pid, signal.SIGKILL)
        with os.fdopen(readable) as answers:
            assert answers.read() == ",".join(["refused"] * 5)
        assert os.waitpid(pid, 0)[1] == 0
        log.append(200, "still here")
        assert len(log) == 101
        assert len(list(entries)) == 99
    with timestrata.open(path) as store:
        assert len(store.timelog("log")) == 101


def test_children_of_forks_keep_their_own_stores_while_the_parents_threads_wait(
    tmp_path: Path, child: ChildOf
) -> None:
    program = """
        import os, sys, threading, timestrata
        def keep(name):
            with timestrata.open(sys.argv[1] + "/" + name) as store:
                logs = [store.timelog(f"log {which}") for which in range(3)]
                def append(log):
                    for when in range(20):
                        log.append(when, "open")
                threads = [threading.Thread(target=append, args=(log,)) for log in logs]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                store.flush()
                assert [len(log) for log in logs] == [20, 20, 20]
        for turn in range(12):
            # Its threads begin to wait, or already do, when the child comes to be.
            with timestrata.open(f"{sys.argv[1]}/parent {turn}"):
                pid = os.fork()
                if pid == 0:
                    keep(f"child {turn}")
                    os._exit(0)
                keep(f"beside child {turn}")
                assert os.waitpid(pid, 0)[1] == 0
    """
    process = child(program, tmp_path)
    # From Python 3.12 on it warns of forks beside threads.
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err


def test_a_pin_and_a_backup_keep_what_they_saw(path: Path, tmp_path: Path) -> None:
    with timestrata.open(path) as store:
        log = store.timelog("log")
        log.extend(range(10), "abcdefghij")
        seq = store.pin("before")
        assert [(pin.name, pin.seq) for pin in store.pins()] == [("before", seq)]
        report = store.backup(tmp_path / "copy")
        assert report.files > 0
        del log[:]
        store.compact()
        store.unpin("before")
        assert store.pins() == []
    with timestrata.open(tmp_path / "copy", mode="r") as copy:
        assert [value for _, value in copy.timelog("log")] == list("abcdefghij")
