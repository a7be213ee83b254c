"""Tables from Python: rows in from whatever holds rows, out to whatever takes them."""

import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import timestrata

UTC = dt.timezone.utc


@pytest.fixture
def store() -> Any:
    with timestrata.open() as store:
        yield store


def trades(store: timestrata.Store) -> timestrata.Table:
    table = store.table("trades", tags="symbol")
    table.append({
        "time": ["2024-05-01T10:00:00Z", "2024-05-01T10:00:02Z", "2024-05-01 10:00:01"],
        "symbol": ["A", "B", "A"],
        "price": [1.5, 2, 3.25],
    })
    return table


def test_a_table_comes_into_being_with_its_first_rows(store: timestrata.Store) -> None:
    table = store.table("t")
    assert (table.exists, table.columns, table.count(), len(table)) == (False, [], 0, 0)
    with pytest.raises(timestrata.NotFoundError, match="neither rows nor columns"):
        table.scan()
    assert table.append({"ts": 1_700_000_000, "x": 1}) == 1
    assert (table.exists, table.time, table.columns) == (True, "ts", ["ts", "x"])
    assert store.tables() == ["t"]
    table.drop()
    assert (table.exists, store.tables()) == (False, [])
    table.append({"time": "2024-01-01", "y": 1})
    assert table.columns == ["time", "y"]


def test_a_schema_makes_it_exist_at_once(store: timestrata.Store) -> None:
    schema = {"at": "timestamp[ns, tz=UTC]", "price": "float64"}
    table = store.table("t", schema=schema)
    assert table.types == {"at": 'Timestamp(ns, "UTC")', "price": "Float64"}
    table.append({"at": 1_700_000_000_000_000_001, "price": 1})
    assert list(table.scan()) == [{"at": 1_700_000_000_000_000_001, "price": 1.0}]
    # Every column but the time may be null.
    table.append({"at": 1, "price": None})
    with pytest.raises(timestrata.InvalidDataError, match=r"row 0.*'at'.*null"):
        table.append({"at": None, "price": 1.0})


def test_rows_come_in_time_order_whatever_way_they_came(store: timestrata.Store) -> None:
    table = trades(store)
    assert table.append({"time": dt.datetime(2024, 5, 1, 9, tzinfo=UTC), "symbol": "C"}) == 1
    assert table.append([{"time": "2024-05-01T12:00+01:00"}, {"venue": "x", "time": "2024-06-01"}])
    rows = list(table.scan())
    assert [row["symbol"] for row in rows] == ["C", "A", "A", "B", None, None]
    assert rows[4]["time"] == dt.datetime(2024, 5, 1, 11, tzinfo=UTC)
    assert rows[5] == {
        "time": dt.datetime(2024, 6, 1, tzinfo=UTC), "symbol": None, "price": None, "venue": "x",
    }


def test_ranges_are_half_open_and_take_times_of_all_kinds(store: timestrata.Store) -> None:
    table = trades(store)
    start, end = "2024-05-01T10:00:00Z", dt.datetime(2024, 5, 1, 10, 0, 2, tzinfo=UTC)
    prices = [row["price"] for row in table.scan(start, end)]
    assert prices == [1.5, 3.25]
    assert table.count(start) == 3
    assert table.count(end=end) == 2
    micros = 1_714_557_601_000_000
    assert [row["price"] for row in table.scan(micros, micros + 1)] == [3.25]
    np = pytest.importorskip("numpy")
    assert table.count(np.datetime64("2024-05-01T10:00:01"), None) == 2
    with pytest.raises(timestrata.InvalidArgumentError, match="ends before it begins"):
        table.scan(end, start)
    with pytest.raises(timestrata.InvalidArgumentError, match="no time here: write it as"):
        table.scan("yesterday")


def test_columns_limit_reverse_head_and_tail(store: timestrata.Store) -> None:
    table = trades(store)
    assert list(table.scan(columns=["price", "symbol"], limit=1)) == [{"price": 1.5, "symbol": "A"}]
    assert [row["price"] for row in table.scan(reverse=True)] == [2.0, 3.25, 1.5]
    assert [row["price"] for row in table.head(2)] == [1.5, 3.25]
    assert [row["price"] for row in table.tail(2)] == [3.25, 2.0]
    assert [row["price"] for row in table.latest("symbol")] == [2.0, 3.25]
    assert table.min_time() == dt.datetime(2024, 5, 1, 10, tzinfo=UTC)
    with pytest.raises(timestrata.InvalidArgumentError, match="no column 'prize'; it has time"):
        table.scan(columns=["prize"])


def test_a_scan_shows_the_table_as_it_was_when_asked(store: timestrata.Store) -> None:
    table = trades(store)
    before = table.scan()
    table.append({"time": "2024-05-02", "symbol": "Z"})
    assert len(before.to_pylist()) == 3
    # And can be read again.
    assert before.count() == 3
    assert table.scan().count() == 4


def test_upsert_keys(store: timestrata.Store) -> None:
    timed = store.table("timed", key=["symbol", "time"])
    for price in (1.0, 2.0):
        timed.append({"time": "2024-01-01", "symbol": "A", "price": price})
    assert [row["price"] for row in timed.scan()] == [2.0]
    assert timed.row(("A", "2024-01-01")) == timed.scan().to_pylist()[0]
    by_id = store.table("by_id", key="id")
    by_id.append({"id": [1, 2], "time": ["2024-01-01", "2024-01-02"]})
    by_id.append({"id": 1, "time": "2025-01-01"})
    assert [row["id"] for row in by_id.scan()] == [2, 1]
    assert by_id.row(3) is None
    moved = by_id.row(1)
    assert moved is not None and moved["time"].year == 2025
    with pytest.raises(timestrata.InvalidArgumentError, match="1 key columns; 2 values"):
        by_id.row((1, 2))
    with pytest.raises(timestrata.AlreadyExistsError, match="exists with key"):
        store.table("by_id", key="time")


def test_a_table_has_its_key_and_tags_in_the_order_that_they_were_named_in(tmp_path: Path) -> None:
    def opened(store: timestrata.Store) -> timestrata.Table:
        return store.table("t", key=["time", "symbol"], tags=["venue", "symbol", "area"])

    rows = {
        "time": ["2024-01-01"] * 3,
        "symbol": ["A", "B", "A"],
        "venue": ["x"] * 3,
        "area": ["y"] * 3,
        "price": [1, 2, 3],
    }
    for again in range(2):
        with timestrata.open(tmp_path / "s") as store:
            for table in (opened(store), opened(store), store.table("t")):
                table.append(rows)
                assert table.tags == ["venue", "symbol", "area"]
                found = table.row(("2024-01-01", "A"))
                assert found is not None and found["price"] == 3, again
            # Tags have no order that anything goes by.
            store.table("t", tags=["area", "symbol", "venue"])
            with pytest.raises(timestrata.AlreadyExistsError, match="exists with tags"):
                store.table("t", tags=["area", "symbol"])


def test_rows_are_found_by_a_key_without_the_time_in_the_order_that_it_was_named_in(
    tmp_path: Path,
) -> None:
    for price in (1, 2):
        with timestrata.open(tmp_path / "s") as store:
            table = store.table("t", key=["zone", "id"])
            time = f"2024-01-0{price}"
            table.append({"time": [time] * 2, "id": [7, 8], "zone": ["b", "a"], "price": [price, 10 * price]})
            store.compact("t")
            # A row of the same key takes the place of the one before, at another time too.
            assert table.count() == 2
            found = [table.row(key) for key in (("b", 7), ("a", 8), ("a", 7))]
            assert [row and row["price"] for row in found] == [price, 10 * price, None]


def test_ids_are_handed_out(store: timestrata.Store) -> None:
    table = store.table("t", ids=True)
    table.append({"time": ["2024-01-01", "2024-01-02"], "x": [1, 2]})
    table.append({"id": 2, "time": "2023-01-01", "x": 3})
    assert [(row["id"], row["x"]) for row in table.scan()] == [(2, 3), (1, 1)]
    for bad in (0, -1):
        with pytest.raises(timestrata.InvalidDataError, match="row 0"):
            table.append({"id": bad, "time": "2024-01-01"})


def test_ids_are_never_handed_out_twice(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s") as store:
        table = store.table("t", ids=True)
        assert table.append([{"time": "2024-01-01", "x": 1}, {"time": "2024-01-02", "x": 2}]) == 2
        assert table.delete(where="x > 0") == 2
    with timestrata.open(tmp_path / "s") as store:
        table = store.table("t")
        assert table.row(2) is None
        table.append({"time": "2024-01-03", "x": 3})
        assert [row["id"] for row in table.scan()] == [3]


@pytest.mark.parametrize("batches", [3, 300])
def test_a_stream_is_one_commit_however_long(store: timestrata.Store, batches: int) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = 10_000
    schema = pa.schema({"time": pa.timestamp("ms", tz="UTC"), "x": pa.int64()})

    def stream(broken: bool) -> object:
        def parts() -> Iterator[object]:
            for part in range(batches):
                times = pa.array(range(part * rows, (part + 1) * rows), schema.field("time").type)
                yield pa.record_batch([times, pa.array(range(rows), pa.int64())], schema=schema)
            if broken:
                raise ValueError("the source is gone")

        return pa.RecordBatchReader.from_batches(schema, parts())

    table = store.table("t")
    with pytest.raises(timestrata.InvalidDataError, match="the source is gone"):
        table.append(stream(broken=True))
    assert not table.exists and store.tables() == []
    before = store.stats()["last_seq"]
    assert table.append(stream(broken=False)) == len(table) == batches * rows
    # One to make the table, one for the rows.
    assert store.stats()["last_seq"] <= before + 2


def test_info_tells_what_each_column_takes(store: timestrata.Store) -> None:
    table = store.table("t", time="time", tags="room")
    assert table.info() == {}
    rows, chance = 5_000, random.Random(1)
    table.append(
        {
            "time": [1_700_000_000 + at for at in range(rows)],
            "room": ["kitchen", "hall"] * (rows // 2),
            "celsius": [chance.randrange(40) / 2 for _ in range(rows)],
        }
    )
    types = {"time": 'Timestamp(s, "UTC")', "room": "Utf8", "celsius": "Float64"}
    before = table.info()
    assert {name: column["type"] for name, column in before.items()} == types
    assert all(column["bytes"] == column["plain_bytes"] == 0 for column in before.values())
    assert not any(column["encodings"] for column in before.values())
    table.compact()
    info = table.info()
    assert {name: column["type"] for name, column in info.items()} == types
    assert info["celsius"]["plain_bytes"] == rows * 8
    assert all(column["ratio"] > 5 for column in info.values())
    assert "RLE_DICTIONARY" in info["celsius"]["encodings"]
    assert "DELTA_BINARY_PACKED" in info["time"]["encodings"]


def test_what_does_not_fit_is_refused_whole_and_named(store: timestrata.Store) -> None:
    table = trades(store)
    with pytest.raises(timestrata.InvalidDataError, match=r"row 1 .*'price'.*\"abc\".*Float64"):
        table.append({"time": ["2024-01-01", "2024-01-02"], "price": [None, "abc"]})
    with pytest.raises(timestrata.InvalidDataError, match="row 1.*'str' does not go with"):
        table.append({"time": ["2024-01-01", "2024-01-02"], "price": [1.0, "abc"]})
    with pytest.raises(timestrata.InvalidDataError, match="'price' has 1 values, 'time' has 2"):
        table.append({"time": ["2024-01-01", "2024-01-02"], "price": [1.0]})
    with pytest.raises(timestrata.InvalidDataError, match="'time' is missing"):
        table.append({"price": 1.0})
    with pytest.raises(TypeError, match="rows must be"):
        table.append(17)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="on_mismatch"):
        table.append({"time": "2024-01-01"}, on_mismatch="guess")  # type: ignore[arg-type]
    assert table.count() == 3
    table.append({"time": "2025-01-01", "price": "high"}, on_mismatch="widen")
    assert [row["price"] for row in table.scan()] == ["1.5", "3.25", "2.0", "high"]


def test_pandas_polars_pyarrow_and_numpy_both_ways(store: timestrata.Store) -> None:
    pa = pytest.importorskip("pyarrow")
    np = pytest.importorskip("numpy")
    table = trades(store)
    arrow = table.scan().to_arrow()
    assert arrow.column_names == ["time", "symbol", "price"]
    assert pa.table(table).equals(arrow)
    copy = store.table("copy")
    assert copy.append(arrow) == 3
    assert copy.scan().to_arrow().equals(arrow)
    numpy = table.scan().to_numpy()
    assert numpy["time"].dtype == "datetime64[us]"
    assert numpy["price"].tolist() == [1.5, 3.25, 2.0]
    assert numpy["symbol"].tolist() == ["A", "A", "B"]
    more = store.table("numpy")
    more.append({"time": np.array(["2024-01-01", "NaT"], "datetime64[ms]")[:1], "x": np.arange(1)})
    assert more.types == {"time": 'Timestamp(ms, "UTC")', "x": "Int64"}


def test_pandas_and_polars(store: timestrata.Store) -> None:
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    table = trades(store)
    frame = table.scan().to_pandas()
    from_pandas = store.table("pandas")
    assert from_pandas.append(frame) == 3
    pd.testing.assert_frame_equal(from_pandas.scan().to_pandas(), frame)
    polars = table.scan().to_polars()
    from_polars = store.table("polars")
    assert from_polars.append(polars) == 3
    assert from_polars.scan().to_polars().equals(polars)
    assert pl.DataFrame(table).equals(polars)


def test_a_table_survives_closing(tmp_path: Path) -> None:
    with timestrata.open(tmp_path / "s") as store:
        rows = list(trades(store).scan())
    with timestrata.open(tmp_path / "s", mode="r") as store:
        table = store.table("trades")
        assert list(table.scan()) == rows
        with pytest.raises(timestrata.ReadOnlyError):
            table.append({"time": "2024-01-01"})
        with pytest.raises(timestrata.NotFoundError):
            store.table("none")
    with pytest.raises(timestrata.ClosedError):
        table.count()


def test_retention_and_compaction(store: timestrata.Store) -> None:
    table = trades(store)
    table.set_retention(age=3600.0)
    with pytest.raises(timestrata.InvalidArgumentError, match="positive number of seconds"):
        table.set_retention(age=-1.0)
    table.set_retention()
    table.compact()
    assert table.count() == 3


def test_ranges_are_deleted(store: timestrata.Store) -> None:
    table = trades(store)
    assert table.delete(end="2024-05-01T10:00:01Z") == 1
    assert [row["price"] for row in table.scan()] == [3.25, 2.0]
    assert table.delete("2025-01-01") == 0
    assert table.delete() == 2
    assert table.count() == 0


def test_files_are_one_commit_each(store: timestrata.Store, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,x\n2024-01-01,1\n2024-01-02,2\n")
    table = store.table("t")
    assert table.ingest(path) == {"rows": 2, "skipped": 0, "errors": [], "notes": {}}
    assert [row["x"] for row in table.scan()] == [1, 2]
    with path.open("rb") as file:
        assert table.ingest(file)["rows"] == 2
    path.write_text("time,x\n2024-01-03,3\n2024-01-04,many\n")
    with pytest.raises(timestrata.InvalidDataError, match=r"line 3.*'x'.*many"):
        table.ingest(path)
    assert table.count() == 4
    done = table.ingest(path, on_error="skip")
    assert (done["rows"], done["skipped"]) == (1, 1)
    assert "many" in done["errors"][0]
    with pytest.raises(timestrata.NotFoundError, match="could not open the input"):
        table.ingest(tmp_path / "none.csv")

    class Broken:
        def read(self, size: int, /) -> bytes:
            raise OSError("the cable is cut")

    with pytest.raises(OSError, match="the cable is cut"):
        table.ingest(Broken(), "csv")
    assert table.count() == 5


def test_what_comes_in_is_kept_as_it_is_or_refused(store: timestrata.Store, tmp_path: Path) -> None:
    # Each of these was altered without a word.
    def csv(name: str, text: str, time: str = "time") -> timestrata.Table:
        file = tmp_path / f"{name}.csv"
        file.write_text(text)
        table = store.table(name, time=time)
        table.ingest(file)
        return table

    days = csv("days", "date,x\n20240131,1\n20240201,2\n", time="date")
    assert [row["date"].day for row in days.scan()] == [31, 1]
    with pytest.raises(timestrata.InvalidDataError, match="times of several units"):
        csv("mixed", "time,x\n1700000000,1\n1700000000000,2\n")
    with pytest.raises(timestrata.InvalidDataError, match="looks like a day"):
        store.table("numbers", time="date").append({"date": [20240131, 20240201], "x": [1, 2]})

    zips = csv("zips", "time,zip,big,f\n2024-01-01,01234,12345678901234567890,1\n2024-01-02,99999,7,0.5\n")
    assert [(row["zip"], row["big"], row["f"]) for row in zips.scan()] == [
        ("01234", "12345678901234567890", 1.0), ("99999", "7", 0.5),
    ]
    digits = csv("digits", "time,v\n2024-01-01,123456789012345678901234567890\n2024-01-02,0.5\n")
    assert [row["v"] for row in digits.scan()] == ["123456789012345678901234567890", "0.5"]
    floats = store.table("floats", time="time", schema={"time": "timestamp[us, tz=UTC]", "v": "float64"})
    file = tmp_path / "lines.jsonl"
    file.write_text('{"time": "2024-01-01", "v": 123456789012345678901234567890}\n')
    with pytest.raises(timestrata.InvalidDataError, match="outside what Float64 can keep"):
        floats.ingest(file)

    seconds = store.table("seconds", schema={"time": "timestamp[s, tz=UTC]", "x": "int64"})
    with pytest.raises(timestrata.InvalidDataError, match="1700000000000"):
        seconds.append({"time": [1_700_000_000_000], "x": [1]})
    seconds.append({"time": [1_700_000_000], "x": [2**53 + 1]})
    with pytest.raises(timestrata.InvalidDataError, match="9007199254740993.*would be rounded"):
        seconds.append({"time": [1_700_000_001], "x": [0.5]}, on_mismatch="widen")
    assert [row["x"] for row in seconds.scan()] == [2**53 + 1]


def test_a_time_column_keeps_its_zone_by_ingest_as_by_append(store: timestrata.Store, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    column = pa.array([0], pa.timestamp("us", "Europe/Berlin"))
    pyarrow.parquet.write_table(pa.table({"time": column, "x": [1]}), tmp_path / "x.parquet")
    store.table("file").ingest(tmp_path / "x.parquet")
    store.table("rows").append(pa.table({"time": column, "x": [1]}))
    assert store.table("file").types == store.table("rows").types
    assert "Berlin" in store.table("file").types["time"]


def test_columns_widen_for_files_where_that_is_asked_for(store: timestrata.Store, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    half = pa.table({"time": pa.array([dt.datetime(2024, 1, 2)], pa.timestamp("us", "UTC")), "x": [2.5]})
    pyarrow.parquet.write_table(half, tmp_path / "half.parquet")
    (tmp_path / "half.csv").write_text("time,x\n2024-01-02,2.5\n")
    (tmp_path / "half.jsonl").write_text('{"time": "2024-01-02", "x": 2.5}\n')
    for form in ("csv", "jsonl", "parquet"):
        table = store.table(form)
        table.append({"time": ["2024-01-01"], "x": [1]})
        with pytest.raises(timestrata.InvalidDataError, match="'x'"):
            table.ingest(tmp_path / f"half.{form}")
        table.ingest(tmp_path / f"half.{form}", on_mismatch="widen")
        assert [row["x"] for row in table.scan()] == [1.0, 2.5]
        with (tmp_path / f"half.{form}").open("rb") as file:
            table.ingest(file, form, on_mismatch="widen")
        assert table.count() == 3


def test_compression_is_chosen_by_table_and_changes_what_files_take(tmp_path: Path) -> None:
    rows = {
        "time": list(range(20_000)),
        "text": [f"order {n * 7} of customer {n % 97} arrived" for n in range(20_000)],
    }
    taken = {}
    with timestrata.open(tmp_path / "store") as store:
        for compression in (None, "zstd:19", "lz4", "none"):
            table = store.table(f"t {compression}", time="time", compression=compression)
            table.append(rows)
            table.compact()
            assert table.compression == (compression or "zstd")
            assert table.scan().to_arrow().to_pydict()["text"] == rows["text"]
            taken[compression] = store.stats()["streams"][f"t {compression}"]["run_bytes"]
        assert taken["zstd:19"] < taken[None] < taken["lz4"] < taken["none"]
        # Files that are there stay; what is written from now on is packed.
        table = store.table("t none", compression="lz4")
        assert table.compression == "lz4"
        assert store.table("t none").compression == "lz4"
        table.append(rows)
        table.compact()
        assert store.stats()["streams"]["t none"]["run_bytes"] < taken["none"]
        for wrong in ("gzip", "zstd:0", "zstd:99", ""):
            with pytest.raises(timestrata.InvalidArgumentError, match="zstd:LEVEL"):
                store.table("new", compression=wrong)
        log = store.logs("app", compression="lz4")
        assert log.describe()["compression"] == "lz4"
        assert store.logs("app", compression="zstd:9").describe()["compression"] == "zstd:9"
        assert store.logs("app").describe()["compression"] == "zstd:9"
    with timestrata.open(tmp_path / "store") as store:
        assert store.table("t lz4").compression == "lz4"
        assert store.table("t lz4").count() == 20_000


def test_pages_of_a_scan_follow_each_other(store: timestrata.Store) -> None:
    table = store.table("t")
    table.append({"time": list(range(100)), "n": list(range(100))})
    table.compact()
    table.append({"time": list(range(100, 150)), "n": list(range(100, 150))})
    for options in ({}, {"reverse": True}, {"where": "n >= 0"}):
        everything = table.scan(columns=["n"], **options).to_pylist()
        pages = [
            table.scan(columns=["n"], limit=20, offset=offset, **options).to_pylist()
            for offset in range(0, 180, 20)
        ]
        assert [len(page) for page in pages] == [20] * 7 + [10, 0]
        assert [row for page in pages for row in page] == everything
    assert len(table.scan(offset=149).to_pylist()) == 1
    with pytest.raises(OverflowError):
        table.scan(offset=-1)
    # One answer is of one moment, however long its pages are taken from it.
    rows = iter(table.scan())
    first = [next(rows)["n"] for _ in range(10)]
    table.delete()
    assert first + [row["n"] for row in rows] == list(range(150))


def test_frames_come_in_as_their_users_have_them(store: timestrata.Store, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    days = pd.date_range("2024-01-01", periods=2, freq="D", tz="UTC")
    frame = pd.DataFrame({"x": [1.5, 2.5]}, index=days)
    # An index without a name has one of pandas' own, which begins with two underscores.
    store.table("index").append(frame)
    frame.to_parquet(tmp_path / "frame.parquet")
    store.table("file").ingest(tmp_path / "frame.parquet")
    for name in ("index", "file"):
        table = store.table(name)
        assert table.time == "time"
        assert [(row["time"].day, row["x"]) for row in table.scan()] == [(1, 1.5), (2, 2.5)]
    store.table("series").append(frame["x"])
    assert [row["x"] for row in store.table("series").scan()] == [1.5, 2.5]
    store.table("nameless").append(pd.Series([7], index=days[:1]))
    assert [row["value"] for row in store.table("nameless").scan()] == [7]
    times = pl.Series("time", [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)])
    store.table("polars").append(times)
    assert store.table("polars").count() == 2
    lazy = pl.DataFrame({"time": times, "x": [1, 2]}).lazy().filter(pl.col("x") > 1)
    store.table("lazy").append(lazy)  # type: ignore[arg-type]
    assert [row["x"] for row in store.table("lazy").scan()] == [2]


def test_days_make_no_table_that_takes_nothing_finer(store: timestrata.Store) -> None:
    np = pytest.importorskip("numpy")
    for name, first in [
        ("dates", [dt.date(2024, 1, 1)]),
        ("numpy", np.array(["2024-01-01"], dtype="datetime64[D]")),
    ]:
        table = store.table(name)
        table.append({"time": first, "x": [1]})
        table.append({"time": [dt.datetime(2024, 1, 1, 10, 0, 0, 250_000)], "x": [2]})
        assert table.types["time"] == 'Timestamp(\u00b5s, "UTC")'
        # A day is a bound too: it begins at midnight.
        assert [row["x"] for row in table.scan(dt.date(2024, 1, 1), dt.date(2024, 1, 2))] == [1, 2]
        assert table.scan(dt.date(2024, 1, 2)).count() == 0


def test_a_commit_widens_columns_where_that_is_asked_for(store: timestrata.Store) -> None:
    store.table("t").append({"time": "2024-01-01", "x": 1})
    with pytest.raises(timestrata.InvalidDataError, match="'x'"), store.commit() as commit:
        commit.table("t").append({"time": "2024-01-02", "x": 2.5})
    with store.commit() as commit:
        commit.table("t").append({"time": "2024-01-02", "x": 2.5}, on_mismatch="widen")
        commit.table("t").append([{"time": "2024-01-03", "x": 3}])
    assert [row["x"] for row in store.table("t").scan()] == [1.0, 2.5, 3.0]
    with pytest.raises(ValueError, match="on_mismatch"), store.commit() as commit:
        commit.table("t").append({"time": "2024-01-02", "x": 1}, on_mismatch="guess")  # type: ignore[arg-type]
