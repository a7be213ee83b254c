"""Following a time log: ``async for time, value in log.tail(): ...``."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from timestrata.errors import ClosedError, TimelogError

if TYPE_CHECKING:
    from timestrata._timestrata import Timelog

__all__ = ["Tail"]

#: Entries that are read at once.
_BATCH_ENTRIES = 1024


class Tail(AsyncIterator[tuple[int, Any]]):
    """The entries of a time log as they come, in order of time. Made by `Timelog.tail`.

    An entry that comes late, before one that was given already, is not given: what follows a
    log in order of time has passed its place. Entries that come where others were deleted are
    new, unless they are equal to those. Ends when the log is closed.
    """

    def __init__(self, log: Timelog, since: int | None, interval: float) -> None:
        if interval <= 0:
            raise ValueError(f"interval must be > 0, not {interval}")
        self._log = log
        self._interval = interval
        self._entries: deque[tuple[int, Any]] = deque()
        self._last = since
        # Values at the last time that were given, in order. A range delete takes them all away,
        # and what comes at that time afterwards is new.
        self._given: list[Any] = []
        if since is None:
            self._last = log.max_ts()
            self._given = [] if self._last is None else list(log.at(self._last))

    def __aiter__(self) -> Tail:
        return self

    async def __anext__(self) -> tuple[int, Any]:
        while not self._entries:
            try:
                # Of a store that another process writes: what it has committed since.
                self._log._refresh()
                self._read()
            except (ClosedError, TimelogError):
                raise StopAsyncIteration from None
            if not self._entries:
                await asyncio.sleep(self._interval)
        return self._entries.popleft()

    def _read(self) -> None:
        entries = self._log[self._last :]
        # Those at the last timestamp keep their order, so the ones given are the first.
        first = entries.next_batch(len(self._given))
        if not self._is_given(first):
            self._given.clear()
            self._give(first)
        self._give(entries.next_batch(_BATCH_ENTRIES))
        entries.close()

    def _is_given(self, first: list[tuple[int, Any]]) -> bool:
        if len(first) < len(self._given):
            return False
        return all(
            time == self._last and _is_equal(value, given)
            for (time, value), given in zip(first, self._given, strict=False)
        )

    def _give(self, entries: list[tuple[int, Any]]) -> None:
        for time, value in entries:
            if time != self._last:
                self._last = time
                self._given.clear()
            self._given.append(value)
            self._entries.append((time, value))


def _is_equal(value: Any, given: Any) -> bool:
    if value is given:
        return True
    try:
        return bool(value == given)
    except Exception:
        # Arrays have no one answer. Of the same type and the same text, they are taken as equal.
        return type(value) is type(given) and repr(value) == repr(given)
