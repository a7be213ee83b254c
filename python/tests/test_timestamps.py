"""A timestamp is an exact integer; what is not one is refused with advice."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from timestrata import Store, Timelog

UTC = timezone.utc


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_anything_with_an_index_is_a_timestamp_and_comes_back_as_int(log: Timelog) -> None:
    log.append(Index(5), "a")
    [(time, _)] = log
    assert type(time) is int
    assert log[Index(5)] == ["a"]
    assert list(log[Index(5) : Index(6)]) == [(5, "a")]


@pytest.mark.parametrize("value", [True, 1.0, "1", None, b"1", object(), 1 + 0j])
def test_other_types_are_refused_everywhere(log: Timelog, value: object) -> None:
    calls: list[Callable[[], object]] = [
        lambda: log.append(value, "x"),  # type: ignore[call-overload]
        lambda: log.extend([(value, "x")]),  # type: ignore[list-item]
        lambda: log.at(value),  # type: ignore[arg-type]
        lambda: log[value],  # type: ignore[call-overload]
        lambda: log.delete(value),  # type: ignore[arg-type]
        lambda: log.cutoff(value),  # type: ignore[arg-type]
        lambda: value in log,  # type: ignore[operator]
    ]
    for call in calls:
        with pytest.raises(TypeError, match="timestamp must be int"):
            call()
    assert len(log) == 0


@pytest.mark.parametrize("value", [1.0, "1", None, b"1", object(), 1 + 0j])
def test_raw_methods_take_whole_numbers_and_bools(log: Timelog, value: object) -> None:
    log.append(1, "x")
    assert (log.next_ts(False), log.prev_ts(True)) == (1, None)
    for call in (log.next_ts, log.prev_ts, log.since, log.until, log.equal, log.delete_before):
        with pytest.raises(TypeError, match="timestamp must be int"):
            call(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30, Index(2**63)])
def test_what_does_not_fit_64_bits_overflows(log: Timelog, value: int) -> None:
    with pytest.raises(OverflowError, match="outside int64 range"):
        log.append(value, "x")
    with pytest.raises(OverflowError, match="outside int64 range"):
        log[value:]


def test_an_error_in_an_index_is_the_callers_own(log: Timelog) -> None:
    class Broken:
        def __index__(self) -> int:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        log.append(Broken(), "x")


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("s", 1704164645),
        ("ms", 1704164645123),
        ("us", 1704164645123456),
        ("ns", 1704164645123456000),
    ],
)
def test_an_aware_datetime_is_converted_exactly(store: Store, unit: str, expected: int) -> None:
    log = store.timelog("log", unit=unit)  # type: ignore[arg-type]
    when = datetime(2024, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)
    log[when] = "utc"
    log[when.astimezone(timezone(timedelta(hours=5, minutes=30)))] = "elsewhere"
    assert list(log) == [(expected, "utc"), (expected, "elsewhere")]
    assert log.at(when) == ["utc", "elsewhere"]
    assert when in log


def test_a_datetime_before_1970_is_rounded_down_as_well(log: Timelog) -> None:
    log[datetime(1969, 12, 31, 23, 59, 59, 999_500, tzinfo=UTC)] = "just before"
    assert list(log) == [(-1, "just before")]


def test_every_datetime_of_python_fits_but_not_in_nanoseconds(store: Store) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    log = store.timelog("us", unit="us")
    log.extend([(last, "last"), (first, "first")])
    assert [value for _, value in log] == ["first", "last"]
    with pytest.raises(OverflowError, match="coarser unit"):
        store.timelog("ns", unit="ns").append(last, "x")


def test_a_naive_datetime_is_utc_wherever_a_time_is_taken(store: Store, log: Timelog) -> None:
    # Columns of Arrow and pandas without a zone were taken as UTC, and datetimes were refused.
    naive = datetime(2024, 1, 1, 12)
    aware = naive.replace(tzinfo=UTC)
    log.append(naive, "a")
    log[naive] = "b"
    log.extend([(naive, "c")])
    assert [time for time, _ in log] == [1_704_110_400_000] * 3
    assert log.at(naive) == log.at(aware) == ["a", "b", "c"]
    assert naive in log and len(log[naive:]) == 3 and len(log[:naive]) == 0

    typed = store.timelog("typed", schema={"at": "timestamp[us, tz=UTC]", "bare": "timestamp[us]"})
    typed.append(naive, {"at": naive, "bare": naive})
    assert list(typed) == [(1_704_110_400_000, {"at": aware, "bare": naive})]

    table = store.table("table", time="at")
    table.append({"at": naive, "x": 1})
    table.append([{"at": aware, "x": 2}, {"at": naive, "x": 3}])
    assert [row["at"] for row in table.scan(naive)] == [aware] * 3
    assert table.count(end=naive) == 0
    assert table.scan(where="at = $1", params=[naive]).count() == 3
    assert store.sql("SELECT count(*) AS n FROM 'table' WHERE at >= $t".replace("'", '"'), {"t": naive}).to_pylist() == [{"n": 3}]
    assert table.delete(naive) == 3

    topic = store.topic("topic")
    topic.send({"value": "v", "timestamp": naive})
    assert topic.offset_at_time(naive) == 0
    logs = store.logs("logs")
    logs.write("said", source_time=naive)
    assert logs.count(start=naive, by="source_time") == 1
    assert logs.count(end=naive, by="source_time") == 0
    graph = store.graph("graph")
    a, b = graph.put("a"), graph.put("b")
    graph.link(a, "calls", b, valid_from=naive)
    assert graph.reachable(a, b, as_of=naive)
    assert not graph.reachable(a, b, as_of=naive - timedelta(microseconds=1))


def test_bounds_and_conditions_of_a_table_mean_the_same_times(store: Store) -> None:
    # In a zone of its own the column was compared in that zone by one, and in UTC by the other.
    import pyarrow as pa

    at = datetime(2024, 1, 1, tzinfo=ZoneInfo("America/New_York"))
    column = pa.array([at + timedelta(hours=n) for n in range(6)], pa.timestamp("ms", "America/New_York"))
    table = store.table("zoned", time="at")
    table.append(pa.table({"at": column, "n": list(range(6))}))
    for bound in ("2024-01-01 07:00:00", "2024-01-01T07:00:00Z", "2024-01-01 02:00:00-05:00"):
        for start in (bound, datetime.fromisoformat(bound)):
            assert [row["n"] for row in table.scan(start)] == [2, 3, 4, 5]
            assert [row["n"] for row in table.scan(where="at >= $1", params=[start])] == [2, 3, 4, 5]
        assert [row["n"] for row in table.scan(where=f"at >= '{bound}'")] == [2, 3, 4, 5]
        assert [row["n"] for row in table.scan(where=f"at < TIMESTAMP '{bound}'")] == [0, 1]


def test_what_is_kept_in_a_column_of_times_fits_its_unit_or_is_refused(store: Store) -> None:
    # It was cut without a word.
    import pyarrow as pa

    fine = datetime(2024, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC)
    typed = store.timelog("typed", schema={"at": "timestamp[ms, tz=UTC]", "took": "duration[ms]"})
    for value in ({"at": fine}, {"took": timedelta(microseconds=1500)}):
        with pytest.raises(ValueError, match="finer than unit 'ms'"):
            typed.append(1, value)
    typed.append(1, {"at": fine.replace(microsecond=123_000), "took": timedelta(milliseconds=2)})
    assert [value["at"].microsecond for _, value in typed] == [123_000]

    times = pa.array([fine.replace(microsecond=5000), fine], pa.timestamp("us", "UTC"))
    with pytest.raises(ValueError, match="the time in row 1 is finer than unit 'ms'"):
        typed.extend(pa.table({"time": times}))
    typed.extend(pa.table({"time": times.slice(0, 1)}))
    assert list(typed)[-1] == (1_704_067_200_005, {"at": None, "took": None})

    table = store.table("coarse", time="at", schema={"at": "timestamp[ms, tz=UTC]", "x": "int64"})
    for rows in ({"at": fine, "x": 1}, [{"at": fine, "x": 1}] * 2, pa.table({"at": times, "x": [1, 2]})):
        with pytest.raises(ValueError):
            table.append(rows)
    assert table.count() == 0
    # A time of a log itself is rounded down, as documented.
    typed.append(fine, {})
    assert list(typed)[-1][0] == 1_704_067_200_123


def test_times_of_a_column_with_a_zone_come_back_in_that_zone(store: Store) -> None:
    import pyarrow as pa

    berlin = ZoneInfo("Europe/Berlin")
    at = [datetime(2024, 7, 1, 12, tzinfo=berlin), datetime(2024, 1, 1, 12, tzinfo=berlin)]
    table = store.table("t", time="at")
    table.append(pa.table({"at": pa.array(at, pa.timestamp("us", "Europe/Berlin")), "n": [1, 2]}))
    shown = [row["at"] for row in table.scan()]
    assert shown == sorted(at) and [time.hour for time in shown] == [12, 12]
    assert {time.tzinfo for time in shown} == {berlin}
    [row] = store.sql(
        "SELECT date_bin(INTERVAL '1 hour', at) AS b, at AT TIME ZONE '+05:30' AS z, "
        "at AT TIME ZONE 'UTC' AS u FROM t WHERE n = 1"
    )
    assert row["b"] == at[0] and row["b"].tzinfo == berlin
    assert row["z"] == at[0] and row["z"].utcoffset() == timedelta(hours=5, minutes=30)
    assert row["u"].tzinfo == UTC


def test_a_finer_datetime_keeps_its_nanoseconds(store: Store) -> None:
    class Fine(datetime):  # as pandas.Timestamp
        nanosecond = 789

    log = store.timelog("ns", unit="ns")
    log.append(Fine(1970, 1, 1, 0, 0, 0, 123456, tzinfo=UTC), "x")
    assert list(log) == [(123_456_789, "x")]


def test_zone_objects_of_utc_and_others_may_take_turns(log: Timelog) -> None:
    zones = [UTC, ZoneInfo("UTC"), ZoneInfo("Europe/Berlin"), ZoneInfo.no_cache("UTC"), None]
    expected = []
    for turn in range(20):
        when = datetime(2024, 7, 1, 12, turn, 0, 1000 * turn, tzinfo=zones[turn % 5])
        log.append(when, turn)
        instant = when if when.tzinfo else when.replace(tzinfo=UTC)
        expected.append((instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))
    assert [time for time, _ in log] == sorted(expected)


def test_numpy_times_are_taken_as_utc() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: it has no times")
    for unit, expected in (("s", 1_704_067_200), ("ms", 1_704_067_200_500)):
        log = Timelog(time_unit=unit)
        log.append(numpy.datetime64("2024-01-01T00:00:00.500"), "a")
        log.append(numpy.datetime64("1969-12-31T23:59:59.999999999"), "before")
        assert list(log) == [(-1, "before"), (expected, "a")]
        assert len(log[numpy.datetime64("2024-01-01") :]) == 1
    nanoseconds = Timelog(time_unit="ns")
    with pytest.raises(OverflowError, match="coarser"):
        nanoseconds.append(numpy.datetime64("3000-01-01"), "far")
    with pytest.raises(TypeError, match="NaT"):
        nanoseconds.append(numpy.datetime64("NaT", "ns"), "never")
