"""Members of a group: each record comes once, in order, and what is committed is where the group goes on."""

from __future__ import annotations

import threading

import timestrata
from bench.python.soak.loads.load import Load, Shared
from bench.python.soak.loads.topic import NAME, PARTITIONS, place_of, value_of

GROUP = "workers"
WAIT_SECONDS = 0.1
# A member leaves and comes back after so many steps, so that partitions change hands.
STEPS_OF_A_MEMBER = 300
PROGRESS = {"at": "timestamp[us, tz=UTC]", "partition": "string", "next": "int64"}


class Group:
    """How far the group is, by partition."""

    def __init__(self) -> None:
        self.next = dict.fromkeys(range(PARTITIONS), 0)
        self.lock = threading.Lock()


class ConsumerLoad(Load):
    model = "topic"
    rate = 0.0
    follows = True

    def __init__(self, shared: Shared, group: Group, number: int) -> None:
        super().__init__(shared, f"consumer {number}")
        self.group = group
        self.records = 0
        self.attach(shared.store)

    def attach(self, store: timestrata.Store) -> None:
        self.topic = store.topic(NAME, partitions=PARTITIONS)
        self.progress = store.table("progress", time="at", key="partition", schema=PROGRESS)
        self.consumer = self.topic.consumer(GROUP)

    def step(self) -> None:
        if self.steps and self.steps % STEPS_OF_A_MEMBER == 0:
            self.timed("leave", self.consumer.close)
            self.consumer = self.timed("join", self.topic.consumer, GROUP)
        self.poll()

    def poll(self) -> None:
        # To wait for records that aren't sent yet is no latency.
        records = self.timed("poll", self.consumer.poll, 0.0) or self.consumer.poll(WAIT_SECONDS)
        if not records:
            return
        ends: dict[int, int] = {}
        with self.group.lock:
            for record in records:
                self._take(record, ends)
        rows = [{"at": self.steps, "partition": str(p), "next": end} for p, end in ends.items()]
        if self.rng.random() < 0.5:
            self.timed("commit", self.consumer.commit)
        else:
            self.timed("commit with rows", self.consumer.commit, also=[(self.progress, rows)])
        self.records += len(records)

    def _take(self, record: timestrata.Record, ends: dict[int, int]) -> None:
        partition, offset = record.partition, record.offset
        if partition is None or offset is None:
            raise TypeError(f"a record without a place: {record}")
        self.expect(f"offset that comes next in {partition}", offset, self.group.next[partition])
        self.expect(
            f"record {offset} of {partition}", place_of(record.value), value_of(partition, offset)
        )
        self.group.next[partition] = ends[partition] = offset + 1

    def catch_up(self) -> bool:
        self.poll()
        with self.group.lock:
            return self.group.next == self.shared.sent

    def verify(self) -> None:
        committed = self.topic.groups().get(GROUP, {})
        wanted = {partition: end for partition, end in self.group.next.items() if end}
        self.expect("offsets of the group", committed, wanted)

    def close(self) -> None:
        self.consumer.close()
