"""A side in a process of its own, which takes its own time, and stands still while others are asked.

Threads of an engine look for more work for a while after each answer, and all engines of a process share its heap: in one
process with DuckDB a scan of ours took 70 ms that takes 29 without. Here each side has what it would have in a program
that uses only it; what compares answers, and collects garbage before each turn, is the program that asks.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from bench.python.common.sample import Timed, timed

# Elsewhere there is no such signal: there the other side's threads come to rest by themselves.
CAN_STOP = sys.platform != "win32"


def _serve(calls: Connection, make: Callable[..., Any], given: tuple[Any, ...]) -> None:
    side = make(*given)
    calls.send((True, None))
    while True:
        try:
            method, given, options = calls.recv()
        except EOFError:
            return
        try:
            calls.send((True, Timed(*timed(partial(getattr(side, method), **options), *given))))
        except Exception as error:
            calls.send((False, (type(error).__name__, str(error))))


class ApartError(Exception):
    """What a side in a process of its own could not do; `kind` is the name of the error there."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Apart:
    """An object that was made, and is called, in a process of its own."""

    def __init__(self, make: Callable[..., Any], *given: Any) -> None:
        context = get_context("spawn")
        self._calls, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, given), daemon=True)
        self._process.start()
        theirs.close()
        self._given()

    def __call__(self, method: str, *given: Any, **options: Any) -> Timed:
        """What a method gives, and the seconds that it took there."""
        self._signal("SIGCONT")
        self._calls.send((method, given, options))
        return self._given()

    def close(self) -> None:
        self._calls.close()
        self._process.kill()
        self._process.join()

    def _given(self) -> Any:
        try:
            is_well, given = self._calls.recv()
        except EOFError:
            raise ApartError("EOFError", "the process of that side has ended") from None
        self._signal("SIGSTOP")
        if not is_well:
            raise ApartError(*given)
        return given

    def _signal(self, name: str) -> None:
        if CAN_STOP and self._process.pid is not None:
            os.kill(self._process.pid, getattr(signal, name))


@contextmanager
def apart(make: Callable[..., Any], *given: Any) -> Iterator[Apart]:
    """Such an object, whose process ends with the block."""
    side = Apart(make, *given)
    try:
        yield side
    finally:
        side.close()
