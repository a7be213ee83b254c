"""A delete hides what was there before it, within its half-open range, and nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

LEAST, GREATEST = -(2**63), 2**63 - 1


@pytest.fixture
def ten(log: Any) -> Any:
    """Rows 0 to 9."""
    log.extend(range(10), "abcdefghij")
    return log


def times(log: Any) -> list[int]:
    return [time for time, _ in log]


def settle(log: Any) -> None:
    log.flush()
    log.compact()
    while log.maint_step():
        pass


DELETES: list[tuple[str, Callable[[Any], object], list[int]]] = [
    ("delete(t)", lambda log: log.delete(3), [0, 1, 2, 4, 5, 6, 7, 8, 9]),
    ("delete(t, None)", lambda log: log.delete(3, None), [0, 1, 2, 4, 5, 6, 7, 8, 9]),
    ("delete(t1, t2)", lambda log: log.delete(3, 6), [0, 1, 2, 6, 7, 8, 9]),
    ("delete_range", lambda log: log.delete_range(3, 6), [0, 1, 2, 6, 7, 8, 9]),
    ("cutoff", lambda log: log.cutoff(6), [6, 7, 8, 9]),
    ("delete_before", lambda log: log.delete_before(6), [6, 7, 8, 9]),
    ("del [t]", lambda log: log.__delitem__(3), [0, 1, 2, 4, 5, 6, 7, 8, 9]),
    ("del [a:b]", lambda log: log.__delitem__(slice(3, 6)), [0, 1, 2, 6, 7, 8, 9]),
    ("del [a:b:1]", lambda log: log.__delitem__(slice(3, 6, 1)), [0, 1, 2, 6, 7, 8, 9]),
    ("del [a:]", lambda log: log.__delitem__(slice(3, None)), [0, 1, 2]),
    ("del [:b]", lambda log: log.__delitem__(slice(None, 3)), [3, 4, 5, 6, 7, 8, 9]),
    ("del [:]", lambda log: log.__delitem__(slice(None)), []),
    ("nothing there", lambda log: log.delete(100, 200), list(range(10))),
    ("no such time", lambda log: log.delete(100), list(range(10))),
    ("empty range", lambda log: log.delete(5, 5), list(range(10))),
    ("empty slice", lambda log: log.__delitem__(slice(5, 5)), list(range(10))),
    ("empty raw range", lambda log: log.delete_range(5, 5), list(range(10))),
    ("cutoff of nothing", lambda log: log.cutoff(LEAST), list(range(10))),
    ("all in range", lambda log: log.delete(LEAST, GREATEST), []),
]


@pytest.mark.parametrize(("delete", "left"), [d[1:] for d in DELETES], ids=[d[0] for d in DELETES])
@pytest.mark.parametrize("before", ["in the memtable", "flushed", "compacted"])
def test_every_form_of_delete_hides_its_range(
    ten: Any, before: str, delete: Callable[[Any], object], left: list[int]
) -> None:
    if before == "flushed":
        ten.flush()
    elif before == "compacted":
        settle(ten)
    assert delete(ten) is None
    assert times(ten) == left
    assert len(ten) == len(left)
    assert (ten.min_ts(), ten.max_ts()) == ((left[0], left[-1]) if left else (None, None))
    assert all((n in ten) == (n in left) for n in range(10))
    ten.flush()
    assert times(ten) == left
    settle(ten)
    assert times(ten) == left
    assert len(ten) == len(left)


def test_a_delete_takes_every_object_of_its_time(log: Any) -> None:
    log.extend([(1, "a"), (2, "b"), (2, "c"), (2, "d"), (3, "e")])
    log.append(2, "late")
    log.delete(2)
    assert list(log) == [(1, "a"), (3, "e")]


def test_a_range_that_ends_before_it_begins_is_refused(ten: Any) -> None:
    refused: list[Callable[[], object]] = [
        lambda: ten.delete(7, 5),
        lambda: ten.delete_range(7, 5),
        lambda: ten.__delitem__(slice(7, 5)),
    ]
    for call in refused:
        with pytest.raises(ValueError):
            call()
    assert len(ten) == 10


@pytest.mark.parametrize("step", [2, 0, -1, True, 1.0, "x"])
def test_a_slice_to_delete_has_no_step(ten: Any, step: object) -> None:
    with pytest.raises(ValueError, match="step"):
        del ten[0:3:step]
    assert len(ten) == 10


def test_wrong_arguments_are_refused(ten: Any) -> None:
    for call in (ten.delete, ten.cutoff, ten.delete_range, ten.delete_before):
        with pytest.raises(TypeError):
            call()
        with pytest.raises(TypeError):
            call(1, 2, 3)
    with pytest.raises(TypeError):
        ten.cutoff(None)
    with pytest.raises(TypeError):
        del ten["a":]
    with pytest.raises(TypeError):
        del ten[1, 2]
    assert len(ten) == 10


def test_the_least_timestamp_can_be_deleted(log: Any) -> None:
    log.extend([(LEAST, "first"), (0, "middle")])
    log.delete(LEAST)
    assert list(log) == [(0, "middle")]
    log.append(LEAST, "again")
    log.cutoff(LEAST + 1)
    assert list(log) == [(0, "middle")]


def test_a_delete_hides_only_what_was_written_before_it(log: Any) -> None:
    log[1] = "a"
    del log[1]
    log[1] = "b"
    assert list(log) == [(1, "b")]
    log.flush()
    assert list(log) == [(1, "b")]
    del log[:]
    log.extend([(1, "c"), (2, "d")])
    assert list(log) == [(1, "c"), (2, "d")]
    settle(log)
    assert list(log) == [(1, "c"), (2, "d")]


@pytest.mark.parametrize("upkeep", ["none", "flush", "settle"])
def test_inserts_and_deletes_take_effect_in_their_order(log: Any, upkeep: str) -> None:
    for turn in range(5):
        log.extend((n, turn) for n in range(20))
        log.delete(5, 15)
        log.append(10, f"late {turn}")
        if upkeep == "flush":
            log.flush()
        elif upkeep == "settle":
            settle(log)
    for n in range(20):
        expected: list[object] = list(range(5)) if not 5 <= n < 15 else []
        # In which order is a matter of the defects, not of deletes.
        assert sorted(log[n], key=str) == (["late 4"] if n == 10 else expected)


def test_a_later_chunk_of_an_extend_is_not_hidden_by_a_delete_within_it(log: Any) -> None:
    def rows() -> Any:
        yield from ((n, "row") for n in range(1_024))
        log.delete(0, 10_000)
        yield from ((n, "row") for n in range(5_000, 5_010))

    log.extend(rows())
    assert times(log) == list(range(5_000, 5_010))


def test_deletes_that_overlap_add_up(ten: Any) -> None:
    for _ in range(3):
        ten.delete(1, 4)
        ten.delete(3, 6)
        ten.delete(2)
    assert times(ten) == [0, 6, 7, 8, 9]
    assert len(ten) == 5


def test_a_thousand_deletes_leave_what_they_leave(log: Any) -> None:
    log.extend(range(10_000), range(10_000))
    for start in range(0, 10_000, 10):
        log.delete(start, start + 3)
    expected = [n for n in range(10_000) if n % 10 >= 3]
    assert times(log) == expected
    assert len(log) == len(expected)
    settle(log)
    assert times(log) == expected


def test_a_busy_delete_is_done_and_says_so_as_asked(make: Callable[..., Any]) -> None:
    log = make(busy_policy="silent", memtable_max_bytes=24 * 10, sealed_max_runs=1)
    for n in range(100):
        log.append(n, n)
    log.delete(5)
    log.cutoff(50)
    del log[60:]
    assert times(log) == list(range(50, 60))


@pytest.mark.ours("can't delete its greatest timestamp at all")
def test_the_greatest_timestamp_can_be_deleted_alone(log: Any) -> None:
    log.extend([(1, "a"), (GREATEST, "last")])
    log.delete(GREATEST)
    assert list(log) == [(1, "a")]
    log.append(GREATEST, "again")
    del log[GREATEST]
    assert list(log) == [(1, "a")]
    log.append(GREATEST, "again")
    del log[2:]
    assert list(log) == [(1, "a")]
    settle(log)
    assert list(log) == [(1, "a")]
