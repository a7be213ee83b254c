"""The handler: records in, entries on their way."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

from timestrata.logging.records import Entry, entry_of, record_of, unformatted_entry_of
from timestrata.logging.writer import Writer

if TYPE_CHECKING:
    from timestrata._timestrata import Logs

__all__ = ["Handler"]


class Handler(logging.Handler):
    """Writes records of Python's ``logging`` to a log, without ever holding up who logs.

    Records are queued, and a daemon thread writes them in batches, each as one commit. What finds the
    queue full is dropped and counted, and an entry of level "warn" says so in the log, at the place
    where they are missing. What can't be written is reported as ``logging`` reports errors
    (``logging.raiseExceptions``), once until something can be written again.

    An entry has the record's level, its message with the arguments in it, its time as ``source_time``,
    and fields: logger, module, function, line, process, thread, task (of asyncio), level_name (where it
    is none of logging's own), exception (with its traceback), stack_info, and all that was given as
    ``extra``, which wins over these. What is no plain data is put in as text. A formatter is asked for
    the text of exceptions only: what it would add to the message are fields. A record that can't be
    formatted is reported, and written with its arguments beside it.

    Close it before its store. At the interpreter's exit, and by ``logging.shutdown``, what is queued is
    written before stores are closed. In a child process after a fork it writes nothing: the store is the
    parent's.

    Parameters
    ----------
    logs : Logs
        The log to write to.
    level : int or str, optional
        Records below it are not handled.
    capacity : int, optional
        Records that are queued at most.
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
    """

    def __init__(
        self,
        logs: Logs,
        *,
        level: int | str = logging.NOTSET,
        capacity: int = 10_000,
        labels: Mapping[str, str] | None = None,
        sync: bool = False,
        flush_level: int | str | None = logging.CRITICAL,
        engine_events: bool = False,
    ) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be 1 or more, not {capacity}")
        self._engine_events = engine_events
        self._flush_level = None if flush_level is None else _number_of(flush_level)
        logs = logs if labels is None else logs.with_labels(labels)
        super().__init__(level)
        self._reporting = threading.local()
        this = weakref.ref(self)

        def report(entry: Entry) -> None:
            handler = this()
            if handler is not None:
                handler.handleError(record_of(entry))

        self._writer = Writer(logs, capacity, sync, report)
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
        """Queue a record. Doesn't wait for the log."""
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


def _number_of(level: int | str) -> int:
    if isinstance(level, int):
        return level
    try:
        return logging.getLevelNamesMapping()[level]
    except KeyError:
        raise ValueError(f"flush_level {level!r}: there is no such level") from None
