"""Topics: sends beside the disk and SHA-256, reads and proofs beside what Python and SHA-256 take."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import timestrata

from bench.python.check.measure import Class, Measure, Pair, Place, Work, emptied, measure

VALUE_BYTES = 256
SYNCED, WRITTEN, BATCH, BATCHED = 20, 1_000, 1_000, 10_000
READ, PROOFS = 20_000, 500
PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"


@contextmanager
def _with_topic(path: Path) -> Iterator[timestrata.Store]:
    """A new store, whose topic has its streams already."""
    with emptied(path) as store:
        store.topic("events").send(b"first")
        yield store


def _values(count: int) -> list[bytes]:
    choose = random.Random(7)
    return [choose.randbytes(VALUE_BYTES) for _ in range(count)]


@measure("topic send, synced", Class.DISK)
def synced(place: Place) -> Iterator[Pair]:
    """Records one by one, each on the disk, beside as many writes with an fdatasync each."""
    values = _values(SYNCED)
    # Blocks that are there, as those of the log: a sync changes no metadata.
    file = os.open(place.new(), os.O_RDWR | os.O_CREAT)
    os.pwrite(file, bytes(1 << 20), 0)
    os.fsync(file)
    store = timestrata.open(place.new())
    topic = store.topic("events")

    def ours() -> None:
        for value in values:
            topic.send(value)

    def floor() -> None:
        for at, value in enumerate(values):
            os.pwrite(file, value, at * 1_024)
            os.fdatasync(file)

    yield Pair(Work(ours), Work(floor), "write and fdatasync", True)
    store.close()
    os.close(file)


@measure("topic send, written", Class.WRITE)
def written(place: Place) -> Iterator[Pair]:
    """Records one by one, beside a hash and a write of each."""
    values, path, plain = _values(WRITTEN), place.new(), place.new()

    def ours(store: timestrata.Store) -> None:
        send = store.topic("events").producer(durability="written").send
        for value in values:
            send(value)

    def floor() -> None:
        file = os.open(plain, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for value in values:
            os.write(file, sha256(value).digest() + value)
        os.close(file)

    work = Work(ours, lambda: _with_topic(path))
    yield Pair(work, Work(floor), f"hashlib and writes, {PYTHON}", True)


@measure("topic send, batches", Class.WRITE)
def batches(place: Place) -> Iterator[Pair]:
    """Records a thousand at a time, beside their hashes and a write a thousand."""
    values, path, plain = _values(BATCHED), place.new(), place.new()
    parts = [values[at : at + BATCH] for at in range(0, BATCHED, BATCH)]

    def ours(store: timestrata.Store) -> None:
        producer = store.topic("events").producer(durability="written")
        for part in parts:
            producer.send_batch(part)

    def floor() -> None:
        with plain.open("wb", buffering=0) as file:
            for part in parts:
                file.write(b"".join(sha256(value).digest() + value for value in part))

    work = Work(ours, lambda: _with_topic(path))
    yield Pair(work, Work(floor), f"hashlib and writes, {PYTHON}", True)


def _filled(place: Place) -> Iterator[timestrata.Topic]:
    with timestrata.open(place.new()) as store:
        topic = store.topic("events")
        topic.producer(durability="written").send_batch(_values(READ))
        store.flush()
        yield topic


@measure("topic poll", Class.READ)
def poll(place: Place) -> Iterator[Pair]:
    """All records of a partition as a consumer has them, beside as many objects of Python."""
    values, topic = _values(READ), place.common(_filled)
    consumer = topic.consumer()
    consumer.assign([0])

    def ours() -> int:
        consumer.seek(0)
        bytes_read = 0
        while records := consumer.poll():
            bytes_read += sum(len(record.value or b"") for record in records)
        return bytes_read

    def floor() -> int:
        bytes_read = 0
        for at, value in enumerate(values):
            record: dict[str, Any] = {"offset": at, "value": bytes(memoryview(value))}
            bytes_read += len(record["value"])
        return bytes_read

    yield Pair(Work(ours), Work(floor), f"dicts, {PYTHON}")
    consumer.close()


@measure("topic read a record", Class.READ)
def get(place: Place) -> Iterator[Pair]:
    """Records by offsets that are drawn, beside a read of as many bytes from a file each."""
    choose = random.Random(11)
    offsets = [choose.randrange(READ) for _ in range(PROOFS)]
    path = place.new()
    path.write_bytes(b"".join(_values(READ)))
    topic = place.common(_filled)
    with path.open("rb") as file:
        plain = file.fileno()
        yield Pair(
            Work(lambda: [record.value for at in offsets if (record := topic.get(at))]),
            Work(lambda: [os.pread(plain, VALUE_BYTES, at * VALUE_BYTES) for at in offsets]),
            f"pread, {PYTHON}",
        )


@measure("topic proof", Class.READ)
def proof(place: Place) -> Iterator[Pair]:
    """Proofs that a record is in, beside as many hashes as verifying each takes."""
    choose = random.Random(13)
    offsets = [choose.randrange(READ) for _ in range(PROOFS)]
    height, node = READ.bit_length(), bytes(65)
    topic = place.common(_filled)

    def floor() -> None:
        for _ in range(PROOFS * height):
            sha256(node).digest()

    yield Pair(
        Work(lambda: [topic.inclusion_proof(at, READ) for at in offsets]),
        Work(floor),
        f"hashlib, {PYTHON}",
        True,
    )


MEASURES: tuple[Measure, ...] = (synced, written, batches, poll, get, proof)
