"""What is done to a store that is in use: checks, backups that are opened, pins, and a reader beside the writer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import timestrata
from bench.python.soak.loads.load import Load, Shared


class UpkeepLoad(Load):
    model = "store"
    share = 0.05

    def __init__(self, shared: Shared, folder: Path) -> None:
        super().__init__(shared)
        self.rate = 1 / shared.settings.upkeep / shared.settings.rate
        self.folder = folder
        self.works: tuple[Callable[[], None], ...] = (
            self.reader,
            self.check,
            self.backup,
            self.pin,
        )
        self.attach(shared.store)

    def attach(self, store: timestrata.Store) -> None:
        self.store = store

    def step(self) -> None:
        self.works[self.steps % len(self.works)]()

    def check(self) -> None:
        report = self.timed("check", self.store.check)
        findings = [f"{each.path}: {each.message}" for each in report.findings if each.is_damage]
        self.expect("damage that a check found", findings, [])

    def backup(self) -> None:
        """The copy is opened, and is of one instant."""
        path = self.folder / "backup"
        report = self.timed("backup", self.store.backup, path)
        self.expect("damage that a backup found", report.damaged, [])
        with timestrata.open(path, mode="r") as copy:
            self._look_into(copy)
        shutil.rmtree(path)

    def reader(self) -> None:
        if self.store.path is None:
            raise TypeError("the store has no folder")
        with self.timed("open reader", timestrata.open, self.store.path, mode="r") as reader:
            self._look_into(reader)
            self.timed("refresh", reader.refresh)
            self._look_into(reader)

    def _look_into(self, store: timestrata.Store) -> None:
        for name in ("book", "copy"):
            if name not in store.tables():
                return
        one, other = (
            {row["partition"]: row["next"] for row in store.table(name).scan().to_pylist()}
            for name in ("book", "copy")
        )
        self.expect("books of one commit", one, other)

    def pin(self) -> None:
        self.timed("pin", self.store.pin, "soak")
        self.expect("pins", [pin.name for pin in self.store.pins()], ["soak"])
        self.timed("unpin", self.store.unpin, "soak")

    def verify(self) -> None:
        self.check()
