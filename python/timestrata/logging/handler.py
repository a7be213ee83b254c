"""The handler: records in, entries on their way."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from timestrata.logging.records import Entry, entry_of, record_of, unformatted_entry_of
from timestrata.logging.stores import shared
from timestrata.logging.writer import Writer

if TYPE_CHECKING:
    from timestrata._timestrata import Logs

__all__ = ["Handler"]


class Handler(logging.Handler):
    """Writes records of Python's ``logging`` to a log, without holding up who logs unless that is asked for.

    Records are queued, and a daemon thread writes them in batches, each as one commit. What finds the
    queue full is dropped and counted, and an entry of level "warn" says so in the log, at the place
    where they are missing; with ``block`` whoever logs waits for room. What can't be written is reported as ``logging`` reports errors
    (``logging.raiseExceptions``), once until something can be written again.

    An entry has the record's level, its message with the arguments in it, its time as ``source_time``,
    and fields: logger, module, function, line, process, thread, task (of asyncio), level_name (where it
    is none of logging's own), exception (with its traceback), stack_info, and all that was given as
    ``extra``, which wins over these. What is no plain data is put in as text. A formatter is asked for
    the text of exceptions only: what it would add to the message are fields. A record that can't be
    formatted is reported, and written with its arguments beside it. Of structlog's records the event is the
    message and all else of its dict are fields; what loguru has bound are fields too.

    With ``path`` it opens the store itself, or shares it with other handlers of this process that have the same, and the last of them closes it:
    so plain data is enough to describe one, as for ``logging.config.dictConfig``.

    Close it before its store. At the interpreter's exit, and by ``logging.shutdown``, what is queued is
    written before stores are closed. In a child process after a fork it writes nothing: the store is the
    parent's.

    Parameters
    ----------
    logs : Logs, optional
        The log to write to. Else ``path`` is needed.
    path : str or os.PathLike, optional
        The directory of a store, made if it is missing. Nobody else may write to it meanwhile.
    log : str, optional
        The name of the log in that store, made if it is missing.
    level : int or str, optional
        Records below it are not handled.
    capacity : int, optional
        Records that are queued at most.
    block : bool or float, optional
        Whether whoever logs waits while the queue is full: not at all, as long as it takes, or so many seconds. What an error that is being
        reported logs doesn't wait.
    labels : mapping of str to str, optional
        What its entries have besides the labels of ``logs``.
    sync : bool, optional
        Whether each batch must survive a power cut before the next one is written.
    flush_level : int, str or None, optional
        Whoever logs a record of this level or above waits until it is written: the process may be about
        to end. None: nobody waits.
    engine_events : bool, optional
        Whether what stores say of their own work (records of ``timestrata.flush`` and other loggers, which
        have ``is_engine_event``) is written too. To write it may be what the store says next: so only for a log of another store.

    Examples
    --------
    >>> import logging, timestrata, timestrata.logging
    >>> store = timestrata.open()
    >>> handler = timestrata.logging.Handler(store.logs("app"), level=logging.INFO)
    >>> handler.handle(logging.makeLogRecord({"levelno": 30, "msg": "%s is full", "args": ("disk",)}))
    True
    >>> handler.close()
    >>> [entry.message for entry in store.logs("app").search()]
    ['disk is full']

    From plain data:

    >>> import logging.config, tempfile
    >>> directory = tempfile.mkdtemp()
    >>> handler = {"class": "timestrata.logging.Handler", "path": directory, "log": "app", "level": "INFO"}
    >>> doors = {"handlers": ["store"], "level": "INFO", "propagate": False}
    >>> config = {"version": 1, "handlers": {"store": handler}, "loggers": {"example.gates": doors}}
    >>> logging.config.dictConfig({**config, "disable_existing_loggers": False})
    >>> logging.getLogger("example.gates").info("opened")
    >>> logging.getLogger("example.gates").handlers[0].close()
    >>> timestrata.open(directory, mode="r").logs("app").count()
    1
    """

    def __init__(
        self,
        logs: Logs | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        log: str = "logs",
        level: int | str = logging.NOTSET,
        capacity: int = 10_000,
        block: bool | float = False,
        labels: Mapping[str, str] | None = None,
        sync: bool = False,
        flush_level: int | str | None = logging.CRITICAL,
        engine_events: bool = False,
    ) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be 1 or more, not {capacity}")
        if not isinstance(block, bool) and not block >= 0:
            raise ValueError(f"block must be True, False or a number of seconds from 0 on, not {block}")
        self._engine_events = engine_events
        self._flush_level = None if flush_level is None else _number_of(flush_level)
        super().__init__(level)
        logs, release = _log_of(logs, path, log)
        try:
            logs = logs if labels is None else logs.with_labels(labels)
        except Exception:
            release()
            raise
        self._reporting = threading.local()
        this = weakref.ref(self)

        def report(entry: Entry) -> None:
            handler = this()
            if handler is not None:
                handler.handleError(record_of(entry))

        self._writer = Writer(logs, capacity, sync, report, block=block, at_end=release)
        # The thread doesn't keep a handler that nobody has any more, and has nothing to do without it.
        # At exit handlers are closed in another way, and at another time.
        weakref.finalize(self, self._writer.end).atexit = False

    @property
    def dropped(self) -> int:
        """How many records were not written, and won't be."""
        return self._writer.dropped

    def createLock(self) -> None:
        """Make no lock: what threads share is the queue, which has its own.

        ``logging.shutdown`` holds a handler's lock while it flushes, and the thread that it waits for may
        have an error to report, which may be logged again.
        """
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Queue a record, unless a filter refuses it; wait for it from ``flush_level`` on."""
        if not self._engine_events and getattr(record, "is_engine_event", False):
            return False
        wanted = self.filter(record)
        if not wanted:
            return False
        # Filters may give another in its place.
        record = wanted if isinstance(wanted, logging.LogRecord) else record
        self.emit(record)
        # A record that was made by hand may have no level.
        if self._flush_level is not None and (record.levelno or 0) >= self._flush_level:
            self.flush()
        return True

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record. Doesn't wait for the log, but for room where ``block`` says so."""
        if getattr(self._reporting, "is_under_way", False):
            # What reporting an error logs would be an error again, and so for ever.
            self._writer.drop()
            return
        try:
            self._writer.put(self._entry_of(record))
        except RecursionError:
            # As all handlers do: there is no room to report it.
            raise
        except Exception:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Report the error that is being handled, as ``logging.raiseExceptions`` says."""
        self._reporting.is_under_way = True
        try:
            super().handleError(record)
        finally:
            self._reporting.is_under_way = False

    def flush(self) -> None:
        """Wait until what was logged before is written."""
        self._writer.flush()

    def close(self) -> None:
        """Write what is queued and end the thread. Later records are dropped. Fine to call twice."""
        self._writer.close()
        super().close()

    def _entry_of(self, record: logging.LogRecord) -> Entry:
        try:
            return entry_of(record, self.formatter)
        except RecursionError:
            raise
        except Exception as error:
            self.handleError(record)
            return unformatted_entry_of(record, error)


def _log_of(
    logs: Logs | None, path: str | os.PathLike[str] | None, name: str
) -> tuple[Logs, Callable[[], None]]:
    """Give the log, and what is to be called when it is not needed any more."""
    if isinstance(logs, (str, os.PathLike)):
        raise TypeError(f"logs must be a log of an open store, not {logs!r}: for a directory say path=..., log=...")
    if (logs is None) == (path is None):
        raise TypeError("a handler has either logs, a log of an open store, or path, the directory of one")
    if logs is not None:
        return logs, lambda: None
    assert path is not None
    store, release = shared(path)
    try:
        return store.logs(name), release
    except Exception:
        release()
        raise


def _number_of(level: int | str) -> int:
    if isinstance(level, int):
        return level
    try:
        return logging.getLevelNamesMapping()[level]
    except KeyError:
        raise ValueError(f"flush_level {level!r}: there is no such level") from None
