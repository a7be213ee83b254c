"""A slice gives exactly the entries of its half-open range, in order of time."""

import random

import pytest

import timestrata
from timestrata import Store, Timelog

LEAST, GREATEST = -(2**63), 2**63 - 1


def test_a_slice_is_half_open(log: Timelog) -> None:
    log.extend(range(5), "abcde")
    assert list(log[1:3]) == [(1, "b"), (2, "c")]
    assert list(log[:2]) == [(0, "a"), (1, "b")]
    assert list(log[3:]) == [(3, "d"), (4, "e")]
    assert list(log[:]) == list(log) == list(enumerate("abcde"))
    assert list(log[2:2]) == []


def test_a_slice_that_ends_before_it_begins_is_empty(log: Timelog) -> None:
    log.extend(range(5), "abcde")
    assert list(log[3:1]) == []
    assert list(log[GREATEST:LEAST]) == []


def test_a_slice_has_no_step(log: Timelog) -> None:
    log.append(1, "a")
    assert list(log[0:2:1]) == [(1, "a")]
    for step in (2, -1, 0, True, 1.0, "x"):
        with pytest.raises(ValueError, match="step"):
            log[0:2:step]


def test_both_ends_of_64_bits_are_timestamps_like_any_other(log: Timelog) -> None:
    log.extend([(GREATEST, "last"), (LEAST, "first"), (0, "middle")])
    assert list(log) == [(LEAST, "first"), (0, "middle"), (GREATEST, "last")]
    assert list(log[GREATEST:]) == [(GREATEST, "last")]
    assert list(log[LEAST : LEAST + 1]) == [(LEAST, "first")]
    assert list(log[:GREATEST]) == [(LEAST, "first"), (0, "middle")]
    assert (log.min_ts(), log.max_ts()) == (LEAST, GREATEST)
    assert log[GREATEST] == ["last"]
    assert log.next_ts(GREATEST) is None
    assert log.prev_ts(LEAST) is None
    log.flush()
    log.compact()
    assert list(log) == [(LEAST, "first"), (0, "middle"), (GREATEST, "last")]
    log.delete(GREATEST)
    log.delete(LEAST)
    assert list(log) == [(0, "middle")]


def test_objects_with_one_timestamp_keep_the_order_of_their_appends(log: Timelog) -> None:
    log.append(10, "a")
    log.append(20, "later")
    log.append(10, "b")  # late
    log.extend([(10, "c"), (5, "early"), (10, "d")])
    expected = ["a", "b", "c", "d"]
    assert log[10] == log.at(10) == expected
    log.flush()
    assert log[10] == expected
    log.append(10, "e")
    log.compact()
    assert log[10] == [*expected, "e"]
    backwards = [value for time, value in reversed(log) if time == 10]
    assert backwards == ["e", *reversed(expected)]


def test_reading_agrees_with_a_sorted_list(store: Store) -> None:
    log = store.timelog("random")
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    expected: list[tuple[int, int]] = []
    for step in range(2_000):
        time = rng.randrange(-50, 50)
        match rng.randrange(20):
            case 0:
                log.delete(time, time + 5)
                expected = [row for row in expected if not time <= row[0] < time + 5]
            case 1:
                log.flush()
            case _:
                log.append(time, step)
                expected.append((time, step))
        if step % 100 == 0:
            log.compact()
            in_order = sorted(expected, key=lambda row: row[0])
            assert list(log) == in_order, f"seed {seed}"
            assert list(log[-10:10]) == [r for r in in_order if -10 <= r[0] < 10], f"seed {seed}"
            assert len(log) == len(expected), f"seed {seed}"
            assert log.last(3) == in_order[-3:], f"seed {seed}"


def test_an_iterator_does_not_see_what_is_written_after_it_was_made(log: Timelog) -> None:
    log.extend(range(10), range(10))
    entries = iter(log)
    assert next(entries) == (0, 0)
    log.append(5, "new")
    log.delete(7)
    log.flush()
    log.compact()
    assert [time for time, _ in entries] == list(range(1, 10))
    assert 7 not in log


def test_writing_while_iterating_is_fine(log: Timelog) -> None:
    log.extend(range(100), range(100))
    for time, value in log:
        log.append(time, value + 1000)
        if time % 2:
            log.delete(time)
    assert len(log) == 100


def test_first_and_last_give_entries_oldest_first(log: Timelog) -> None:
    assert log.first() == log.last() == []
    log.extend(range(10), "abcdefghij")
    assert log.first(2) == [(0, "a"), (1, "b")]
    assert log.last(2) == [(8, "i"), (9, "j")]
    assert log.last() == [(9, "j")]
    assert log.first(0) == log.last(0) == []
    assert log.first(100) == log.last(100) == list(log)
    with pytest.raises(ValueError, match="n must be >= 0"):
        log.last(-1)


def test_length_truth_and_membership_tell_of_what_is_visible(log: Timelog) -> None:
    assert not log
    assert len(log) == 0
    assert (log.min_ts(), log.max_ts()) == (None, None)
    log.extend([(1, "a"), (1, "b"), (3, "c")])
    assert log
    assert len(log) == 3
    assert 1 in log
    assert 2 not in log
    assert (log.next_ts(1), log.prev_ts(3), log.next_ts(3), log.prev_ts(1)) == (3, 1, None, None)
    log.delete(0, 10)
    assert not log
    with pytest.raises(TypeError):
        "1" in log  # type: ignore[operator]


def test_an_iterator_is_read_once_in_batches_or_one_by_one(log: Timelog) -> None:
    log.extend(range(5), "abcde")
    with log[1:] as entries:
        assert entries.next_batch(2) == [(1, "b"), (2, "c")]
        assert next(entries) == (3, "d")
        assert not entries.closed
        assert entries.next_batch(0) == []
        assert entries.next_batch(10**15) == [(4, "e")]
        assert entries.closed
        assert list(entries) == []
    with pytest.raises(ValueError, match="n must be >= 0"):
        log[:].next_batch(-1)
    early = log[:]
    early.close()
    early.close()
    assert early.closed
    assert list(early) == []


def test_a_row_is_found_in_a_set_by_what_it_holds_and_not_by_what_a_row_before_held(log: Timelog) -> None:
    """Where nobody keeps a row, its tuple may be filled anew; from Python 3.14 on a tuple remembers its hash."""
    log.extend(range(100), range(100))
    odd = {(time, time) for time in range(1, 100, 2)}
    assert sum(row in odd for row in log) == len(odd)
    assert all(hash(row) == hash((time, time)) for time, row in enumerate(log))
    other = Timelog()  # of its own, and not of a store
    other.extend(range(100), range(100))
    assert sum(row in odd for row in other) == len(odd)


def test_deletes_hide_only_what_was_there_before(log: Timelog) -> None:
    log.extend(range(10), "abcdefghij")
    log.delete(3)
    log.delete(5, 7)
    log.cutoff(2)
    log.append(5, "again")
    assert list(log) == [(2, "c"), (4, "e"), (5, "again"), (7, "h"), (8, "i"), (9, "j")]
    del log[8:]
    del log[2]
    assert list(log) == [(4, "e"), (5, "again"), (7, "h")]
    log.delete(4, 4)
    with pytest.raises(ValueError, match="before it begins"):
        log.delete(5, 4)
    del log[:]
    assert list(log) == []


def test_a_whole_delete_takes_the_greatest_timestamp_too(log: Timelog) -> None:
    log.append(GREATEST, "last")
    del log[:]
    assert len(log) == 0


def test_an_iterator_outlives_the_names_of_its_log() -> None:
    entries = iter(_log_of_two())
    assert list(entries) == [(1, "a"), (2, "b")]


def _log_of_two() -> Timelog:
    log = timestrata.open().timelog("log")
    log.extend([(1, "a"), (2, "b")])
    return log
