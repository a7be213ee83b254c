"""A log goes out as a dict, as arrays, as tables."""

from collections.abc import Callable
from typing import Any

import pytest

GREATEST = 2**63 - 1


class Failing:
    def __float__(self) -> float:
        raise LookupError("no float today")


@pytest.fixture
def six(log: Any) -> Any:
    log.extend((n, n * 1.5) for n in range(6))
    return log


EVERY: dict[int, float] = {n: n * 1.5 for n in range(6)}


def test_a_dict_has_bounds_as_slices_have(six: Any) -> None:
    assert six.to_dict() == EVERY
    assert list(six.to_dict()) == sorted(EVERY)
    assert six.to_dict(1, 3) == six.to_dict(t1=1, t2=3) == {1: 1.5, 2: 3.0}
    assert six.to_dict(None, 2) == six.to_dict(t2=2) == {0: 0.0, 1: 1.5}
    assert six.to_dict(4) == {4: 6.0, 5: 7.5}
    assert six.to_dict(3, 1) == six.to_dict(3, 3) == six.to_dict(100) == {}
    with pytest.raises(TypeError, match="bool not allowed"):
        six.to_dict(True)
    with pytest.raises(OverflowError):
        six.to_dict(2**63)


def test_a_dict_has_one_object_a_time(log: Any) -> None:
    log.extend([(1, "a"), (1, "b"), (2, "c")])
    assert log.to_dict() == {1: "b", 2: "c"}


def test_a_dict_holds_the_objects_themselves(log: Any) -> None:
    value = object()
    log.append(1, value)
    assert log.to_dict()[1] is value


def test_exports_reach_the_greatest_timestamp_with_an_open_end(log: Any, numpy: Any) -> None:
    log.extend([(1, 2.0), (GREATEST, 1.0)])
    assert log.to_dict() == {1: 2.0, GREATEST: 1.0}
    assert log.to_dict(None, GREATEST) == {1: 2.0}
    assert log.to_numpy()[0].tolist() == [1, GREATEST]
    assert log.to_numpy(1)[0].tolist() == [1, GREATEST]
    assert log.to_numpy(None, GREATEST)[0].tolist() == [1]


def test_arrays_are_64_bit_times_and_floats(six: Any, numpy: Any) -> None:
    times, values = six.to_numpy()
    assert (times.dtype, values.dtype) == (numpy.int64, numpy.float64)
    assert times.tolist() == list(range(6))
    assert values.tolist() == [n * 1.5 for n in range(6)]
    for part in (times, values):
        assert part.ndim == 1
        assert part.flags.c_contiguous


def test_arrays_have_bounds_as_slices_have(six: Any, numpy: Any) -> None:
    ranges: list[tuple[tuple[Any, ...], list[int]]] = [
        ((1, 3), [1, 2]),
        ((None, 2), [0, 1]),
        ((4,), [4, 5]),
        ((3, 1), []),
        ((100, 200), []),
    ]
    for bounds, expected in ranges:
        times, values = six.to_numpy(*bounds)
        assert times.tolist() == expected
        assert values.tolist() == [n * 1.5 for n in expected]
        assert (times.dtype, values.dtype) == (numpy.int64, numpy.float64)
    with pytest.raises(TypeError, match="bool not allowed"):
        six.to_numpy(True)
    with pytest.raises(TypeError):
        six.to_numpy(0, 1, "i4")


def test_every_row_of_one_time_is_in_the_arrays(log: Any, numpy: Any) -> None:
    log.extend([(1, 2.0), (1, 3.0), (2, 4.0)])
    times, values = log.to_numpy()
    assert (times.tolist(), values.tolist()) == ([1, 1, 2], [2.0, 3.0, 4.0])


def test_values_have_the_type_asked_for(six: Any, numpy: Any) -> None:
    for dtype in ("i4", numpy.float32, "u1", numpy.dtype("i8"), "f2"):
        values = six.to_numpy(dtype=dtype)[1]
        assert values.dtype == numpy.dtype(dtype)
        assert values.tolist() == numpy.array([n * 1.5 for n in range(6)]).astype(dtype).tolist()


def test_values_are_numbers_of_one_kind(six: Any, numpy: Any) -> None:
    for wrong in ("U5", object, bool, "M8[s]", "m8[s]", complex, "S3", [("a", "i4")], "nope"):
        with pytest.raises(TypeError):
            six.to_numpy(dtype=wrong)


def test_values_are_converted_as_numpy_does(log: Any, numpy: Any) -> None:
    log.extend([(0, True), (1, None), (2, 2**60), (3, numpy.float32(0.5)), (4, 7)])
    values = log.to_numpy()[1]
    assert values[0] == 1.0
    assert numpy.isnan(values[1])
    assert values[2:].tolist() == [2.0**60, 0.5, 7.0]
    assert log.to_numpy(2, dtype="i8")[1].tolist() == [2**60, 0, 7]


def test_what_is_no_number_is_named_by_its_row(log: Any, numpy: Any) -> None:
    log.extend(range(6), [0, 1, 2, 3, 4, "x"])
    with pytest.raises(ValueError) as caught:
        log.to_numpy()
    assert caught.value.__notes__ == ["to_numpy(): raised at row 5 of 6"]
    log.delete(5)
    log.append(3, None)
    with pytest.raises(TypeError) as typed:
        log.to_numpy(3, dtype="i8")
    assert typed.value.__notes__ == ["to_numpy(): raised at row 1 of 3"]
    log.append(4, Failing())
    with pytest.raises(LookupError, match="no float today") as own:
        log.to_numpy(4)
    assert own.value.__notes__ == ["to_numpy(): raised at row 1 of 2"]


def test_rows_are_counted_over_chunks(log: Any, numpy: Any) -> None:
    log.extend(range(70_000), [1.0] * 69_990 + ["x"] * 10)
    with pytest.raises(ValueError) as caught:
        log.to_numpy()
    assert caught.value.__notes__ == ["to_numpy(): raised at row 69990 of 70000"]
    times, values = log.to_numpy(None, 69_990)
    assert times.tolist() == list(range(69_990))
    assert values.sum() == 69_990.0
    assert len(log.to_dict()) == 70_000
    del caught
    log.close()  # no reader is left behind


def test_exports_heed_deletes_and_late_rows(log: Any, numpy: Any) -> None:
    log.extend(range(10), map(float, range(10)))
    log.flush()
    log.delete(2, 8)
    log.append(5, 0.5)
    assert log.to_dict() == {0: 0.0, 1: 1.0, 5: 0.5, 8: 8.0, 9: 9.0}
    assert log.to_numpy()[1].tolist() == [0.0, 1.0, 0.5, 8.0, 9.0]


def test_an_empty_log_goes_out_empty(log: Any, numpy: Any) -> None:
    assert log.to_dict() == {}
    times, values = log.to_numpy()
    assert (len(times), len(values)) == (0, 0)
    assert (times.dtype, values.dtype) == (numpy.int64, numpy.float64)
    assert log.to_numpy(dtype="i2")[1].dtype == numpy.int16


@pytest.mark.ours("has no Arrow")
def test_a_log_goes_out_as_an_arrow_table(six: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no table")
    for table in (six.to_arrow(), pyarrow.table(six)):
        assert table.num_rows == 6
        assert table.column(1).to_pylist() == [n * 1.5 for n in range(6)]


@pytest.mark.ours("has no HTML")
def test_the_html_of_a_log_is_bounded(make: Callable[..., Any]) -> None:
    log = make()
    log.extend((n, "<script>" * 1_000) for n in range(10_000))
    page = log._repr_html_()
    assert "<script>" not in page
    assert len(page) < 100_000
