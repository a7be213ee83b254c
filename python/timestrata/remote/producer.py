"""Producers of a server's topic."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from timestrata import awaiting
from timestrata._timestrata import Receipt, Record
from timestrata.errors import InvalidArgumentError, TimestrataError
from timestrata.remote.connection import LINES, Connection, Remote, bytes_json, lines

if TYPE_CHECKING:
    from timestrata._timestrata import Recordlike

__all__ = ["RemoteProducer", "receipts_of", "record_json", "send_records"]


def send_records(
    connection: Connection,
    topic: str,
    records: Iterable[Recordlike],
    partition: int | None,
    *,
    repeats: bool = False,
    **asked: Any,
) -> list[Receipt]:
    """Send records, all of them in one commit or none."""
    body = [record_json(record) for record in records]
    if not body:
        return []
    receipts = connection.send(
        "POST",
        "topics",
        topic,
        "records",
        text=lines(body),
        content_type=LINES,
        repeats=repeats,
        partition=partition,
        **asked,
    )
    return receipts_of(receipts)


def receipts_of(told: Iterable[dict[str, Any]]) -> list[Receipt]:
    """Give the receipts that an answer tells of."""
    return [
        Receipt._of(one["topic"], one["partition"], one["offset"], one["timestamp"])
        for one in told
    ]


def record_json(record: Recordlike) -> dict[str, Any]:
    """Give a record as a body has it."""
    key, value, headers, timestamp, partition = Record._given(record)
    said: dict[str, Any] = {
        "key": bytes_json(key),
        "value": bytes_json(value),
        "headers": [[name, bytes_json(part)] for name, part in headers],
        "timestamp": timestamp,
        "partition": partition,
    }
    return {name: part for name, part in said.items() if part is not None}


def by_partition(sequence: int | Mapping[int, int] | None) -> str | None:
    """Give the sequences of several partitions as a request has them."""
    if not isinstance(sequence, Mapping):
        return None
    return ",".join(f"{partition}:{first}" for partition, first in sequence.items())


class RemoteProducer(Remote):
    """Sends records to a topic of a server. Made by `RemoteTopic.producer`; its methods are those of `Producer`.

    With a ``producer_id`` it gives each send its sequence, so that a send whose answer was lost is sent again and stored
    once. That needs a partition that is known before: the only one, or one that is said. Sends of one producer to one
    partition are made one after the other then, also by several threads. A batch over several partitions is stored once if it
    says the sequence of each.
    """

    MISSING: ClassVar[dict[str, str]] = {}

    def __init__(
        self, connection: Connection, topic: str, producer_id: str | None, partitions: int
    ) -> None:
        super().__init__(connection)
        self._topic = topic
        self._id = producer_id
        self._is_single = partitions == 1
        self._epoch: int | None = None
        # The sequence that comes next, by partition; held by who sends.
        self._next: dict[int, int] = {}
        self._sending = threading.Lock()
        if producer_id is not None:
            begun = connection.send("POST", "topics", topic, "producers", producer_id)
            self._epoch = int(begun["epoch"])

    def send(
        self,
        record: Recordlike,
        *,
        partition: int | None = None,
        durability: Literal["synced", "written"] | None = None,
        expected_offset: int | None = None,
        sequence: int | None = None,
    ) -> Receipt:
        """Append one record and give its receipt, as `Producer.send` does."""
        return self.send_batch(
            [record],
            partition=partition,
            durability=durability,
            expected_offset=expected_offset,
            sequence=sequence,
        )[0]

    async def send_async(
        self,
        record: Recordlike,
        *,
        partition: int | None = None,
        durability: Literal["synced", "written"] | None = None,
        expected_offset: int | None = None,
        sequence: int | None = None,
    ) -> Receipt:
        """`send` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(
            self.send,
            record,
            partition=partition,
            durability=durability,
            expected_offset=expected_offset,
            sequence=sequence,
        )

    def send_batch(
        self,
        records: Iterable[Recordlike],
        *,
        partition: int | None = None,
        durability: Literal["synced", "written"] | None = None,
        expected_offset: int | None = None,
        sequence: int | Mapping[int, int] | None = None,
    ) -> list[Receipt]:
        """Append records, all of them or none, with one sync. Gives their receipts, in order."""
        if self._id is None and sequence is not None:
            raise InvalidArgumentError(
                "a sequence is a producer's: name it, as in topic.producer(producer_id='x')"
            )
        records = list(records)
        known = 0 if partition is None and self._is_single else partition
        if self._id is None or sequence is not None or known is None:
            return self._send(records, partition, expected_offset, sequence)
        with self._sending:
            if known not in self._next:
                self._next[known] = self.next_sequence(known)
            try:
                receipts = self._send(records, known, expected_offset, self._next[known])
            except TimestrataError:
                # Where it is now, the server says.
                del self._next[known]
                raise
            self._next[known] += len(records)
        return receipts

    async def send_batch_async(
        self,
        records: Iterable[Recordlike],
        *,
        partition: int | None = None,
        durability: Literal["synced", "written"] | None = None,
        expected_offset: int | None = None,
        sequence: int | Mapping[int, int] | None = None,
    ) -> list[Receipt]:
        """`send_batch` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(
            self.send_batch,
            records,
            partition=partition,
            durability=durability,
            expected_offset=expected_offset,
            sequence=sequence,
        )

    def _send(
        self,
        records: list[Recordlike],
        partition: int | None,
        expected_offset: int | None,
        sequence: int | Mapping[int, int] | None,
    ) -> list[Receipt]:
        return send_records(
            self._connection,
            self._topic,
            records,
            partition,
            repeats=sequence is not None,
            expected_offset=expected_offset,
            producer_id=self._id,
            epoch=self._epoch,
            sequence=None if isinstance(sequence, Mapping) else sequence,
            sequences=by_partition(sequence),
        )

    def _expect_of(self, connection: Connection, topic: str) -> None:
        """Refuse to send for a commit over a topic that is not its own, or without an epoch."""
        if self._topic != topic:
            raise InvalidArgumentError(
                f"the producer is of topic {self._topic!r}, and the records are for {topic!r}"
            )
        if self._connection.server is not connection.server:
            raise InvalidArgumentError("the producer is of another store than the commit")
        if self._id is None:
            raise InvalidArgumentError(
                "only a producer with an id has an epoch: topic.producer(producer_id='x')"
            )

    @contextlib.contextmanager
    def _apart(self) -> Iterator[None]:
        """Hold up those who send as it, whose next sequences are those behind what is sent meanwhile."""
        with self._sending:
            self._next.clear()
            yield

    def next_sequence(self, partition: int = 0) -> int:
        """Give the sequence that comes next for this producer in a partition: what arrived, after a crash."""
        if self._id is None:
            raise InvalidArgumentError("a producer without producer_id has no sequence")
        said = self._connection.get(
            "topics", self._topic, "producers", self._id, partition=partition
        )
        return int(said["next_sequence"])

    def __repr__(self) -> str:
        named = "" if self._id is None else f" {self._id!r}"
        return f"<RemoteProducer{named} of {self._topic!r}>"
