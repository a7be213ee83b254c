//! Conditions are asked of the bounds of pages before they are asked of rows: what they leave out must be what no row
//! of passes; and of codes of text. The same rows in a compacted run, by series and with floats as decimal numbers, in a
//! flushed one, and in memory.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use timestrata_engine::{
    COLD_BLOCK_ROWS_PROPERTY, RunFormat, SERIES_PROPERTY, Store, StreamId, StreamSpec,
};

use crate::support::{answer, insert, memory, memory_without_cache, plan, sql};

const HOSTS: i64 = 30;
const ROWS: i64 = 24_000;
/// So many that threads share them.
const MANY_ROWS: i64 = 140_000;

fn stream(store: &Store, name: &str) -> StreamId {
    let schema = Schema::new(vec![
        Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, None), false),
        Field::new("host", DataType::Utf8, true),
        Field::new("load", DataType::Float64, true),
        Field::new("noise", DataType::Float64, true),
        Field::new("n", DataType::Int64, true),
    ]);
    let properties = [(SERIES_PROPERTY, "host"), (COLD_BLOCK_ROWS_PROPERTY, "4096")];
    let spec = StreamSpec {
        run_format: RunFormat::Cold,
        properties: properties.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
        ..StreamSpec::new(name, Arc::new(schema))
    };
    store.create_stream(spec).unwrap()
}

/// Of each host the loads lie in a range of their own, those of host 0 are zeros; `noise` has zeros of both signs and NaN.
fn rows(store: &Store, name: &str, count: i64) -> RecordBatch {
    let scattered = |row: i64| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()) >> 40 & 63;
    let host = |row: i64| row % HOSTS;
    let load = |row: i64| match host(row) {
        0 => 0.0,
        host => (host * 100 + scattered(row)) as f64 / 100.0 - 12.0,
    };
    let noise = |row: i64| match (host(row), scattered(row)) {
        (1, _) => -0.0,
        (2, _) | (_, 9) => 0.0,
        (3, _) | (_, 7) => f64::NAN,
        (4, _) => -f64::NAN,
        (host, scattered) => (host - 9) as f64 / 3.0 + scattered as f64 / 7.0,
    };
    let all = || 0..count;
    let some = |row: &i64, every: i64| (row / HOSTS) % every != 3;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampMillisecondArray::from_iter_values(all().map(|row| row / HOSTS * 1_000))),
        Arc::new(StringArray::from_iter(
            all().map(|row| (host(row) != 5).then(|| format!("host {:02}", host(row)))),
        )),
        Arc::new(Float64Array::from_iter(all().map(|row| some(&row, 11).then(|| load(row))))),
        Arc::new(Float64Array::from_iter(all().map(|row| some(&row, 13).then(|| noise(row))))),
        Arc::new(Int64Array::from_iter(
            all().map(|row| (host(row) != 6).then(|| host(row) * 1_000 + scattered(row))),
        )),
    ];
    RecordBatch::try_new(Arc::clone(store.stream(name).unwrap().schema()), columns).unwrap()
}

/// A store with the rows in all three places.
fn store() -> Store {
    filled(memory(), ROWS)
}

fn filled(store: Store, count: i64) -> Store {
    let cold = stream(&store, "cold");
    insert(&store, cold, rows(&store, "cold", count));
    store.compact(Some(cold)).unwrap();
    let flushed = stream(&store, "flushed");
    insert(&store, flushed, rows(&store, "flushed", count));
    store.flush().unwrap();
    let recent = stream(&store, "recent");
    insert(&store, recent, rows(&store, "recent", count));
    store
}

const NUMBERS: [&str; 9] = [
    "0.0",
    "-0.0",
    "-12.0",
    "3.17",
    "1e300",
    "CAST('NaN' AS DOUBLE)",
    "(0e0 / 0e0)",
    "-1.5",
    "NULL",
];
const OPERATORS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

fn simple() -> impl Strategy<Value = String> {
    let column = prop::sample::select(&["load", "noise"][..]);
    let number = || prop::sample::select(&NUMBERS[..]);
    let operator = prop::sample::select(&OPERATORS[..]);
    let host = || (0..HOSTS + 1).prop_map(|host| format!("'host {host:02}'"));
    prop_oneof![
        4 => (column.clone(), operator.clone(), number())
            .prop_map(|(column, operator, number)| format!("{column} {operator} {number}")),
        1 => (column.clone(), number(), number())
            .prop_map(|(column, one, other)| format!("{column} IN ({one}, {other})")),
        1 => (column, number(), number())
            .prop_map(|(column, lo, hi)| format!("{column} BETWEEN {lo} AND {hi}")),
        2 => (operator.clone(), host()).prop_map(|(operator, host)| format!("host {operator} {host}")),
        1 => (host(), host()).prop_map(|(one, other)| format!("host NOT IN ({one}, {other})")),
        1 => (0..4).prop_map(|ten| format!("host LIKE 'host {ten}%'")),
        1 => (operator, 0..32_000).prop_map(|(operator, n)| format!("n {operator} {n}")),
        1 => prop::sample::select(&["host", "load", "n"][..])
            .prop_map(|column| format!("{column} IS NULL")),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    simple().prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one} AND {other})")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one} OR {other})")),
            inner.prop_map(|inner| format!("NOT ({inner})")),
        ]
    })
}

#[test]
fn pages_are_left_out_only_where_no_row_of_theirs_passes() {
    // Of columns that aren't kept ranges of numbers are told as these are stored.
    let stores = [store(), filled(memory_without_cache(), ROWS)];
    let [kept, unkept] = stores.each_ref().map(sql);
    let of = |stream: &str, condition: &str| {
        let query = format!(
            "SELECT count(*), sum(n), min(time), count(host) FROM {stream} WHERE {condition}"
        );
        let found = answer(&kept, &query);
        assert_eq!(answer(&unkept, &query), found, "nothing is kept: {query}");
        found
    };
    for column in ["load", "noise"] {
        for (operator, number) in OPERATORS.iter().flat_map(|op| NUMBERS.map(|n| (op, n))) {
            let condition = format!("{column} {operator} {number}");
            let expected = of("recent", &condition);
            assert_eq!(of("cold", &condition), expected, "{condition}");
            assert_eq!(of("flushed", &condition), expected, "{condition}, flushed");
        }
    }
    let config = ProptestConfig { cases: 200, ..ProptestConfig::default() };
    proptest!(config, |(condition in condition())| {
        let expected = of("recent", &condition);
        prop_assert_eq!(&of("cold", &condition), &expected, "{}", condition);
        prop_assert_eq!(&of("flushed", &condition), &expected, "{}, flushed", condition);
    });
}

/// Nothing is cached, so that groups are made of codes where these are stored.
#[test]
fn groups_by_codes_of_text_are_those_of_the_text() {
    let (store, long) = (filled(memory_without_cache(), MANY_ROWS), "long host names, repeated ");
    let names = stream(&store, "names");
    let mut columns = rows(&store, "names", MANY_ROWS).columns().to_vec();
    let hosts = columns[1].as_string::<i32>().iter();
    columns[1] = Arc::new(StringArray::from_iter(
        hosts.map(|host| host.map(|host| format!("{long}{}", host.trim_end_matches('7')))),
    ));
    let batch = RecordBatch::try_new(rows(&store, "names", MANY_ROWS).schema(), columns).unwrap();
    insert(&store, names, batch);
    let sql = sql(&store);
    let queries = [
        "SELECT host, count(*), count(load), sum(n) FROM t GROUP BY host ORDER BY host",
        "SELECT host, time_bucket(INTERVAL '1 minute', time) AS m, max(n) FROM t GROUP BY 1, 2 ORDER BY 2, 1",
        "SELECT host, time, n FROM t GROUP BY 1, 2, 3 ORDER BY 3, 2, 1 LIMIT 20",
        "SELECT host, max(host), count(*) FILTER (WHERE host > 'host 07') FROM t GROUP BY host ORDER BY host",
        "SELECT host, upper(host) AS u, count(*) FROM t GROUP BY 1, 2 ORDER BY 1",
        "SELECT host FROM t GROUP BY host HAVING count(*) > 5 ORDER BY host DESC",
        "SELECT count(*) FROM (SELECT DISTINCT host FROM t)",
        "SELECT host, count(*) FROM t WHERE n > 7000 GROUP BY host ORDER BY host",
    ];
    let of =
        |table: &str, query: &str| answer(&sql, &query.replace("FROM t", &format!("FROM {table}")));
    let expected = queries.map(|query| of("names", query));
    store.compact(Some(names)).unwrap();
    for (query, expected) in queries.iter().zip(expected) {
        assert_eq!(of("names", query), expected, "{query}");
        let expected = of("recent", query);
        assert_eq!(of("cold", query), expected, "{query}");
        assert_eq!(of("flushed", query), expected, "{query}");
    }
    let shown = |query: &str| plan(&sql, query);
    let grouped = shown("SELECT host, count(*) FROM cold GROUP BY host");
    assert!(grouped.contains("codes=[host]"), "{grouped}");
    let told = shown("SELECT host, max(host) FROM cold GROUP BY host");
    assert!(told.contains("NumberedGroupsExec: AggregateExec"), "{told}");
}

#[test]
fn what_only_a_condition_looks_at_is_not_given_by_its_scan() {
    let store = filled(memory(), MANY_ROWS);
    let sql = sql(&store);
    let shown = plan(&sql, "SELECT count(*) FROM cold WHERE n > 7000 AND load > 1");
    assert!(shown.contains("columns=[], filter="), "{shown}");
    let shown = plan(&sql, "SELECT host, sum(n) FROM cold WHERE load > 1 GROUP BY host");
    assert!(shown.contains("columns=[host, n], filter="), "{shown}");
}
