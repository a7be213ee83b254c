"""Following what commits change: every model, from another thread and from another process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
import timestrata
from timestrata.errors import HistoryLostError, InvalidArgumentError
from waiting import until


def opened(path: Path, **settings: object) -> timestrata.Store:
    return timestrata.open(path, history_min="10m", **settings)  # type: ignore[arg-type]


def told(changes: timestrata.Changes) -> list[tuple[object, ...]]:
    """Each change in short."""
    return [
        (commit.seq, change.kind, change.model, change.name, change.part)
        for commit in changes
        for change in commit.changes
    ]


def test_one_commit_over_all_models_is_told_of_with_all_its_parts(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        before = datetime.now(UTC)
        with store.commit() as commit:
            commit.table("rooms").append({"time": "2024-05-01", "celsius": 20.5})
            commit.topic("events").send({"key": "k", "value": "v"})
            commit.logs("app").write("line", level="info")
            commit.timelog("door").append(7, "opened")
            graph = commit.graph("calls")
            graph.link(graph.put("f", id=b"f" * 16), "calls", graph.put("g", id=b"g" * 16))
        [found] = store.changes(commit.seq - 1)
        assert found.seq == commit.seq
        assert found.time is not None
        assert abs((found.time - before).total_seconds()) < 60
        assert {(c.model, c.name, c.part) for c in found.changes} >= {
            ("table", "rooms", "rows"),
            ("topic", "events", "records"),
            ("logs", "app", "entries"),
            ("timelog", "door", "entries"),
            ("graph", "calls", "blocks"),
            ("graph", "calls", "edges"),
        }
        rows = {(c.model, c.part): c.rows for c in found.changes}
        table = rows["table", "rows"]
        assert table is not None
        assert table.to_pylist()[0]["celsius"] == 20.5
        records = next(c for c in found.changes if c.part == "records")
        assert records.partition == 0
        assert records.rows is not None
        assert records.rows.to_pylist()[0]["value"] == b"v"
        entries = rows["timelog", "entries"]
        assert entries is not None
        assert timestrata.cbor_decode(entries.to_pylist()[0]["value"]) == "opened"
        edges = rows["graph", "edges"]
        assert edges is not None
        assert [edge["kind"] for edge in edges] == ["calls"]


def test_deletes_are_told_as_they_were_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        table = store.table("t")
        table.append({"time": list(range(1_700_000_000, 1_700_000_100)), "x": list(range(100))})
        seq = store.stats()["last_seq"]
        table.delete(where="x % 10 = 3")
        table.delete("2023-11-14T22:14:00Z", "2023-11-14T22:14:10Z")
        store.timelog("log").append(1, "one")
        store.timelog("log").delete_range(0, 5)
        store.compact()
        commits = list(store.changes(seq))
        assert [[c.kind for c in commit.changes] for commit in commits] == [
            ["deleted_rows"], ["deleted_range"], ["inserted"], ["deleted_range"],
        ]
        [gone] = commits[0].changes
        assert gone.rows is not None
        assert [row["x"] for row in gone.rows] == list(range(3, 100, 10))
        assert gone.range is None
        [ranged] = commits[1].changes
        assert ranged.rows is None
        assert ranged.range is not None
        start, end = ranged.range
        assert isinstance(start, int)
        assert isinstance(end, int)
        assert end - start in (10, 10_000, 10_000_000, 10_000_000_000)
        assert commits[3].changes[0].range == (0, 5)


def test_what_is_dropped_and_what_is_not_kept_is_said_so(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        store.table("t").append({"time": "2024-05-01", "x": 1})
        seq = store.stats()["last_seq"]
        store.table("t").drop()
        assert told(store.changes(seq)) == [(seq, "dropped", "table", "t", "rows")]
        with pytest.raises(InvalidArgumentError, match=rf"commit {seq + 5} has not been made: the last one is {seq}"):
            store.changes(seq + 5)
    with timestrata.open(tmp_path / "none", history_min=0) as store:
        store.timelog("log").append(1, "one")
        with pytest.raises(HistoryLostError, match="history_min"):
            store.changes(0)
    with timestrata.open() as store, pytest.raises(InvalidArgumentError, match="in memory"):
        store.changes(0)
    with pytest.raises(timestrata.ClosedError):
        store.changes(0)


def test_a_follower_in_a_thread_gets_each_commit_and_ends_with_the_store(tmp_path: Path) -> None:
    store = opened(tmp_path / "s")
    changes = store.changes(0, follow=True)
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.extend(commit.seq for commit in changes))
    thread.start()
    log = store.timelog("log")
    for time in range(300):
        log.append(time, time)
    last = store.stats()["last_seq"]
    until(lambda: changes.seq == last)
    store.close()
    thread.join(60)
    assert not thread.is_alive()
    assert seen == list(range(1, last + 1))
    assert list(changes) == []


def test_changes_are_awaited_beside_an_event_loop(tmp_path: Path) -> None:
    async def follow(store: timestrata.Store) -> list[int]:
        seen: list[int] = []
        log = store.timelog("log")
        log.append(0, "first")
        async for commit in store.changes(0, follow=True):
            seen.append(commit.seq)
            if len(seen) == 5:
                break
            log.append(len(seen), "next")
        return seen

    with opened(tmp_path / "s") as store:
        assert asyncio.run(follow(store)) == [1, 2, 3, 4, 5]


def test_a_follower_by_name_goes_on_where_it_saved(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        for n in range(5):
            store.timelog("log").append(n, n)
        changes = store.changes(0, name="copy")
        assert [next(changes).seq, next(changes).seq] == [1, 2]
        assert changes.save() == 2
        assert store.followers() == {"copy": 2}
    with opened(tmp_path / "s") as store:
        changes = store.changes(name="copy")
        assert [commit.seq for commit in changes] == [3, 4, 5]
        # Not saved: given again.
        assert [commit.seq for commit in store.changes(4, name="copy")] == [3, 4, 5]
        assert changes.save() == 5
        assert list(store.changes(name="copy")) == []
        with pytest.raises(InvalidArgumentError, match="without a name"):
            store.changes(0).save()
        with pytest.raises(InvalidArgumentError, match="name="):
            store.changes()
        store.remove_follower("copy")
        with pytest.raises(timestrata.NotFoundError, match="copy"):
            store.remove_follower("copy")
        assert store.followers() == {}


WRITER = """
import sys, timestrata
with timestrata.open(sys.argv[1], history_min="10m", memtable_bytes_max="64KiB") as store:
    table, log = store.table("t"), store.timelog("log")
    for n in range(200):
        table.append({"time": [1_700_000_000 + n] * 50, "x": [n] * 50, "text": ["x" * 40] * 50})
        log.append(n, "x" * 100)
        if n % 50 == 49:
            table.delete(where=f"x = {n - 20}")
            store.compact()
"""


def test_another_process_follows_the_writer(tmp_path: Path) -> None:
    opened(tmp_path / "s").close()
    copy: list[int] = []
    with subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "s"]) as writer:
        with timestrata.open(tmp_path / "s", mode="r") as reader:
            # While the writer is still opening the store, what is kept is not told yet.
            until(lambda: reader.refresh() > 0)
            changes = reader.changes(0, follow=True)
            expected = 0
            for commit in changes:
                expected += 1
                assert commit.seq == expected
                for change in commit.changes:
                    if change.name == "t" and change.rows is not None:
                        found = [row["x"] for row in change.rows]
                        if change.kind == "inserted":
                            copy.extend(found)
                        else:
                            assert change.kind == "deleted_rows"
                            for x in found:
                                copy.remove(x)
                if commit.seq == 404:
                    break
        assert writer.wait(60) == 0
    with timestrata.open(tmp_path / "s", mode="r") as store:
        assert sorted(row["x"] for row in store.table("t").scan(columns=["x"])) == sorted(copy)
