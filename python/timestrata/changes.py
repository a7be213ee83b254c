"""What changes have in Python itself: waiting for commits without holding up an event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timestrata._timestrata import Changes, CommittedChanges

__all__ = ["next_commit"]

# How long a thread waits for commits whose task may have been cancelled meanwhile.
_WAIT_SECONDS = 0.1


async def next_commit(changes: Changes) -> CommittedChanges:
    """Give the next commit that is followed; what ``async for`` calls.

    Only the waiting is done in a thread: a task that is cancelled loses no commit.
    """
    while True:
        commit = changes._take()
        if commit is not None:
            return commit
        if not await asyncio.to_thread(changes._fill, _WAIT_SECONDS):
            raise StopAsyncIteration
