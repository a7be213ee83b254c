"""Followers of changes: what they were told of is noted in a file, and must be what lanes did, each commit whole and once.

The lanes of commits over all models are what a follower is held against: of each order that is billed it must be told of in one commit,
in five models, once. Of all topics it is held against, whoever sends, that offsets go on without a gap.

    {"seq": 18, "billed": {"0": {"table": ["0/3:ab"], "topic": [...], ...}}, "offsets": {"invoices/0": [4, 5]}}
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import timestrata
from lab.child import Broken, Say
from lab.lanes import LANES_EACH, TogetherLane
from lab.lanes.table import EPOCH
from lab.lanes.together import SPAN

# What a bill has in each model.
MODELS = ("table", "topic", "logs", "graph", "timelog")


class Notes:
    """What a follower was told of, in a file to which it appends a line a commit: who is killed goes on behind the last whole one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        whole = path.read_bytes() if path.exists() else b""
        end = whole.rfind(b"\n") + 1
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.ftruncate(self.file, end)
        lines = whole[:end].splitlines()
        self.seq = json.loads(lines[-1])["seq"] if lines else 0

    def note(self, commit: timestrata.CommittedChanges) -> None:
        """A commit that was noted before its follower could say so comes once more."""
        if commit.seq <= self.seq:
            return
        os.write(self.file, (json.dumps({"seq": commit.seq, **told(commit)}) + "\n").encode())
        self.seq = commit.seq


def told(commit: timestrata.CommittedChanges) -> dict[str, Any]:
    """What a commit did of what followers are held against."""
    billed: dict[int, dict[str, list[str]]] = {}
    offsets: dict[str, list[int]] = {}
    for change in commit.changes:
        if change.kind != "inserted" or change.rows is None:
            continue
        if change.model == "topic" and change.part == "records":
            place = f"{change.name}/{change.partition}"
            offsets.setdefault(place, []).extend(row["offset"] for row in change.rows)
        for lane, text in bills(change):
            billed.setdefault(lane, {model: [] for model in MODELS})[change.model].append(text)
    return {"billed": billed, "offsets": offsets}


def bills(change: timestrata.Change) -> Iterator[tuple[int, str]]:
    """The lane and the text of each bill in a change."""
    for row in change.rows or ():
        match (change.model, change.name, change.part):
            case ("table", "bills", "rows"):
                yield row["lane"], row["text"]
            case ("topic", "invoices", "records"):
                yield change.partition or 0, row["value"].decode().removeprefix("invoice ")
            case ("logs", "billing", "entries"):
                yield int(json.loads(row["labels"])["lane"].removeprefix("lane")), row["message"].removeprefix("billed ")
            case ("graph", "ledger", "blocks"):
                content = row["content"]
                yield row["id"][0], content if isinstance(content, str) else content.decode()
            case ("timelog", "billed", "entries"):
                yield lane_of(row["time"]), timestrata.cbor_decode(row["value"])[1]


def lane_of(time: datetime) -> int:
    """Whose span of times, in milliseconds since the epoch, a time of a time log is in."""
    return round((time - EPOCH).total_seconds() * 1e3) // SPAN


def follow(path: str, notes: str, say: Say) -> None:
    """Beside whoever writes, until it is killed."""
    noted = Notes(Path(notes))
    while True:
        try:
            store = timestrata.open(path, mode="r")
            break
        except (timestrata.NotAStoreError, timestrata.NotFoundError):
            time.sleep(0.01)
    for commit in store.changes(noted.seq, follow=True):
        noted.note(commit)
        say("C")


def follow_by_name(store: timestrata.Store, notes: str) -> None:
    """In the writer, by the place that the store keeps, until it is killed."""
    noted = Notes(Path(notes))
    if "lab" not in store.followers():
        changes = store.changes(0, follow=True, name="lab")
    else:
        changes = store.changes(follow=True, name="lab")
    for commit in changes:
        noted.note(commit)
        if commit.seq % 7 == 0:
            changes.save()


def catch_up(path: str, notes: str, say: Say) -> None:
    """To the end of what there is."""
    noted = Notes(Path(notes))
    with timestrata.open(path, mode="r") as store:
        for commit in store.changes(noted.seq):
            noted.note(commit)
        if noted.seq != store.stats()["last_seq"]:
            raise Broken(f"a follower ends with commit {noted.seq}, the store with {store.stats()['last_seq']}")
    say("O")


def judge(seed: str, notes: Path, steps: dict[int, tuple[int, int]]) -> int:
    """Holds what was noted against the lanes; gives how many commits that were."""
    lines = [json.loads(line) for line in notes.read_bytes().splitlines()]
    seqs = [line["seq"] for line in lines]
    if seqs != sorted(set(seqs)):
        raise Broken(f"{notes.name}: commits come twice or out of order")
    all_billed: dict[int, list[str]] = {lane: [] for lane in range(LANES_EACH)}
    ends: dict[str, int] = {}
    for line in lines:
        for place, offsets in line["offsets"].items():
            start = ends.get(place, 0)
            if offsets != list(range(start, start + len(offsets))):
                raise Broken(f"{notes.name}: commit {line['seq']} has {offsets} of {place}, behind {start}")
            ends[place] = start + len(offsets)
        for lane, by_model in line["billed"].items():
            if any(by_model[model] != by_model["table"] for model in MODELS):
                raise Broken(f"{notes.name}: commit {line['seq']} is not the same in all models: {by_model}")
            all_billed[int(lane)].extend(by_model["table"])
    for number, billed in all_billed.items():
        lane = TogetherLane(seed, number)
        least, most = steps[number]
        lane.skip_to(least)
        while lane.rows != billed and lane.drawn < most:
            lane.draw()
        if lane.rows != billed:
            raise Broken(f"{notes.name}: lane {number} was told of {len(billed)} bills, not of those that it made")
    return len(lines)
