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
use timestrata_sql::{Params, Sql};

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
fn every_time_is_distinct_from_null_and_from_each_other_time() {
    let (_store, sql) = filled();
    let all = rows(&sql, "TRUE");
    for null in ["NULL", "CAST(NULL AS TIMESTAMPTZ)"] {
        assert_eq!(rows(&sql, &format!("time IS DISTINCT FROM {null}")), all);
        assert_eq!(rows(&sql, &format!("{null} IS DISTINCT FROM time")), all);
        assert_eq!(rows(&sql, &format!("time IS NOT DISTINCT FROM {null}")), "");
        assert_eq!(rows(&sql, &format!("n < 3 AND NOT time IS NOT DISTINCT FROM {null}")), "1 2");
        assert_eq!(rows(&sql, &format!("time <> {null}")), "");
    }
    let fourth = "TIMESTAMPTZ '2024-01-01 00:00:03+00:00'";
    assert_eq!(rows(&sql, &format!("time IS NOT DISTINCT FROM {fourth}")), "4");
    assert_eq!(rows(&sql, &format!("n < 5 AND time IS DISTINCT FROM {fourth}")), "1 2 3");
    answer(&sql, "DELETE FROM t WHERE time IS DISTINCT FROM NULL");
    assert_eq!(rows(&sql, "TRUE"), "");
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
fn a_condition_over_a_join_takes_each_column_from_its_own_side() {
    let (_store, sql) = filled();
    // Both sides have a `flag`; the last two rows have none of the other side.
    let joined = "FROM (SELECT 5 - n AS n, flag FROM t) a RIGHT JOIN t b ON a.n = b.n";
    for (condition, expected) in [
        ("CASE WHEN b.flag THEN TRUE ELSE a.flag END", "1 2 3 4"),
        ("nullif(b.flag, a.flag) IS TRUE AND b.flag", "1 2"),
        ("coalesce(a.flag, b.flag)", "3 4"),
        ("coalesce(a.flag, b.flag) IS NULL", "6 9223372036854775807"),
    ] {
        let query = format!("SELECT b.n {joined} WHERE {condition} ORDER BY b.n");
        let found = answer(&sql, &query).join(" ");
        assert_eq!(found, expected, "{condition}");
        let counted = format!("SELECT count(*) {joined} WHERE {condition}");
        assert_eq!(answer(&sql, &counted).join(""), expected.split(' ').count().to_string());
    }
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
fn values_of_a_list_that_differ_from_row_to_row_are_reckoned_for_each() {
    let (_store, sql) = filled();
    for (condition, expected) in [
        // Of a column few values are compared one by one by DataFusion too, of an expression none.
        ("abs(n) NOT IN (100, CASE WHEN flag THEN 7 ELSE n END)", "1 2"),
        ("abs(n) IN (CASE WHEN flag THEN n END, 3)", "1 2 3"),
        ("abs(n) NOT IN (CASE WHEN flag THEN n END, 3)", ""),
        ("abs(n) IN (CASE WHEN flag THEN 2 ELSE 4 END, 9)", "2 4"),
        ("(n IN (CASE WHEN flag THEN 2 WHEN g = 'b' THEN 4 END)) IS NULL", "9223372036854775807 6"),
        ("n IN (1, 2, CASE WHEN flag THEN 3 ELSE 6 END) AND n IN (n, 5)", "1 2 6"),
    ] {
        assert_eq!(rows(&sql, condition), expected, "{condition}");
    }
    // What a delete takes too.
    sql.query_blocking(
        "DELETE FROM t WHERE abs(n) NOT IN (100, CASE WHEN flag THEN 7 ELSE n END)",
        Params::none(),
    )
    .unwrap()
    .for_each(|batch| drop(batch.unwrap()));
    assert_eq!(rows(&sql, "TRUE"), "3 4 9223372036854775807 6");
}

#[test]
fn subqueries_keep_three_truth_values_wherever_they_stand() {
    // Nulls in a subquery were heeded by `NOT IN` about a column alone, and only where it stood by itself.
    let (_store, sql) = filled();
    let all = format!("1 2 3 4 {BIG} 6");
    for (condition, expected) in [
        ("'a' NOT IN (SELECT g FROM t)", ""),
        ("'z' NOT IN (SELECT g FROM t)", ""),
        ("'z' NOT IN (SELECT g FROM t WHERE g IS NOT NULL)", all.as_str()),
        ("g NOT IN (SELECT g FROM t WHERE n = 1) OR n = 2", "2 3 4"),
        (
            "(g IN (SELECT g FROM t WHERE n <> 3 AND n <> 4)) IS NULL",
            format!("3 4 {BIG} 6").as_str(),
        ),
        ("(g NOT IN (SELECT g FROM t WHERE n > 100 AND n < 200)) IS TRUE", all.as_str()),
        ("coalesce(g IN (SELECT g FROM t WHERE n = 6), true)", all.as_str()),
        ("NULL NOT IN (SELECT g FROM t WHERE n = 0)", all.as_str()),
        (
            "n NOT IN (SELECT u.n - 1 FROM t u WHERE u.g = t.g AND u.n < 5)",
            format!("2 4 {BIG} 6").as_str(),
        ),
        ("CASE WHEN g NOT IN (SELECT g FROM t) THEN false ELSE n < 3 END", "1 2"),
    ] {
        assert_eq!(rows(&sql, condition), expected, "{condition}");
    }
    let error = ask(&sql, "SELECT g IN (SELECT g FROM t) FROM t").unwrap_err();
    assert!(error.message().contains("WHERE and HAVING only"), "{error}");
}

#[test]
fn a_nan_that_was_calculated_is_the_nan_that_was_stored() {
    // Processors give it a sign, with which it was the least of floats, and in a group by itself.
    let (_store, sql) = filled();
    let infinite = "CAST('Infinity' AS DOUBLE)";
    let order = format!("SELECT n FROM t WHERE n < 5 ORDER BY x - {infinite} - x * 0, n");
    assert_eq!(answer(&sql, &order), ["1", "2", "3", "4"]);
    let calculated =
        format!("CASE WHEN n = 1 THEN x * 0 * {infinite} WHEN n = 4 THEN x * 0 ELSE x END");
    let groups = format!("SELECT count(*) FROM t WHERE n < 5 GROUP BY {calculated} ORDER BY 1");
    assert_eq!(answer(&sql, &groups), ["1", "3"], "one of -infinity, one of NaN");
    assert_eq!(answer(&sql, "SELECT 0.0 * -1.0 = 0.0"), ["true"]);
    assert_eq!(answer(&sql, "SELECT count(DISTINCT x * 0) FROM t WHERE n = 1 OR n = 6"), ["1"]);
}

#[test]
fn times_reach_further_than_nanoseconds_in_all_of_a_query() {
    let (_store, sql) = filled();
    for (query, expected) in [
        ("SELECT TIMESTAMP '9999-12-31 23:59:59'", "9999-12-31T23:59:59"),
        ("SELECT TIMESTAMP '1600-01-01' + INTERVAL '1 month'", "1600-02-01T00:00:00"),
        ("SELECT '9000-05-06'::timestamp", "9000-05-06T00:00:00"),
        ("SELECT CAST(DATE '9000-05-06' AS TIMESTAMP)", "9000-05-06T00:00:00"),
        ("SELECT date_trunc('quarter', TIMESTAMP '9000-05-06 07:08:09')", "9000-04-01T00:00:00"),
        ("SELECT date_trunc('week', DATE '2024-02-29')", "2024-02-26T00:00:00"),
        ("SELECT coalesce(CAST(NULL AS TIMESTAMP), TIMESTAMP '2300-01-01')", "2300-01-01T00:00:00"),
        ("SELECT max(CAST(time AS TIMESTAMP)) < TIMESTAMP '2300-01-01' FROM t", "true"),
        ("SELECT arrow_typeof(CAST(time AS TIMESTAMP)) FROM t LIMIT 1", "Timestamp(µs)"),
        // Digits that microseconds don't have are kept.
        ("SELECT TIMESTAMP '2024-01-01 00:00:00.000000001'", "2024-01-01T00:00:00.000000001"),
        (
            "SELECT CAST(TIMESTAMP '2024-01-01 00:00:00.000000001' AS TIMESTAMP)",
            "2024-01-01T00:00:00.000000001",
        ),
        ("SELECT TIMESTAMPTZ '2300-01-01 00:00:00+02:00'", "2299-12-31T22:00:00Z"),
        ("SELECT TRY_CAST(g AS TIMESTAMP) IS NULL FROM t WHERE n = 1", "true"),
    ] {
        assert_eq!(answer(&sql, query), [expected], "{query}");
    }
    let bound = "CAST(time AS TIMESTAMP) >= TIMESTAMP '2024-01-01 00:00:04'";
    assert_eq!(rows(&sql, bound), format!("{BIG} 6"));
    assert_eq!(answer(&sql, &format!("DELETE FROM t WHERE {bound}")), ["2"]);
}

#[test]
fn distinct_rows_may_hold_what_a_condition_has_made_never_null() {
    let (_store, sql) = filled();
    let query = "SELECT DISTINCT date_trunc('day', time) IS NOT NULL, (flag IS TRUE) AS f FROM t \
                 WHERE flag IS NULL";
    assert_eq!(answer(&sql, query), ["true false"]);
    let query =
        "SELECT flag IS NOT TRUE, n FROM t WHERE n < 3 EXCEPT SELECT starts_with(g, 'a'), n FROM t";
    assert_eq!(answer(&sql, &format!("{query} ORDER BY 2")), ["false 1", "false 2"]);
}

#[test]
fn decimals_are_compared_with_literals_by_all_their_digits() {
    let (_store, sql) = filled();
    assert_eq!(rows(&sql, "m = 17.519"), "1");
    assert_eq!(rows(&sql, "17.5190 = m"), "1");
    assert_eq!(rows(&sql, "m IN (17.519, 17.5205, -0.001)"), "1 3");
    assert_eq!(rows(&sql, "m BETWEEN 17.5185 AND 17.5195"), "1");
    assert_eq!(
        rows(&sql, "m IN (m + m, 17.5195, 1000000000000000000.5, CAST('17.519' AS DECIMAL(9, 3)))"),
        "1 4"
    );
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
fn buckets_count_from_the_instant_that_was_given_or_say_that_they_can_t() {
    // The origin was cast to the column's type first: moved by the zone's offset, and cut to the column's unit.
    let (_store, sql) = filled();
    let start = "SELECT DISTINCT CAST(time_bucket('1 hour', time, '2024-01-01 00:30:00') AS TIMESTAMP) FROM t";
    assert_eq!(answer(&sql, start), ["2023-12-31T23:30:00"]);
    for origin in ["'2024-01-01 00:00:00.0000001'", "TIMESTAMP '2024-01-01 00:00:00.0000001'"] {
        let error =
            ask(&sql, &format!("SELECT time_bucket('1 hour', time, {origin}) FROM t")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains("finer than the times are"), "{error}");
    }
    // Further than nanoseconds reach.
    let far = "SELECT DISTINCT time_bucket('1 day', time, '1600-01-01') = '2024-01-01' FROM t";
    assert_eq!(answer(&sql, far), ["true"]);
    let error = ask(&sql, "SELECT time_bucket('1 hour', time, 'noon') FROM t").unwrap_err();
    assert!(error.message().contains("is no time"), "{error}");
    assert_eq!(answer(&sql, "SELECT count(time_bucket('1 hour', time, NULL)) FROM t"), ["0"]);
}

#[test]
fn date_bin_keeps_the_columns_unit_and_zone() {
    let (_store, sql) = filled();
    let type_of = "SELECT arrow_typeof(date_bin(INTERVAL '1 hour', time)) FROM t LIMIT 1";
    assert_eq!(answer(&sql, type_of), ["Timestamp(µs, \"America/New_York\")"]);
    let bins = "SELECT date_bin(INTERVAL '7 hours', TIMESTAMP '1970-01-01 13:59:59'), \
                date_bin(INTERVAL '1 month', TIMESTAMP '1969-12-31 13:59:59'), \
                date_bin('3 hours', TIMESTAMP '1970-01-01 02:00:00', TIMESTAMP '1970-01-01 01:00:00')";
    assert_eq!(answer(&sql, bins), ["1970-01-01T07:00:00 1969-12-01T00:00:00 1970-01-01T01:00:00"]);
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
