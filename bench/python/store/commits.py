"""One commit over five models, beside five commits of one model each, and beside one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Literal

import timestrata

from bench.python.common.race import OURS, latencies
from bench.python.common.run import Run

Durability = Literal["written", "synced"]
FLOOR_BYTES = 512


class Models:
    """A store with one of each model, which a number is written to."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.store = timestrata.open(folder)
        self.table = self.store.table("rooms")
        self.producer = self.store.topic("events").producer()
        self.log = self.store.logs("app")
        self.graph = self.store.graph("code")
        self.times = self.store.timelog("door")
        # The table gets its columns.
        self.table.append({"time": 1, "celsius": 1.0})
        self.numbers = count(2)

    def together(self, durability: Durability) -> None:
        number = next(self.numbers)
        with self.store.commit(durability=durability) as commit:
            commit.table("rooms").append({"time": number, "celsius": 1.0})
            commit.topic("events").send("measured")
            commit.logs("app").write("measured")
            commit.graph("code").put(f"block {number}")
            commit.timelog("door").append(number, "opened")

    def by_themselves(self, durability: Durability) -> None:
        number, is_synced = next(self.numbers), durability == "synced"
        self.table.append({"time": number, "celsius": 1.0}, sync=is_synced)
        self.producer.send("measured", durability=durability)
        self.log.write("measured", sync=is_synced)
        self.graph.put(f"block {number}", durability=durability)
        self.times.append(number, "opened", sync=is_synced)

    def one(self, durability: Durability) -> None:
        self.producer.send("measured", durability=durability)

    def close(self) -> None:
        self.store.close()


class Disk:
    """A write and its fdatasync, into blocks that are there."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(self.file, bytes(16 << 20))
        os.fsync(self.file)
        self.at = 0
        self.bytes = os.urandom(FLOOR_BYTES)

    def write(self, number: int) -> None:
        os.pwrite(self.file, self.bytes, self.at)
        os.fdatasync(self.file)
        self.at = (self.at + FLOOR_BYTES) % (16 << 20)

    def close(self) -> None:
        os.close(self.file)


def of_five(run: Run) -> None:
    run.dir.mkdir(parents=True, exist_ok=True)
    with closing(Models(run.dir / "five")) as models, closing(Disk(run.dir / "floor")) as disk:
        works: dict[str, Callable[[int], None]] = {
            OURS: lambda number: models.together("written"),
            "five commits": lambda number: models.by_themselves("written"),
        }
        samples = 200 if run.quick else 5_000
        latencies(
            run,
            "commit over five models, written",
            works,
            {"five commits": 2.0},
            samples,
            answer=lambda given: None,
            note="a row, a record, an entry, a block and a time log's entry",
        )
        works = {
            OURS: lambda number: models.together("synced"),
            "one commit": lambda number: models.one("synced"),
            "five commits": lambda number: models.by_themselves("synced"),
        }
        latencies(
            run,
            "commit over five models, synced",
            works,
            {"one commit": 1 / 1.1},
            100 if run.quick else 2_000,
            floor=disk.write,
            answer=lambda given: None,
            note="one is a record that a producer sends",
        )
