"""Searches find what they should, in the order asked for, as of the moment when they were asked."""

import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import timestrata
from timestrata import LogEntries, Logs, Store

SECOND = 1_000_000_000
WORDS = ["disk", "net", "fan"]


@pytest.fixture
def logs(store: Store) -> Logs:
    """Thirty entries, of which every fifth says no source time, so that its arrival stands for it; the others are out
    of order.
    """
    logs = store.logs("app")
    logs.write_many(
        {
            "message": f"{WORDS[n % 3]} {n}",
            "level": ["info", "warn", "error"][n % 3],
            "source_time": None if n % 5 == 4 else (n * 7 % 30) * SECOND,
            "labels": {"host": f"h{n % 2}"},
            "fields": {"n": n},
        }
        for n in range(30)
    )
    return logs


def numbers(entries: LogEntries) -> list[int]:
    return [entry.fields["n"] for entry in entries]


def test_entries_are_found_oldest_first_or_newest_first(logs: Logs) -> None:
    assert numbers(logs.search()) == list(range(30))
    assert numbers(logs.search("net")) == list(range(1, 30, 3))
    assert numbers(logs.search("NET", newest_first=True)) == list(range(28, 0, -3))
    assert numbers(logs.search(newest_first=True, limit=2)) == [29, 28]
    assert numbers(logs.search("nothing")) == numbers(logs.search(limit=0)) == []


def test_ranges_are_half_open_and_of_the_clock_asked_for(logs: Logs) -> None:
    times = [entry.timestamp for entry in logs.search()]
    assert numbers(logs.search(start=times[3], end=times[6])) == [3, 4, 5]
    assert numbers(logs.search("net", start=times[5])) == list(range(7, 30, 3))
    assert numbers(logs.search(end=datetime(2024, 1, 1, tzinfo=UTC))) == []
    sent = sorted((n * 7 % 30, n) for n in range(30) if n % 5 != 4)
    silent = list(range(4, 30, 5))
    assert numbers(logs.search(by="source_time")) == [n for _, n in sent] + silent
    assert numbers(logs.search(by="source_time", start=times[0])) == silent
    some = [n for at, n in sent if 10 <= at < 20]
    assert numbers(logs.search(by="source_time", start=10 * SECOND, end="1970-01-01T00:00:20Z")) == some
    last = logs.search(by="source_time", newest_first=True, end=30 * SECOND, limit=3)
    assert numbers(last) == [n for _, n in sent[:-4:-1]]


@pytest.mark.parametrize("by", ["timestamp", "source_time"])
@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("filter", ["", "net"])
def test_a_search_goes_on_where_another_has_ended(
    logs: Logs, by: Any, newest_first: bool, filter: str
) -> None:
    def page(after: Any) -> LogEntries:
        return logs.search(filter, by=by, newest_first=newest_first, limit=4, after=after)

    expected = numbers(logs.search(filter, by=by, newest_first=newest_first))
    for how in ("position", "text of the last", "the last"):
        found: list[int] = []
        after: Any = None
        while entries := list(answer := page(after)):
            found += [entry.fields["n"] for entry in entries]
            last = entries[-1]
            after = {"position": answer.position, "text of the last": last.position, "the last": last}[how]
        assert found == expected, how
        assert answer.position == (last.position if how == "the last" else after)


def test_a_position_is_that_of_what_was_given(logs: Logs) -> None:
    answer = logs.search()
    assert answer.position is None
    first = list(itertools.islice(answer, 7))
    assert answer.position == first[-1].position == str(first[-1].timestamp)
    assert numbers(logs.search(after=answer.position)) == list(range(7, 30))
    pytest.importorskip("pyarrow")
    answer.to_arrow()
    assert numbers(logs.search(after=answer.position)) == []
    assert logs.search(after=answer.position).position == answer.position


def test_a_time_is_a_place_by_its_own_clock_only(logs: Logs) -> None:
    times = [entry.timestamp for entry in logs.search()]
    fifth = list(logs.search())[4]
    assert numbers(logs.search(after=fifth.timestamp)) == list(range(5, 30))
    # A datetime has no nanoseconds: it is the begin of the fifth's microsecond.
    microsecond = times[4] // 1000 * 1000
    later = [number for number, time in enumerate(times) if time > microsecond]
    assert numbers(logs.search(after=fifth.datetime)) == later
    assert fifth.source_time is None
    assert numbers(logs.search(by="source_time", after=fifth)) == list(range(9, 30, 5))
    for after in (5, datetime.now(UTC)):
        with pytest.raises(timestrata.InvalidArgumentError, match="no place by 'source_time'"):
            logs.search(by="source_time", after=after)
    with pytest.raises(timestrata.InvalidArgumentError, match="position"):
        logs.search(after="yesterday")


def test_an_answer_shows_the_log_as_it_was_when_it_was_asked_for(logs: Logs) -> None:
    answer = logs.search("net")
    logs.write("net 30", n=30)
    for _ in range(2):
        assert numbers(answer) == list(range(1, 30, 3))
    assert numbers(logs.search("net"))[-1] == 30


def test_entries_are_columns_for_others(logs: Logs) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    logs.write("no more", n=[2**64, None], b=b"\0", x=float("nan"))
    answer = logs.search(start=list(logs.search())[28].timestamp)
    entries = list(answer)
    for table in (answer.to_arrow(), pyarrow.table(answer)):
        time = pyarrow.timestamp("ns", tz="UTC")
        assert table.schema.names == ["timestamp", "source_time", "level", "message", "labels", "fields"]
        assert table.schema.types[:2] == [time, time]
        assert table["timestamp"].cast(pyarrow.int64()).to_pylist() == [e.timestamp for e in entries]
        assert table["source_time"].cast(pyarrow.int64()).to_pylist() == [e.source_time for e in entries]
        assert table["level"].to_pylist() == ["warn", "error", None]
        assert table["message"].to_pylist() == ["net 28", "fan 29", "no more"]
        assert [text and json.loads(text) for text in table["labels"].to_pylist()] == [
            {"host": "h0"},
            {"host": "h1"},
            None,
        ]
        fields = [json.loads(text) for text in table["fields"].to_pylist()]
        assert fields == [{"n": 28}, {"n": 29}, {"n": [2**64, None], "b": "AA==", "x": None}]
    assert pyarrow.schema(answer) == pyarrow.table(answer).schema
    assert logs.search("nothing").to_arrow().num_rows == 0


def test_entries_are_data_frames(logs: Logs) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = logs.search("disk").to_pandas()
    assert list(frame["message"]) == [f"disk {n}" for n in range(0, 30, 3)]
    assert str(frame["timestamp"].dtype) == "datetime64[ns, UTC]"
    assert isinstance(frame, pandas.DataFrame)
    columns = logs.search("disk").to_polars()
    assert columns["message"].to_list() == list(frame["message"])
    assert isinstance(columns, polars.DataFrame)


def test_counts_agree_with_what_is_found(logs: Logs) -> None:
    assert logs.count() == len(logs) == 30
    assert logs.count("fan") == 10
    assert logs.count("fan", by="source_time", end=30 * SECOND) == 8
    assert logs.count("fan", by="source_time") == 10
    assert logs.count(by="source_time", start=0, end=10 * SECOND) == len(
        list(logs.search(by="source_time", start=0, end=10 * SECOND))
    )


def test_a_histogram_counts_stretches_of_time(logs: Logs) -> None:
    for step in ("10s", timedelta(seconds=10), 10, 10.0):
        buckets = logs.histogram("disk", by="source_time", start=0, end=30 * SECOND, step=step)
        assert [(bucket.start, bucket.end) for bucket in buckets] == [
            (start * SECOND, (start + 10) * SECOND) for start in (0, 10, 20)
        ]
        assert sum(bucket.count for bucket in buckets) == 8
    first = buckets[0]
    assert first.datetime == datetime(1970, 1, 1, tzinfo=UTC)
    nothing = dict.fromkeys(["trace", "debug", "warn", "error", "fatal"], 0)
    assert first.levels == {**nothing, "info": first.count}
    assert first == logs.histogram("disk", by="source_time", step=10)[0] != buckets[1]
    assert len(set(buckets)) == 3
    assert "count=" in repr(first)
    assert logs.histogram("nothing") == []
    assert sum(bucket.count for bucket in logs.histogram()) == 30
    for step, message in ((0, "positive"), ("soon", "step 'soon'"), (-1, "step")):
        with pytest.raises(timestrata.InvalidArgumentError, match=message):
            logs.histogram(by="source_time", step=step)
    # Those of 1970 and of now are far apart: the longest gaps are left out.
    assert sum(bucket.count for bucket in logs.histogram(by="source_time", step=1e-9)) == 30
    logs.write_many({"message": "many", "source_time": n} for n in range(10_001))
    with pytest.raises(timestrata.InvalidArgumentError, match="10000"):
        logs.histogram("many", by="source_time", step=1e-9)
    with pytest.raises(TypeError, match="step"):
        logs.histogram(step=[])  # type: ignore[arg-type]


def test_a_log_goes_by_the_clock_that_it_has(store: Store, logs: Logs) -> None:
    assert logs.describe()["clock"] == "timestamp"
    store.logs("app", clock="source_time")
    assert logs.describe()["clock"] == "source_time"
    expected = numbers(logs.search(by="source_time"))
    assert numbers(logs.search()) == expected != list(range(30))
    assert numbers(logs.search(by="timestamp")) == list(range(30))
    assert logs.count(end=10 * SECOND) == 8
    assert logs.histogram(end=30 * SECOND, step=10)[0].start == 0
    answer = logs.search(limit=3)
    first = list(answer)
    assert numbers(logs.search(after=answer.position)) == expected[3:]
    assert numbers(logs.search(after=first[-1])) == expected[3:]
    store.logs("app")
    assert logs.describe()["clock"] == "source_time", "who says nothing changes nothing"
    with pytest.raises(timestrata.InvalidArgumentError, match="'timestamp' or 'source_time'"):
        store.logs("app", clock="wall")  # type: ignore[arg-type]


def test_figures_of_logs_are_those_that_counting_gives(store: Store, logs: Logs) -> None:
    other = store.logs("other", clock="source_time")
    other.write("disk", level="error", source_time=0, n=100)
    by_level = logs.stats("not net | stats count, max(n) as most by level").to_pylist()
    assert by_level == [
        {"level": "error", "count": 10, "most": 29.0},
        {"level": "info", "count": 10, "most": 27.0},
    ]
    assert logs.stats("| top 1 host").to_pylist() == [{"host": "h0", "count": 15}]
    early = logs.stats("| stats count", by="source_time", end=10 * SECOND).to_pylist()
    assert early == [{"count": logs.count(by="source_time", end=10 * SECOND)}]
    both = store.log_stats(["app", "other"], "disk | stats count by log").to_pylist()
    assert both == [{"log": "app", "count": 10}, {"log": "other", "count": 1}]
    assert store.log_stats("other", "| rate 1m").to_pylist()[0]["count"] == 1
    for question, problem in (("disk", "expected a bar"), ("| stats sum", "needs a field")):
        with pytest.raises(timestrata.InvalidArgumentError, match=problem):
            logs.stats(question)
    with pytest.raises(timestrata.NotFoundError):
        store.log_stats(["app", "nothing"], "| stats count")
    with pytest.raises(timestrata.InvalidArgumentError, match="names"):
        store.log_stats([], "| stats count")


def test_facets_count_values(logs: Logs) -> None:
    facets = {facet.field: facet for facet in logs.facets(values=2)}
    assert set(facets) == {"level", "host", "n"}
    assert facets["level"].values == [("error", 10), ("info", 10)]
    assert (facets["level"].count, facets["level"].others) == (30, 10)
    assert facets["n"].values == [("0", 1), ("1", 1)]
    named = logs.facets("disk", fields=["n", "host"], values=1)
    assert [facet.field for facet in named] == ["n", "host"]
    assert logs.facets("disk", fields="host", values=1) == named[1:]
    assert named[1].values == [("h0", 5)]
    assert logs.facets(fields="nothing") == []
    assert logs.facets(fields=()) == logs.facets()
    assert repr(named[1]) == '<LogFacet "host" count=10 {"h0": 5, …}>'


def test_context_is_what_stands_around_an_entry(logs: Logs) -> None:
    tenth = list(logs.search())[10]

    def around(*arguments: Any) -> list[int]:
        return [entry.fields["n"] for entry in logs.context(*arguments)]

    assert around(tenth) == around(tenth.timestamp) == list(range(5, 16))
    assert around(tenth.timestamp, 1, 2) == [9, 10, 11, 12]
    assert around(tenth, 0, 0) == [10]
    assert around(tenth, 100, 100) == list(range(30))
    assert around(tenth.timestamp - 10**9) == []


def test_questions_that_make_no_sense_are_refused_at_once(logs: Logs) -> None:
    with pytest.raises(timestrata.InvalidArgumentError, match="ends before it begins"):
        logs.search(start=2, end=1)
    with pytest.raises(timestrata.InvalidArgumentError, match="ends before it begins"):
        logs.count(start=2, end=1, by="source_time")
    with pytest.raises(timestrata.InvalidArgumentError, match="'timestamp' or 'source_time'"):
        logs.search(by="level")  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        logs.search(limit=-1)
    with pytest.raises(TypeError, match="must be int"):
        logs.search(start=1.5)  # type: ignore[arg-type]


def test_all_is_the_same_in_runs_and_in_memory(logs: Logs) -> None:
    questions: list[Any] = [
        lambda: list(logs.search()),
        lambda: list(logs.search("net", newest_first=True)),
        lambda: list(logs.search(by="source_time", limit=7)),
        lambda: logs.histogram("disk", by="source_time", step="3s"),
        lambda: logs.facets(),
        lambda: logs.count("fan"),
    ]
    answers = [ask() for ask in questions]
    logs.flush()
    assert [ask() for ask in questions] == answers
    logs.compact()
    assert [ask() for ask in questions] == answers


def test_a_closed_store_answers_nothing_more(store: Store, logs: Logs) -> None:
    answer = logs.search()
    entry = next(iter(answer))
    half = iter(answer)
    next(half)
    store.close()
    asks: list[Any] = [
        lambda: logs.search(),
        lambda: logs.write("x"),
        lambda: logs.write_many(["x"]),
        lambda: logs.count(),
        lambda: len(logs),
        lambda: logs.tail(),
        lambda: iter(answer),
        lambda: answer.to_arrow(),
    ]
    for ask in asks:
        with pytest.raises(timestrata.ClosedError):
            ask()
    # What was read stays.
    assert (entry.message, next(half).message) == ("disk 0", "net 1")
    assert (logs.name, repr(answer)) == ("app", '<LogEntries of "app" "*">')
