"""A topic: sends with and without a producer's id, repeats, batches with rows of a table, groups' offsets.

Each lane owns one partition, so its offsets follow from its steps.
"""

from __future__ import annotations

from typing import Any

import timestrata
from lab.lanes.lane import Lane, Step
from lab.lanes.table import START_MS, milliseconds, opened

PARTITIONS = 2


class TopicLane(Lane):
    model = "topic"

    def __init__(self, seed: str, number: int) -> None:
        super().__init__(seed, number)
        self.values: list[bytes] = []
        self.beside: list[int] = []
        self.committed = 0
        self.sequence = 0
        self.last: dict[str, Any] | None = None
        self.last_step = 0
        self.store: timestrata.Store

    def attach(self, store: timestrata.Store) -> None:
        self.store = store
        if store.mode == "r":
            exists = "events" in store.topics()
            self.topic = store.topic("events", create=False) if exists else None
        else:
            self.topic = store.topic("events", partitions=PARTITIONS)
        self.table = opened(store, "beside", {"at": "timestamp[ms, tz=UTC]", "lane": "int64"})
        self.producer = None

    def _producer(self) -> timestrata.Producer:
        if self.producer is None:
            self.producer = self.topic.producer(producer_id=f"lane-{self.number}")
        return self.producer

    def _next(self) -> Step:
        kind = self.rng.random()
        if kind < 0.12 and self.committed < len(self.values):
            self.committed = self.rng.randrange(self.committed, len(self.values)) + 1
            return Step("commit", {"offset": self.committed - 1}, True)
        if kind < 0.25 and self.last is not None:
            # What a producer says again is an acknowledgement like any other.
            synced = self.rng.random() < 0.5
            return Step("send", self.last, synced, repeats=self.last_step)
        count = self.rng.choice((1, 1, 1, 3, 10))
        values = [f"{part}/{self.text()}".encode() for part in range(count)]
        sequence = None
        if kind < 0.6:
            sequence, self.sequence = self.sequence, self.sequence + count
        step = {"values": values, "sequence": sequence, "offset": len(self.values), "at": None}
        if kind > 0.85:
            step["at"] = START_MS + self.drawn
            self.beside.append(START_MS + self.drawn)
        self.values.extend(values)
        if sequence is not None:
            # Steps are counted once they are drawn.
            self.last, self.last_step = step, self.drawn + 1
        return Step("send", step, self.sync())

    def _send(self, step: Step) -> None:
        parts = step.arguments
        durability = "synced" if step.synced else "written"
        also = None
        if parts["at"] is not None:
            also = [(self.table, [{"at": parts["at"], "lane": self.number}])]
        with_id = parts["sequence"] is not None
        producer = self._producer() if with_id else self.topic.producer()
        receipts = producer.send_batch(
            parts["values"],
            partition=self.number,
            durability=durability,
            sequence=parts["sequence"],
            # A repeat names the first one's sequence; its offset is long taken.
            expected_offset=None if with_id else parts["offset"],
            also=also,
        )
        offsets = [receipt.offset for receipt in receipts]
        if offsets != list(range(parts["offset"], parts["offset"] + len(parts["values"]))):
            raise AssertionError(f"{self.name}: expected offsets from {parts['offset']}, got {offsets}")

    def _commit(self, step: Step) -> None:
        record = self.topic.get(step.arguments["offset"], self.number)
        with self.topic.consumer(f"group-{self.number}") as consumer:
            consumer.assign([self.number])
            consumer.commit(record)

    def expected(self) -> Any:
        return (self.values, self.beside, self.committed)

    def found(self) -> Any:
        if self.topic is None:
            return ([], [], 0)
        rows = self.topic.scan(partition=self.number).to_pylist()
        offsets = [row["offset"] for row in rows]
        if offsets != list(range(len(rows))):
            raise AssertionError(f"{self.name}: offsets have gaps: {offsets}")
        beside = []
        if self.table is not None:
            beside = self.table.scan(where=f"lane = {self.number}").to_pylist()
        group = self.topic.groups().get(f"group-{self.number}", {})
        values = [row["value"] for row in rows]
        return (values, [milliseconds(row["at"]) for row in beside], group.get(self.number, 0))

    def inspect(self) -> None:
        if self.topic is None:
            return
        size = self.topic.offsets(self.number).stop
        if size == 0:
            return
        self.topic.audit(self.number)
        now, root = self.topic.root(self.number)
        half = max(size // 2, 1)
        proof = self.topic.consistency_proof(half, now, self.number)
        old = self.topic.root(self.number, half)[1]
        if not timestrata.verify_consistency(half, old, now, root, proof):
            raise AssertionError(f"{self.name}: {half} records are no beginning of {now}")
