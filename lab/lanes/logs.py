"""A log: entries one by one and many at once, found again in the order of their arrival."""

from __future__ import annotations

from typing import Any

import timestrata
from lab.lanes.lane import Lane, Step

LEVELS = (None, "debug", "info", "warn", "error")


class LogsLane(Lane):
    model = "logs"

    def __init__(self, seed: str, number: int) -> None:
        super().__init__(seed, number)
        self.entries: list[tuple[str, str | None, Any]] = []

    def attach(self, store: timestrata.Store) -> None:
        exists = store.mode != "r" or "app" in store.log_names()
        self.log = store.logs("app", create=store.mode != "r") if exists else None

    def _entry(self) -> tuple[str, str | None, Any]:
        level = self.rng.choice(LEVELS)
        words = self.rng.choice(("disk full", "request served", "user came back"))
        return (f"{words} {self.text()}", level, {"n": self.drawn, "part": self.rng.randrange(9)})

    def _next(self) -> Step:
        count = self.rng.choice((1, 1, 1, 1, 6, 20))
        entries = [self._entry() for _ in range(count)]
        self.entries.extend(entries)
        return Step("write" if count == 1 else "write_many", {"entries": entries}, self.sync())

    def _write(self, step: Step) -> None:
        message, level, fields = step.arguments["entries"][0]
        labels = {"lane": f"lane{self.number}"}
        self.log.write(message, level=level, labels=labels, sync=step.synced, **fields)

    def _write_many(self, step: Step) -> None:
        labels = {"lane": f"lane{self.number}"}
        entries = []
        for message, level, fields in step.arguments["entries"]:
            entry = {"message": message, "labels": labels, "fields": fields}
            entries.append(entry if level is None else {**entry, "level": level})
        self.log.write_many(entries, sync=step.synced)

    def expected(self) -> Any:
        return self.entries

    def found(self) -> Any:
        if self.log is None:
            return []
        entries = list(self.log.search(f"lane:lane{self.number}"))
        times = [entry.timestamp for entry in entries]
        if any(one >= other for one, other in zip(times, times[1:], strict=False)):
            raise AssertionError(f"{self.name}: timestamps do not rise")
        return [(entry.message, entry.level, entry.fields) for entry in entries]

    def inspect(self) -> None:
        if self.log is None:
            return
        label = f"lane{self.number}"
        counted = self.log.count(f"lane:{label} disk")
        scanned = [e for e in self.log.search() if e.labels.get("lane") == label]
        if counted != sum(entry.message.startswith("disk") for entry in scanned):
            raise AssertionError(f"{self.name}: a search by word misses entries that a scan has")
