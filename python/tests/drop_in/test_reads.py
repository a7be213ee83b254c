"""What is read: ranges, single times, bounds, length, membership, order, frozen views of it."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

LEAST, GREATEST = -(2**63), 2**63 - 1
LETTERS = list(enumerate("abcdefghij"))


@pytest.fixture(params=["in the memtable", "flushed", "compacted", "spread"])
def ten(log: Any, request: pytest.FixtureRequest) -> Any:
    """Rows 0 to 9, wherever they are."""
    if request.param == "spread":
        log.extend(LETTERS[5:])
        log.flush()
        log.extend(LETTERS[2:5])
        log.flush()
        log.extend(LETTERS[:2])
        return log
    log.extend(LETTERS)
    if request.param != "in the memtable":
        log.flush()
    if request.param == "compacted":
        log.compact()
        while log.maint_step():
            pass
    return log


def test_every_kind_of_range_gives_its_rows(ten: Any) -> None:
    assert list(ten.range(3, 5)) == list(ten[3:5]) == list(ten[3:5:1]) == LETTERS[3:5]
    assert list(ten.since(8)) == list(ten[8:]) == LETTERS[8:]
    assert list(ten.until(2)) == list(ten[:2]) == LETTERS[:2]
    assert list(ten.all()) == list(ten[:]) == list(ten) == LETTERS
    assert list(ten.equal(3)) == list(ten.point(3)) == [(3, "d")]
    assert list(ten.range(-100, 100)) == list(ten[-100:100]) == LETTERS
    assert list(ten.range(LEAST, GREATEST)) == LETTERS
    assert list(ten.equal(99)) == list(ten.point(-1)) == []
    assert list(ten.since(100)) == list(ten.until(-100)) == []


def test_an_empty_range_is_empty(ten: Any) -> None:
    assert list(ten.range(3, 3)) == list(ten[3:3]) == []
    assert list(ten.range(LEAST, LEAST)) == list(ten[GREATEST:GREATEST]) == []


def test_a_reversed_range_is_refused_and_a_reversed_slice_is_empty(ten: Any) -> None:
    with pytest.raises(ValueError):
        ten.range(5, 3)
    with pytest.raises(ValueError):
        ten.range(GREATEST, LEAST)
    assert list(ten[5:3]) == list(ten[GREATEST:LEAST]) == []
    assert len(ten[5:3]) == 0


@pytest.mark.parametrize("step", [2, 0, -1, True, 1.0, "x"])
def test_a_slice_has_no_step(ten: Any, step: object) -> None:
    with pytest.raises(ValueError, match="step"):
        ten[3:5:step]
    with pytest.raises(ValueError, match="step"):
        ten[::step]


def test_an_item_is_the_list_of_objects_at_its_time(ten: Any) -> None:
    assert ten[3] == ten.at(3) == ["d"]
    assert ten[99] == ten.at(99) == []
    ten.append(3, "second")
    assert ten[3] == ten.at(3) == ["d", "second"]
    assert type(ten[3]) is list
    with pytest.raises(TypeError):
        ten[1, 2]
    with pytest.raises(TypeError):
        ten.at()
    with pytest.raises(TypeError):
        ten.at(1, 2)


def test_negative_times_count_from_no_end(ten: Any) -> None:
    ten.append(-1, "before")
    assert ten[-1] == ["before"]
    assert list(ten[-1:1]) == [(-1, "before"), (0, "a")]


def test_length_and_truth_are_of_what_is_visible(ten: Any) -> None:
    assert len(ten) == 10
    assert ten
    ten.delete(2, 5)
    assert len(ten) == 7
    ten.append(3, "again")
    assert len(ten) == 8
    ten.delete(LEAST, GREATEST)
    assert len(ten) == 0
    assert not ten


def test_membership_is_of_times(ten: Any) -> None:
    assert 3 in ten
    assert 99 not in ten
    ten.delete(3)
    assert 3 not in ten
    for wrong in ((4, "e"), "x", 1.0, None):
        with pytest.raises(TypeError):
            wrong in ten  # noqa: B015


def test_bounds_and_neighbours(ten: Any) -> None:
    assert (ten.min_ts(), ten.max_ts()) == (0, 9)
    assert (ten.next_ts(3), ten.prev_ts(3)) == (4, 2)
    assert (ten.next_ts(9), ten.prev_ts(0)) == (None, None)
    assert (ten.next_ts(-50), ten.prev_ts(50)) == (0, 9)
    assert (ten.next_ts(LEAST), ten.prev_ts(GREATEST)) == (0, 9)
    assert (ten.next_ts(GREATEST), ten.prev_ts(LEAST)) == (None, None)
    ten.delete(2, 5)
    ten.delete(0)
    ten.delete(9)
    assert (ten.min_ts(), ten.max_ts()) == (1, 8)
    assert (ten.next_ts(1), ten.prev_ts(5)) == (5, 1)
    ten.extend([(LEAST, "first"), (GREATEST, "last")])
    assert (ten.min_ts(), ten.max_ts()) == (LEAST, GREATEST)
    assert (ten.next_ts(LEAST), ten.prev_ts(GREATEST)) == (1, 8)
    assert (ten.next_ts(GREATEST - 1), ten.prev_ts(LEAST + 1)) == (GREATEST, LEAST)
    assert (ten.next_ts(GREATEST), ten.prev_ts(LEAST)) == (None, None)


def test_an_empty_log_has_nothing(log: Any) -> None:
    assert (log.min_ts(), log.max_ts(), log.next_ts(1), log.prev_ts(1)) == (None,) * 4
    assert (len(log), bool(log), list(log), log[1], 1 in log) == (0, False, [], [], False)
    assert list(log[:]) == list(log.since(0)) == list(log.range(0, 10)) == []


def test_rows_come_in_order_of_time_whatever_the_order_they_came_in(log: Any) -> None:
    for n in (5, 3, 9, 1, 7, 0, 8, 2, 6, 4):
        log.append(n, str(n))
        if n in (9, 0):
            log.flush()
    assert list(log) == [(n, str(n)) for n in range(10)]
    assert list(log[2:6]) == [(n, str(n)) for n in range(2, 6)]


def test_equal_times_in_order_keep_the_order_they_came_in(log: Any) -> None:
    objects = [object() for _ in range(100)]
    log.extend((1, each) for each in objects[:40])
    for each in objects[40:70]:
        log.append(1, each)
    log.flush()
    log.extend((1, each) for each in objects[70:])
    assert log[1] == objects
    log.flush()
    assert log[1] == objects


CHANGES: dict[str, Callable[[Any], object]] = {
    "append": lambda log: log.append(5, "new"),
    "late append": lambda log: log.append(-5, "new"),
    "extend": lambda log: log.extend(range(3_000), range(3_000)),
    "delete": lambda log: log.delete(0, 8),
    "delete all": lambda log: log.__delitem__(slice(None)),
    "flush": lambda log: log.flush(),
    "compact": lambda log: (log.flush(), log.compact(), log.maint_step(), log.maint_step()),
    "all of it": lambda log: [change(log) for n, change in CHANGES.items() if n != "all of it"],
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_iterator_sees_the_log_as_it_was(ten: Any, change: str) -> None:
    entire, part, begun, one = ten.all(), ten[3:7], iter(ten), ten.point(5)
    assert next(begun) == (0, "a")
    CHANGES[change](ten)
    assert len(entire) == 10
    assert list(entire) == LETTERS
    assert list(part) == LETTERS[3:7]
    assert begun.next_batch(100) == LETTERS[1:]
    assert list(one) == [(5, "f")]


def test_writing_while_iterating_is_fine(log: Any) -> None:
    log.extend(range(100), range(100))
    for time, value in log:
        log.append(time, value + 1000)
        if time % 2:
            log.delete(time)
    assert len(log) == 100


def test_threads_write_and_read_at_once(log: Any) -> None:
    errors: list[BaseException] = []
    done = threading.Event()

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)

        return run

    def write(worker: int) -> None:
        for n in range(2_000):
            log.append(n, (worker, n))

    def read() -> None:
        while not done.is_set():
            times = [time for time, _ in log]
            assert times == sorted(times)
            log.max_ts()
            len(log)

    writers = [
        threading.Thread(target=guarded(lambda worker=worker: write(worker)))  # type: ignore[misc]
        for worker in range(4)
    ]
    reader = threading.Thread(target=guarded(read))
    for thread in (*writers, reader):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert errors == []
    assert len(log) == 8_000
    for worker in range(4):
        mine = [n for _, (who, n) in log if who == worker]
        assert mine == list(range(2_000))


@pytest.mark.ours("has no reading backwards")
def test_the_log_is_read_backwards(ten: Any) -> None:
    assert list(reversed(ten)) == LETTERS[::-1]
    ten.delete(3, 6)
    ten.append(7, "second")
    expected = [*LETTERS[:3], *LETTERS[6:8], (7, "second"), *LETTERS[8:]]
    backwards = reversed(ten)
    ten.append(20, "unseen")
    assert list(backwards) == expected[::-1]


@pytest.mark.ours("has no first and last")
def test_first_and_last_give_rows_oldest_first(ten: Any) -> None:
    assert ten.first(3) == LETTERS[:3]
    assert ten.last(3) == LETTERS[-3:]
    assert (ten.first(), ten.last()) == (LETTERS[:1], LETTERS[-1:])
    assert ten.first(0) == ten.last(0) == []
    assert ten.first(100) == ten.last(100) == LETTERS
    for wrong in (ten.first, ten.last):
        with pytest.raises(ValueError):
            wrong(-1)
