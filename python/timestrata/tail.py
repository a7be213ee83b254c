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
    log in order of time has passed its place. Ends when the log is closed.
    """

    def __init__(self, log: Timelog, since: int | None, interval: float) -> None:
        if interval <= 0:
            raise ValueError(f"interval must be > 0, not {interval}")
        self._log = log
        self._interval = interval
        self._entries: deque[tuple[int, Any]] = deque()
        self._last = since
        self._given_at_last = 0
        if since is None:
            self._last = log.max_ts()
            self._given_at_last = 0 if self._last is None else len(log.at(self._last))

    def __aiter__(self) -> Tail:
        return self

    async def __anext__(self) -> tuple[int, Any]:
        while not self._entries:
            try:
                self._read()
            except (ClosedError, TimelogError):
                raise StopAsyncIteration from None
            if not self._entries:
                await asyncio.sleep(self._interval)
        return self._entries.popleft()

    def _read(self) -> None:
        entries = self._log[self._last :]
        # Those at the last timestamp keep their order, so the ones given are the first.
        entries.next_batch(self._given_at_last)
        for time, value in entries.next_batch(_BATCH_ENTRIES):
            self._given_at_last = self._given_at_last + 1 if time == self._last else 1
            self._last = time
            self._entries.append((time, value))
        entries.close()
