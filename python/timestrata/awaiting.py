"""Await forms: calls that may take a while, made in threads, so that no event loop is held up.

All of them go through here, embedded and over a server: `rows` for what only reads, `write` for what changes something,
`next_record` and `next_followed` for ``async for``. The threads are this module's own, and bounded, so that a program's
other calls to `asyncio.to_thread` wait for none of them.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from timestrata._timestrata import Rows, _Asking

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["enter", "next_followed", "next_record", "rows", "wait", "write"]

_Given = TypeVar("_Given", covariant=True)
_Result = TypeVar("_Result")

# Calls that are under way at once. Others wait for their turn: each goes on by itself.
_CALLS_MAX = 32
# Those who wait for something to come, each for a moment at a time.
_WAITS_MAX = 32
# How long a thread waits for what may come; who follows a server says another time.
_WAIT_SECONDS = 0.1


class Followed(Protocol[_Given]):
    """What can be followed: it reads ahead, and gives what is there."""

    def _fill(self, seconds: float) -> bool: ...
    def _take(self) -> _Given | None: ...


class FollowedUntilIdle(Followed[_Given], Protocol[_Given]):
    """The same of what ends when nothing came for a while."""

    @property
    def idle_timeout(self) -> float | None: ...


class Entered(Protocol):
    """What has a block of its own."""

    def __enter__(self) -> Self: ...


class _Threads:
    """Threads for calls, and for waits. In a child of the process there are none yet."""

    def __init__(self) -> None:
        self.begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        self.calls = ThreadPoolExecutor(_CALLS_MAX, thread_name_prefix="timestrata-await")
        self.waits = ThreadPoolExecutor(_WAITS_MAX, thread_name_prefix="timestrata-follow")


_threads = _Threads()


def _begin(threads: ThreadPoolExecutor, call: Callable[[], _Result]) -> Future[_Result]:
    return threads.submit(contextvars.copy_context().run, call)


async def write(call: Callable[..., _Result], /, *given: Any, **named: Any) -> _Result:
    """Make a call that changes something. A task that is cancelled waits for the end of a call that has begun.

    So whoever goes on knows that nothing is being written any more. What was acknowledged is kept; nobody is told then
    what the call gave.
    """
    future = _begin(_threads.calls, functools.partial(call, *given, **named))
    ended = asyncio.wrap_future(future)
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        if not future.cancel():
            await _end(ended)
        raise


async def _end(ended: asyncio.Future[Any]) -> None:
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            # It was asked for already, and is done once the call has ended.
            continue
    if not ended.cancelled():
        # Looked at, so that nobody is told that nobody did.
        ended.exception()


async def rows(ask: Callable[..., Rows], /, *given: Any, **named: Any) -> Rows:
    """Ask for rows and read all of them. A task that is cancelled ends the query, within a moment."""
    return await wait(lambda: ask(*given, **named)._read())


async def wait(call: Callable[[], _Result], /) -> _Result:
    """Make a call that only reads. A task that is cancelled gives it up."""
    return await _given_up_on_cancel(_threads.calls, call)


async def _given_up_on_cancel(threads: ThreadPoolExecutor, call: Callable[[], _Result]) -> _Result:
    asking = _Asking(call)
    made: Callable[[], _Result] = asking.run
    try:
        return await asyncio.wrap_future(_begin(threads, made))
    except asyncio.CancelledError:
        asking.give_up()
        raise


async def _fill(followed: Followed[Any]) -> bool:
    # Only the waiting is done in a thread: a task that is cancelled loses nothing.
    seconds = getattr(followed, "_wait_seconds", _WAIT_SECONDS)
    return await _given_up_on_cancel(_threads.waits, functools.partial(followed._fill, seconds))


async def next_followed(followed: Followed[_Result]) -> _Result:
    """Give the next one of what is followed; what ``async for`` calls."""
    while True:
        given = followed._take()
        if given is not None:
            return given
        if not await _fill(followed):
            raise StopAsyncIteration


async def next_record(consumer: FollowedUntilIdle[_Result]) -> _Result:
    """The same of a consumer, which goes on until nothing came for its ``idle_timeout``."""
    idle = consumer.idle_timeout
    end = None if idle is None else time.monotonic() + idle
    while True:
        given = consumer._take()
        if given is not None:
            return given
        if end is not None and time.monotonic() >= end:
            raise StopAsyncIteration
        await _fill(consumer)


async def enter(block: Entered) -> Entered:
    """Enter a block; what ``async with`` calls."""
    return block.__enter__()
