"""Many threads on the same objects: no call waits for ever, and none is wrong."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import timestrata
from timestrata import Timelog

#: A child that hangs is ended, with what its threads were doing.
WATCHDOG = "import faulthandler; faulthandler.dump_traceback_later(120, exit=True)\n"


def ended(child: Callable[..., Any], program: str, *arguments: object) -> str:
    """What a program prints that must come to its end."""
    process = child(WATCHDOG + program, *arguments)
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return str(output)


def test_threads_that_ask_in_sql_for_the_first_time_don_t_wait_for_each_other(
    child: Callable[..., Any],
) -> None:
    # Who made it held a lock and waited for the interpreter, which who waited for the lock held.
    program = """
import threading, timestrata
for round in range(20):
    store = timestrata.open()
    store.table("t").append({"time": ["2024-05-01", "2024-05-02"], "x": [1, 2]})
    barrier, answers = threading.Barrier(4), []
    def ask():
        barrier.wait()
        answers.append(store.sql("SELECT sum(x) AS s FROM t").to_pylist())
    threads = [threading.Thread(target=ask) for _ in range(4)]
    [thread.start() for thread in threads]; [thread.join() for thread in threads]
    assert answers == [[{"s": 3}]] * 4, answers
    store.close()
print("ended")
"""
    assert ended(child, program) == "ended\n"


def test_threads_that_first_see_a_table_made_elsewhere_don_t_wait_for_each_other(
    child: Callable[..., Any],
) -> None:
    program = """
import sys, threading, timestrata
sys.setswitchinterval(1e-6)
store = timestrata.open()
for round in range(400):
    name = f"t{round}"
    table = store.table(name)
    store.table(name).append({"time": ["2024-05-01"], "x": [1]})
    barrier, counts = threading.Barrier(4), []
    def ask():
        barrier.wait()
        counts.append(table.count())
        table.append({"time": "2024-05-02", "x": 2})
    threads = [threading.Thread(target=ask) for _ in range(4)]
    [thread.start() for thread in threads]; [thread.join() for thread in threads]
    assert len(counts) == 4 and min(counts) >= 1 and table.count() == 5, counts
    store.table(name).drop()
print("ended")
"""
    assert ended(child, program) == "ended\n"


def test_a_log_that_is_closed_beside_others_that_use_it_hangs_none(
    child: Callable[..., Any],
) -> None:
    # Making the error runs Python code, during which another thread may get its turn.
    program = """
import sys, threading
from timestrata import Timelog, TimestrataError
sys.setswitchinterval(1e-6)
for round in range(50):
    log = Timelog()
    log.extend([(i, i) for i in range(10)])
    barrier = threading.Barrier(4)
    def use():
        barrier.wait()
        for i in range(200):
            try:
                log.append(i, i); len(log); log.stats(); log.at(3)
            except (TimestrataError, ValueError):
                pass
    def close():
        barrier.wait()
        for i in range(50):
            try:
                log.close(); log.reopen()
            except (TimestrataError, ValueError):
                pass
    threads = [threading.Thread(target=use) for _ in range(3)] + [threading.Thread(target=close)]
    [thread.start() for thread in threads]; [thread.join() for thread in threads]
print("ended")
"""
    assert ended(child, program) == "ended\n"


def test_no_part_of_the_extension_waits_for_a_mutex_but_the_one_that_lets_go_first() -> None:
    sources = Path(__file__).parents[1] / "src"
    if not sources.is_dir():
        pytest.fail(f"the sources are not at {sources}")
    waiting = {
        str(file.relative_to(sources))
        for file in sources.rglob("*.rs")
        if "RwLock" in (text := file.read_text()) or "Mutex<" in text or "Mutex::" in text
    }
    # `ingest` and `interrupt` hold the end of a channel in one, which one thread alone uses.
    assert waiting <= {"lock.rs", "interrupt.rs", "table/ingest.rs"}, waiting


ROWS = [(5, "five"), (7, "seven")]


def test_a_durable_log_that_is_opened_again_has_its_entries(path: Path) -> None:
    # It became a log in memory without a word, and what was written to it was lost.
    log = Timelog(path=path, name="x")
    log.append(5, "five")
    log.close()
    log.reopen()
    log.append(7, "seven", sync=True)
    assert list(log) == ROWS
    log.close()
    with timestrata.open(path) as store:
        assert list(store.timelog("x")) == ROWS


@pytest.mark.parametrize("again", ["configure", "__init__"])
def test_each_way_of_opening_a_durable_log_again_opens_the_same(path: Path, again: str) -> None:
    log = Timelog(path=path)
    log.extend(ROWS)
    log.close()
    getattr(log, again)()
    assert list(log) == ROWS and log.name == "log"
    log.close()
    log.reopen()
    assert list(log) == ROWS
    log.close()


def test_a_log_of_an_open_store_is_opened_again_in_that_store(path: Path) -> None:
    with timestrata.open(path) as store:
        log = store.timelog("x")
        log.extend(ROWS)
        log.close()
        log.reopen()
        log.append(9, "nine")
        assert len(store.timelog("x")) == 3
        with pytest.raises(timestrata.TimelogError, match="closed to reopen"):
            log.reopen()
    with pytest.raises(timestrata.ClosedError):
        log.reopen()
    # Not a memory log either.
    assert log.closed


def test_a_durable_log_takes_no_options_of_one_in_memory_when_it_is_opened_again(
    path: Path,
) -> None:
    log = Timelog(path=path)
    log.append(5, "five")
    log.close()
    with pytest.raises(TypeError, match="busy_policy"):
        log.reopen(busy_policy="raise")
    assert log.closed


def test_reads_beside_a_writer_see_whole_batches(path: Path) -> None:
    with timestrata.open(path, memtable_bytes_max="256KiB") as store:
        log = store.timelog("x")
        stop = threading.Event()
        wrong: list[object] = []

        def read() -> None:
            while not stop.is_set():
                seen = len(list(log))
                if seen % 100:
                    wrong.append(seen)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for thread in readers:
            thread.start()
        for batch in range(60):
            log.extend([(batch * 100 + i, "x" * 20) for i in range(100)])
        stop.set()
        for thread in readers:
            thread.join(60)
        assert not wrong and not any(thread.is_alive() for thread in readers)
        assert len(log) == 6000


def test_threads_that_call_every_method_at_once_get_values_or_documented_errors() -> None:
    # What there is to call is read from the stubs. A seed that fails is printed, with the command that runs it again.
    program = Path(__file__).with_name("every_method.py")
    done = subprocess.run(
        [sys.executable, str(program), "--rounds", "3"], capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr
