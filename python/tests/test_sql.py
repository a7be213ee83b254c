"""SQL from Python, held against other engines on real and on random data."""

import datetime as dt
import io
import random
from pathlib import Path
from typing import Any

import pytest

import timestrata
from rows_of_others import flights, market


@pytest.fixture
def store() -> Any:
    with timestrata.open() as store:
        yield store


@pytest.fixture
def trades(store: timestrata.Store) -> timestrata.Table:
    table = store.table("trades", tags="symbol")
    table.append({
        "time": ["2024-05-01T10:00:00Z", "2024-05-01T10:00:02Z", "2024-05-01 10:00:01"],
        "symbol": ["A", "B", "A"],
        "price": [1.5, 2.5, 3.5],
    })
    return table


def test_a_statement_and_its_parameters(store: timestrata.Store, trades: Any) -> None:
    rows = store.sql("SELECT symbol, sum(price) AS total FROM trades GROUP BY symbol ORDER BY 1")
    assert rows.columns == ["symbol", "total"]
    assert rows.to_pylist() == [{"symbol": "A", "total": 5.0}, {"symbol": "B", "total": 2.5}]
    assert store.sql("SELECT price FROM trades WHERE symbol = ?", ["B"]).to_pylist() == [
        {"price": 2.5}
    ]
    when = dt.datetime(2024, 5, 1, 10, 0, 1, tzinfo=dt.timezone.utc)
    late = store.sql("SELECT count(*) AS n FROM trades WHERE time >= $t", {"t": when})
    assert late.to_pylist() == [{"n": 2}]
    with pytest.raises(TypeError, match="a list or a dict"):
        store.sql("SELECT $1", "x")
    with pytest.raises(TypeError, match="a parameter must be"):
        store.sql("SELECT $1", [object()])


def test_a_query_shows_the_store_as_it_was_when_asked(
    store: timestrata.Store, trades: timestrata.Table
) -> None:
    rows = store.sql("SELECT count(*) AS n FROM trades")
    trades.append({"time": "2024-06-01", "symbol": "C"})
    assert rows.to_pylist() == [{"n": 3}]
    # Asked again, it is the same.
    assert rows.to_pylist() == [{"n": 3}]
    assert store.sql("SELECT count(*) AS n FROM trades").to_pylist() == [{"n": 4}]


def test_statements_that_write(store: timestrata.Store, trades: timestrata.Table) -> None:
    done = store.sql("DELETE FROM trades WHERE price > $1", [3])
    assert done.to_pylist() == [{"count": 1}]
    assert done.to_pylist() == [{"count": 1}]
    assert trades.count() == 2
    store.sql("INSERT INTO trades VALUES ('2024-07-01T00:00:00Z', 'D', 9.5)")
    assert [row["symbol"] for row in trades.tail(1)] == ["D"]
    store.sql("CREATE TABLE made (time TIMESTAMP, x BIGINT)")
    assert "made" in store.tables()
    store.sql("DROP TABLE made")
    assert "made" not in store.tables()


def test_scans_and_deletes_with_a_condition(
    store: timestrata.Store, trades: timestrata.Table
) -> None:
    assert [row["price"] for row in trades.scan(where="symbol = 'A'")] == [1.5, 3.5]
    rows = trades.scan("2024-05-01T10:00:01Z", where="price > $1", params=[2], columns=["price"])
    assert rows.to_pylist() == [{"price": 3.5}, {"price": 2.5}]
    newest = trades.scan(where="price < 3", reverse=True, limit=1)
    assert [row["price"] for row in newest] == [2.5]
    for wrong in ("price >", "price > 1; DROP TABLE trades", "1=1) OR (1=1", ""):
        with pytest.raises(timestrata.InvalidArgumentError, match="is not a condition"):
            trades.scan(where=wrong)
        with pytest.raises(timestrata.InvalidArgumentError, match="is not a condition"):
            trades.delete(where=wrong)
    assert trades.count() == 3
    assert trades.delete(where="price > 2", end="2024-05-01T10:00:02Z") == 1
    assert [row["price"] for row in trades.scan()] == [1.5, 2.5]
    assert trades.delete("2024-05-01T10:00:02Z") == 1
    assert trades.delete() == 1
    assert trades.count() == 0


def test_mistakes_say_what_is_wrong(store: timestrata.Store, trades: timestrata.Table) -> None:
    with pytest.raises(timestrata.InvalidArgumentError, match="prize"):
        store.sql("SELECT prize FROM trades")
    with pytest.raises(timestrata.NotFoundError, match="no table 'none'; there are: trades"):
        store.sql("SELECT * FROM none")
    with pytest.raises(timestrata.InvalidArgumentError, match="not supported"):
        store.sql("COPY trades TO '/tmp/x.csv'")
    with pytest.raises(timestrata.InvalidArgumentError):
        store.sql("SELECT " + "(" * 5000 + "1" + ")" * 5000)


def test_timelogs_are_tables_too(store: timestrata.Store) -> None:
    log = store.timelog("cellar", schema={"celsius": "float64"})
    log.append(1_700_000_000_000, {"celsius": 11.5})
    assert store.sql("SELECT celsius FROM cellar").to_pylist() == [{"celsius": 11.5}]


def test_one_join_over_two_models(store: timestrata.Store, trades: timestrata.Table) -> None:
    log = store.timelog("news", schema={"headline": "string"}, unit="us")
    log.append(1_714_557_600_500_000, {"headline": "up"})
    rows = store.sql(
        "SELECT symbol, price, headline FROM asof_join(trades, news, 'time') ORDER BY time"
    ).to_pylist()
    assert [row["headline"] for row in rows] == [None, "up", "up"]


def test_asof_join_equals_pandas_on_the_market(store: timestrata.Store, tmp_path: Path) -> None:
    for name, files in market(tmp_path).items():
        trades, quotes = store.table(f"{name}_trades"), store.table(f"{name}_quotes")
        trades.ingest(files[0])
        quotes.ingest(files[1])
        check_asof_joins_against_pandas(trades, quotes)


def check_asof_joins_against_pandas(trades: timestrata.Table, quotes: timestrata.Table) -> None:
    pd = pytest.importorskip("pandas")
    left, right = (table.scan().to_pandas() for table in (trades, quotes))
    on = trades.time
    assert on == quotes.time
    for tolerance, exact in ((None, True), (pd.Timedelta("50ms"), True), (None, False)):
        expected = pd.merge_asof(
            left, right, on=on, tolerance=tolerance, allow_exact_matches=exact,
            suffixes=("", "_right"),
        )
        given = None if tolerance is None else dt.timedelta(milliseconds=50)
        found = trades.asof_join(quotes, tolerance=given, allow_exact=exact).to_pandas()
        found = found.drop(columns=[name for name in found if name not in expected])
        pd.testing.assert_frame_equal(
            found[list(expected)], expected, check_dtype=False, check_like=True
        )


def random_rows(seed: int, count: int) -> list[dict[str, Any]]:
    source = random.Random(seed)
    start = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    return [
        {
            "time": start + dt.timedelta(milliseconds=source.randrange(5_000_000)),
            "symbol": source.choice("ABCDE"),
            "price": source.choice([None, round(source.uniform(1, 100), 2)]),
            "volume": source.randrange(1000),
        }
        for _ in range(count)
    ]


AGGREGATES = [
    "SELECT count(*), count(price), sum(volume), min(price), max(price) FROM t",
    "SELECT symbol, count(*), avg(price), sum(volume) FROM t GROUP BY symbol ORDER BY symbol",
    "SELECT symbol, count(*) FROM t WHERE price > 50 AND volume < 500 GROUP BY symbol ORDER BY 1",
    "SELECT date_trunc('minute', time) AS minute, count(*), sum(volume) FROM t"
    " GROUP BY minute ORDER BY minute",
    "SELECT count(*) FROM t WHERE time >= '2024-01-01 00:10:00+00'"
    " AND time < '2024-01-01 00:20:00+00'",
    "SELECT symbol, volume FROM t ORDER BY volume DESC, symbol LIMIT 10",
]


def check_against_duckdb(store: timestrata.Store, queries: list[str], seed: object) -> None:
    duckdb = pytest.importorskip("duckdb")
    arrow = store.table("t").scan().to_arrow()
    other = duckdb.connect()
    other.execute("SET TimeZone = 'UTC'")
    other.register("t", arrow)
    for query in queries:
        found = [tuple(row.values()) for row in store.sql(query)]
        expected = other.execute(query).fetchall()
        assert len(found) == len(expected), (seed, query)
        for a, b in zip(found, expected, strict=True):
            for left, right in zip(a, b, strict=True):
                if isinstance(left, float) and right is not None:
                    assert left == pytest.approx(float(right)), (seed, query)
                else:
                    assert left == right, (seed, query)


def test_aggregates_equal_duckdb_on_random_tables(store: timestrata.Store) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    table = store.table("t")
    rows = random_rows(seed, 3000)
    # Several commits, in memory and in files.
    for start in range(0, len(rows), 700):
        table.append(rows[start : start + 700])
        store.flush()
    check_against_duckdb(store, AGGREGATES, seed)
    table.compact()
    check_against_duckdb(store, AGGREGATES, seed)


def test_aggregates_equal_duckdb_on_the_flights(store: timestrata.Store) -> None:
    table = store.table("t", time="time_hour", tags="origin")
    done = table.ingest(io.BytesIO(flights()), "csv")
    assert done == {"rows": 336_776, "skipped": 0, "errors": [], "notes": {}}
    check_against_duckdb(
        store,
        [
            "SELECT count(*), count(dep_delay), sum(distance), avg(air_time) FROM t",
            "SELECT origin, count(*), avg(dep_delay) FROM t GROUP BY origin ORDER BY origin",
            "SELECT carrier, max(arr_delay) FROM t WHERE dest = 'LAX' GROUP BY carrier ORDER BY 1",
            "SELECT date_trunc('month', time_hour) AS month, count(*) FROM t GROUP BY 1 ORDER BY 1",
            "SELECT count(*) FROM t WHERE time_hour >= '2013-07-01 00:00:00+00'"
            " AND time_hour < '2013-07-08 00:00:00+00'",
        ],
        "flights",
    )


def test_of_rows_of_one_key_that_are_copied_the_last_one_counts(store: timestrata.Store) -> None:
    np, pa = pytest.importorskip("numpy"), pytest.importorskip("pyarrow")
    rows, hosts = 200_000, 20
    chance = np.random.default_rng(1)
    # Each second has all hosts, in an order of its own.
    names = chance.permuted(np.tile(np.arange(hosts), (rows // hosts, 1)), axis=1).ravel()
    seconds = pa.array(np.arange(rows) // hosts * 1_000_000, pa.timestamp("us", "UTC"))
    given = {"time": seconds, "host": [f"h{name}" for name in names], "n": np.arange(rows)}
    # Compacted, rows lie by host.
    store.table("x", tags="host").append(pa.table(given))
    store.compact("x")
    store.sql(
        "CREATE TABLE y (time TIMESTAMP NOT NULL, host VARCHAR, n BIGINT, PRIMARY KEY (time))"
    )
    store.sql("INSERT INTO y SELECT time, host, n FROM x")
    query = f"SELECT count(*) AS rows, min(n % {hosts}) AS least FROM y"
    assert store.sql(query).to_pylist() == [{"rows": rows // hosts, "least": hosts - 1}]


def test_views_and_materialised_views(tmp_path: Path) -> None:
    path = tmp_path / "store"
    minutes = "SELECT minute, symbol, rows, highest FROM minutes ORDER BY minute, symbol"
    with timestrata.open(path, history_min="10m") as store:
        trades = store.table("trades", tags="symbol")
        trades.append({"time": ["2024-05-01T10:00:00Z"], "symbol": ["A"], "price": [1.5]})
        store.sql("CREATE VIEW dear AS SELECT * FROM trades WHERE price > 2")
        store.sql("""
            CREATE MATERIALIZED VIEW minutes AS
            SELECT time_bucket('1 minute', time) AS minute, symbol, count(*) AS rows, max(price) AS highest
            FROM trades GROUP BY minute, symbol
        """)
        trades.append({"time": "2024-05-01T10:00:30Z", "symbol": "A", "price": 2.5})
        assert [row["price"] for row in store.sql("SELECT * FROM dear").to_pylist()] == [2.5]
        assert [(row["rows"], row["highest"]) for row in store.sql(minutes).to_pylist()] == [(2, 2.5)]
        before = store.stats()["last_seq"]
        trades.delete(where="price > 2")
        assert [(row["rows"], row["highest"]) for row in store.sql(minutes).to_pylist()] == [(1, 1.5)]
        with store.at(before) as then:
            assert [row["rows"] for row in then.sql(minutes).to_pylist()] == [2]
        with pytest.raises(ValueError, match="drop its materialised view 'minutes' first"):
            store.sql("DROP TABLE trades")
    with timestrata.open(path, mode="r") as store:
        assert [row["rows"] for row in store.sql(minutes).to_pylist()] == [1]


# What SQL's users bring along


def test_lists_are_parameters_of_whatever_kind_they_are(store: timestrata.Store, trades: timestrata.Table) -> None:
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    query = "SELECT count(*) AS n FROM trades WHERE price IN ($1)"
    for values in ([1.5, 9], (1.5, 9.0), {1.5}, frozenset([1.5]), np.array([1.5]), pd.Series([1.5]), pl.Series([1.5]), pa.array([1.5])):
        assert store.sql(query, [values]).to_pylist() == [{"n": 1}], type(values)
    times = [dt.datetime(2024, 5, 1, 10, tzinfo=dt.timezone.utc)]
    query = "SELECT symbol FROM trades WHERE time = ANY($t)"
    for moments in (times, np.array(["2024-05-01T10:00:00"], "datetime64[ns]"), pd.Series(times), ["2024-05-01 10:00"]):
        assert store.sql(query, {"t": moments}).to_pylist() == [{"symbol": "A"}]
    assert store.sql("SELECT count(*) AS n FROM trades WHERE symbol NOT IN ($1)", [[]]).to_pylist() == [{"n": 3}]
    assert [row["price"] for row in trades.scan(where="symbol IN ($1)", params=[["B"]])] == [2.5]
    with pytest.raises(timestrata.InvalidArgumentError, match="one type"):
        store.sql("SELECT $1", [[1, "x"]])


def test_a_query_reads_frames_beside_tables(store: timestrata.Store, trades: timestrata.Table) -> None:
    pd, pl, pa = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    columns = {"symbol": ["A", "B"], "Name": ["Acme", "Beta"]}
    query = "SELECT name, sum(price) AS total FROM trades JOIN names USING (symbol) GROUP BY name ORDER BY 1"
    for frame in (columns, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), [{"symbol": "A", "Name": "Acme"}, {"symbol": "B", "Name": "Beta"}]):
        rows = store.sql(query, tables={"names": frame})
        assert rows.to_pylist() == [{"Name": "Acme", "total": 5.0}, {"Name": "Beta", "total": 2.5}], type(frame)
    # What the caller changes or lets go of afterwards is not what was asked.
    frame = pd.DataFrame({"x": [1, 2, 3]})
    rows = store.sql("SELECT sum(x) AS s FROM f", tables={"f": frame})
    frame.loc[0, "x"] = 100
    del frame
    assert rows.to_pylist() == rows.to_pylist() == [{"s": 6}]
    with pytest.raises(timestrata.InvalidArgumentError, match="the store has 'trades'"):
        store.sql("SELECT 1", tables={"Trades": columns})
    with pytest.raises(TypeError):
        store.sql("SELECT 1", tables={"x": 7})
    store.sql("INSERT INTO trades SELECT now(), symbol, 1 FROM names", tables={"names": columns})
    assert trades.count() == 5


def test_rows_are_updated_and_tables_altered(store: timestrata.Store) -> None:
    rooms = store.table("rooms", key=["room"])
    rooms.append({"time": ["2024-05-01", "2024-05-01"], "room": ["hall", "attic"], "people": [1, 2]})
    assert rooms.alter(add={"note": "string"}, widen={"people": "float64"})
    assert not rooms.alter(widen={"people": "float64"})
    done = store.sql("UPDATE rooms SET people = people + 0.5, note = $1 WHERE ROOM = 'hall'", ["more"])
    assert done.to_pylist() == [{"count": 1}]
    assert store.sql("SELECT people, note FROM rooms ORDER BY room").to_pylist() == [
        {"people": 2.0, "note": None}, {"people": 1.5, "note": "more"},
    ]  # fmt: skip
    with pytest.raises(timestrata.AlreadyExistsError):
        rooms.alter(add={"note": "string"})
    with pytest.raises(timestrata.InvalidArgumentError, match="does not hold those of"):
        rooms.alter(widen={"people": "int64"})


def test_times_get_a_finer_unit(store: timestrata.Store) -> None:
    ticks = store.table("ticks", schema={"time": "timestamp[s, tz=UTC]", "n": "int64"})
    ticks.append([{"time": "2024-05-01T00:00:01", "n": 1}, {"time": "2024-05-01T00:00:02", "n": 2}])
    store.flush()
    with pytest.raises(timestrata.InvalidDataError):
        ticks.append({"time": "2024-05-01T00:00:01.5", "n": 3})
    assert ticks.alter(widen={"time": "timestamp[us]"})
    assert ticks.types["time"] == 'Timestamp(\u00b5s, "UTC")'
    ticks.append({"time": "2024-05-01T00:00:01.5", "n": 3})
    assert [row["n"] for row in ticks.scan().to_pylist()] == [1, 3, 2]
    assert ticks.count("2024-05-01T00:00:01", "2024-05-01T00:00:01.2") == 1
    assert ticks.delete("2024-05-01T00:00:01.5", "2024-05-01T00:00:02") == 1
    store.sql("ALTER TABLE ticks ALTER COLUMN time TYPE TIMESTAMP(9)")
    ticks.append({"time": 1714521601000000001, "n": 4})
    assert [row["n"] for row in ticks.scan().to_pylist()] == [1, 4, 2]
    with pytest.raises(timestrata.InvalidArgumentError, match="only gets a finer unit"):
        ticks.alter(widen={"time": "timestamp[s]"})


def test_maps_are_dicts(store: timestrata.Store) -> None:
    pa = pytest.importorskip("pyarrow")
    kind = pa.map_(pa.string(), pa.int64())
    maps = pa.table({"m": pa.array([[("a", 1), ("b", None)], None, [("a", 1), ("a", 2)]], kind)})
    found = store.sql("SELECT m FROM t", tables={"t": maps}).to_pylist()
    assert found == [{"m": {"a": 1, "b": None}}, {"m": None}, {"m": [("a", 1), ("a", 2)]}]
