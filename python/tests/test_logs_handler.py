"""Python's ``logging`` into a log: nothing waits, nothing is lost without a word, nothing breaks it."""

import gc
import io
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

import timestrata
import timestrata.logging
from timestrata import LogEntry, Logs, Store
from timestrata.logging import Handler

ChildOf = Callable[..., Any]


@pytest.fixture
def logs(store: Store) -> Logs:
    return store.logs("app")


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """One that nobody else has; its handlers are closed."""
    logger = logging.Logger("test.logger", logging.DEBUG)
    yield logger
    for handler in logger.handlers:
        handler.close()


@pytest.fixture
def errors(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Gives what was printed as errors so far."""
    printed = ""

    def read() -> str:
        nonlocal printed
        printed += capsys.readouterr().err
        return printed

    return read


class Held:
    """A log whose writes wait until they are let go, or fail as they are told to."""

    def __init__(self, logs: Logs) -> None:
        self.logs = logs
        self.is_writing = threading.Event()
        self.may_write = threading.Event()
        self.failures: list[Exception] = []
        self.calls: list[list[Any]] = []

    @property
    def message_bytes_max(self) -> int:
        return self.logs.message_bytes_max

    def write_many(self, entries: list[Any], sync: bool = False) -> range:
        self.is_writing.set()
        assert self.may_write.wait(60)
        self.calls.append(entries)
        if self.failures:
            raise self.failures.pop(0)
        return self.logs.write_many(entries, sync=sync)


def held(logs: Logs) -> tuple[Held, Logs]:
    """One such log, also called what handlers take it for."""
    held = Held(logs)
    return held, cast(Logs, held)


def written(handler: Handler, logs: Logs) -> list[LogEntry]:
    handler.flush()
    return list(logs.search())


def messages(handler: Handler, logs: Logs) -> list[str]:
    return [entry.message for entry in written(handler, logs)]


def test_a_record_becomes_an_entry_with_all_that_it_says(store: Store, logger: logging.Logger) -> None:
    logs = store.logs("app", labels={"service": "api"})
    handler = Handler(logs, labels={"host": "h"})
    logger.addHandler(handler)
    before = time.time()
    try:
        raise KeyError("missing")
    except KeyError:
        logger.exception("%s is %d%% full", "disk", 99, extra={"device": "sda1", "sizes": [1, 2**70]})
    logger.info("here", stack_info=True)
    first, second = written(handler, logs)
    assert (first.level, first.message) == ("error", "disk is 99% full")
    assert first.labels == {"service": "api", "host": "h"}
    assert first.source_time is not None and first.source_time % 1_000 == 0
    assert before - 1e-6 <= first.source_time / 1e9 <= time.time()
    fields = first.fields
    assert fields.pop("line") > 0
    assert fields.pop("exception").startswith("Traceback (most recent call last):\n")
    assert "KeyError: 'missing'" in first.fields["exception"]
    assert fields == {
        "logger": "test.logger",
        "module": "test_logs_handler",
        "function": "test_a_record_becomes_an_entry_with_all_that_it_says",
        "process": os.getpid(),
        "thread": "MainThread",
        "device": "sda1",
        "sizes": [1, 2**70],
    }
    assert (second.level, second.message) == ("info", "here")
    assert "stack_info=True" in second.fields["stack_info"]
    assert "exception" not in second.fields


def test_levels_names_and_filters_are_those_of_logging(logs: Logs, logger: logging.Logger) -> None:
    handler = Handler(logs, level="INFO")
    logger.addHandler(handler)
    logging.addLevelName(25, "NOTICE")
    for level in (logging.DEBUG, logging.INFO, 25, logging.WARNING, logging.ERROR, logging.CRITICAL):
        logger.log(level, "x")
    handler.setLevel(logging.NOTSET)
    handler.handle(logging.makeLogRecord({"msg": "no level"}))
    handler.handle(logging.makeLogRecord({"msg": "less than none", "levelno": -5}))
    handler.addFilter(lambda record: "secret" not in record.getMessage())
    logger.info("a secret")
    entries = written(handler, logs)
    levels = ["info", "info", "warn", "error", "fatal", None, None]
    assert [entry.level for entry in entries] == levels
    assert [entry.fields.get("level_name") for entry in entries[:5]] == [None, "NOTICE", None, None, None]


def test_a_formatter_makes_the_text_of_exceptions_only(logs: Logs, logger: logging.Logger) -> None:
    class Brief(logging.Formatter):
        def formatException(self, ei: Any) -> str:
            return f"{ei[0].__name__} happened"

    handler = Handler(logs)
    handler.setFormatter(Brief("%(levelname)s:%(message)s"))
    logger.addHandler(handler)
    try:
        raise KeyError("missing")
    except KeyError:
        logger.exception("hello %s", "world")
    [entry] = written(handler, logs)
    assert (entry.message, entry.fields["exception"]) == ("hello world", "KeyError happened")


class Colour(Enum):
    RED = 1


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def test_whatever_is_given_as_extra_is_kept_as_far_as_it_can_be(
    logs: Logs, logger: logging.Logger
) -> None:
    numpy = pytest.importorskip("numpy")
    handler = Handler(logs)
    logger.addHandler(handler)
    cycle: list[Any] = []
    cycle.append(cycle)
    when = datetime(2024, 5, 1, tzinfo=UTC)
    kept = {"none": None, "flag": True, "big": 2**80, "share": 0.5, "bytes": b"\0", "when": when, "deep": {"a": [1]}}
    changed: dict[str, tuple[Any, Any]] = {
        "colour": (Colour.RED, "Colour.RED"),
        "path": (Path("a/b"), "a/b"),
        "naive": (datetime(2024, 5, 1), "2024-05-01T00:00:00"),
        "tuple": ((1, {2}), [1, [2]]),
        "keys": ({1: "a", (2,): "b"}, {"1": "a", "(2,)": "b"}),
        "number": (numpy.int16(7), 7),
        "fraction": (Fraction(1, 2), 0.5),
        "surrogate": ("\udc80", "\\udc80"),
        "hostile": (Hostile(), "<Hostile that can't be shown: RuntimeError>"),
        "within": ([Hostile()], ["<Hostile that can't be shown: RuntimeError>"]),
        "line": ("mine", "mine"),
    }
    extra = {**kept, **{name: given for name, (given, _) in changed.items()}, "cycle": cycle}
    logger.info("x", extra=extra)
    [entry] = written(handler, logs)
    for name, value in kept.items():
        assert entry.fields[name] == value
    for name, (_, value) in changed.items():
        assert entry.fields[name] == value, name
    assert str(entry.fields["cycle"]).startswith("[[[[")
    assert handler.dropped == 0


@pytest.mark.parametrize("raises", [True, False])
def test_what_can_not_be_formatted_is_reported_and_written_all_the_same(
    logs: Logs,
    logger: logging.Logger,
    errors: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    raises: bool,
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", raises)
    handler = Handler(logs)
    logger.addHandler(handler)
    logger.warning("%s is broken", Hostile())
    logger.warning("%d items", "many", 2)
    logger.warning(cast(str, Hostile()))
    logger.info("fine")
    entries = written(handler, logs)
    shown = "<Hostile that can't be shown: RuntimeError>"
    assert [entry.message for entry in entries] == ["%s is broken", "%d items", shown, "fine"]
    assert entries[0].fields["arguments"] == [shown]
    assert entries[0].fields["format_error"] == "no"
    assert entries[1].fields["arguments"] == ["many", 2]
    assert entries[0].level == "warn"
    assert errors().count("--- Logging error ---") == (3 if raises else 0)
    assert handler.dropped == 0


def test_text_that_is_no_unicode_is_written(logs: Logs, logger: logging.Logger) -> None:
    handler = Handler(logs)
    logger.addHandler(handler)
    logger.info("file %s", os.fsdecode(b"caf\xe9"), extra={"na\udc80me": 1})
    [entry] = written(handler, logs)
    assert entry.message == "file caf\\udce9"
    assert entry.fields["na\\udc80me"] == 1


def test_a_full_queue_holds_up_nobody_and_the_log_says_what_is_missing(
    logs: Logs, logger: logging.Logger
) -> None:
    slow, taken = held(logs)
    handler = Handler(taken, capacity=3)
    logger.addHandler(handler)
    logger.info("0")
    assert slow.is_writing.wait(60)
    # One is on its way, three find room, four don't.
    for n in range(1, 8):
        logger.info("%d", n)
    assert handler.dropped == 4
    slow.may_write.set()
    handler.flush()
    slow.may_write.clear()
    slow.is_writing.clear()
    logger.info("8")
    assert slow.is_writing.wait(60)
    for n in range(9, 13):
        logger.info("%d", n)
    slow.may_write.set()
    full = "log records were dropped: the queue was full"
    assert messages(handler, logs) == [
        "0", "1", "2", "3", f"4 {full}", "8", "9", "10", "11", f"1 {full}",
    ]  # fmt: skip
    told = list(logs.search())[4]
    assert (told.level, told.fields) == ("warn", {"logger": "timestrata.logging", "dropped": 4})
    assert told.source_time is not None
    assert handler.dropped == 5


def test_what_was_logged_is_in_order_and_few_commits(logs: Logs, logger: logging.Logger) -> None:
    slow, taken = held(logs)
    handler = Handler(taken)
    logger.addHandler(handler)
    for n in range(3_000):
        logger.info("%d", n)
    slow.may_write.set()
    assert messages(handler, logs) == [str(n) for n in range(3_000)]
    assert len(slow.calls) < 20


def test_many_threads_log_at_once(logs: Logs, logger: logging.Logger) -> None:
    handler = Handler(logs, capacity=100_000)
    logger.addHandler(handler)

    def log(thread: int) -> None:
        for n in range(500):
            logger.info("x", extra={"from": thread, "n": n})

    threads = [threading.Thread(target=log, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = written(handler, logs)
    for number in range(8):
        own = [entry.fields["n"] for entry in entries if entry.fields["from"] == number]
        assert own == list(range(500))


def test_whoever_logs_something_critical_waits_for_it(logs: Logs, logger: logging.Logger) -> None:
    handler = Handler(logs)
    logger.addHandler(handler)
    logger.info("before")
    logger.critical("about to end")
    assert len(logs) == 2
    logger.removeHandler(handler)
    handler.close()
    slow, taken = held(logs)
    for patient in (Handler(taken, flush_level=None), Handler(taken, flush_level="FATAL")):
        patient.handle(logging.makeLogRecord({"levelno": logging.ERROR, "msg": "nobody waits"}))
        slow.may_write.set()
        patient.close()


def test_what_is_too_long_is_written_shorter(store: Store, logger: logging.Logger) -> None:
    logs = store.logs("small", message_bytes_max=2_000)
    slow, taken = held(logs)
    handler = Handler(taken)
    logger.addHandler(handler)
    logger.info("first")
    assert slow.is_writing.wait(60)
    logger.info("é" * 1_500)
    logger.info("long field", extra={"body": "é" * 5_000, "n": 7, "list": ["x" * 3_000]})
    logger.info("many fields", extra={f"field{n}": n for n in range(1_000)})
    logger.info("last")
    slow.may_write.set()
    entries = written(handler, logs)
    texts = [entry.message for entry in entries]
    assert texts == ["first", "é" * 1_000, "long field", "many fields", "last"]
    assert entries[1].fields["shortened"] is True
    long = entries[2].fields
    assert (long["n"], long["shortened"]) == (7, True)
    assert long["body"].startswith("ééé") and long["list"].startswith("['xxx")
    assert min(len(long["body"].encode()), len(long["list"])) > 500
    many = entries[3].fields
    assert many["shortened"] is True and many["field7"] == 7 and "field999" not in many
    assert "shortened" not in entries[0].fields
    assert handler.dropped == 0


def test_one_entry_that_is_refused_takes_no_others_with_it(
    logs: Logs, logger: logging.Logger, errors: Callable[[], str]
) -> None:
    class Picky(Held):
        def write_many(self, entries: list[Any], sync: bool = False) -> range:
            if any(entry["message"] == "odd" for entry in entries):
                raise timestrata.InvalidDataError("an odd entry")
            return super().write_many(entries, sync)

    picky = Picky(logs)
    handler = Handler(cast(Logs, picky))
    logger.addHandler(handler)
    logger.info("first")
    assert picky.is_writing.wait(60)
    for n in range(20):
        logger.info("odd" if n == 7 else "%d", *([] if n == 7 else [n]))
    picky.may_write.set()
    handler.flush()
    assert handler.dropped == 1
    assert errors().count("--- Logging error ---") == 1
    assert "InvalidDataError: an odd entry" in errors()
    assert "Message: 'odd'" in errors()
    logger.info("later")
    missing = "1 log records were dropped: they could not be written"
    texts = messages(handler, logs)
    assert [text for text in texts if text != missing] == [
        "first", *(str(n) for n in range(20) if n != 7), "later",
    ]  # fmt: skip
    assert texts.count(missing) == 1


def test_a_log_that_takes_nothing_is_told_of_once_and_later_of_all(
    logs: Logs, logger: logging.Logger, errors: Callable[[], str]
) -> None:
    slow, taken = held(logs)
    slow.may_write.set()
    slow.failures = [timestrata.IoError("the disk is gone") for _ in range(3)]
    handler = Handler(taken)
    logger.addHandler(handler)
    for n in range(3):
        logger.info("%d", n)
        handler.flush()
    assert handler.dropped == 3
    assert errors().count("IoError: the disk is gone") == 1
    logger.info("3")
    assert messages(handler, logs) == ["3 log records were dropped: they could not be written", "3"]
    slow.failures = [timestrata.IoError("the disk is gone")]
    logger.info("4")
    handler.flush()
    assert errors().count("IoError: the disk is gone") == 2


def test_a_store_that_is_busy_is_asked_again(logs: Logs, logger: logging.Logger) -> None:
    slow, taken = held(logs)
    slow.may_write.set()
    slow.failures = [timestrata.BusyError("later") for _ in range(2)]
    handler = Handler(taken)
    logger.addHandler(handler)
    logger.info("x")
    assert messages(handler, logs) == ["x"]
    assert (len(slow.calls), handler.dropped) == (3, 0)


def test_a_closed_handler_has_written_all_and_takes_no_more(
    logs: Logs, logger: logging.Logger, errors: Callable[[], str]
) -> None:
    handler = Handler(logs)
    logger.addHandler(handler)
    for n in range(1_000):
        logger.info("%d", n)
    handler.close()
    handler.close()
    handler.flush()
    assert len(logs) == 1_000
    for _ in range(3):
        logger.critical("too late")
    assert (len(logs), handler.dropped) == (1_000, 3)
    assert errors().count("ClosedError: the handler of logging has been closed") == 1


def test_a_handler_outlives_its_store(
    logs: Logs, store: Store, logger: logging.Logger, errors: Callable[[], str]
) -> None:
    handler = Handler(logs)
    logger.addHandler(handler)
    logger.info("in time")
    handler.flush()
    store.close()
    for _ in range(3):
        logger.critical("too late")
    handler.close()
    assert handler.dropped == 3
    assert errors().count("ClosedError: the store has been closed") == 1


def test_reporting_an_error_that_is_logged_itself_comes_to_an_end(
    logs: Logs, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Logged(io.StringIO):
        """As programs have it that send what is printed to their log."""

        def write(self, text: str) -> int:
            if text.strip():
                logger.error("printed: %s", text.strip())
            return len(text)

    monkeypatch.setattr(sys, "stderr", Logged())
    slow, taken = held(logs)
    slow.may_write.set()
    slow.failures = [timestrata.IoError("the disk is gone")]
    handler = Handler(taken)
    logger.addHandler(handler)
    logger.info("%s", Hostile())
    logging.shutdown([weakref.ref(handler)])
    assert handler.dropped > 1
    assert len(slow.calls) == 1


def test_signal_handlers_and_finalizers_may_log(logs: Logs, logger: logging.Logger) -> None:
    handler = Handler(logs)
    logger.addHandler(handler)

    class Leaving:
        def __del__(self) -> None:
            logger.info("leaving")

    with handler._writer._changed:
        # As if it came while the queue is being changed.
        Leaving()
        gc.collect()
    assert messages(handler, logs) == ["leaving"]


def test_a_handler_that_nobody_has_any_more_lets_its_thread_go(logs: Logs) -> None:
    handler = Handler(logs)
    handler.handle(logging.makeLogRecord({"msg": "x"}))
    thread = handler._writer._thread
    gone = weakref.ref(handler)
    del handler
    gc.collect()
    assert gone() is None
    thread.join(60)
    assert not thread.is_alive()
    assert len(logs) == 1


def test_settings_that_make_no_sense_are_refused(logs: Logs) -> None:
    threads = threading.active_count()
    with pytest.raises(ValueError, match="capacity must be 1 or more, not 0"):
        Handler(logs, capacity=0)
    with pytest.raises(ValueError, match="flush_level 'loud'"):
        Handler(logs, flush_level="loud")
    with pytest.raises(ValueError, match="loud"):
        Handler(logs, level="loud")
    with pytest.raises(timestrata.InvalidArgumentError, match="label"):
        Handler(logs, labels={"a b": "c"})
    assert threading.active_count() == threads


EXITS = {
    "returns": "",
    "raises": "raise SystemExit(0)",
    "shuts down": "logging.shutdown()",
}


@pytest.mark.parametrize("store_first", [True, False])
@pytest.mark.parametrize("how", EXITS)
def test_what_is_queued_when_the_interpreter_exits_is_written(
    path: Path, child: ChildOf, how: str, store_first: bool
) -> None:
    imports = ["import timestrata, timestrata.logging", "import logging"]
    process = child(
        f"""
        {'; '.join(imports if store_first else reversed(imports))}
        import sys
        store = timestrata.open(sys.argv[1])
        handler = timestrata.logging.Handler(store.logs("app"))
        logging.basicConfig(handlers=[handler], level=logging.INFO)
        for n in range(5_000):
            logging.info("%d", n)
        {EXITS[how]}
        """,
        path,
    )
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    with timestrata.open(path) as store:
        assert store.recovery.clean
        assert [entry.message for entry in store.logs("app").search()] == [str(n) for n in range(5_000)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_logs_nothing_and_says_so_once(path: Path, child: ChildOf) -> None:
    process = child(
        """
        import logging, os, sys, threading, timestrata, timestrata.logging, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        with timestrata.open(sys.argv[1]) as store:
            handler = timestrata.logging.Handler(store.logs("app"))
            logging.basicConfig(handlers=[handler], level=logging.INFO)
            ended = threading.Event()
            def log():
                while not ended.is_set():
                    logging.info("from a thread")
            thread = threading.Thread(target=log)
            thread.start()
            for _ in range(20):
                # The queue may be changing right now.
                pid = os.fork()
                if pid == 0:
                    logging.info("from the child")
                    logging.critical("from the child")
                    handler.flush()
                    print("child goes on")
                    sys.exit(0)
                assert os.waitpid(pid, 0)[1] == 0
            ended.set()
            thread.join()
            handler.flush()
            logging.info("still here")
            handler.close()
        """,
        path,
    )
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output) == (0, "child goes on\n" * 20)
    assert errors.count("ForkedError: the handler of logging writes to a store") == 20
    with timestrata.open(path) as store:
        found = {entry.message for entry in store.logs("app").search("from")}
        assert found == {"from a thread"}
        assert store.logs("app").count("still") == 1
