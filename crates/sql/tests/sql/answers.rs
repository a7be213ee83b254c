//! Answers that DataFusion alone would get wrong, or die of: operators that bind as the standard says, three
//! truth values, floats without a number, decimals, zones, far times, sums without room.

use std::sync::Arc;

use crate::support::{self, answer, ask, memory};
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use timestrata_engine::{Changes, Durability, ErrorKind, Store, StreamSpec};
use timestrata_sql::Sql;

const ZONE: &str = "America/New_York";

/// Six rows a second apart, from 2024 on, in a zone; of one hour of them each `g` has two.
fn filled() -> (Store, Sql) {
    let store = memory();
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into()));
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", time, false),
        Field::new("g", DataType::Utf8, true),
        Field::new("n", DataType::Int64, false),
        Field::new("x", DataType::Float64, false),
        Field::new("m", DataType::Decimal128(12, 3), true),
        Field::new("flag", DataType::Boolean, true),
    ]));
    let stream = store
        .create_stream(StreamSpec {
            key: vec!["time".to_owned()],
            ..StreamSpec::new("t", Arc::clone(&schema))
        })
        .unwrap();
    let start = 1_704_067_200_000_000;
    let times = (0..6).map(|n| start + n * 1_000_000);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone(ZONE)),
        Arc::new(StringArray::from(vec![Some("a"), Some("a"), Some("b"), Some("b"), None, None])),
        Arc::new(Int64Array::from(vec![1, 2, 3, 4, i64::MAX, 6])),
        Arc::new(Float64Array::from(vec![
            -84.0,
            f64::NAN,
            f64::NEG_INFINITY,
            f64::NEG_INFINITY,
            -f64::NAN,
            123.0,
        ])),
        Arc::new(
            Decimal128Array::from(vec![
                Some(17_519),
                Some(17_520),
                Some(-1),
                Some(0),
                None,
                Some(1_000),
            ])
            .with_precision_and_scale(12, 3)
            .unwrap(),
        ),
        Arc::new(BooleanArray::from(vec![
            Some(true),
            Some(true),
            Some(false),
            Some(false),
            None,
            None,
        ])),
    ];
    let batch = RecordBatch::try_new(schema, columns).unwrap();
    store.commit(Changes::new().insert(stream, batch), Durability::Written).unwrap();
    let sql = support::sql(&store);
    (store, sql)
}

/// The numbers of rows that a condition lets through.
fn rows(sql: &Sql, condition: &str) -> String {
    answer(sql, &format!("SELECT n FROM t WHERE {condition} ORDER BY time")).join(" ")
}

const BIG: &str = "9223372036854775807";

#[test]
fn is_distinct_from_binds_more_tightly_than_and() {
    let (_store, sql) = filled();
    assert_eq!(rows(&sql, "flag IS DISTINCT FROM TRUE AND n > 3 AND n < 9"), "4 6");
    assert_eq!(rows(&sql, "n = 1 AND flag IS NOT DISTINCT FROM TRUE OR n = 3"), "1 3");
    assert_eq!(rows(&sql, "NOT flag IS DISTINCT FROM TRUE AND n = 2"), "2");
    assert_eq!(answer(&sql, "SELECT '1' || 1 + 2"), ["13"]);
}

#[test]
fn a_filter_of_an_aggregate_may_be_without_nulls() {
    let (_store, sql) = filled();
    let query = "SELECT g, count(*) FILTER (WHERE n > 1), sum(n) FILTER (WHERE flag) FROM t \
                 GROUP BY g ORDER BY g";
    assert_eq!(answer(&sql, query), ["a 1 3", "b 2 NULL", "NULL 2 NULL"]);
}

#[test]
fn of_floats_nan_is_the_greatest_with_groups_and_without() {
    let (_store, sql) = filled();
    let query = "SELECT g, min(x), max(x) FROM t GROUP BY g ORDER BY g";
    assert_eq!(answer(&sql, query), ["a -84.0 NaN", "b -inf -inf", "NULL 123.0 NaN"]);
    assert_eq!(answer(&sql, "SELECT min(x), max(x) FROM t WHERE n <> 3 AND n <> 4"), ["-84.0 NaN"]);
    assert_eq!(
        answer(
            &sql,
            "SELECT DISTINCT max(x) OVER (ORDER BY n ROWS 1 PRECEDING) AS x FROM t WHERE n = 6"
        ),
        ["123.0"]
    );
}

#[test]
fn the_least_of_distinct_floats_are_found_among_nan() {
    let (_store, sql) = filled();
    let query = "SELECT DISTINCT x FROM t WHERE n < 6 ORDER BY 1 LIMIT 3";
    assert_eq!(answer(&sql, query), ["-inf", "-84.0", "NaN"]);
}

#[test]
fn lists_keep_three_truth_values() {
    let (_store, sql) = filled();
    assert_eq!(rows(&sql, "NOT (g NOT IN ('b', 'c') AND g IN ('c', NULL))"), "3 4");
    assert_eq!(
        rows(&sql, "g NOT IN ('a', 'b', 'c', 'd') OR g NOT IN ('e', 'f', 'h', 'i')"),
        "1 2 3 4"
    );
    assert_eq!(rows(&sql, "NOT ((g = 'a' OR g = 'b') AND (g = 'c' OR g = 'd'))"), "1 2 3 4");
    let query = "SELECT (g IN ('a', 'b', 'c', 'e') AND g IN ('d', 'f', 'h', 'i')) IS NULL FROM t \
                 WHERE n > 4";
    assert_eq!(answer(&sql, query), ["true", "true"]);
    assert_eq!(
        answer(&sql, "DELETE FROM t WHERE NOT (g IN ('a') AND g IN ('b'))"),
        ["4"],
        "rows without a group are not meant"
    );
}

#[test]
fn decimals_are_compared_with_literals_by_all_their_digits() {
    let (_store, sql) = filled();
    assert_eq!(rows(&sql, "m = 17.519"), "1");
    assert_eq!(rows(&sql, "17.5190 = m"), "1");
    assert_eq!(rows(&sql, "m IN (17.519, 17.5205, -0.001)"), "1 3");
    assert_eq!(rows(&sql, "m BETWEEN 17.5185 AND 17.5195"), "1");
    assert_eq!(rows(&sql, "m >= 17.5190000000000000001"), "2");
    assert_eq!(rows(&sql, "m < 1e30 AND m <> 0"), "1 2 3 6");
    assert_eq!(rows(&sql, "m IS DISTINCT FROM 17.519"), format!("2 3 4 {BIG} 6"));
    assert_eq!(rows(&sql, "CASE m WHEN 17.519 THEN true ELSE false END"), "1");
    assert_eq!(answer(&sql, "DELETE FROM t WHERE m = 17.519"), ["1"]);
}

#[test]
fn times_without_a_zone_are_utc_whatever_zone_the_column_has() {
    let (_store, sql) = filled();
    for at in [
        "TIMESTAMP '2024-01-01 00:00:00Z'",
        "TIMESTAMP '2024-01-01 00:00:00'",
        "'2024-01-01 00:00:00Z'",
        "'2024-01-01 00:00:00'",
        "DATE '2024-01-01'",
        "'2023-12-31 19:00:00-05:00'",
        "(SELECT TIMESTAMP '2024-01-01 00:00:00')",
    ] {
        assert_eq!(rows(&sql, &format!("time = {at}")), "1", "{at}");
        assert_eq!(rows(&sql, &format!("time <= {at}")), "1", "{at}");
    }
    let bucket = "time_bucket('1 hour', time, '2024-01-01 00:00:00')";
    assert_eq!(answer(&sql, &format!("SELECT DISTINCT {bucket} = '2024-01-01' FROM t")), ["true"]);
    assert_eq!(
        answer(&sql, "SELECT CAST(time AS TIMESTAMP) FROM t WHERE n = 1"),
        ["2024-01-01T00:00:00"]
    );
}

#[test]
fn at_time_zone_keeps_the_unit_and_reads_clocks_there() {
    let (_store, sql) = filled();
    let type_of = "SELECT arrow_typeof(time AT TIME ZONE 'Europe/Berlin') FROM t LIMIT 1";
    assert_eq!(answer(&sql, type_of), ["Timestamp(µs, \"Europe/Berlin\")"]);
    let clock = "SELECT TIMESTAMP '2024-01-01 00:00:00' AT TIME ZONE 'America/New_York' = \
                 TIMESTAMP '2024-01-01 05:00:00Z'";
    assert_eq!(answer(&sql, clock), ["true"]);
    let error = ask(&sql, "SELECT time AT TIME ZONE 'Nowhere' FROM t").unwrap_err();
    assert!(error.message().contains("Nowhere"), "{error}");
}

#[test]
fn times_further_than_nanoseconds_reach_can_be_compared_with() {
    let (_store, sql) = filled();
    let all = format!("1 2 3 4 {BIG} 6");
    for condition in [
        "time < '9999-12-31'",
        "time < DATE '9999-12-31'",
        "time < TIMESTAMP '2300-01-01 00:00:00'",
        "time > '1600-01-01'",
        "time BETWEEN '1600-01-01' AND '9999-12-31'",
    ] {
        assert_eq!(rows(&sql, condition), all, "{condition}");
    }
    assert_eq!(rows(&sql, "time > '9999-12-31'"), "");
}

#[test]
fn whole_numbers_without_room_are_an_error_that_says_to_cast() {
    let (_store, sql) = filled();
    for query in [
        "SELECT sum(n) FROM t",
        "SELECT flag, sum(n) FROM t GROUP BY flag",
        "SELECT sum(n) OVER (ORDER BY time) FROM t",
        "SELECT sum(DISTINCT n), count(DISTINCT g) FROM t",
        "SELECT n + 1 FROM t",
        "SELECT -n - 2 FROM t",
        "SELECT n * 2 FROM t",
        "SELECT 9223372036854775807 + 1",
        "SELECT count(*) FROM t WHERE n + 1 > 0",
    ] {
        let error = ask(&sql, query).expect_err(query);
        assert!(error.message().contains("cast to a wider type"), "{query}: {error}");
    }
    assert_eq!(
        answer(&sql, "SELECT sum(CAST(n AS DECIMAL(38, 0))) FROM t"),
        ["9223372036854775823"]
    );
    assert_eq!(answer(&sql, "SELECT sum(n), avg(n) FROM t WHERE n < 5"), ["10 2.5"]);
    assert_eq!(answer(&sql, "SELECT n - 1 AS k FROM t WHERE n - 1 = 2"), ["2"]);
}

#[test]
fn functions_give_no_more_than_their_share_of_memory() {
    let (_store, sql) = filled();
    for query in [
        "SELECT repeat('x', 2000000000)",
        "SELECT lpad('x', 1000000000)",
        "SELECT rpad(g, 1000000000, 'yz') FROM t",
        "SELECT array_repeat(1, 2000000000)",
        "SELECT range(0, 4000000000)",
        "SELECT generate_series(DATE '1900-01-01', DATE '2100-01-01', INTERVAL '1 microsecond')",
        "SELECT replace(repeat('x', 1000000), 'x', repeat('y', 100000))",
    ] {
        let error = ask(&sql, query).expect_err(query);
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{query}: {error}");
    }
    assert_eq!(answer(&sql, "SELECT repeat('ab', 3), lpad('7', 3, '0')"), ["ababab 007"]);
    assert_eq!(
        answer(&sql, "SELECT replace('a-b', '-', '+'), array_length(range(0, 5))"),
        ["a+b 5"]
    );
}
