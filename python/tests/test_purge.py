"""Purging: what was deleted or replaced in a model is in no file of the store any more."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import timestrata
from timestrata import ConflictError, InvalidArgumentError, NotFoundError

SECRET = "secret-of-nobody-else"


def holding(folder: Path, text: str = SECRET) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[timestrata.Store]:
    with timestrata.open(tmp_path / "s", maintenance="manual") as store:
        yield store


def test_rows_of_every_model_are_erased(store: timestrata.Store, tmp_path: Path) -> None:
    door = store.timelog("door")
    door.append(1, SECRET)
    door.append(2, "stays")
    stock = store.table("stock", key="item")
    stock.append({"time": "2024-05-01", "item": "lamp", "note": SECRET})
    graph = store.graph("code")
    block = graph.put(SECRET)
    other = graph.put("stays")
    store.flush()
    door.delete_range(1, 2)
    stock.append({"time": "2024-05-02", "item": "lamp", "note": "stays"})
    graph.delete(block)
    assert holding(tmp_path)

    report = store.purge()
    assert report.still_read == [] and report.files > 0 and report.bytes > 0
    assert report.seq == store.stats()["last_seq"]
    assert holding(tmp_path) == []
    assert list(door) == [(2, "stays")]
    assert [row["note"] for row in stock.scan()] == ["stays"]
    assert graph.get(block) is None
    assert graph.get(other) is not None
    assert store.check()


def test_a_purge_of_one_name_leaves_others_as_they_are(store: timestrata.Store, tmp_path: Path) -> None:
    for name in ("door", "window"):
        store.timelog(name).append(1, f"{SECRET} of {name}")
        store.flush()
        store.timelog(name).delete_range(1, 2)
    store.purge("door")
    assert holding(tmp_path, f"{SECRET} of door") == []
    assert holding(tmp_path, f"{SECRET} of window")
    with pytest.raises(NotFoundError, match="cellar"):
        store.purge("cellar")


def test_what_a_topic_has_superseded_is_erased_and_every_proof_stays(
    store: timestrata.Store, tmp_path: Path
) -> None:
    # Not packed, so that what lies in the files can be looked for.
    users = store.topic("users", compact=True, compression="none")
    users.send_batch([a_user(number) for number in range(600)])
    size = 600
    before = [users.inclusion_proof(offset, size) for offset in (3, 4)]
    root = users.root()
    users.send({"key": b"user-3", "value": None})
    # What lies in tiles of the tree that are full may go.
    users.send_batch([{"key": b"other", "value": b"x"} for _ in range(600)])
    store.flush()
    users.retain()
    assert users.get(3) is None and users.get(4) is not None
    store.purge("users")
    assert holding(tmp_path, f"{SECRET} of user-3 ") == []
    assert holding(tmp_path, f"{SECRET} of user-4 ")
    # The hash of what is gone is still there, and so is the whole tree.
    assert users.root(size=size) == root
    assert [users.inclusion_proof(offset, size) for offset in (3, 4)] == before
    with pytest.raises(InvalidArgumentError, match="purge the topic"):
        store.purge("users/0")


def a_user(number: int) -> dict[str, object]:
    return {"key": f"user-{number}".encode(), "value": f"{SECRET} of user-{number} ".encode()}


def test_pins_and_followers_that_prevent_a_purge_are_named(store: timestrata.Store, tmp_path: Path) -> None:
    door = store.timelog("door")
    door.append(1, SECRET)
    seq = store.pin("may")
    door.delete_range(1, 2)
    with pytest.raises(ConflictError, match="'may'"):
        store.purge()
    store.unpin("may")
    followed = store.changes(seq, name="index")
    with pytest.raises(ConflictError, match="'index'"):
        store.purge()
    for _ in followed:
        pass
    followed.save()
    store.purge()
    assert holding(tmp_path) == []


def test_a_run_that_a_moment_reads_is_told_and_goes_with_it(store: timestrata.Store, tmp_path: Path) -> None:
    door = store.timelog("door")
    door.extend([(time, SECRET) for time in range(100)])
    store.flush()
    then = store.at(store.stats()["last_seq"])
    door.delete_range(0, 100)
    report = store.purge()
    assert len(report.still_read) == 1
    assert holding(tmp_path) == report.still_read
    assert repr(report).endswith("still_read=1>")
    del then
    assert holding(tmp_path) == []


PURGED = """
import sys, timestrata
store = timestrata.open(sys.argv[1])
door = store.timelog("door")
number = 0
while True:
    number += 1
    door.append(number, "secret-of-nobody-else")
    door.append(number, "stays")
    store.flush()
    door.delete_range(0, number + 1)
    door.append(0, "stays")
    print(number, flush=True)
    store.purge()
"""


def test_a_purge_that_is_killed_goes_on_at_the_next_call(tmp_path: Path) -> None:
    for kills in range(4):
        with subprocess.Popen([sys.executable, "-c", PURGED, tmp_path / "s"], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(3 + kills):
                assert child.stdout.readline()
            child.kill()
        with timestrata.open(tmp_path / "s") as store:
            door = store.timelog("door")
            # What was not deleted yet when it died.
            door.delete_range(1, 1 << 40)
            kept = list(door)
            store.purge()
            assert list(door) == kept and {value for _, value in kept} == {"stays"}
            assert holding(tmp_path) == []
            assert store.check()


def test_readers_of_a_moment_are_not_disturbed(store: timestrata.Store) -> None:
    door = store.timelog("door")
    door.append(datetime.datetime(2024, 5, 1, tzinfo=datetime.timezone.utc), SECRET)
    then = store.at(store.stats()["last_seq"])
    door.delete_range(0, 1 << 62)
    store.purge()
    assert len(list(then.timelog("door"))) == 1
    assert list(door) == []
