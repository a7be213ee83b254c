"""What logs have in Python itself: waiting for entries without holding up an event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timestrata._timestrata import LogEntry, LogTail

__all__ = ["next_entry"]

# How long a thread waits for a tail whose task may have been cancelled meanwhile.
_WAIT_SECONDS = 0.1


async def next_entry(tail: LogTail) -> LogEntry:
    """Give the next entry that a tail follows; what ``async for`` calls.

    Only the waiting is done in a thread: a task that is cancelled loses no entry.
    """
    while True:
        entry = tail._take()
        if entry is not None:
            return entry
        if not await asyncio.to_thread(tail._fill, _WAIT_SECONDS):
            raise StopAsyncIteration
