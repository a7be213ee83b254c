"""A log with levels, fields and labels, late by their source's clock, searched and followed, with retention by age."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import timestrata
from bench.python.soak.loads.load import Load, Shared

WORDS = ("served", "refused", "retried", "timeout", "disk", "cache", "login", "flushed")
LEVELS = ("debug", "info", "info", "info", "warn", "error")
BATCH = 20
Kept = tuple[int, str, str, int]


class LogsLoad(Load):
    model = "logs"
    rate = 40.0

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.age_ns = int(shared.settings.kept_seconds * 1e9)
        # Time of arrival, word, level and number of each entry that retention can't have reached.
        self.entries: deque[Kept] = deque()
        self.number = 0
        self.not_followed = 0
        self.followed = 0
        self.choices = [
            (self.write, 0.4), (self.write_synced, 0.05), (self.write_many, 0.15), (self.count, 0.08),
            (self.newest, 0.06), (self.search, 0.06), (self.follow, 0.12), (self.histogram, 0.02), (self.facets, 0.02),
            (self.context, 0.04),
        ]  # fmt: skip
        self.attach(shared.store)

    def attach(self, store: timestrata.Store) -> None:
        self.log = store.logs("app", retention_age=self.shared.settings.kept_seconds)
        self.tail = self.log.tail()
        self.followed, self.not_followed = self.number, 0

    def _entry(self) -> tuple[str, str, str, dict[str, Any]]:
        self.number += 1
        word, level = self.rng.choice(WORDS), self.rng.choice(LEVELS)
        message = f"request {self.text(12)} {word} after {self.rng.randrange(900)} ms"
        return word, level, message, {"n": self.number, "path": f"/api/{self.rng.randrange(50)}"}

    def _keep(self, arrived: int, word: str, level: str, number: int) -> None:
        self.entries.append((arrived, word, level, number))
        self.not_followed += 1
        while self.entries[0][0] < arrived - self.age_ns // 2:
            self.entries.popleft()

    def write(self, *, sync: bool = False) -> None:
        word, level, message, fields = self._entry()
        kind = "write synced" if sync else "write"
        arrived = self.timed(kind, self.log.write, message, level=level, sync=sync, **fields)
        self._keep(arrived, word, level, fields["n"])

    def write_synced(self) -> None:
        self.write(sync=True)

    def write_many(self) -> None:
        """Entries that come late: by their source's clock they are of some seconds ago."""
        of, entries = [], []
        now = time.time_ns()
        for _ in range(BATCH):
            word, level, message, fields = self._entry()
            of.append((word, level, fields["n"]))
            late = self.rng.randrange(5_000_000_000)
            entry = {
                "message": message,
                "level": level,
                "fields": fields,
                "source_time": now - late,
            }
            entries.append(entry | {"labels": {"service": f"s{late % 4}"}})
        arrived = self.timed("write many", self.log.write_many, entries)
        for at, (word, level, number) in zip(arrived, of, strict=True):
            self._keep(at, word, level, number)

    def _since(self) -> tuple[int, list[Kept]]:
        """A time of the younger half of what is kept, and the entries since."""
        if not self.entries:
            return time.time_ns(), []
        start = self.rng.choice((self.entries[len(self.entries) // 2], self.entries[-1]))[0]
        return start, [entry for entry in self.entries if entry[0] >= start]

    def count(self) -> None:
        start, entries = self._since()
        word = self.rng.choice(WORDS)
        found = self.timed("count", self.log.count, word, start=start)
        self.expect(
            f"entries with {word} since {start}", found, sum(entry[1] == word for entry in entries)
        )

    def newest(self) -> None:
        found = self.timed(
            "search newest", lambda: list(self.log.search(newest_first=True, limit=20))
        )
        wanted = [entry[3] for entry in list(self.entries)[-len(found) :]][::-1] if found else []
        self.expect("newest entries", [entry.fields["n"] for entry in found][: len(wanted)], wanted)

    def search(self) -> None:
        start, entries = self._since()
        found = self.timed("search", lambda: list(self.log.search("level>=warn", start=start)))
        wanted = [entry[3] for entry in entries if entry[2] in ("warn", "error")]
        self.expect(f"warnings since {start}", [entry.fields["n"] for entry in found], wanted)

    def follow(self) -> None:
        """What was written since the last look, in the order in which it was, with nothing left out."""
        count = min(self.not_followed, 200)
        for entry in self.timed("follow", lambda: [next(self.tail) for _ in range(count)]):
            self.followed += 1
            self.expect("entry followed", entry.fields["n"], self.followed)
        self.not_followed -= count

    def histogram(self) -> None:
        start, entries = self._since()
        buckets = self.timed("histogram", self.log.histogram, start=start, step="1s")
        self.expect(
            f"sum of buckets since {start}", sum(bucket.count for bucket in buckets), len(entries)
        )

    def facets(self) -> None:
        start, entries = self._since()
        facets = self.timed("facets", self.log.facets, start=start, fields="path", values=100)
        found = sum(count for facet in facets for _, count in facet.values)
        self.expect(f"entries by path since {start}", found, len(entries))

    def context(self) -> None:
        if len(self.entries) > 12:
            middle = self.entries[-6]
            found = self.timed("context", self.log.context, middle[0], 5, 5)
            wanted = [middle[3] + at for at in range(-5, 6)]
            self.expect(
                f"entries around {middle[0]}", [entry.fields["n"] for entry in found], wanted
            )

    def verify(self) -> None:
        if not self.entries:
            return
        start = self.entries[0][0]
        found = [entry.fields["n"] for entry in self.log.search(start=start)]
        self.expect(f"entries since {start}", found, [entry[3] for entry in self.entries])
