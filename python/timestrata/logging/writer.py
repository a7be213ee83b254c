"""A bounded queue of entries, and the thread that writes them.

Whoever puts an entry doesn't wait for the log, unless that is asked for: what finds the queue full is counted, and the log is told
once there is room again. So is what can't be written.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

# The store's own end at the interpreter's exit is registered by this import, so that ours, which is
# registered after it, comes first: what is queued is written before stores are closed.
from timestrata.errors import BusyError, ClosedError, ForkedError, TimestrataError
from timestrata.logging.records import Entry, shortened

if TYPE_CHECKING:
    from timestrata._timestrata import Logs

__all__ = ["Writer"]

#: Entries of one commit, and characters of their messages at which it is enough.
_BATCH_ENTRIES = 512
_BATCH_CHARACTERS = 4 << 20
#: How long the thread waits before it tries again while the store's flushes are behind, and for how
#: long it tries once it should end.
_BUSY_SECONDS = 0.05
_BUSY_SECONDS_AT_END = 5.0
#: How often somebody who waits for the thread looks whether it is still there.
_LOOK_SECONDS = 0.1

#: Told of an error while it is handled, with the entry that it concerns.
Report: TypeAlias = Callable[[Entry], None]


class _Gap:
    """So many entries are missing at this place."""

    def __init__(self, reason: str) -> None:
        self.entries = 0
        self._reason = reason

    def entry(self) -> Entry:
        """Give the entry that says so."""
        return {
            "message": f"{self.entries} log records were dropped: {self._reason}",
            "level": "warn",
            "source_time": time.time_ns(),
            "fields": {"logger": "timestrata.logging", "dropped": self.entries},
        }


_Item: TypeAlias = Entry | _Gap


class Writer:
    """Writes entries to a log in a thread of its own, batch by batch."""

    def __init__(
        self,
        logs: Logs,
        capacity: int,
        sync: bool,
        report: Report,
        *,
        block: bool | float = False,
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._logs = logs
        self._capacity = capacity
        self._sync = sync
        self._report = report
        #: How long to wait for room, in seconds, and how many do.
        self._wait_seconds = float("inf") if block is True else float(block)
        self._waiting = 0
        self._at_end = at_end
        # Whether the thread waits for entries, and is to be told of one.
        self._is_idle = False
        # Its lock may be taken again by the thread that has it: signal handlers and finalizers log too.
        self._changed = threading.Condition()
        self._queue: deque[_Item] = deque()
        self._queued = 0
        #: Items that were ever queued, and those of them that the thread is done with.
        self._put = 0
        self._done = 0
        self._dropped = 0
        self._end: TimestrataError | None = None
        self._ends_by = 0.0
        self._end_is_told = False
        # The thread's own: what could not be written and was not said yet, and whether somebody knows.
        self._unwritten = _Gap("they could not be written")
        self._is_failing = False
        self._thread = threading.Thread(target=self._run, name="timestrata-logging", daemon=True)
        self._thread.start()
        _writers.add(self)

    @property
    def dropped(self) -> int:
        """Entries that were not written, and won't be."""
        return self._dropped

    def put(self, entry: Entry) -> None:
        """Queue an entry, once there is room if that is to be waited for, or count that it was dropped.

        Raises
        ------
        ClosedError, ForkedError
            Nothing is written any more. Told once; later entries are counted.
        """
        with self._changed:
            if self._queued >= self._capacity and self._wait_seconds:
                self._await_room()
            if self._end is not None:
                self._dropped += 1
                if not self._end_is_told:
                    self._end_is_told = True
                    raise self._end
            elif self._queued >= self._capacity:
                self._drop()
            else:
                self._queued += 1
                self._append(entry)

    def _await_room(self) -> None:
        # The thread that makes room may not wait for it.
        if threading.current_thread() is self._thread:
            return
        until = time.monotonic() + self._wait_seconds
        self._waiting += 1
        try:
            while self._queued >= self._capacity and self._end is None and self._thread.is_alive():
                left = until - time.monotonic()
                if left <= 0:
                    return
                self._changed.wait(min(left, _LOOK_SECONDS))
        finally:
            self._waiting -= 1

    def drop(self) -> None:
        """Count an entry that is not to be written."""
        with self._changed:
            self._dropped += 1

    def flush(self) -> None:
        """Wait until what was put before is written."""
        if threading.current_thread() is self._thread:
            return
        with self._changed:
            put = self._put
            while self._done < put and self._thread.is_alive():
                self._changed.wait(_LOOK_SECONDS)

    def end(self) -> None:
        """Have the thread end once it has written what was put, without waiting for it."""
        with self._changed:
            if self._end is None:
                self._end = ClosedError("the handler of logging has been closed")
                self._ends_by = time.monotonic() + _BUSY_SECONDS_AT_END
                self._changed.notify_all()

    def close(self) -> None:
        """Take no more entries, and wait until those that were put are written."""
        self.end()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def after_fork_in_child(self) -> None:
        """Forget what is the parent's: the thread isn't here, and the store may not be used here."""
        # Whoever had the lock in the parent isn't here either.
        self._changed = threading.Condition()
        self._queue.clear()
        self._queued = 0
        self._waiting = 0
        self._done = self._put
        if self._end is None:
            self._end = ForkedError(
                "the handler of logging writes to a store that the parent process opened",
                hint="open stores, and make handlers for them, after the fork",
            )

    def _append(self, item: _Item) -> None:
        # Whether the queue was empty says too little: a signal handler or a finalizer that logs may come in between, and wait
        # until the thread has taken all.
        self._queue.append(item)
        self._put += 1
        if self._is_idle:
            self._changed.notify_all()

    def _drop(self) -> None:
        self._dropped += 1
        last = self._queue[-1] if self._queue else None
        if not isinstance(last, _Gap):
            last = _Gap("the queue was full")
            self._append(last)
        last.entries += 1

    def _run(self) -> None:
        try:
            while batch := self._take():
                self._write(batch)
                with self._changed:
                    self._done += len(batch)
                    self._changed.notify_all()
        finally:
            self._at_end()

    def _take(self) -> list[_Item]:
        """Give what is written next; nothing at the end."""
        batch: list[_Item] = []
        characters = 0
        with self._changed:
            while not self._queue and self._end is None:
                self._is_idle = True
                self._changed.wait()
            self._is_idle = False
            while self._queue and len(batch) < _BATCH_ENTRIES and characters < _BATCH_CHARACTERS:
                item = self._queue.popleft()
                batch.append(item)
                if not isinstance(item, _Gap):
                    self._queued -= 1
                    characters += len(item["message"])
            if self._waiting:
                self._changed.notify_all()
        return batch

    def _write(self, items: list[_Item]) -> None:
        if self._unwritten.entries:
            items = [self._unwritten, *items]
            self._unwritten = _Gap("they could not be written")
        self._write_all(items)

    def _write_all(self, items: list[_Item]) -> None:
        """Write what can be written of some items, as few commits."""
        try:
            self._commit([_entry(item) for item in items])
        except (TypeError, ValueError, OverflowError):
            # One of them is none that the log takes.
            pass
        except Exception:
            self._lose(items)
            return
        else:
            self._is_failing = False
            return
        if len(items) > 1:
            half = len(items) // 2
            self._write_all(items[:half])
            self._write_all(items[half:])
            return
        try:
            # Mostly it is too long.
            self._commit([shortened(_entry(items[0]), self._logs.message_bytes_max)])
        except Exception:
            self._lose(items)

    def _commit(self, entries: list[Entry]) -> None:
        while True:
            try:
                self._logs.write_many(entries, sync=self._sync)
                return
            except BusyError:
                # Nothing was written, and later it may be. Meanwhile the queue takes what comes.
                if self._end is not None and time.monotonic() >= self._ends_by:
                    raise
            time.sleep(_BUSY_SECONDS)

    def _lose(self, items: list[_Item]) -> None:
        """Count items that could not be written, and report the error that is being handled."""
        with self._changed:
            for item in items:
                if isinstance(item, _Gap):
                    # Those it stands for are counted.
                    self._unwritten.entries += item.entries
                else:
                    self._unwritten.entries += 1
                    self._dropped += 1
        if self._is_failing:
            # Once, until something is written again: a log that takes nothing would fill the screen.
            return
        self._is_failing = True
        with contextlib.suppress(Exception):
            # Whoever reports may not end the thread.
            self._report(_entry(items[-1]))


def _entry(item: _Item) -> Entry:
    return item.entry() if isinstance(item, _Gap) else item


_writers: weakref.WeakSet[Writer] = weakref.WeakSet()


def _close_all() -> None:
    for writer in list(_writers):
        writer.close()


def _after_fork_in_child() -> None:
    for writer in list(_writers):
        writer.after_fork_in_child()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
