"""What topics have in Python itself: waiting for records without holding up an event loop."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timestrata._timestrata import Consumer, Record

__all__ = ["next_record"]

# How long a thread waits for a consumer whose task may have been cancelled meanwhile.
_WAIT_SECONDS = 0.1


async def next_record(consumer: Consumer) -> Record:
    """Give a consumer's next record; what ``async for`` calls.

    Only the waiting is done in a thread: a task that is cancelled loses no record.
    """
    idle = consumer.idle_timeout
    end = None if idle is None else time.monotonic() + idle
    while True:
        record = consumer._take()
        if record is not None:
            return record
        if end is not None and time.monotonic() >= end:
            raise StopAsyncIteration
        await asyncio.to_thread(consumer._fill, _WAIT_SECONDS)
