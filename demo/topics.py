"""Departures as events on a topic: consumed by a group while they are produced, one of them proved to
somebody who has no store, and a byte changed on disk found."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import timestrata

Tell = Callable[[str, str], None]
Verify = Callable[[bool, str], None]
Departures = Iterator[tuple[int, dict[str, Any]]]

PARTITIONS = 4
MEMBERS = 2
BATCH = 1_000
# What others may do who have three files and nothing else.
VERIFY = """
import json, sys, timestrata
proof, record, vkey = (open(name).read() for name in sys.argv[1:])
timestrata.Proof(proof).check(json.loads(record), vkey.strip())
"""


def show_topics(departures: Departures, command: Path | None, tell: Tell, verify: Verify) -> None:
    # A store of its own: it is damaged in the end.
    with tempfile.TemporaryDirectory(prefix="timestrata-demo-") as name:
        directory = Path(name)
        with timestrata.open(directory / "store") as store:
            topic = store.topic("departures", partitions=PARTITIONS)
            show_a_group(topic, departures, tell, verify)
            show_a_proof(directory, topic, command, tell, verify)
        show_a_changed_byte(directory / "store", tell, verify)


def events(departures: Departures) -> Iterator[dict[str, Any]]:
    for stamp, flight in departures:
        tail = flight["tailnum"]
        value = json.dumps({name: flight[name] for name in ("carrier", "flight", "origin", "dest")})
        yield {"key": tail, "value": value, "timestamp": stamp * 1_000_000}


def show_a_group(
    topic: timestrata.Topic, departures: Departures, tell: Tell, verify: Verify
) -> None:
    counts = [Counter[bytes | None]() for _ in range(MEMBERS)]
    members = [topic.consumer(group="counters", member=f"member {n}") for n in range(MEMBERS)]
    # A member shows itself by its first call; then each has its share.
    for _ in range(2):
        for member in members:
            member.poll()
    is_produced = threading.Event()

    def count(member: timestrata.Consumer, seen: Counter[bytes | None]) -> None:
        while (records := member.poll(0.2)) or not is_produced.is_set():
            seen.update(record.key for record in records)
            if records:
                member.commit()

    threads = [threading.Thread(target=count, args=pair) for pair in zip(members, counts)]
    for thread in threads:
        thread.start()
    began = time.perf_counter()
    sent = Counter[bytes | None]()
    rows = events(departures)
    while batch := list(islice(rows, BATCH)):
        topic.send_batch(batch)
        sent.update(None if event["key"] is None else event["key"].encode() for event in batch)
    took = time.perf_counter() - began
    is_produced.set()
    for thread in threads:
        thread.join()
    shares = " and ".join(f"{seen.total():,}" for seen in counts)
    tell("topic", f"{sent.total():,} departures sent by tail number to {PARTITIONS} partitions in "
         f"{took:.1f} s, each batch of {BATCH:,} synced")
    tell("group", f"{MEMBERS} members counted {shares} of them meanwhile")
    verify(sum(counts, Counter()) == sent, "the group did not count each departure once")
    # Those without a tail number go to each partition in its turn.
    both = (set(counts[0]) & set(counts[1])) - {None}
    verify(not both, f"{len(both)} aircraft were counted by two members")
    for member in members:
        member.close()
    lag = sum(
        topic.offsets(partition).stop - offset
        for partition, offset in topic.groups()["counters"].items()
    )
    verify(lag == 0, f"the group has committed {lag:,} departures too few")


def show_a_proof(
    directory: Path, topic: timestrata.Topic, command: Path | None, tell: Tell, verify: Verify
) -> None:
    key = timestrata.SigningKey.generate(directory / "signing.key", "example.org/flights")
    partition = max(range(PARTITIONS), key=lambda number: topic.offsets(number).stop)
    size = topic.offsets(partition).stop
    topic.checkpoint(key, partition)
    offset = size // 3
    began = time.perf_counter()
    proof, record = topic.prove(offset, partition), topic.get(offset, partition)
    took = time.perf_counter() - began
    verify(record is not None, f"departure {offset} is not there")
    if record is None:
        return
    parts = {"timestamp": record.timestamp}
    parts |= {name: getattr(record, name).decode() for name in ("key", "value")}
    # All that the other side gets.
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "proof").write_text(str(proof))
    (elsewhere / "record").write_text(json.dumps(parts))
    (elsewhere / "vkey").write_text(key.vkey)
    tell("prove", f"departure {offset:,} of the {size:,} of partition {partition}: "
         f"{len(str(proof))} bytes, in {took * 1e6:.0f} us")
    verify(is_proved(elsewhere, command), "the proof was refused")
    tell("verify", "by another process, which has the proof, the record and the public key: yes")
    parts["value"] = parts["value"].replace('"dest"', '"Dest"')
    (elsewhere / "record").write_text(json.dumps(parts))
    verify(not is_proved(elsewhere, command), "a proof holds for another record")
    tell("", "the same with one letter of the record changed: no")


def is_proved(elsewhere: Path, command: Path | None) -> bool:
    if command is None:
        arguments = [sys.executable, "-c", VERIFY, "proof", "record", "vkey"]
    else:
        vkey = (elsewhere / "vkey").read_text()
        arguments = [str(command.resolve()), "verify-proof", "proof", "--record", "record"]
        arguments += ["--vkey", vkey]
    return subprocess.run(arguments, cwd=elsewhere, capture_output=True).returncode == 0


def show_a_changed_byte(directory: Path, tell: Tell, verify: Verify) -> None:
    largest = max(directory.rglob("runs/*"), key=lambda path: path.stat().st_size)
    place = largest.stat().st_size // 2
    with largest.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 1]))
    with timestrata.open(directory, mode="r") as store:
        report = store.check()
    for finding in report.findings:
        tell("check", f"{finding.message} [{Path(finding.path).name}, byte {finding.offset}]")
    named = any(Path(finding.path) == largest for finding in report.findings)
    verify(not report.is_sound and named, f"byte {place} of {largest} was changed unnoticed")
