"""Logs of codec "arrow": columns of Arrow types."""

from __future__ import annotations

import array
import datetime as dt
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timestrata
from timestrata import Timelog

UTC = dt.timezone.utc


def place(values: Any) -> int:
    """Where an array's memory begins."""
    return int(values.__array_interface__["data"][0])


def test_floats_come_back_as_they_went_in(tmp_path: Path) -> None:
    with Timelog(path=tmp_path / "s", codec="arrow", schema="float64") as log:
        log.append(3, 0.5)
        log[1] = 7
        log.extend([(2, None), (2, np.float32(0.25))])
        assert list(log) == [(1, 7.0), (2, None), (2, 0.25), (3, 0.5)]
        assert log[2] == [None, 0.25] and log.at(4) == []
        assert log.codec == "arrow" and isinstance(log[1][0], float)
    with Timelog(path=tmp_path / "s") as again:
        assert again.last(2) == [(2, 0.25), (3, 0.5)]
        assert list(reversed(again))[0] == (3, 0.5)


VALUES: dict[str, list[Any]] = {
    "bool": [True, False],
    "int8": [-128, 127],
    "int16": [-(2**15), 2**15 - 1],
    "int32": [-(2**31), 2**31 - 1],
    "int64": [-(2**63), 2**63 - 1],
    "uint8": [0, 255],
    "uint16": [0, 2**16 - 1],
    "uint32": [0, 2**32 - 1],
    "uint64": [0, 2**64 - 1],
    "float32": [0.5, math.inf],
    "float64": [0.1, -math.inf],
    "string": ["", "žluť\0"],
    "large_string": ["a" * 100_000],
    "binary": [b"", b"\xff\0"],
    "large_binary": [b"x"],
    "fixed_size_binary[3]": [b"abc"],
    "date32": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "date64": [dt.date(1969, 12, 31)],
    "time32[s]": [dt.time(23, 59, 59)],
    "time32[ms]": [dt.time(1, 2, 3, 4000)],
    "time64[us]": [dt.time(0, 0, 0, 1)],
    "time64[ns]": [86_399_999_999_999],
    "timestamp[s]": [dt.datetime(1960, 1, 1)],
    "timestamp[us]": [dt.datetime(2026, 1, 2, 3, 4, 5, 6)],
    "timestamp[ms, tz=UTC]": [dt.datetime(2026, 1, 2, tzinfo=UTC)],
    "timestamp[ns, tz=UTC]": [1_700_000_000_000_000_001],
    "duration[us]": [dt.timedelta(days=-1, microseconds=1)],
    "duration[ns]": [-1],
}


@pytest.mark.parametrize("name", VALUES)
def test_every_type_round_trips(name: str, tmp_path: Path) -> None:
    values = [*VALUES[name], None]
    with timestrata.open(tmp_path / "s") as store:
        log = store.timelog("log", schema=name)
        for ts, value in enumerate(values):
            log.append(ts, value)
        log.extend(range(len(values), 2 * len(values)), values)
        assert [value for _, value in log] == values * 2
        store.flush()
        assert [value for _, value in log] == values * 2
        table = log.to_arrow()
        assert table.column("value").null_count == 2
    with timestrata.open(tmp_path / "s", mode="r") as store:
        found = [value for _, value in store.timelog("log")]
        assert found == values * 2
        assert [type(value) for value in found] == [type(value) for value in values * 2]


def test_records_are_dicts_of_their_columns() -> None:
    log = timestrata.open().timelog("trades", schema={"price": "float64", "shares": pa.int32()})
    log.append(1, {"price": 7.5, "shares": 100})
    log.append(2, {"shares": 1})
    log.extend([(0, {})])
    whole = {"price": 7.5, "shares": 100}
    assert list(log) == [
        (0, {"price": None, "shares": None}),
        (1, whole),
        (2, {"price": None, "shares": 1}),
    ]
    for wrong, names in [
        ({"prize": 1.0}, "'prize'.*'price', 'shares'"),
        ([1.0, 2], "dicts of 'price', 'shares'"),
        ({"price": "dear"}, "'price' takes Float64, not 'str'"),
        ({"shares": 2**31}, "'shares'"),
    ]:
        with pytest.raises((TypeError, ValueError, OverflowError), match=names):
            log.append(3, wrong)
        with pytest.raises((TypeError, ValueError, OverflowError), match=names):
            log.extend([(3, whole), (4, wrong)])
    assert len(log) == 3


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("float64", "1.5"),
        ("float64", True),
        ("int64", 1.5),
        ("int64", True),
        ("uint8", -1),
        ("uint8", 256),
        ("int64", 2**63),
        ("string", b"x"),
        ("binary", "x"),
        ("bool", 1),
        ("fixed_size_binary[2]", b"abc"),
        ("date32", dt.datetime(2026, 1, 1)),
        ("timestamp[us]", dt.datetime(2026, 1, 1, tzinfo=UTC)),
        ("timestamp[us]", 1.5),
        ("duration[us]", "1s"),
    ],
)
def test_what_a_column_does_not_take_is_refused_by_name(schema: str, value: Any) -> None:
    log = timestrata.open().timelog("log", schema=schema)
    with pytest.raises((TypeError, ValueError, OverflowError)) as caught:
        log.append(1, value)
    assert "value" in str(caught.value) or "time zone" in str(caught.value)
    assert len(log) == 0


def test_a_schema_is_needed_and_kept() -> None:
    store = timestrata.open()
    with pytest.raises(ValueError, match="give a schema"):
        store.timelog("log", codec="arrow")
    with pytest.raises(ValueError, match="for codec 'arrow' only"):
        store.timelog("log", codec="cbor", schema="float64")
    assert store.timelogs() == []
    store.timelog("log", schema=pa.schema([("a", pa.string()), ("b", pa.float32())]))
    store.timelog("log", schema={"a": "string", "b": "float32"})
    with pytest.raises(timestrata.AlreadyExistsError, match="other columns"):
        store.timelog("log", schema={"a": "string"})
    with pytest.raises(timestrata.AlreadyExistsError):
        store.timelog("log", codec="json")
    assert store.timelog("log").codec == "arrow"


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ("flota64", ValueError),
        ("timestamp[h]", ValueError),
        ("fixed_size_binary[0]", ValueError),
        ({}, ValueError),
        ({"time": "int64"}, ValueError),
        ({"__x": "int64"}, ValueError),
        ({1: "int64"}, TypeError),
        ({"a": 7}, TypeError),
        (7, TypeError),
        (pa.list_(pa.int64()), ValueError),
        (pa.dictionary(pa.int8(), pa.string()), ValueError),
    ],
)
def test_schemas_that_are_none_are_refused(schema: Any, kind: type[Exception]) -> None:
    store = timestrata.open()
    with pytest.raises(kind):
        store.timelog("log", schema=schema)
    assert store.timelogs() == []


def test_to_numpy_of_a_typed_durable_log_copies_nothing(tmp_path: Path) -> None:
    rows = 200_000
    with Timelog(path=tmp_path / "s", codec="arrow", schema="float64") as log:
        log.bulk_append(np.arange(rows), np.arange(rows) / 7)
        log.flush()
        times, values = log.to_numpy()
        assert place(values) == place(log.to_numpy()[1]) and place(times) == place(log.to_numpy()[0])
        assert not values.flags.owndata and not values.flags.writeable
        assert values.dtype == np.float64 and times.dtype == np.int64
        assert np.array_equal(values, np.arange(rows) / 7)
        part_times, part = log.to_numpy(1000, 1500)
        assert place(part) == place(values) + 8 * 1000 and len(part_times) == 500
    # The memory outlives the log: it is the array's own reference.
    assert values.sum() == pytest.approx((np.arange(rows) / 7).sum())


def test_to_numpy_of_many_pieces_is_one_array_in_order() -> None:
    log = timestrata.open().timelog("log", schema="int32")
    log.extend([(1, 10), (5, 50)])
    log.flush()
    log.extend([(3, 30), (9, 90)])
    log.delete(5)
    times, values = log.to_numpy()
    assert times.tolist() == [1, 3, 9] and values.tolist() == [10, 30, 90]
    assert values.dtype == np.int32
    assert log.to_numpy(dtype="float32")[1].dtype == np.float32
    empty = log.to_numpy(100, 200)
    assert len(empty[0]) == 0 and empty[1].dtype == np.int32


def test_to_numpy_keeps_nulls_where_it_can() -> None:
    store = timestrata.open()
    floats = store.timelog("f", schema="float64")
    floats.extend([(1, 0.5), (2, None), (3, 1.5)])
    assert np.array_equal(floats.to_numpy()[1], [0.5, math.nan, 1.5], equal_nan=True)
    ints = store.timelog("i", schema="int64")
    ints.extend([(1, 5), (2, None)])
    with pytest.raises(TypeError, match="nulls.*dtype='float64'"):
        ints.to_numpy()
    assert np.array_equal(ints.to_numpy(dtype="float64")[1], [5, math.nan], equal_nan=True)
    stamps = store.timelog("t", schema="timestamp[ms]")
    stamps.extend([(1, 5), (2, None)])
    found = stamps.to_numpy()[1]
    assert found.dtype == "datetime64[ms]" and np.isnat(found[1])
    lengths = store.timelog("d", schema="duration[s]")
    lengths.extend([(1, None), (2, dt.timedelta(days=1))])
    found = lengths.to_numpy()[1]
    assert found.dtype == "timedelta64[s]" and np.isnat(found[0]) and found[1].astype(int) == 86_400
    texts = store.timelog("s", schema="string")
    with pytest.raises(TypeError, match="to_arrow"):
        texts.to_numpy()


def test_to_numpy_of_records_is_a_dict_of_arrays() -> None:
    log = timestrata.open().timelog("log", schema={"a": "float64", "b": "int8"})
    log.extend([(1, {"a": 0.5, "b": 1})])
    times, columns = log.to_numpy()
    assert times.tolist() == [1] and list(columns) == ["a", "b"]
    assert columns["a"].tolist() == [0.5] and columns["b"].dtype == np.int8


@pytest.mark.parametrize("times", [np.array([3, 1]), array.array("q", [3, 1])])
@pytest.mark.parametrize("make", [np.array, lambda values: array.array("d", values)])
def test_arrays_of_numbers_go_in_whole(times: Any, make: Any) -> None:
    values = make([0.5, 2.0])
    log = timestrata.open().timelog("log", schema="float64")
    log.bulk_append(times, values)
    log.extend(times, values)
    values[0] = 99.0  # what the caller does later with its memory is its own affair
    assert list(log) == [(1, 2.0), (1, 2.0), (3, 0.5), (3, 0.5)]
    with pytest.raises(ValueError, match="same length"):
        log.bulk_append(times, values[:1])
    assert len(log) == 4


def test_numbers_that_a_column_cannot_hold_are_refused_whole() -> None:
    log = timestrata.open().timelog("log", schema="int8")
    log.bulk_append(np.array([1, 2]), np.array([1, 127]))
    with pytest.raises(ValueError, match="'value'"):
        log.bulk_append(np.array([3, 4]), np.array([1, 128]))
    with pytest.raises(ValueError, match="'value' takes Int8.*Float64"):
        log.bulk_append(np.array([3, 4]), np.array([1.0, 2.0]))
    assert len(log) == 2


def test_arrow_data_goes_in_and_comes_out() -> None:
    log = timestrata.open().timelog("log", unit="us", schema={"a": "float64", "b": "string"})
    given = pa.table(
        {
            "b": pa.array(["x", None, "z"]).dictionary_encode(),
            "time": pa.array([3, 1, 2], pa.timestamp("ms", "UTC")),
            "a": pa.array([0.5, 1.5, None], pa.float32()),
        }
    )
    log.extend(given)
    log.extend(given.to_batches()[0])
    found = pa.table(log)
    assert found.schema.names == ["time", "a", "b"]
    assert found.column("time").type == pa.timestamp("us", "UTC")
    assert found.column("time").cast(pa.int64()).to_pylist() == [1000] * 2 + [2000] * 2 + [3000] * 2
    assert found.column("b").to_pylist() == [None, None, "z", "z", "x", "x"]
    assert log.to_arrow(2000, 2001).column("a").to_pylist() == [None, None]


def test_pandas_goes_in_and_comes_out() -> None:
    pd = pytest.importorskip("pandas")
    log = timestrata.open().timelog("log", schema={"a": "float64", "b": "string"})
    frame = pd.DataFrame({"time": [2, 1], "a": [0.5, 1.5], "b": ["x", "y"]})
    log.extend(pa.Table.from_pandas(frame, preserve_index=False))
    assert log.to_pandas()["b"].tolist() == ["y", "x"]


def test_polars_goes_in_and_comes_out() -> None:
    pl = pytest.importorskip("polars")
    log = timestrata.open().timelog("log", schema="string")
    frame = pl.DataFrame({"time": [2, 1], "value": ["b", "a"]})
    log.extend(frame)
    assert list(log) == [(1, "a"), (2, "b")]
    assert pl.DataFrame(log).height == 2 and log.to_polars().height == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pa.table(dict(value=[1.0])), "is the time"),
        (pa.table(dict(time=["x"], value=[1.0])), "has type Utf8"),
        (pa.table(dict(time=[1, None], value=[1.0, 2.0])), "row 1 is null"),
        (pa.table(dict(time=[1], value=["x"])), "takes Float64"),
        (pa.table(dict(time=[1], value=[1.0], more=[1])), "no column 'more'"),
        (pa.table(dict(time=[1], a=[1.0], b=[1.0])), "no column 'value'"),
        (
            pa.table(dict(time=pa.array([2**62], pa.timestamp("s")), value=[1.0])),
            "row 0 is outside int64",
        ),
    ],
)
def test_arrow_data_that_does_not_fit_is_refused(given: pa.Table, message: str) -> None:
    log = timestrata.open().timelog("log", schema="float64")
    with pytest.raises(ValueError, match=message):
        log.extend(given)
    assert len(log) == 0


def test_invalid_text_from_another_library_is_refused() -> None:
    offsets = pa.py_buffer(np.array([0, 1], np.int32))
    broken = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff")])
    log = timestrata.open().timelog("log", schema="string")
    with pytest.raises(ValueError, match="UTF8|UTF-8|utf-8"):
        log.extend(pa.table({"time": [1], "value": broken}))
    assert len(log) == 0


def test_an_arrow_stream_that_fails_says_what_is_stored() -> None:
    def batches() -> Any:
        yield pa.record_batch({"time": [1, 2], "value": [0.5, 1.5]})
        raise RuntimeError("the source broke")

    schema = pa.schema([("time", pa.int64()), ("value", pa.float64())])
    log = timestrata.open().timelog("log", schema="float64")
    with pytest.raises(ValueError, match="the source broke") as caught:
        log.extend(pa.RecordBatchReader.from_batches(schema, batches()))
    assert "extend(): the first 2 rows are stored" in caught.value.__notes__
    assert list(log) == [(1, 0.5), (2, 1.5)]


def test_a_time_that_python_cannot_hold_is_told_with_its_row() -> None:
    log = timestrata.open().timelog("log", schema="timestamp[s]")
    log.append(5, 2**60)
    with pytest.raises(OverflowError) as caught:
        list(log)
    assert caught.value.__notes__ == ["it is the value at timestamp 5"]


def test_views_of_a_typed_log_have_its_objects() -> None:
    log = timestrata.open().timelog("log", schema={"a": "int64"})
    log.extend([(1, {"a": 5}), (2, {"a": 6})])
    log.flush()
    (span,) = log.views()
    assert list(span.timestamps) == [1, 2]
    assert list(span.objects()) == [{"a": 5}, {"a": 6}] and span.objects()[-1] == {"a": 6}
