"""Topics: groups from outside, members who are told what they lose, and arguments that can't be."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import timestrata


def values(records: list[timestrata.Record]) -> list[bytes | None]:
    return [record.value for record in records]


def test_who_is_told_commits_before_a_partition_goes(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t", partitions=2)
        for partition in (0, 1):
            topic.send_batch([str(n) for n in range(3)], partition=partition)
        told: list[tuple[str, list[tuple[str, int]]]] = []

        def revoked(places: list[tuple[str, int]]) -> None:
            told.append(("revoked", places))
            first.commit()

        first = topic.consumer(
            "g",
            on_assigned=lambda places: told.append(("assigned", places)),
            on_revoked=revoked,
            on_lost=lambda places: told.append(("lost", places)),
        )
        # A call that doesn't wait gives records all the same, behind what is told.
        assert len(first.poll()) == 6
        assert told == [("assigned", [("t", 0), ("t", 1)])]
        second = topic.consumer("g")
        assert second.poll() == []
        topic.send("new", partition=1)
        assert first.poll() == []
        assert told[1:] == [("revoked", [("t", 1)])]
        assert topic.groups() == {"g": {0: 3, 1: 3}}
        assert values(second.poll()) == [b"new"]
        assert first.heartbeat() == []
        second.close()
        first.close()
        # What is raised by who is told comes out of the call.
        def refuses(places: object) -> None:
            raise RuntimeError("not now")

        third = topic.consumer("h", on_assigned=refuses)
        with pytest.raises(RuntimeError, match="not now"):
            third.poll()
        assert len(third.poll()) == 7


def test_groups_are_put_elsewhere_listed_and_deleted(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t", retention_groups_age=86_400.0)
        assert topic.describe()["retention_groups_age"] == 86_400.0
        topic.send_batch([{"value": "x", "timestamp": f"2024-05-0{day}"} for day in (1, 2, 3)])
        at = datetime(2024, 5, 2, tzinfo=UTC)
        for to, offset in (("earliest", 0), ("latest", 3), (at, 1), ("2024-05-03", 2), (1, 1)):
            assert topic.reset_group("g", to) == offset
        for wrong in (-1, 2**64, "soon"):
            with pytest.raises(timestrata.InvalidArgumentError):
                topic.reset_group("g", wrong)
        with topic.consumer("g", member="m") as consumer:
            consumer.poll()
            groups = store.groups()
            assert groups == {"g": {"offsets": {("t", 0): 1}, "members": {"m": [("t", 0)]}}}
            with pytest.raises(timestrata.ConflictError, match="has members"):
                topic.delete_group("g")
        assert topic.delete_group("g") == 1
        assert store.groups() == {}
        with pytest.raises(timestrata.NotFoundError, match="committed nothing"):
            topic.delete_group("g")


def test_a_value_may_be_what_json_has() -> None:
    topic = timestrata.open().topic("t")
    topic.send({"value": {"cents": 5, "why": "ü"}})
    topic.send({"key": "k", "value": [1, None]})
    assert [json.loads(record.value) for record in topic.consumer().poll()] == [{"cents": 5, "why": "ü"}, [1, None]]
    assert topic.get(0).value == '{"cents":5,"why":"ü"}'.encode()
    for wrong, error in (({"at": object()}, TypeError), ({"n": float("nan")}, ValueError)):
        with pytest.raises(error):
            topic.send({"value": wrong})


def test_what_is_not_named_of_a_retention_stays() -> None:
    topic = timestrata.open().topic("t", retention_records=9, compact=True)
    topic.set_retention(age=60.0)
    described = topic.describe()
    assert (described["retention_age"], described["retention_records"], described["compact"]) == (60.0, 9, True)
    topic.set_retention(records=None, compact=False)
    described = topic.describe()
    assert (described["retention_age"], described["retention_records"], described["compact"]) == (60.0, None, False)
    for wrong in (-1, 2**64):
        with pytest.raises(timestrata.InvalidArgumentError, match="whole number"):
            topic.set_retention(records=wrong)


def test_a_number_that_can_not_be_is_an_argument_that_is_wrong() -> None:
    topic = timestrata.open().topic("t")
    topic.send("x")
    consumer = topic.consumer()
    calls = [
        lambda: topic.get(-1),
        lambda: topic.get(0, partition=-1),
        lambda: topic.send("x", partition=2**32),
        lambda: topic.offsets(-1),
        lambda: topic.scan(-1),
        lambda: topic.root(size=-1),
        lambda: topic.prove(-1),
        lambda: consumer.seek(-1),
        lambda: consumer.poll(max_records=-1),
    ]
    for call in calls:
        with pytest.raises(timestrata.InvalidArgumentError, match="from 0 to"):
            call()
    with pytest.raises(TypeError):
        topic.get("0")
    with pytest.raises(timestrata.AlreadyExistsError, match="timestamp is producer, store was asked for"):
        topic_of_same_name = timestrata.open()
        topic_of_same_name.topic("t")
        topic_of_same_name.topic("t", timestamp="store")
