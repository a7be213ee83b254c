"""Commits over all models: orders are read, and what comes of them is there with the reader's offset, or nothing is.

    orders (topic)  --- a group --->  one commit: a row, a record, an entry, a block with an edge, a time log's entry, the offset

So each order is billed once, whatever moment the writer is killed at.
"""

from __future__ import annotations

from typing import Any

import timestrata
from lab.lanes.lane import Lane, Step
from lab.lanes.table import START_MS, opened
from lab.lanes.topic import PARTITIONS

SPAN = 1 << 40
AT_ONCE_MAX = 5


class GivenUpError(Exception):
    """Ends a block, so that nothing of it is committed."""


class TogetherLane(Lane):
    """Owns a partition of each topic, and its own rows, entries, blocks and times."""

    model = "all"

    def __init__(self, seed: str, number: int) -> None:
        super().__init__(seed, number)
        self.orders: list[bytes] = []
        # What came of orders, by what holds it; as many of each as are billed.
        self.rows: list[str] = []
        self.invoices: list[bytes] = []
        self.entries: list[str] = []
        self.blocks: list[str] = []
        self.edges: list[int] = []
        self.times: list[Any] = []

    def attach(self, store: timestrata.Store) -> None:
        self.store, makes = store, store.mode != "r"
        self.log = self.graph = self.timelog = None
        self.topic, self.bills = (self._topic(store, name) for name in ("orders", "invoices"))
        self.table = opened(store, "bills", {"at": "timestamp[ms, tz=UTC]", "lane": "int64", "text": "string"})
        if makes or "billing" in store.log_names():
            self.log = store.logs("billing", create=makes)
        if makes or "ledger" in store.graphs():
            self.graph = store.graph("ledger", create=makes)
        if makes or "billed" in store.timelogs():
            self.timelog = store.timelog("billed")

    def _topic(self, store: timestrata.Store, name: str) -> timestrata.Topic | None:
        if store.mode != "r":
            return store.topic(name, partitions=PARTITIONS)
        return store.topic(name, create=False) if name in store.topics() else None

    def _id(self, order: int) -> bytes:
        return bytes([self.number]) * 8 + order.to_bytes(8, "big")

    def _next(self) -> Step:
        billed, kind = len(self.rows), self.rng.random()
        if billed == len(self.orders) or kind < 0.35:
            values = [f"{part}/{self.text()}".encode() for part in range(self.rng.choice((1, 1, 3)))]
            offset = len(self.orders)
            self.orders.extend(values)
            return Step("order", {"values": values, "offset": offset}, self.sync())
        count = self.rng.randrange(1, min(AT_ONCE_MAX, len(self.orders) - billed) + 1)
        taken = self.orders[billed : billed + count]
        if kind < 0.42:
            return Step("give_up", {"first": billed, "orders": taken})
        for order, value in enumerate(taken, billed):
            text = value.decode()
            self.rows.append(text)
            self.invoices.append(b"invoice " + value)
            self.entries.append(f"billed {text}")
            self.blocks.append(text)
            self.edges.append(order)
            self.times.append((self.number * SPAN + order, [order, text]))
        return Step("bill", {"first": billed, "orders": taken}, self.sync())

    def _order(self, step: Step) -> None:
        self.topic.producer().send_batch(
            step.arguments["values"],
            partition=self.number,
            durability="synced" if step.synced else "written",
            expected_offset=step.arguments["offset"],
        )

    def _bill(self, step: Step) -> None:
        first, orders = step.arguments["first"], step.arguments["orders"]
        with self.topic.consumer(f"billing-{self.number}") as consumer:
            consumer.assign([self.number])
            records = consumer.poll(1.0, max_records=len(orders))
            found = [(record.offset, record.value) for record in records]
            if found != list(enumerate(orders, first)):
                raise AssertionError(f"{self.name}: read {found} where {orders} from {first} on were due")
            with self.store.commit(durability="synced" if step.synced else "written") as commit:
                for record in records:
                    self._stage(commit, record.offset, record.value)
                commit.consumed(consumer)

    def _give_up(self, step: Step) -> None:
        try:
            with self.store.commit() as commit:
                for order, value in enumerate(step.arguments["orders"], step.arguments["first"]):
                    self._stage(commit, order, value)
                raise GivenUpError
        except GivenUpError:
            pass

    def _stage(self, commit: timestrata.Commit, order: int, value: bytes) -> None:
        text = value.decode()
        commit.table("bills").append({"at": START_MS + order, "lane": self.number, "text": text})
        commit.topic("invoices").send(b"invoice " + value, partition=self.number)
        commit.logs("billing").write(f"billed {text}", labels={"lane": f"lane{self.number}"})
        graph = commit.graph("ledger")
        graph.put(text, id=self._id(order))
        graph.link(self._id(order), "after", self._id(max(order - 1, 0)))
        commit.timelog("billed").append(self.number * SPAN + order, [order, text])

    def expected(self) -> Any:
        made = (self.rows, self.invoices, self.entries, self.blocks, self.edges, self.times)
        return (self.orders, *made, len(self.rows))

    def found(self) -> Any:
        return (
            self._values(self.topic),
            self._rows(),
            self._values(self.bills),
            self._entries(),
            *self._blocks(),
            self._times(),
            self._committed(),
        )

    def _values(self, topic: timestrata.Topic | None) -> list[bytes]:
        if topic is None:
            return []
        return [row["value"] for row in topic.scan(partition=self.number).to_pylist()]

    def _rows(self) -> list[str]:
        if self.table is None:
            return []
        return [row["text"] for row in self.table.scan(where=f"lane = {self.number}").to_pylist()]

    def _entries(self) -> list[str]:
        if self.log is None:
            return []
        return [entry.message for entry in self.log.search(f"lane:lane{self.number}")]

    def _blocks(self) -> tuple[list[str], list[int]]:
        """Contents of the blocks up to the first one that is missing, and which have their edge in both directions."""
        if self.graph is None:
            return ([], [])
        view = self.graph.view() if self.store.mode != "r" else self.graph
        blocks: list[str] = []
        edges: list[int] = []
        while (block := view.get(self._id(len(blocks)))) is not None:
            order = len(blocks)
            before = self._id(max(order - 1, 0))
            out = [edge.target for edge in view.edges(self._id(order), "out")]
            back = [edge.source for edge in view.edges(before, "in")]
            if out == [before] and self._id(order) in back:
                edges.append(order)
            blocks.append(block.content)
        return (blocks, edges)

    def _times(self) -> list[Any]:
        if self.timelog is None:
            return []
        return list(self.timelog[self.number * SPAN : (self.number + 1) * SPAN])

    def _committed(self) -> int:
        if self.topic is None:
            return 0
        return self.topic.groups().get(f"billing-{self.number}", {}).get(self.number, 0)

    def inspect(self) -> None:
        for topic in (self.topic, self.bills):
            if topic is not None and topic.offsets(self.number).stop > 0:
                topic.audit(self.number)
