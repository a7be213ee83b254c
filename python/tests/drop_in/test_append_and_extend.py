"""Writing one by one and by many: every form, every error, and what is stored after it."""

import time
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

Make = Callable[..., Any]
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def rows_then(count: int, last: object) -> Iterator[object]:
    """As many good rows, then what goes wrong: raised if it is an error, else given."""
    yield from ((n, n) for n in range(count))
    if isinstance(last, BaseException):
        raise last
    yield last


@pytest.mark.parametrize("unit", PER_SECOND)
def test_append_of_an_object_alone_stamps_it_with_now(make: Make, unit: str) -> None:
    log = make(time_unit=unit)
    divisor = 10**9 // PER_SECOND[unit]
    before = time.time_ns() // divisor
    log.append("a")
    log.append("b", ts=None)
    log.append(obj_or_ts="c")
    after = time.time_ns() // divisor
    assert [value for _, value in log] == ["a", "b", "c"]
    assert all(before <= stamp <= after for stamp, _ in log)


def test_append_has_three_forms(log: Any) -> None:
    assert log.append("a", ts=5) is None
    assert log.append(6, "b") is None
    assert log.append(obj_or_ts=7, obj_or_none="c") is None
    assert log.append(8, obj_or_none="d") is None
    assert list(log) == [(5, "a"), (6, "b"), (7, "c"), (8, "d")]


def test_append_of_two_ignores_a_time_by_name(log: Any) -> None:
    log.append(8, "a", ts=100)
    assert list(log) == [(8, "a")]


def test_none_is_an_object(log: Any) -> None:
    log.append(9, None)
    log.append(None, ts=10)
    log[11] = None
    log.extend([(12, None)])
    log.extend([13], [None])
    assert list(log) == [(n, None) for n in range(9, 14)]
    log.append(None)
    assert len(log) == 6
    with pytest.raises(TypeError):
        log.append(None, None)


def test_append_refuses_other_arguments(log: Any) -> None:
    with pytest.raises(TypeError):
        log.append()
    with pytest.raises(TypeError):
        log.append(ts=5)
    with pytest.raises(TypeError):
        log.append(1, 2, 3)
    with pytest.raises(TypeError, match="colour"):
        log.append(1, colour=2)
    assert len(log) == 0


def test_objects_are_kept_by_reference(log: Any) -> None:
    values: list[object] = [[], {}, object(), lambda: None, "text", 10**30]
    log.extend(enumerate(values))
    log.flush()
    assert all(log[n][0] is value for n, value in enumerate(values))
    assert all(given is value for (_, given), value in zip(log, values))


def test_setting_an_item_adds_and_never_replaces(log: Any) -> None:
    log[1] = "a"
    log[1] = "a"
    log[1] = "b"
    assert log[1] == ["a", "a", "b"]
    assert len(log) == 3


def test_what_is_below_the_floor_is_refused(make: Make) -> None:
    log = make(min_ts=10)
    message = r"timestamp 9 is below min_ts boundary \(10\)"
    writes: list[Callable[[], object]] = [
        lambda: log.append(9, "a"),
        lambda: log.append("a", ts=9),
        lambda: log.__setitem__(9, "a"),
        lambda: log.extend([(9, "a")]),
        lambda: log.extend([(11, "b"), (9, "a")]),
        lambda: log.extend([11, 9], ["b", "a"]),
        lambda: log.extend(iter([(11, "b"), (9, "a")])),
        lambda: log.extend([(11, "b"), (9, "a")], insert_on_error=False),
        lambda: log.extend([11, 9], ["b", "a"], insert_on_error=False),
    ]
    for write in writes:
        with pytest.raises(ValueError, match=message):
            write()
        assert len(log) == 0
    log.append(10, "a")
    assert list(log) == [(10, "a")]


def test_the_floor_holds_for_automatic_times_too(make: Make) -> None:
    log = make(min_ts=2**62)
    with pytest.raises(ValueError, match="below min_ts boundary"):
        log.append("a")


def test_a_floor_does_not_move_with_a_cutoff(make: Make) -> None:
    log = make(min_ts=10)
    log.append(20, "a")
    log.cutoff(100)
    log.append(50, "b")
    assert (log.min_ts_floor, list(log)) == (10, [(50, "b")])


def test_extend_takes_pairs_or_columns_of_any_kind(log: Any) -> None:
    log.extend([(1, "a"), (2, "b")])
    log.extend(((3, "c"),))
    log.extend({4: "d", 5: "e"}.items())
    log.extend((n, "f") for n in (6, 7))
    log.extend([[8, "g"]])
    log.extend({(9, "h")})
    log.extend([10, 11], ["i", "j"])
    log.extend(range(12, 14), "kl")
    log.extend((n for n in (14, 15)), (c for c in "mn"))
    log.extend([16], objects=["o"])
    log.extend(zip([17], ["p"]), mostly_ordered=False)
    assert [value for _, value in log] == list("abcdeffghijklmnop")
    assert [stamp for stamp, _ in log] == list(range(1, 18))


def test_extend_by_nothing_does_nothing(log: Any) -> None:
    assert log.extend([]) is None
    assert log.extend([], []) is None
    assert log.extend(iter(())) is None
    assert log.extend([], insert_on_error=False) is None
    assert len(log) == 0


def test_extend_by_what_is_not_iterable_is_refused(log: Any) -> None:
    for wrong in (5, None, object()):
        with pytest.raises(TypeError):
            log.extend(wrong)
        with pytest.raises(TypeError):
            log.extend(wrong, [1])
    with pytest.raises(TypeError):
        log.extend([1], 5)
    with pytest.raises(TypeError):
        log.extend()
    with pytest.raises(TypeError):
        log.extend([(1, "a")], None, True)
    with pytest.raises(TypeError, match="colour"):
        log.extend([(1, "a")], colour=1)
    assert len(log) == 0


@pytest.mark.parametrize("mostly_ordered", [None, True, False])
def test_the_hint_of_order_changes_nothing(log: Any, mostly_ordered: bool | None) -> None:
    log.extend([(3, "c"), (1, "a")], mostly_ordered=mostly_ordered)
    log.extend([2, 0], ["b", "z"], mostly_ordered=mostly_ordered)
    assert list(log) == [(0, "z"), (1, "a"), (2, "b"), (3, "c")]


def test_rows_without_a_usable_time_are_skipped_with_one_warning(log: Any) -> None:
    bad: list[tuple[object, str]] = [(1.5, "x"), (True, "x"), (2**63, "x"), (None, "x")]
    with pytest.warns(RuntimeWarning, match=r"extend\(\) skipped 4 record\(s\)") as caught:
        log.extend([*bad, (3, "a"), (4, "b")])
    assert len(caught) == 1
    assert list(log) == [(3, "a"), (4, "b")]
    assert log.extend_skipped == 4
    assert log.stats()["operational"]["extend_skipped"] == 4
    with pytest.warns(RuntimeWarning, match=r"extend\(\) skipped 2 record\(s\)"):
        log.extend(["5", 6, 7.0], "xcx")
    assert list(log) == [(3, "a"), (4, "b"), (6, "c")]
    assert log.extend_skipped == 6
    log.close()
    log.reopen()
    assert log.extend_skipped == 0
    log.close()


def test_the_warning_names_the_line_that_called(log: Any) -> None:
    with pytest.warns(RuntimeWarning) as caught:
        log.extend([(1.5, "x")])
    assert caught[0].filename == __file__


def test_skipping_goes_on_over_chunks(log: Any) -> None:
    rows = [(n if n % 10 else float(n), n) for n in range(5_000)]
    with pytest.warns(RuntimeWarning, match="skipped 500 record"):
        log.extend(row for row in rows)
    assert len(log) == 4_500


def test_anything_of_two_items_is_a_pair(log: Any) -> None:
    with pytest.warns(RuntimeWarning, match="skipped 1 record"):
        log.extend([[1, "a"], "ab", (2, "b")])  # "ab" is a pair whose time is "a"
    assert list(log) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("item", [5, (1, 2, 3), (1,), (), None, "abc"])
@pytest.mark.parametrize("insert_on_error", [True, False])
def test_what_is_no_pair_is_refused(log: Any, item: object, insert_on_error: bool) -> None:
    with pytest.raises(ValueError, match=r"extend\(\) expects \(ts, obj\) pairs"):
        log.extend([(1, "a"), item], insert_on_error=insert_on_error)
    assert len(log) == 0


def test_errors_keep_the_full_chunks_before_and_drop_the_part(make: Make) -> None:
    """A chunk is 1,024 rows: of 2,500 good ones 2,048 are stored."""
    failures: list[tuple[object, type[Exception]]] = [
        (KeyError("mine"), KeyError),
        (5, ValueError),
        ((-1, "below"), ValueError),
    ]
    for last, error in failures:
        log = make(min_ts=0)
        with pytest.raises(error):
            log.extend(rows_then(2_500, last))
        assert len(log) == 2_048
        assert list(log) == [(n, n) for n in range(2_048)]
        log.append(5_000, "next")
        assert len(log) == 2_049


def test_columns_of_different_lengths_are_refused_before_anything_is_stored(log: Any) -> None:
    for times, objects in (([1, 2], ["a"]), ([1], "ab"), (range(3_000), range(2_999)), ([], [1])):
        with pytest.raises(ValueError, match="timestamps and objects must have same length"):
            log.extend(times, objects)
        assert len(log) == 0


def test_unsized_columns_of_different_lengths_fail_on_the_way(log: Any) -> None:
    with pytest.raises(ValueError):
        log.extend(iter([1, 2]), ["a"])
    with pytest.raises(ValueError):
        log.extend([1], iter("ab"))
    assert len(log) == 0
    with pytest.raises(ValueError):
        log.extend((n for n in range(2_500)), (n for n in range(2_400)))
    assert len(log) == 2_048


def test_a_checked_extend_stores_all_or_nothing(make: Make) -> None:
    log = make(min_ts=0)
    good = [(n, n) for n in range(3_000)]
    failures: list[tuple[object, type[Exception], str]] = [
        ((1.5, "x"), TypeError, "int"),
        ((True, "x"), TypeError, "bool not allowed"),
        ((None, "x"), TypeError, "int"),
        ((2**63, "x"), OverflowError, "outside int64 range"),
        ((-1, "x"), ValueError, r"timestamp -1 is below min_ts boundary \(0\)"),
        (5, ValueError, r"extend\(\) expects \(ts, obj\) pairs"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bad, error, message in failures:
            with pytest.raises(error, match=message):
                log.extend([*good, bad], insert_on_error=False)
            if isinstance(bad, tuple):
                times = [*(stamp for stamp, _ in good), bad[0]]
                with pytest.raises(error, match=message):
                    log.extend(times, range(3_001), insert_on_error=False)
            assert len(log) == 0
            assert log.extend_skipped == 0
        with pytest.raises(ValueError):
            log.extend([1, 2], [1], insert_on_error=False)
        assert len(log) == 0
        log.extend(good, insert_on_error=False)
        log.extend([stamp for stamp, _ in good], range(3_000), insert_on_error=False)
    assert len(log) == 6_000


def test_a_checked_extend_needs_a_length(log: Any) -> None:
    with pytest.raises(TypeError):
        log.extend(((n, n) for n in range(3)), insert_on_error=False)
    with pytest.raises(TypeError):
        log.extend(iter([1]), [1], insert_on_error=False)
    with pytest.raises(TypeError):
        log.extend([1], iter([1]), insert_on_error=False)
    assert len(log) == 0


def test_a_source_may_use_the_log_it_feeds(log: Any) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for n in range(2_000):
            yield n, "row"
            if n == 1_500:
                log.append(99_999, "from within")
                assert 99_999 in log

    log.extend(rows())
    assert len(log) == 2_001


FULL = {"memtable_max_bytes": 24 * 100, "sealed_max_runs": 1}


def test_a_busy_append_is_stored_and_says_so_as_asked(
    make: Make, peer_module: ModuleType
) -> None:
    log = make(busy_policy="raise", **FULL)
    raised = 0
    for n in range(1_000):
        try:
            log.append(n, n)
        except peer_module.TimelogBusyError:
            raised += 1
    assert raised > 0
    assert list(log) == [(n, n) for n in range(1_000)]
    assert log.busy_events == log.stats()["operational"]["busy_events"] == raised
    with pytest.raises(peer_module.TimelogBusyError):
        log[5] = "item"
    assert log[5] == [5, "item"]
    log.flush()
    log.append(1_000, "free again")
    assert log.busy_events == raised + 1


def test_a_silent_log_counts_what_was_busy(make: Make) -> None:
    log = make(busy_policy="silent", **FULL)
    for n in range(1_000):
        log.append(n, n)
    log.extend((n, n) for n in range(1_000, 5_000))
    assert list(log) == [(n, n) for n in range(5_000)]
    assert log.busy_events > 0
    assert log.stats()["operational"]["flushes_total"] == 0


def test_a_log_that_flushes_when_busy_goes_on(make: Make) -> None:
    log = make(busy_policy="flush", **FULL)
    for n in range(1_000):
        log.append(n, n)
    log.extend((n, n) for n in range(1_000, 5_000))
    assert list(log) == [(n, n) for n in range(5_000)]
    assert log.stats()["operational"]["flushes_total"] > 0
    assert log.stats()["storage"]["pages_total"] > 0


def test_a_log_with_background_maintenance_takes_what_comes(make: Make) -> None:
    with make(maintenance="background", busy_policy="flush", **FULL) as log:
        for n in range(5_000):
            log.append(n, n)
        log.extend((n, n) for n in range(5_000, 20_000))
        assert [stamp for stamp, _ in log] == list(range(20_000))
