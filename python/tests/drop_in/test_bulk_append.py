"""`bulk_append` takes a buffer of timestamps and a sequence of objects: all of it or nothing."""

import array
import ctypes
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]
LEAST, GREATEST = -(2**63), 2**63 - 1


def times(*values: int) -> "array.array[int]":
    return array.array("q", values)


def test_buffers_of_64_bits_and_sequences_are_taken(log: Any) -> None:
    assert log.bulk_append(times(1, 2), ["a", "b"]) is None
    log.bulk_append(times(3, 4), ("c", "d"))
    log.bulk_append(array.array("l", [5]), ["e"])
    log.bulk_append(memoryview(times(6, 7)), ["f", "g"])
    log.bulk_append(memoryview(times(8)).toreadonly(), ["h"])
    log.bulk_append(memoryview((9).to_bytes(8, "little")).cast("q"), ["i"])
    log.bulk_append((ctypes.c_int64 * 2)(10, 11), ["j", "k"])
    log.bulk_append(timestamps=times(12), objects=["l"], mostly_ordered=False)
    log.bulk_append(times(13), ["m"], mostly_ordered=None)
    assert list(log) == [(n, c) for n, c in enumerate("abcdefghijklm", 1)]


def test_a_bulk_of_nothing_is_nothing(log: Any) -> None:
    log.bulk_append(times(), [])
    log.bulk_append(times(), ())
    assert len(log) == 0


def test_a_bulk_may_be_in_any_order_and_reach_both_ends(log: Any) -> None:
    log.bulk_append(times(3, 1, GREATEST, 2, LEAST), list("cazbA"))
    assert list(log) == [(LEAST, "A"), (1, "a"), (2, "b"), (3, "c"), (GREATEST, "z")]


def test_a_bulk_keeps_references(log: Any) -> None:
    values = [object() for _ in range(3_000)]
    log.bulk_append(times(*range(3_000)), values)
    assert all(given is value for (_, given), value in zip(log, values, strict=True))


def test_the_buffer_is_free_afterwards(log: Any) -> None:
    stamps = times(1, 2)
    log.bulk_append(stamps, ["a", "b"])
    stamps.append(3)  # an exported buffer could not grow
    stamps[0] = 100
    assert list(log) == [(1, "a"), (2, "b")]
    with pytest.raises(ValueError):
        log.bulk_append(stamps, ["a"])
    stamps.append(4)


def test_lengths_must_agree(log: Any) -> None:
    for objects in (["a"], ["a", "b", "c"], ()):
        with pytest.raises(ValueError, match="length"):
            log.bulk_append(times(1, 2), objects)
    assert len(log) == 0


@pytest.mark.parametrize("code", ["i", "h", "f", "B", "H"])
def test_items_have_eight_bytes(log: Any, code: str) -> None:
    with pytest.raises(ValueError, match="8-byte|int64"):
        log.bulk_append(array.array(code, [1, 2]), ["a", "b"])
    assert len(log) == 0


def test_bytes_are_not_timestamps(log: Any) -> None:
    for raw in (bytes(8), bytearray(8), memoryview(bytes(8))):
        with pytest.raises(ValueError, match="8-byte|int64"):
            log.bulk_append(raw, ["a"])
    assert len(log) == 0


@pytest.mark.parametrize("code", ["d", "Q", "L"])
def test_items_are_signed_whole_numbers(log: Any, code: str) -> None:
    with pytest.raises(ValueError, match="int64"):
        log.bulk_append(array.array(code, [1, 2]), ["a", "b"])
    assert len(log) == 0


def test_the_buffer_has_one_dimension(log: Any) -> None:
    square = memoryview(times(1, 2, 3, 4)).cast("B").cast("q", [2, 2])
    for objects in (["a", "b"], ["a", "b", "c", "d"]):
        with pytest.raises(ValueError, match="1-D"):
            log.bulk_append(square, objects)
    assert len(log) == 0


def test_the_buffer_is_contiguous(log: Any) -> None:
    for strided in (memoryview(times(1, 2, 3, 4))[::2], memoryview(times(1, 2))[::-1]):
        with pytest.raises((ValueError, BufferError)):
            log.bulk_append(strided, ["a", "b"])
    assert len(log) == 0


def test_the_byte_order_is_the_machines(log: Any) -> None:
    with pytest.raises(ValueError, match="byte order"):
        log.bulk_append((ctypes.c_int64.__ctype_be__ * 2)(1, 2), ["a", "b"])
    assert len(log) == 0


def test_the_buffer_is_aligned(log: Any) -> None:
    with pytest.raises(ValueError, match="aligned"):
        log.bulk_append(memoryview(bytes(17))[1:].cast("q"), ["a", "b"])
    assert len(log) == 0


@pytest.mark.parametrize("wrong", [[1, 2], (1, 2), range(2), "12345678", None, 5, {1, 2}])
def test_timestamps_come_in_a_buffer(log: Any, wrong: object) -> None:
    with pytest.raises(TypeError):
        log.bulk_append(wrong, ["a", "b"])
    assert len(log) == 0


@pytest.mark.parametrize("wrong", ["ab", b"ab", {"a", "b"}, {1: 1, 2: 2}, None, 5])
def test_objects_come_in_a_sequence(log: Any, wrong: object) -> None:
    with pytest.raises(TypeError):
        log.bulk_append(times(1, 2), wrong)
    with pytest.raises(TypeError):
        log.bulk_append(times(1, 2), (value for value in "ab"))
    assert len(log) == 0


def test_other_sequences_are_taken_too(log: Any) -> None:
    log.bulk_append(times(1, 2), range(2))
    log.bulk_append(times(3, 4), deque("ab"))
    assert list(log) == [(1, 0), (2, 1), (3, "a"), (4, "b")]


def test_other_arguments_are_refused(log: Any) -> None:
    with pytest.raises(TypeError):
        log.bulk_append()
    with pytest.raises(TypeError):
        log.bulk_append(times(1))
    with pytest.raises(TypeError):
        log.bulk_append(times(1), ["a"], True)
    with pytest.raises(TypeError, match="colour"):
        log.bulk_append(times(1), ["a"], colour=1)
    assert len(log) == 0


def test_a_row_below_the_floor_refuses_the_whole_bulk(make: Make) -> None:
    log = make(min_ts=0)
    with pytest.raises(ValueError, match="below min_ts"):
        log.bulk_append(times(*range(3_000), -1), list(range(3_001)))
    assert len(log) == 0
    log.bulk_append(times(0), ["a"])
    assert list(log) == [(0, "a")]


def test_numpy_arrays_are_taken_and_checked(log: Any, numpy: Any) -> None:
    log.bulk_append(numpy.array([1, 2]), ["a", "b"])
    log.bulk_append(numpy.array([3], dtype="<i8"), ["c"])
    log.bulk_append(numpy.arange(4, 6), numpy.array([1.5, 2.5]))
    log.bulk_append(numpy.array(["1970-01-01T00:00:00.006"], "M8[ms]").view("i8"), ["d"])
    assert list(log) == [(1, "a"), (2, "b"), (3, "c"), (4, 1.5), (5, 2.5), (6, "d")]
    refused = [
        (numpy.array([1, 2], dtype="i4"), "8-byte|int64"),
        (numpy.array([1, 2], dtype="u8"), "int64"),
        (numpy.array([1, 2], dtype="f8"), "int64"),
        (numpy.array([1, 2], dtype=">i8"), "byte order"),
        (numpy.array([[1, 2], [3, 4]]), "1-D"),
        (numpy.array(5), "1-D"),
        (numpy.frombuffer(bytes(17), dtype="i8", offset=1), "aligned"),
    ]
    for stamps, message in refused:
        with pytest.raises(ValueError, match=message):
            log.bulk_append(stamps, ["a", "b"])
    with pytest.raises((ValueError, BufferError)):
        log.bulk_append(numpy.arange(4)[::2], ["a", "b"])
    assert len(log) == 6


def test_other_times_of_numpy_are_never_taken_for_counts_of_another_unit(
    log: Any, numpy: Any
) -> None:
    """Either read in their own unit or refused, but not read as they lie."""
    stamps = numpy.array(["1970-01-01T00:00:01"], "M8[s]")
    try:
        log.bulk_append(stamps, ["a"])
    except (TypeError, ValueError):
        assert len(log) == 0
    else:
        assert list(log) == [(1_000, "a")]


def test_a_bulk_leaves_a_readable_log_behind_each_policy(make: Make) -> None:
    for policy in ("silent", "flush"):
        log = make(busy_policy=policy, memtable_max_bytes=24 * 100, sealed_max_runs=1)
        for start in range(0, 5_000, 1_000):
            log.bulk_append(times(*range(start, start + 1_000)), range(start, start + 1_000))
        assert list(log) == [(n, n) for n in range(5_000)]
