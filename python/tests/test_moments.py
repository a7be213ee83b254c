"""The store as it was: every model and SQL answer as they did then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import timestrata
from timestrata.errors import (
    HistoryLostError,
    InvalidArgumentError,
    NotFoundError,
    ReadOnlyError,
)
from waiting import until

Answers = dict[str, object]


def write(store: timestrata.Store, number: int) -> int:
    """One commit of all five models; gives its number."""
    with store.commit() as commit:
        commit.table("rooms").append({"time": 1_000 * number, "celsius": float(number)})
        commit.topic("events").send(f"event {number}".encode())
        commit.logs("app").write(f"line {number}")
        commit.timelog("doors").append(number, f"door {number}")
        graph = commit.graph("calls")
        graph.put(f"def f{number}", id=bytes([number] * 16))
        if number > 1:
            graph.link(bytes([number] * 16), "calls", bytes([1] * 16))
    return int(commit.seq)


def answers(store: timestrata.Store) -> Answers:
    """What each model and SQL say."""
    found: Answers = {
        "table": store.table("rooms").scan().to_pylist(),
        "topic": store.topic("events").scan().to_pylist(),
        "logs": [entry.message for entry in store.logs("app").search("")],
        "timelog": list(store.timelog("doors")),
        "graph": [rows.to_pylist() for rows in store.graph("calls").to_arrow()],
    }
    if hasattr(store, "sql"):
        found["sql"] = store.sql("SELECT count(*) AS n, max(celsius) AS most FROM rooms").to_pylist()
    return found


def test_every_model_and_sql_answer_as_they_did_behind_each_commit(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s", history_min="10m", maintenance="manual") as store:
        seen = {}
        for number in range(1, 7):
            seq = write(store, number)
            seen[seq] = answers(store)
            if number % 2 == 0:
                store.flush()
        store.compact()
        for seq, then in seen.items():
            with store.at(seq) as past:
                assert answers(past) == then, seq
    # And once it was closed, beside a reader too.
    with timestrata.open(tmp_path / "s", history_min="10m") as store:
        seq, then = next(iter(seen.items()))
        assert store.oldest_commit() <= seq
        assert answers(store.at(seq)) == then
        with timestrata.open(tmp_path / "s", mode="r") as reader:
            assert answers(reader.at(seq)) == then


def test_a_pin_is_read_by_every_model_whatever_came_later() -> None:
    with timestrata.open() as store:
        write(store, 1)
        store.pin("monday")
        then = answers(store)
        write(store, 2)
        store.compact()
        assert answers(store.at(pin="monday")) == then
        with pytest.raises(NotFoundError, match="tuesday"):
            store.at(pin="tuesday")


def test_a_moment_takes_no_writes_and_outlives_its_store(tmp_path: Path) -> None:
    store = timestrata.open(tmp_path / "s", history_min="10m")
    seq = write(store, 1)
    then, past = answers(store), store.at(seq)
    write(store, 2)
    with pytest.raises(ReadOnlyError, match=f"as of commit {seq}"):
        past.timelog("doors").append(9, "never")
    with pytest.raises(ReadOnlyError), past.commit() as commit:
        commit.timelog("doors").append(9, "never")
    store.close()
    assert answers(past) == then
    assert past.mode == "r"


def later() -> datetime:
    """Now, once the clock shows a later millisecond, which is as exactly as commits are dated."""
    now = datetime.now(UTC)
    until(lambda: datetime.now(UTC) - now > timedelta(milliseconds=1))
    return now


def test_a_time_finds_the_last_commit_that_was_made_by_then(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s", history_min="10m") as store:
        seen = []
        for number in range(1, 4):
            seq = write(store, number)
            seen.append((seq, later(), answers(store)))
            store.flush()
        with timestrata.open(tmp_path / "s", mode="r") as reader:
            for of in (store, reader):
                for seq, when, then in seen:
                    assert answers(of.at(time=when)) == then, seq
                    assert answers(of.at(time=when.isoformat())) == then, seq
        for given in (datetime.now(UTC) + timedelta(hours=1), "2100-01-01T00:00:00Z"):
            with pytest.raises(InvalidArgumentError, match="has not come"):
                store.at(time=given)
        with pytest.raises(InvalidArgumentError, match="noon"):
            store.at(time="noon")
    # Without a history the last commit is there, and none before it.
    with timestrata.open(tmp_path / "t", history_min=0) as store:
        write(store, 1)
        when = later()
        write(store, 2)
        assert len(store.at(time=datetime.now(UTC)).timelog("doors")) == 2
        with pytest.raises(HistoryLostError, match="history_min"):
            store.at(time=when)
    with pytest.raises(InvalidArgumentError, match="in memory"):
        timestrata.open().at(time=when)


def test_what_is_not_kept_or_not_made_is_said_so(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s", history_min=0) as store:
        first = write(store, 1)
        last = write(store, 2)
        assert store.oldest_commit() == last
        with pytest.raises(HistoryLostError, match=str(last)):
            store.at(first)
        with pytest.raises(InvalidArgumentError, match="has not been made"):
            store.at(last + 1)
        with pytest.raises(InvalidArgumentError, match="takes one of"):
            store.at(first, pin="monday")
        with pytest.raises(InvalidArgumentError, match="takes one of"):
            store.at()
