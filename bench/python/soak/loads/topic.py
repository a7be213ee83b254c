"""A topic of partitions: sends with and without a sync, batches, repeats, reads and proofs, with retention by records."""

from __future__ import annotations

import timestrata
from bench.python.soak.loads.load import Load, Shared

NAME = "events"
PARTITIONS = 2
BATCH = 50
BOOK = {"at": "timestamp[us, tz=UTC]", "partition": "string", "next": "int64"}


class TopicLoad(Load):
    model = "topic"
    rate = 40.0

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        settings = shared.settings
        # Of a partition: some nine records a step.
        self.kept = max(int(settings.kept_seconds * self.rate * settings.rate * 5), 500)
        self.next = dict.fromkeys(range(PARTITIONS), 0)
        shared.sent.update(self.next)
        # The last send of each partition that can be said again: its sequence and its first receipt.
        self.said: dict[int, tuple[int, list[bytes], timestrata.Receipt]] = {}
        self.roots: dict[int, tuple[int, bytes]] = {}
        self.choices = [
            (self.send, 0.36), (self.send_synced, 0.15), (self.batch, 0.12), (self.batch_synced, 0.04),
            (self.repeat, 0.05), (self.get, 0.1), (self.scan, 0.08), (self.prove, 0.06), (self.ends, 0.04),
        ]  # fmt: skip
        self.attach(shared.store)
        self.topic.set_retention(records=self.kept)

    def attach(self, store: timestrata.Store) -> None:
        self.topic = store.topic(NAME, partitions=PARTITIONS)
        self.producer = self.topic.producer(producer_id="soak", durability="written")
        self.books = [
            store.table(name, time="at", key="partition", schema=BOOK) for name in ("book", "copy")
        ]

    def _values(self, partition: int, count: int) -> list[bytes]:
        first = self.next[partition]
        return [value_of(partition, first + at) + self.text(200).encode() for at in range(count)]

    def _send(self, kind: str, count: int, *, sync: bool, writes_books: bool = False) -> None:
        partition = self.rng.randrange(PARTITIONS)
        values, offset = self._values(partition, count), self.next[partition]
        also = None
        if writes_books:
            row = {"at": self.steps, "partition": str(partition), "next": offset + count}
            also = [(table, [row]) for table in self.books]
        receipts = self.timed(
            kind, self.producer.send_batch, values, partition=partition, sequence=offset, also=also,
            durability="synced" if sync else "written",
        )  # fmt: skip
        found = [receipt.offset for receipt in receipts]
        self.expect(f"offsets in {partition}", found, list(range(offset, offset + count)))
        self.next[partition] = self.shared.sent[partition] = offset + count
        self.said[partition] = (offset, values, receipts[0])

    def send(self) -> None:
        self._send("send", 1, sync=False)

    def send_synced(self) -> None:
        self._send("send synced", 1, sync=True)

    def batch(self) -> None:
        self._send("batch", BATCH, sync=False)

    def batch_synced(self) -> None:
        """With rows of two tables in the same commit."""
        self._send("batch synced", BATCH, sync=True, writes_books=True)

    def repeat(self) -> None:
        """What a producer says again is stored once."""
        for partition, (sequence, values, receipt) in self.said.items():
            given = self.timed(
                "repeat", self.producer.send_batch, values, partition=partition, sequence=sequence
            )
            self.expect("receipt of a repeat", (len(given), given[0]), (len(values), receipt))
            break

    def _recent(self) -> tuple[int, int]:
        """A partition, and an offset that retention can't have reached."""
        partition = self.rng.randrange(PARTITIONS)
        end = self.next[partition]
        return partition, self.rng.randrange(max(end - self.kept // 2, 0), end) if end else -1

    def get(self) -> None:
        partition, offset = self._recent()
        if offset >= 0:
            record = self.timed("get", self.topic.get, offset, partition)
            value = None if record is None or record.value is None else record.value
            self.expect(
                f"record {offset} of {partition}", place_of(value), value_of(partition, offset)
            )

    def scan(self) -> None:
        partition, first = self._recent()
        if first < 0:
            return
        end = min(first + 100, self.next[partition])
        rows = self.timed(
            "scan", lambda: self.topic.scan(first, end, partition=partition).to_pylist()
        )
        found = [(row["offset"], place_of(row["value"])) for row in rows]
        wanted = [(offset, value_of(partition, offset)) for offset in range(first, end)]
        self.expect(f"records {first} to {end} of {partition}", found, wanted)

    def prove(self) -> None:
        """The partition begins with what it was when its root was last asked."""
        partition = self.rng.randrange(PARTITIONS)
        size, root = self.timed("root", self.topic.root, partition)
        self.expect(f"size of the tree of {partition}", size, self.next[partition])
        old, old_root = self.roots.get(partition, (0, b""))
        if 0 < old < size:
            proof = self.timed(
                "consistency proof", self.topic.consistency_proof, old, size, partition
            )
            holds = timestrata.verify_consistency(old, old_root, size, root, proof)
            self.expect(
                f"whether {old} records of {partition} are a beginning of {size}", holds, True
            )
        if size:
            self.roots[partition] = (size, root)

    def ends(self) -> None:
        partition = self.rng.randrange(PARTITIONS)
        offsets = self.timed("offsets", self.topic.offsets, partition)
        self.expect(f"end of {partition}", offsets.stop, self.next[partition])
        is_kept = len(offsets) >= min(self.kept, self.next[partition])
        self.expect(f"whether {self.kept} records of {partition} are kept", is_kept, True)

    def verify(self) -> None:
        for partition, end in self.next.items():
            first = max(end - self.kept, 0)
            rows = self.topic.scan(first, end, partition=partition).to_pylist()
            found = [(row["offset"], place_of(row["value"])) for row in rows]
            wanted = [(offset, value_of(partition, offset)) for offset in range(first, end)]
            self.expect(f"records {first} to {end} of {partition}", found, wanted)
            self.topic.audit(partition)


def value_of(partition: int, offset: int) -> bytes:
    return b"%d/%d " % (partition, offset)


def place_of(value: bytes | None) -> bytes | None:
    """What a value begins with: the place that it was sent to."""
    return None if value is None else value[: value.index(b" ") + 1]
