"""What is read from one topic, changed, and sent to another: with the reader's offsets in the same commit, and without offsets."""

from __future__ import annotations

import shutil
from pathlib import Path

import timestrata

from bench.python.common.race import OURS, race
from bench.python.common.run import Run

RECORDS, AT_ONCE, BYTES = 100_000, 100, 100
OTHER = "without offsets"


def prepared(folder: Path, records: int) -> timestrata.Store:
    shutil.rmtree(folder, ignore_errors=True)
    store = timestrata.open(folder)
    producer = store.topic("raw").producer()
    value = b"x" * BYTES
    for first in range(0, records, 1_000):
        many = min(1_000, records - first)
        producer.send_batch([value] * many, durability="written")
    return store


def doubled(store: timestrata.Store, turn: int, *, with_offsets: bool) -> int:
    """Sends each record that is read on, twice as long; gives how many there were."""
    name, done = f"{'once' if with_offsets else 'plain'}-{turn}", 0
    with store.topic("raw").consumer(name) as consumer:
        while records := consumer.poll(max_records=AT_ONCE):
            with store.commit(durability="written") as commit:
                commit.topic(name).send_batch([2 * record.value for record in records])
                if with_offsets:
                    commit.consumed(consumer)
            done += len(records)
    return done


def loop(run: Run) -> None:
    records = run.many(RECORDS)
    store = prepared(run.dir / "once", records)
    turns = {True: 0, False: 0}

    def work(with_offsets: bool) -> int:
        turns[with_offsets] += 1
        return doubled(store, turns[with_offsets], with_offsets=with_offsets)

    try:
        race(
            run,
            f"read, changed and sent on, exactly once [{records:,} records]",
            records,
            {OURS: lambda: work(True), OTHER: lambda: work(False)},
            {OTHER: 0.8},
            unit="record/s",
            note=f"{BYTES} B each, {AT_ONCE} a commit, written",
        )
    finally:
        store.close()
