"""Timestamps are whole numbers of 64 bits, all of them, and come back as plain ints."""

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

LEAST, GREATEST = -(2**63), 2**63 - 1
Use = Callable[[Any, Any], object]

COERCED: dict[str, Use] = {
    "append": lambda log, t: log.append(t, "x"),
    "append ts=": lambda log, t: log.append("x", ts=t),
    "set item": lambda log, t: log.__setitem__(t, "x"),
    "extend": lambda log, t: log.extend([(t, "x")], insert_on_error=False),
    "extend by columns": lambda log, t: log.extend([t], ["x"], insert_on_error=False),
    "item": lambda log, t: log[t],
    "at": lambda log, t: log.at(t),
    "in": lambda log, t: t in log,
    "slice from": lambda log, t: log[t:],
    "slice to": lambda log, t: log[:t],
    "slice within": lambda log, t: log[0:t],
    "delete": lambda log, t: log.delete(t),
    "delete range": lambda log, t: log.delete(LEAST, t),
    "cutoff": lambda log, t: log.cutoff(t),
    "del item": lambda log, t: log.__delitem__(t),
    "del slice": lambda log, t: log.__delitem__(slice(LEAST, t)),
    "views": lambda log, t: log.views(LEAST, t),
    "to_dict": lambda log, t: log.to_dict(t),
}
RAW: dict[str, Use] = {
    "range": lambda log, t: log.range(LEAST, t),
    "since": lambda log, t: log.since(t),
    "until": lambda log, t: log.until(t),
    "equal": lambda log, t: log.equal(t),
    "point": lambda log, t: log.point(t),
    "next_ts": lambda log, t: log.next_ts(t),
    "prev_ts": lambda log, t: log.prev_ts(t),
    "delete_range": lambda log, t: log.delete_range(LEAST, t),
    "delete_before": lambda log, t: log.delete_before(t),
    "page_spans": lambda log, t: log.page_spans(LEAST, t),
}


class Index:
    """What `operator.index` takes."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Failing:
    def __index__(self) -> int:
        raise LookupError("no index today")


@pytest.mark.parametrize("use", COERCED)
def test_a_bool_is_no_timestamp(log: Any, use: str) -> None:
    for flag in (True, False):
        with pytest.raises(TypeError, match=r"timestamp must be int \(bool not allowed\)"):
            COERCED[use](log, flag)
    assert len(log) == 0


@pytest.mark.parametrize("use", [*COERCED, *RAW])
def test_only_whole_numbers_are_timestamps(log: Any, use: str) -> None:
    wrongs: list[object] = [1.0, 1.5, float("nan"), "1", b"1", [1], 1j]
    if use not in ("append ts=", "slice from", "slice to", "slice within", "views", "to_dict"):
        wrongs += [] if use in ("delete range", "del slice") else [None]
    for wrong in wrongs:
        with pytest.raises(TypeError):
            {**COERCED, **RAW}[use](log, wrong)
    assert len(log) == 0


@pytest.mark.parametrize("use", COERCED)
def test_a_float_is_refused_with_advice(log: Any, use: str) -> None:
    with pytest.raises(TypeError, match="(?i)int"):
        COERCED[use](log, 1.5)


@pytest.mark.parametrize("use", [*COERCED, *RAW])
def test_whole_numbers_of_any_type_are_timestamps(log: Any, use: str) -> None:
    {**COERCED, **RAW}[use](log, Index(7))
    with pytest.raises(LookupError, match="no index today"):
        {**COERCED, **RAW}[use](log, Failing())


@pytest.mark.parametrize("use", COERCED)
def test_a_number_beyond_64_bits_overflows(log: Any, use: str) -> None:
    for beyond in (2**63, -(2**63) - 1, 2**200, Index(2**63)):
        with pytest.raises(OverflowError, match="outside int64 range"):
            COERCED[use](log, beyond)
    assert len(log) == 0


@pytest.mark.parametrize("use", RAW)
def test_a_number_beyond_64_bits_overflows_in_raw_methods_too(log: Any, use: str) -> None:
    for beyond in (2**63, -(2**63) - 1, 2**200):
        with pytest.raises(OverflowError):
            RAW[use](log, beyond)


def test_raw_methods_take_a_bool_for_the_number_it_is(log: Any) -> None:
    log.extend(range(4), "abcd")
    assert list(log.range(False, True)) == [(0, "a")]
    assert list(log.since(True)) == [(1, "b"), (2, "c"), (3, "d")]
    assert list(log.until(True)) == [(0, "a")]
    assert list(log.equal(True)) == list(log.point(True)) == [(1, "b")]
    assert (log.next_ts(True), log.prev_ts(True)) == (2, 0)
    assert list(log.page_spans(False, True)) == []
    log.delete_range(False, True)
    assert list(log) == [(1, "b"), (2, "c"), (3, "d")]
    log.delete_before(True)
    assert list(log) == [(1, "b"), (2, "c"), (3, "d")]


def test_raw_methods_take_their_arguments_by_place(log: Any) -> None:
    for name in ("since", "until", "equal", "point", "next_ts", "prev_ts", "delete_before"):
        with pytest.raises(TypeError):
            getattr(log, name)()
        with pytest.raises(TypeError):
            getattr(log, name)(1, 2)
        for keyword in ("t", "t1", "ts"):
            with pytest.raises(TypeError):
                getattr(log, name)(**{keyword: 1})
    for name in ("range", "delete_range"):
        with pytest.raises(TypeError):
            getattr(log, name)(1)
        with pytest.raises(TypeError):
            getattr(log, name)(1, 2, 3)
        with pytest.raises(TypeError):
            getattr(log, name)(t1=1, t2=2)


def test_page_spans_takes_names_too(log: Any) -> None:
    log.append(1, "a")
    log.flush()
    for spans in (
        log.page_spans(0, 5),
        log.page_spans(t1=0, t2=5),
        log.page_spans(0, 5, "segment"),
        log.page_spans(t1=0, t2=5, kind="segment"),
    ):
        assert [span.copy_timestamps() for span in spans] == [[1]]
    with pytest.raises(TypeError):
        log.page_spans(0)


def test_names_of_the_other_methods_are_those_that_programs_use(log: Any) -> None:
    log.extend(range(5), "abcde")
    assert log.at(ts=3) == ["d"]
    log.delete(t1=0)
    log.delete(t1=1, t2=3)
    log.cutoff(ts=4)
    assert list(log) == [(4, "e")]


def test_timestamps_come_back_as_plain_ints(log: Any) -> None:
    log.append(Index(5), "a")
    log[Index(6)] = "b"
    log.extend([(Index(7), "c")])
    assert log[Index(5)] == ["a"]
    assert Index(6) in log
    assert all(type(time) is int for time, _ in log)
    assert type(log.min_ts()) is int


def test_numpy_integers_are_timestamps_and_other_scalars_are_not(log: Any, numpy: Any) -> None:
    log.append(numpy.int64(5), "a")
    log.append(numpy.uint8(6), "b")
    log.extend([(numpy.int32(7), "c")])
    log[numpy.int16(8)] = "d"
    assert list(log) == [(5, "a"), (6, "b"), (7, "c"), (8, "d")]
    assert all(type(time) is int for time, _ in log)
    assert log[numpy.int64(5)] == ["a"]
    for wrong in (numpy.bool_(True), numpy.float64(1), numpy.float32(2)):
        for use in COERCED.values():
            with pytest.raises(TypeError):
                use(log, wrong)


def test_both_ends_of_64_bits_are_data(log: Any) -> None:
    log.extend([(GREATEST, "last"), (0, "middle"), (LEAST, "first")])
    expected = [(LEAST, "first"), (0, "middle"), (GREATEST, "last")]
    for _ in range(2):
        assert list(log) == list(log[:]) == list(log.all()) == expected
        assert (log.min_ts(), log.max_ts()) == (LEAST, GREATEST)
        assert log[LEAST] == ["first"]
        assert log[GREATEST] == ["last"]
        assert LEAST in log and GREATEST in log
        log.flush()


def test_a_bounded_range_never_reaches_the_greatest_timestamp(log: Any) -> None:
    log.extend([(1, "a"), (GREATEST, "last")])
    reaching = [log.since(1), log[1:], log[:], log.all(), iter(log)]
    assert all(list(reader) == [(1, "a"), (GREATEST, "last")] for reader in reaching)
    assert list(log.equal(GREATEST)) == list(log.point(GREATEST)) == [(GREATEST, "last")]
    assert list(log.since(GREATEST)) == list(log[GREATEST:]) == [(GREATEST, "last")]
    assert log[GREATEST] == log.at(GREATEST) == ["last"]
    short = [log.range(1, GREATEST), log.until(GREATEST), log[1:GREATEST], log[:GREATEST]]
    assert all(list(reader) == [(1, "a")] for reader in short)
    log.flush()
    spans = [*log.views(LEAST, GREATEST), *log.page_spans(1, GREATEST)]
    assert [span.copy_timestamps() for span in spans] == [[1], [1]]


def test_a_bounded_delete_never_reaches_the_greatest_timestamp(log: Any) -> None:
    log.extend([(1, "a"), (GREATEST, "last")])
    log.delete(LEAST, GREATEST)
    log.delete_range(LEAST, GREATEST)
    log.cutoff(GREATEST)
    log.delete_before(GREATEST)
    del log[:GREATEST]
    assert list(log) == [(GREATEST, "last")]


@pytest.mark.ours("refuses a datetime with a TypeError")
def test_an_aware_datetime_is_a_timestamp_in_the_unit_of_the_log(make: Callable[..., Any]) -> None:
    when = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=timezone.utc)
    microseconds = 1_714_979_289_123_456
    for unit, expected in (
        ("s", microseconds // 10**6),
        ("ms", microseconds // 10**3),
        ("us", microseconds),
        ("ns", microseconds * 10**3),
    ):
        log = make(time_unit=unit)
        log.append(when, "a")
        log[when] = "b"
        log.extend([(when, "c")])
        assert [time for time, _ in log] == [expected] * 3
        assert log[when] == log.at(when) == ["a", "b", "c"]
        assert when in log
        assert len(log[when:]) == 3
        assert len(log[:when]) == 0
        log.delete(when)
        assert len(log) == 0


@pytest.mark.parametrize("use", COERCED)
def test_a_naive_datetime_is_utc(log: Any, use: str) -> None:
    # Not as there, where it is refused: what has no zone is UTC everywhere here.
    COERCED[use](log, datetime(2024, 5, 6))
    assert {time for time, _ in log} <= {1_714_953_600_000}
