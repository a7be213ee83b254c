"""The store as it was: a scan of an earlier moment beside one of now; and writing while others follow the changes, beside writing alone."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import timestrata

from bench.python.common.race import OURS, race
from bench.python.common.run import Run

ROWS, ROWS_AT_ONCE = 5_000_000, 100_000
NOW, ALONE = "the same now", "writing alone"
RECORDS, RECORDS_AT_ONCE, BYTES, FOLLOWERS = 200_000, 100, 100, 4


def moment(run: Run) -> None:
    """A scan of a table with all its columns, by a moment behind which other commits have come."""
    rows = run.many(ROWS)
    shutil.rmtree(run.dir / "past", ignore_errors=True)
    with timestrata.open(run.dir / "past") as store:
        table = store.table("rooms")
        for first in range(0, rows, ROWS_AT_ONCE):
            times = range(first, min(first + ROWS_AT_ONCE, rows))
            table.append({"time": list(times), "celsius": [time % 40 / 2 for time in times]})
        store.compact()
        seq = store.stats()["last_seq"]
        # Behind the moment, and out of its rows' times, so that both scans give the same rows.
        table.append({"time": [1 << 32], "celsius": [0.0]})
        with store.at(seq) as then:
            past = then.table("rooms")
            race(
                run,
                f"scan of a moment [{rows:,} rows]",
                rows,
                {
                    OURS: lambda: past.scan().to_arrow().num_rows,
                    NOW: lambda: table.scan(end=1 << 32).to_arrow().num_rows,
                },
                {NOW: 1 / 1.1},
                note="the moment is open already",
            )


class Feeds:
    """A store whose changes some follow, each in a thread, while a topic is written to."""

    def __init__(self, folder: Path, followers: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.store = timestrata.open(folder)
        self.producer = self.store.topic("events").producer()
        self.seen = [0] * followers
        self.threads = [threading.Thread(target=self._follow, args=(number,)) for number in range(followers)]
        for thread in self.threads:
            thread.start()

    def _follow(self, number: int) -> None:
        try:
            for commit in self.store.changes(0, follow=True):
                self.seen[number] = commit.seq
        except timestrata.ClosedError:
            pass

    def write(self, records: int) -> int:
        """What is told of them may come later, which `close` says."""
        value = b"x" * BYTES
        for first in range(0, records, RECORDS_AT_ONCE):
            many = min(RECORDS_AT_ONCE, records - first)
            self.producer.send_batch([value] * many, durability="written")
        return records

    def close(self) -> None:
        last = self.store.stats()["last_seq"]
        self.store.close()
        for thread in self.threads:
            thread.join()
        late = [last - seen for seen in self.seen]
        print(f"    followers were {late} commits behind at the end")


def followed(run: Run) -> None:
    records = run.many(RECORDS)
    sides = {OURS: Feeds(run.dir / "followed", FOLLOWERS), ALONE: Feeds(run.dir / "alone", 0)}
    try:
        race(
            run,
            f"writing while {FOLLOWERS} follow [{records:,} records]",
            records,
            {side: lambda feeds=feeds: feeds.write(records) for side, feeds in sides.items()},  # type: ignore[misc]
            {ALONE: 0.9},
            unit="record/s",
            note=f"{BYTES} B each, {RECORDS_AT_ONCE} a commit, written",
        )
    finally:
        for feeds in sides.values():
            feeds.close()
