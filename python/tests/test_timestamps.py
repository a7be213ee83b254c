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


def test_a_naive_datetime_is_refused_with_advice(log: Timelog) -> None:
    with pytest.raises(TypeError, match="no time zone"):
        log.append(datetime(2024, 1, 1), "x")


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
        if when.tzinfo is None:
            with pytest.raises(TypeError, match="no time zone"):
                log.append(when, turn)
            continue
        log.append(when, turn)
        expected.append((when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))
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
