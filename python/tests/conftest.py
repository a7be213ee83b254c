"""What the tests share: a store in memory, a store on disk, and child processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import timestrata

Child = subprocess.Popen[str]


@pytest.fixture
def store() -> Iterator[timestrata.Store]:
    with timestrata.open() as store:
        yield store


@pytest.fixture
def log(store: timestrata.Store) -> timestrata.Timelog:
    return store.timelog("log")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    """Starts Python on a program, with pipes; whatever is left of it is killed."""
    children: list[Child] = []

    def start(program: str, *arguments: object) -> Child:
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", textwrap.dedent(program), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        children.append(process)
        return process

    yield start
    for process in children:
        # Of what it forked nothing is left either: whoever holds its pipes would be waited for.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
