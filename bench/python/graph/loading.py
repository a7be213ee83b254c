"""A million edges in, and from opening what was closed to the end of its first walk."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import timestrata

from bench.python.common.race import OURS, race
from bench.python.common.run import Run
from bench.python.graph import sides
from bench.python.graph.data import Shape
from bench.python.graph.reading import KUZU_HOPS, THREE_HOPS, scalar

MAKERS: dict[str, Callable[[Path, Shape], int]] = {
    OURS: sides.store,
    "SQLite": sides.sqlite,
    "kuzu": sides.in_kuzu,
}


def load(run: Run, shape: Shape) -> None:
    # What each takes is at hand before.
    assert shape.arrow.num_rows == shape.numbers.num_rows == len(shape.rows)
    works = {
        side: lambda side=side, make=make: make(run.dir / "load" / side, shape)
        for side, make in MAKERS.items()
    }
    aims = dict.fromkeys(works, 1.0)
    note = "from columns or rows in memory to a durable graph that is closed; edges both ways"
    race(run, f"load, {shape.title}", shape.edges, works, aims, unit="edge/s", rounds=5, note=note)


def reopen(run: Run, shape: Shape) -> None:
    """Each side in a copy that nobody else has open; the pages are in memory for all."""
    folder, start = run.dir / "load", shape.busiest()
    first = shape.ids()[start]
    for side, make in MAKERS.items():
        if not (folder / side).exists():
            make(folder / side, shape)

    def ours() -> int:
        with timestrata.open(folder / OURS) as store:
            return len(store.graph("graph").walk(first, depth=3))

    def sqlite() -> int:
        with sqlite3.connect(folder / "SQLite") as connection:
            return int(connection.execute(THREE_HOPS, (start,)).fetchone()[0])

    def in_kuzu() -> int:
        connection = sides.kuzu_connection(folder / "kuzu")
        count = 1 + scalar(connection, KUZU_HOPS.format(depth=3), start)
        connection.close()
        return count

    works: dict[str, Callable[[], Any]] = {OURS: ours, "SQLite": sqlite, "kuzu": in_kuzu}
    aims = {"kuzu": 1.0}
    name = f"reopen to the end of the first walk, {shape.title}"
    race(run, name, 1, works, aims, unit="1/s", rounds=7, note="3 hops from the busiest node")
    shutil.rmtree(folder)
