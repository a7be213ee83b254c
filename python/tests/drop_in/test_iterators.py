"""`TimelogIter`: read once, one by one or in batches, counted, closed, shown."""

import gc
from collections.abc import Callable
from typing import Any

import pytest

LEAST, GREATEST = -(2**63), 2**63 - 1


@pytest.fixture
def five(log: Any) -> Any:
    """Rows 1 to 5."""
    log.extend(range(1, 6), "abcde")
    return log


def test_rows_are_fresh_tuples_of_int_and_object(five: Any) -> None:
    one, other = next(five.all()), next(five.all())
    assert one == other == (1, "a")
    assert one is not other
    assert type(one) is tuple
    assert type(one[0]) is int


def test_an_iterator_is_read_once(five: Any) -> None:
    entries = five[2:4]
    assert iter(entries) is entries
    assert list(entries) == [(2, "b"), (3, "c")]
    assert list(entries) == []
    with pytest.raises(StopIteration):
        next(entries)


def test_two_iterators_do_not_share_their_place(five: Any) -> None:
    one, other = iter(five), iter(five)
    assert (next(one), next(one), next(other)) == ((1, "a"), (2, "b"), (1, "a"))


def test_length_is_the_rows_that_are_left(five: Any) -> None:
    entries = five[2:]
    assert len(entries) == 4
    assert entries
    next(entries)
    assert len(entries) == 3
    entries.next_batch(2)
    assert len(entries) == 1
    next(entries)
    assert len(entries) == 0
    assert not entries
    assert next(entries, None) is None
    assert len(entries) == 0
    assert len(five[2:2]) == 0
    assert len(five.all()) == 5
    closed = five.all()
    closed.close()
    assert len(closed) == 0
    assert not closed


def test_length_heeds_deletes(five: Any) -> None:
    five.flush()
    five.delete(2, 4)
    assert len(five.all()) == 3
    assert len(five[1:3]) == 1


def test_an_exhausted_iterator_is_closed(five: Any) -> None:
    entries = five.all()
    assert not entries.closed
    for _ in entries:
        assert not entries.closed
    assert entries.closed
    batched = five.all()
    assert batched.next_batch(3) == [(1, "a"), (2, "b"), (3, "c")]
    assert not batched.closed
    assert batched.next_batch(3) == [(4, "d"), (5, "e")]  # short: the end
    assert batched.closed
    assert batched.next_batch(3) == []
    exact = five.all()
    assert len(exact.next_batch(5)) == 5
    assert exact.next_batch(1) == []
    assert exact.closed


def test_a_batch_has_up_to_as_many_rows_as_asked_for(five: Any) -> None:
    entries = five.all()
    assert entries.next_batch(0) == []
    assert entries.next_batch(1) == [(1, "a")]
    assert next(entries) == (2, "b")
    assert entries.next_batch(0) == []
    assert not entries.closed
    assert entries.next_batch(100) == [(3, "c"), (4, "d"), (5, "e")]
    assert type(five.all().next_batch(2)) is list


def test_the_size_of_a_batch_is_a_whole_number_that_is_not_negative(five: Any) -> None:
    entries = five.all()
    for negative in (-1, -(2**62)):
        with pytest.raises(ValueError, match=">= 0"):
            entries.next_batch(negative)
    for wrong in (1.0, "1", None):
        with pytest.raises(TypeError):
            entries.next_batch(wrong)
    with pytest.raises(TypeError):
        entries.next_batch()
    with pytest.raises(TypeError):
        entries.next_batch(1, 2)
    assert len(entries) == 5


def test_batches_together_are_the_rows(log: Any) -> None:
    log.extend(range(5_000), range(5_000))
    log.flush()
    log.extend(range(2_500, 7_500), range(5_000))
    whole = list(log)
    for size in (1, 7, 1_000, 4_096):
        entries, rows = log.all(), []
        while batch := entries.next_batch(size):
            assert len(batch) <= size
            rows += batch
        assert rows == whole


def test_close_is_idempotent_and_ends_the_reading(five: Any) -> None:
    entries = five.all()
    next(entries)
    assert entries.close() is None
    entries.close()
    assert entries.closed
    assert list(entries) == entries.next_batch(5) == []


def test_with_closes_an_iterator(five: Any) -> None:
    with five[2:] as entries:
        assert next(entries) == (2, "b")
        assert not entries.closed
    assert entries.closed
    with pytest.raises(KeyError, match="body"):
        with five.all() as entries:
            raise KeyError("body")
    assert entries.closed
    five.close()


def test_an_iterator_shows_its_range_and_what_is_left(five: Any) -> None:
    assert repr(five[1:4]) == repr(five.range(1, 4)) == "<TimelogIter [1..4) remaining=3>"
    assert repr(five[5:]) == repr(five.since(5)) == "<TimelogIter [5..) remaining=1>"
    entries = five[2:5]
    next(entries)
    assert repr(entries) == "<TimelogIter [2..5) remaining=2>"
    entries.close()
    assert repr(entries) == "<TimelogIter closed>"
    assert repr(five.all()).startswith("<TimelogIter [")
    assert repr(five.all()).endswith(" remaining=5>")


def spans(views: Any) -> list[int]:
    return [time for span in views for time in span.copy_timestamps()]


def test_a_view_of_an_iterator_is_of_its_range_in_storage_as_it_is_now(five: Any) -> None:
    entries = five[2:5]
    assert spans(entries.view()) == []  # nothing was flushed yet
    five.flush()
    assert spans(entries.view()) == [2, 3, 4]
    next(entries)
    assert spans(entries.view()) == [2, 3, 4]  # the range, not the place in it
    five.append(3, "late")
    five.append(100, "beyond")
    five.flush()
    assert sorted(spans(entries.view())) == [2, 3, 3, 4]
    assert sorted(spans(five.since(4).view())) == [4, 5, 100]
    assert len(entries) == 2
    entries.close()
    with pytest.raises(ValueError):
        entries.view()
    exhausted = five.all()
    list(exhausted)
    with pytest.raises(ValueError):
        exhausted.view()


def test_iterators_over_every_kind_of_range_agree_with_their_length(log: Any) -> None:
    log.extend([(LEAST, "first"), *((n, n) for n in range(10)), (GREATEST, "last")])
    ranges: list[Callable[[], Any]] = [
        log.all,
        lambda: log.since(5),
        lambda: log.since(GREATEST),
        lambda: log.until(5),
        lambda: log.until(GREATEST),
        lambda: log.range(LEAST, GREATEST),
        lambda: log.point(GREATEST),
        lambda: log.equal(LEAST),
        lambda: log[3:4],
    ]
    for _ in range(2):
        for make in ranges:
            assert len(make()) == len(list(make()))
        log.flush()
        log.delete(3, 5)


def test_rows_that_a_program_keeps_stay_as_they_were(log: Any) -> None:
    log.extend(range(300), range(300))
    kept = []
    for row in log:
        # Some are let go of at once, some one row later, some never.
        if row[0] % 3 == 0 or row[0] > 200:
            kept.append(row)
    assert kept == [(n, n) for n in range(300) if n % 3 == 0 or n > 200]
    assert len({id(row) for row in kept}) == len(kept)


@pytest.mark.ours("the peer is not asked from inside of its own call")
def test_an_object_that_an_iterator_lets_go_of_may_come_back_to_it(log: Any) -> None:
    heard: list[Any] = []

    class Caller:
        def __del__(self) -> None:
            for call in (rows.close, lambda: next(rows), lambda: rows.closed):
                try:
                    heard.append(call())
                except ValueError as error:
                    heard.append(type(error))

    log.append(1, Caller())
    log.extend(range(2, 9_000), range(2, 9_000))
    rows = iter(log)
    assert next(rows)[0] == 1
    log.delete_before(2)
    assert [row[0] for row in rows] == list(range(2, 9_000))
    gc.collect()
    assert heard == [ValueError, ValueError, False]
