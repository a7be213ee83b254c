//! Times before 1677 and after 2262, which nanoseconds don't reach: DataFusion goes by way of them where days meet
//! times and in `date_trunc`, and one such row was an error of the query.

use std::sync::Arc;

use crate::support::{answer, ask, lines, memory, sql};
use datafusion::arrow::array::{
    Array, ArrayRef, Date32Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
    TimestampMillisecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::config::ConfigOptions;
use datafusion::functions::datetime::date_trunc;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};
use timestrata_engine::{Changes, Durability, Store, StreamSpec};
use timestrata_sql::Sql;

/// Noon of these days of June, in microseconds with a zone and in milliseconds without; and the day, which is one
/// later for the last.
fn filled() -> (Store, Sql) {
    let store = memory();
    let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Berlin".into()));
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", zoned, false),
        Field::new("n", DataType::Int64, false),
        Field::new("naive", DataType::Timestamp(TimeUnit::Millisecond, None), true),
        Field::new("day", DataType::Date32, true),
    ]));
    let spec =
        StreamSpec { key: vec!["time".to_owned()], ..StreamSpec::new("t", Arc::clone(&schema)) };
    let stream = store.create_stream(spec).unwrap();
    // 1600-06-01, 2024-06-01, 9000-06-01.
    let days: Vec<i32> = vec![-134_988, 19_875, 2_567_806];
    let millis: Vec<i64> =
        days.iter().map(|day| i64::from(*day) * 86_400_000 + 43_200_000).collect();
    let micros: Vec<i64> = millis.iter().map(|time| time * 1_000).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("Europe/Berlin")),
        Arc::new(Int64Array::from(vec![1, 2, 3])),
        Arc::new(TimestampMillisecondArray::from(millis)),
        Arc::new(Date32Array::from(vec![days[0], days[1], days[2] + 1])),
    ];
    let batch = RecordBatch::try_new(schema, columns).unwrap();
    store.commit(Changes::new().insert(stream, batch), Durability::Written).unwrap();
    let sql = sql(&store);
    (store, sql)
}

#[test]
fn days_are_compared_with_times_of_all_years() {
    let (_store, sql) = filled();
    for (condition, rows) in [
        ("day < naive", "1 2"),
        ("naive <= day", "3"),
        ("day < time", "1 2"),
        ("time = day", ""),
        ("day IS DISTINCT FROM naive", "1 2 3"),
        ("day BETWEEN naive - INTERVAL '12 hours' AND naive", "1 2"),
        ("naive BETWEEN day AND day + INTERVAL '1 day'", "1 2"),
        ("naive IN (day, time)", "1 2 3"),
        ("time - day > INTERVAL '0 hours'", "1 2"),
        ("CASE naive WHEN day THEN false ELSE true END", "1 2 3"),
        ("day IN (SELECT date_trunc('day', naive) FROM t)", "1 2"),
        ("naive - INTERVAL '12 hours' IN (SELECT day FROM t)", "1 2"),
        ("naive - INTERVAL '12 hours' NOT IN (SELECT day FROM t)", "3"),
        ("EXISTS (SELECT 1 FROM t AS u WHERE u.day = t.naive - INTERVAL '12 hours')", "1 2"),
    ] {
        let query = format!("SELECT n FROM t WHERE {condition} ORDER BY n");
        assert_eq!(answer(&sql, &query).join(" "), rows, "{condition}");
    }
    let joined =
        "SELECT a.n FROM t AS a JOIN t AS b ON a.day = date_trunc('day', b.naive) ORDER BY 1";
    assert_eq!(answer(&sql, joined), ["1", "2"]);
}

#[test]
fn days_and_times_of_all_years_are_one_column() {
    let (_store, sql) = filled();
    for (expr, rows) in [
        (
            "CASE WHEN n > 2 THEN day ELSE naive END",
            "1600-06-01T12:00:00 2024-06-01T12:00:00 9000-06-02T00:00:00",
        ),
        ("coalesce(day, naive)", "1600-06-01T00:00:00 2024-06-01T00:00:00 9000-06-02T00:00:00"),
        ("greatest(day, naive)", "1600-06-01T12:00:00 2024-06-01T12:00:00 9000-06-02T00:00:00"),
        ("nullif(naive, day)", "1600-06-01T12:00:00 2024-06-01T12:00:00 9000-06-01T12:00:00"),
    ] {
        let query = format!("SELECT {expr} FROM t ORDER BY n");
        assert_eq!(answer(&sql, &query).join(" "), rows, "{expr}");
    }
    let united = "SELECT day FROM t UNION ALL SELECT naive FROM t WHERE n = 1 ORDER BY 1 LIMIT 2";
    assert_eq!(answer(&sql, united), ["1600-06-01T00:00:00", "1600-06-01T12:00:00"]);
    let below = "SELECT c FROM (SELECT day + INTERVAL '1 hour' AS c FROM t) AS q UNION ALL SELECT day FROM t \
                 ORDER BY 1 DESC LIMIT 2";
    assert_eq!(answer(&sql, below), ["9000-06-02T01:00:00", "9000-06-02T00:00:00"]);
    let others = "SELECT day FROM t EXCEPT SELECT date_trunc('day', naive) FROM t";
    assert_eq!(answer(&sql, others), ["9000-06-02"]);
}

#[test]
fn hours_added_to_a_day_are_not_lost() {
    let (_store, sql) = filled();
    assert_eq!(
        answer(
            &sql,
            "SELECT day + INTERVAL '90 minutes', day - INTERVAL '1 hour', day + INTERVAL '1 day' FROM t WHERE n = 1"
        ),
        ["1600-06-01T01:30:00 1600-05-31T23:00:00 1600-06-02"]
    );
}

#[test]
fn seconds_of_which_no_time_can_be_made_are_refused_and_not_the_nearest_time() {
    let (_store, sql) = filled();
    let query =
        "SELECT n FROM t WHERE to_timestamp(n + 0.5) < TIMESTAMP '1970-01-01 00:00:02' ORDER BY n";
    assert_eq!(answer(&sql, query), ["1"]);
    for seconds in ["-11676096000.5", "n * 1e10", "CAST('NaN' AS DOUBLE)", "CAST('inf' AS REAL)"] {
        let error = ask(&sql, &format!("SELECT to_timestamp({seconds}) FROM t")).unwrap_err();
        assert!(error.to_string().contains("1677"), "{seconds}: {error}");
    }
}

#[test]
fn date_trunc_cuts_times_of_all_years_in_all_zones() {
    let (_store, sql) = filled();
    assert_eq!(
        answer(&sql, "SELECT date_trunc('month', time) FROM t WHERE n < 3 ORDER BY n"),
        ["1600-06-01T00:00:00+00:53", "2024-06-01T00:00:00+02:00"]
    );
    assert_eq!(
        answer(&sql, "SELECT date_trunc('year', day) FROM t ORDER BY n"),
        ["1600-01-01T00:00:00", "2024-01-01T00:00:00", "9000-01-01T00:00:00"]
    );
    let asked = "SELECT count(*) FROM (SELECT time_bucket(INTERVAL '1 minute', time) AS b FROM t) AS q \
                 WHERE date_trunc('month', q.b) IS DISTINCT FROM '2024-02-29 23:59:59.999999+05:30'";
    assert_eq!(answer(&sql, asked), ["3"]);
}

/// DataFusion's own function, of all of some times.
fn plainly_cut(part: &str, times: ArrayRef) -> ArrayRef {
    let time = Arc::new(Field::new("time", times.data_type().clone(), true));
    let number_rows = times.len();
    let args = ScalarFunctionArgs {
        args: vec![ColumnarValue::Scalar(ScalarValue::from(part)), ColumnarValue::Array(times)],
        arg_fields: vec![Arc::new(Field::new("part", DataType::Utf8, false)), Arc::clone(&time)],
        number_rows,
        return_field: time,
        config_options: Arc::new(ConfigOptions::default()),
    };
    date_trunc().invoke_with_args(args).unwrap().into_array(number_rows).unwrap()
}

#[test]
fn date_trunc_cuts_by_the_clock_of_a_zone_as_before() {
    // From 1900 to 2100, and around the hours in which clocks were put forward and back, at midnight as well.
    let far = (0..4_000).map(|n| -2_208_988_800 + n * 1_577_845 + n % 3_600);
    let changes = [1_711_846_800_i64, 1_729_994_400, 1_699_163_999, 1_541_300_400, 1_520_132_400];
    let near = changes.into_iter().flat_map(|at| (-100..100).map(move |n| at + n * 601));
    let mut seconds: Vec<i64> = far.chain(near).collect();
    seconds.sort_unstable();
    let store = memory();
    let sql = sql(&store);
    for (number, zone) in
        ["Europe/Berlin", "America/New_York", "America/Sao_Paulo", "+05:30", "Asia/Kathmandu"]
            .iter()
            .enumerate()
    {
        let name = format!("zone{number}");
        let data_type = DataType::Timestamp(TimeUnit::Millisecond, Some((*zone).into()));
        let schema = Arc::new(Schema::new(vec![Field::new("time", data_type, false)]));
        let spec = StreamSpec {
            key: vec!["time".to_owned()],
            ..StreamSpec::new(&name, Arc::clone(&schema))
        };
        let stream = store.create_stream(spec).unwrap();
        let millis = TimestampMillisecondArray::from_iter_values(
            seconds.iter().map(|time| time * 1_000 + 7),
        );
        let times: ArrayRef = Arc::new(millis.with_timezone(*zone));
        let batch = RecordBatch::try_new(schema, vec![Arc::clone(&times)]).unwrap();
        store.commit(Changes::new().insert(stream, batch), Durability::Written).unwrap();
        for part in ["second", "minute", "hour", "day", "week", "month", "quarter", "year"] {
            let query = format!("SELECT date_trunc('{part}', time) AS t FROM {name} ORDER BY time");
            let cut = plainly_cut(part, Arc::clone(&times));
            let plain = RecordBatch::try_from_iter([("t", cut)]).unwrap();
            assert!(answer(&sql, &query) == lines(&[plain]), "{part} in {zone}");
        }
    }
}
