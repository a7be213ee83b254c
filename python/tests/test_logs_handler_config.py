"""Handlers of ``logging`` that plain data describes, that wait for room, and that other loggers give their records."""

import logging
import logging.config
import threading
from pathlib import Path
from typing import Any

import pytest
from waiting import until

import timestrata
from timestrata import LogEntry, Logs, Store
from timestrata.logging import Handler

# Waiting for room


class Slow:
    """A log that writes a batch each time it is let."""

    def __init__(self, logs: Logs) -> None:
        self.logs = logs
        self.may_write = threading.Semaphore(0)

    @property
    def message_bytes_max(self) -> int:
        return self.logs.message_bytes_max

    def write_many(self, entries: list[Any], sync: bool = False) -> range:
        assert self.may_write.acquire(timeout=60)
        return self.logs.write_many(entries, sync=sync)


def handler_of(log: Slow, **options: Any) -> tuple[Handler, logging.Logger]:
    handler = Handler(log, **options)  # type: ignore[arg-type]
    logger = logging.Logger("test.logger", logging.DEBUG)
    logger.addHandler(handler)
    return handler, logger


def messages(log: Logs) -> list[str]:
    return [entry.message for entry in log.search(limit=1_000_000)]


def test_who_logs_waits_for_room_where_that_is_asked_for_and_nothing_is_dropped(store: Store) -> None:
    log = Slow(store.logs("app"))
    handler, logger = handler_of(log, capacity=3, block=True)
    threads = [
        threading.Thread(target=lambda first=first: [logger.info("%d", first + number) for number in range(50)])
        for first in (0, 50, 100, 150)
    ]
    for thread in threads:
        thread.start()
    until(lambda: handler._writer._waiting == 4)
    for _ in range(200):
        log.may_write.release()
    for thread in threads:
        thread.join(60)
    handler.close()
    assert handler.dropped == 0
    assert sorted(int(message) for message in messages(log.logs)) == list(range(200))


def test_who_has_waited_as_long_as_was_said_goes_on_and_the_record_is_counted(store: Store) -> None:
    log = Slow(store.logs("app"))
    handler, logger = handler_of(log, capacity=1, block=0.05)
    for number in range(4):
        logger.info("%d", number)
    assert handler.dropped >= 1
    for _ in range(10):
        log.may_write.release()
    handler.close()
    assert any("log records were dropped: the queue was full" in message for message in messages(log.logs))


def test_who_waits_for_room_is_let_go_when_the_handler_is_closed(store: Store) -> None:
    log = Slow(store.logs("app"))
    handler, logger = handler_of(log, capacity=1, block=True)
    waits = threading.Thread(target=lambda: [logger.info("%d", number) for number in range(4)])
    waits.start()
    until(lambda: handler._writer._waiting == 1)
    closes = threading.Thread(target=handler.close)
    closes.start()
    waits.join(60)
    assert not waits.is_alive()
    for _ in range(10):
        log.may_write.release()
    closes.join(60)
    assert not closes.is_alive()


@pytest.mark.parametrize("block", [-1, float("nan"), -0.5])
def test_a_wait_that_is_none_is_refused(store: Store, block: float) -> None:
    with pytest.raises(ValueError, match="block must be True, False or a number of seconds"):
        Handler(store.logs("app"), block=block)


# Plain data


def config_of(path: Path, **more: Any) -> dict[str, Any]:
    handler = {"class": "timestrata.logging.Handler", "path": str(path), "log": "app", **more}
    logger = {"handlers": ["store"], "level": "DEBUG", "propagate": False}
    return {"version": 1, "disable_existing_loggers": False, "handlers": {"store": handler}, "loggers": {"test.plain": logger}}


def end(*names: str) -> None:
    for name in names:
        for handler in logging.getLogger(name).handlers[:]:
            handler.close()
            logging.getLogger(name).removeHandler(handler)


def test_a_dict_of_plain_data_describes_a_handler(tmp_path: Path) -> None:
    path = tmp_path / "logs.store"
    logging.config.dictConfig(config_of(path, level="WARNING", labels={"service": "shop"}, capacity=100, sync=True))
    logging.getLogger("test.plain").info("not this")
    logging.getLogger("test.plain").warning("disk %s", "full")
    end("test.plain")
    with timestrata.open(path, mode="r") as store:
        [entry] = store.logs("app").search()
        assert (entry.message, entry.level, entry.labels) == ("disk full", "warn", {"service": "shop"})


def test_handlers_of_one_directory_share_its_store_and_the_last_one_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "logs.store"
    first, second = Handler(path=path, log="a"), Handler(path=f"{tmp_path}/./logs.store", log="b")
    for handler, name in ((first, "a"), (second, "b")):
        handler.handle(logging.makeLogRecord({"levelno": 20, "msg": f"to {name}"}))
    first.close()
    first.close()
    with pytest.raises(timestrata.LockedError):
        timestrata.open(path)
    second.handle(logging.makeLogRecord({"levelno": 20, "msg": "more"}))
    second.close()
    with timestrata.open(path) as store:
        assert messages(store.logs("a")) == ["to a"]
        assert messages(store.logs("b")) == ["to b", "more"]
    # And again, behind the last one.
    third = Handler(path=path, log="a")
    third.close()


def test_a_handler_that_nobody_has_any_more_lets_go_of_its_store(tmp_path: Path) -> None:
    path = tmp_path / "logs.store"
    handler = Handler(path=path, log="app")
    handler.handle(logging.makeLogRecord({"levelno": 20, "msg": "kept"}))
    thread = handler._writer._thread
    del handler
    thread.join(60)
    with timestrata.open(path) as store:
        assert messages(store.logs("app")) == ["kept"]


def test_what_describes_no_log_is_refused_and_leaves_no_store_open(store: Store, tmp_path: Path) -> None:
    for wrong in ({}, {"logs": store.logs("app"), "path": tmp_path / "x"}):
        with pytest.raises(TypeError, match="either logs, a log of an open store, or path"):
            Handler(**wrong)
    with pytest.raises(TypeError, match=r"not 'app': for a directory say path="):
        Handler("app")  # type: ignore[arg-type]
    path = tmp_path / "logs.store"
    with pytest.raises(timestrata.InvalidArgumentError):
        Handler(path=path, log="no/such name")
    with pytest.raises(timestrata.InvalidArgumentError):
        Handler(path=path, labels={"": "x"})
    timestrata.open(path).close()
    with pytest.raises(ValueError, match="Unable to configure handler"):
        logging.config.dictConfig(config_of(path, log="no/such name"))
    timestrata.open(path).close()


# Records of other loggers


def entries_of(logs: Logs, handler: Handler) -> list[LogEntry]:
    handler.flush()
    return logs.search()


def test_records_of_structlog_have_its_event_and_its_values(store: Store) -> None:
    structlog = pytest.importorskip("structlog")
    logs = store.logs("app")
    handler = Handler(logs)
    logger = logging.Logger("test.structlog", logging.DEBUG)
    logger.addHandler(handler)
    shared = [structlog.stdlib.add_log_level, structlog.contextvars.merge_contextvars]
    for last in (structlog.stdlib.ProcessorFormatter.wrap_for_formatter, structlog.stdlib.render_to_log_kwargs):
        bound = structlog.wrap_logger(logger, processors=[*shared, last], wrapper_class=structlog.stdlib.BoundLogger)
        bound.bind(user="ada").warning("sold", item={"name": "lamp", "price": 12.5})
    for entry in entries_of(logs, handler):
        assert (entry.message, entry.level) == ("sold", "warn")
        own = {"logger", "module", "function", "line", "process", "thread"}
        said = {name: value for name, value in entry.fields.items() if name not in own}
        assert said == {"user": "ada", "item": {"name": "lamp", "price": 12.5}}
    assert logs.count() == 2
    handler.close()


def test_records_of_loguru_have_what_was_bound_and_an_exception_once(store: Store) -> None:
    loguru = pytest.importorskip("loguru")
    logs = store.logs("app")
    handler = Handler(logs)
    loguru.logger.remove()
    number = loguru.logger.add(handler, format="{message}", level="TRACE")
    loguru.logger.bind(user="ada", extra="own").warning("sold {}", 3)
    try:
        raise KeyError("lamp")
    except KeyError:
        loguru.logger.exception("not sold")
    first, second = entries_of(logs, handler)
    loguru.logger.remove(number)
    assert (first.message, first.level) == ("sold 3", "warn")
    assert (first.fields["user"], first.fields["extra"]) == ("ada", "own")
    assert (second.message, second.level) == ("not sold", "error")
    assert second.fields["exception"].endswith("KeyError: 'lamp'") and "extra" not in second.fields
    handler.close()


def test_what_else_is_called_extra_stays_as_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(__import__("sys").modules, "loguru", raising=False)
    logs = store.logs("app")
    handler = Handler(logs)
    handler.handle(logging.makeLogRecord({"levelno": 20, "msg": {"no": "event"}, "extra": {"a": 1}}))
    [entry] = entries_of(logs, handler)
    assert (entry.message, entry.fields["extra"]) == ("{'no': 'event'}", {"a": 1})
    handler.close()
