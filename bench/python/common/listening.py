"""Servers that run beside a benchmark, as processes of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def address(line: bytes) -> tuple[str, int]:
    """Host and port, which end the line in which a server tells them."""
    host, _, port = line.decode().split()[-1].rpartition("/")[2].partition(":")
    return host, int(port)


@contextmanager
def listening_on(command: list[str | Path], addresses: int) -> Iterator[list[tuple[str, int]]]:
    """Where a server listens that tells so in its first lines, each with an address."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        if child.stderr is None:
            raise RuntimeError("no stderr")
        try:
            # What it logs after that is not of interest, and must not fill the pipe.
            yield [address(child.stderr.readline()) for _ in range(addresses)]
        finally:
            child.terminate()


@contextmanager
def listening(command: list[str | Path]) -> Iterator[tuple[str, int]]:
    """The same of a server with one address."""
    with listening_on(command, 1) as [one]:
        yield one
