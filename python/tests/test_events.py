"""What a store tells of its work is in Python's ``logging``, and nobody waits for it."""

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import until

import timestrata
import timestrata.logging

ChildOf = Callable[..., Any]


class Heard(logging.Handler):
    """Keeps the records that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def of(self, name: str) -> list[logging.LogRecord]:
        return [record for record in list(self.records) if record.name == name]

    def wait_for(self, name: str, text: str) -> None:
        until(lambda: any(text in record.getMessage() for record in self.of(name)))


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    """Hears all that stores of one test tell, down to debug."""
    logger = logging.getLogger("timestrata")
    before, handler = logger.level, Heard()
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    # Records are delivered by a thread, in the order of the events: what stores of earlier tests told last
    # is still on its way, and has all come once a store of our own is heard of.
    gc.collect()
    with timestrata.open(tmp_path / "last of earlier tests"):
        pass
    handler.wait_for("timestrata.close", "last of earlier tests")
    handler.records.clear()
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


def flush_some(store: timestrata.Store, name: str) -> None:
    log = store.timelog(name)
    log.append(1, {"state": "open"})
    store.flush()


def test_a_flush_is_a_record_with_its_figures(path: Path, heard: Heard) -> None:
    with timestrata.open(path) as store:
        flush_some(store, "door")
    until(lambda: len(heard.of("timestrata.close")) == 1)
    [flushed] = heard.of("timestrata.flush")
    fields = flushed.__dict__["fields"]
    assert (fields["stream"], fields["rows"]) == ("door", 1)
    assert fields["bytes"] > 0
    assert flushed.levelno == logging.DEBUG
    assert flushed.getMessage().startswith("flushed a memtable stream=door rows=1 bytes=")
    [opened] = heard.of("timestrata.open")
    assert opened.__dict__["fields"]["created"] is True
    assert opened.levelno == logging.INFO


def test_what_the_logger_does_not_want_is_no_record(path: Path, heard: Heard) -> None:
    logging.getLogger("timestrata").setLevel(logging.INFO)
    with timestrata.open(path) as store:
        flush_some(store, "door")
    until(lambda: len(heard.of("timestrata.close")) == 1)
    assert heard.of("timestrata.flush") == []


def test_caplog_sees_them(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="timestrata"):
        with timestrata.open(path) as store:
            flush_some(store, "door")
        until(lambda: any(record.name == "timestrata.close" for record in caplog.records))
    assert "flushed a memtable" in caplog.text


def test_a_slow_handler_holds_up_no_store(path: Path, heard: Heard) -> None:
    may_go_on = threading.Event()

    class Slow(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            may_go_on.wait(30)

    slow = Slow()
    logger = logging.getLogger("timestrata")
    logger.addHandler(slow)
    try:
        with timestrata.open(path) as store:
            for number in range(20):
                flush_some(store, f"door {number}")
    finally:
        may_go_on.set()
        logger.removeHandler(slow)
    until(lambda: len(heard.of("timestrata.close")) == 1)
    assert len(heard.of("timestrata.flush")) == 20


def test_a_log_of_a_store_leaves_out_what_stores_tell(path: Path, heard: Heard) -> None:
    with timestrata.open(path) as store:
        logs = store.logs("app")
        logger = logging.getLogger("timestrata")
        for number, engine_events in ((1, False), (2, True)):
            handler = timestrata.logging.Handler(logs, engine_events=engine_events)
            # Whoever has heard of it last knows that the other has, too.
            logger.removeHandler(heard)
            logger.addHandler(handler)
            logger.addHandler(heard)
            flush_some(store, f"door {number}")
            heard.wait_for("timestrata.flush", f"stream=door {number} ")
            logger.removeHandler(handler)
            handler.close()
        messages = [entry.message for entry in logs.search()]
        [entry] = logs.search("logger=timestrata.flush", limit=1)
    assert "is_engine_event" not in entry.fields
    assert not any("stream=door 1 " in message for message in messages)
    assert any("stream=door 2 " in message for message in messages)


def test_a_programs_own_logger_below_ours_is_written(path: Path) -> None:
    with timestrata.open(path) as store:
        logs = store.logs("app")
        logger = logging.getLogger("timestrata.of_a_program")
        handler = timestrata.logging.Handler(logs)
        logger.addHandler(handler)
        try:
            logger.warning("a door is open")
        finally:
            logger.removeHandler(handler)
            handler.close()
        assert [entry.message for entry in logs.search()] == ["a door is open"]


def test_all_that_was_told_is_delivered_before_python_exits(path: Path, child: ChildOf) -> None:
    program = """
        import logging, sys, timestrata
        logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
        store = timestrata.open(sys.argv[1])
        store.timelog("door").append(1, "open")
        store.flush()
    """
    process = child(program, path)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "DEBUG:timestrata.flush:flushed a memtable stream=door rows=1" in out
    # Python closes the store at exit, and tells of that too.
    assert "INFO:timestrata.close:closed a store" in out


def test_a_child_of_a_fork_hears_what_its_own_stores_tell(tmp_path: Path, child: ChildOf) -> None:
    program = """
        import logging, os, sys, timestrata
        logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
        store = timestrata.open(sys.argv[1] + "/parent")
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            own = timestrata.open(sys.argv[1] + "/child")
            own.timelog("of the child").append(1, "open")
            own.flush()
            own.close()
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        store.timelog("of the parent").append(1, "open")
        store.flush()
    """
    process = child(program, tmp_path)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    assert "stream=of the child" in out
    assert "stream=of the parent" in out
