//! Aggregates that compacted runs keep: they give what the rows give, whatever was written and deleted behind them.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{
    Access, COLD_BLOCK_ROWS_PROPERTY, Changes, Durability, Io, KeyRange, RunFormat,
    SERIES_PROPERTY, Settings, Store, StreamId, StreamSpec,
};

use crate::support::{self, answer, insert, sql};

const ROWS: i64 = 150_000;

/// Questions whose answers are kept, of rows with any of these conditions.
const QUESTIONS: [&str; 6] = [
    "SELECT host, count(*), count(n), sum(n), avg(value), min(value), max(value) FROM t {} GROUP BY host",
    "SELECT rack, host, min(time), max(time), count(value), sum(value) FROM t {} GROUP BY rack, host",
    "SELECT rack, sum(small), avg(small), max(small), min(large), sum(large) FROM t {} GROUP BY rack",
    "SELECT count(*), sum(n), avg(n), min(small), max(large), sum(value) FROM t {}",
    "SELECT host, max(time) - min(time) AS took, count(*) * 2 FROM t {} GROUP BY host HAVING count(*) > 10",
    "SELECT host FROM t {} GROUP BY host",
];

/// Others that need the rows, or some of them.
const OTHERS: [&str; 5] = [
    "SELECT host, count(DISTINCT small) FROM t {} GROUP BY host",
    "SELECT host, sum(n) FILTER (WHERE small > 3) FROM t {} GROUP BY host",
    "SELECT small, count(*) FROM t {} GROUP BY small",
    "SELECT host, sum(n + small), max(host) FROM t {} GROUP BY host",
    "SELECT host, first_value(n ORDER BY time) FROM t {} GROUP BY host",
];

fn schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("time", time, false),
        Field::new("host", DataType::Utf8, true),
        Field::new("rack", DataType::Int32, true),
        Field::new("n", DataType::Int64, false),
        Field::new("value", DataType::Float64, true),
        Field::new("small", DataType::Int32, true),
        Field::new("large", DataType::UInt64, true),
    ]))
}

/// Rows of these times, numbered from `first` on. Halves have exact sums.
fn rows(times: &[i64], first: i64) -> RecordBatch {
    let numbers = || first..first + times.len() as i64;
    let hosts =
        numbers().map(|n| (n % 13 != 5).then(|| format!("host-with-a-long-name-{}", n % 5)));
    let racks = numbers().map(|n| (n % 7 != 0).then_some((n % 2) as i32));
    let values = numbers().map(|n| (n % 5 != 0).then_some((n % 1_000) as f64 / 2.0));
    let small = numbers().map(|n| (n % 3 != 0).then_some((n % 11) as i32 - 5));
    let large = numbers().map(|n| (n % 4 != 0).then_some(n.unsigned_abs() * 1_000_000));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampMillisecondArray::from(times.to_vec()).with_timezone("UTC")),
        Arc::new(hosts.collect::<StringArray>()),
        Arc::new(racks.collect::<Int32Array>()),
        Arc::new(Int64Array::from_iter_values(numbers())),
        Arc::new(values.collect::<Float64Array>()),
        Arc::new(small.collect::<Int32Array>()),
        Arc::new(large.collect::<UInt64Array>()),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

/// A store, and one with the same rows that keeps no aggregates, as it doesn't know which columns tell series apart.
struct Twins(Vec<(Store, StreamId)>);

impl Twins {
    fn new() -> Self {
        let of = |is_told: bool| {
            let settings = Settings { run_bytes_max: 1 << 20, ..support::settings() };
            let io = Io::memory();
            let store = Store::open_with(io, Path::new("store"), Access::Write, settings).unwrap();
            let mut spec = StreamSpec::new("t", schema());
            spec.run_format = RunFormat::Cold;
            let properties = [(COLD_BLOCK_ROWS_PROPERTY, "2048")].into_iter();
            let series = [(SERIES_PROPERTY, "host"), (SERIES_PROPERTY, "rack")];
            let properties = properties.chain(series.into_iter().filter(|_| is_told));
            spec.properties = properties.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            let stream = store.create_stream(spec).unwrap();
            (store, stream)
        };
        Self(vec![of(true), of(false)])
    }

    fn each(&self, change: impl Fn(&Store, StreamId)) {
        self.0.iter().for_each(|(store, stream)| change(store, *stream));
    }

    fn loaded() -> Self {
        let twins = Self::new();
        twins.each(|store, stream| {
            for part in 0..3 {
                let first = part * ROWS / 3;
                let times: Vec<i64> = (first..first + ROWS / 3).map(|n| n * 1000).collect();
                insert(store, stream, rows(&times, first));
                store.flush().unwrap();
            }
            store.compact(Some(stream)).unwrap();
        });
        twins
    }

    /// Both answer alike.
    fn compare(&self, what: &str) {
        let [with, without] = [0, 1].map(|twin| sql(&self.0[twin].0));
        let all = ROWS * 1000;
        let ranges = [(0, all), (1, all), (all / 3, all * 2 / 3), (all / 2, all * 3), (7, 8_000)];
        let conditions = ranges.map(|(start, end)| {
            let (start, end) = (start * 1_000_000, end * 1_000_000);
            format!(
                "WHERE time >= to_timestamp_nanos({start}) AND time < to_timestamp_nanos({end})"
            )
        });
        let other =
            "WHERE time < to_timestamp_seconds(20000) OR time >= to_timestamp_seconds(90000)";
        let conditions =
            conditions.iter().map(String::as_str).chain(["", other, "WHERE small > 2"]);
        for condition in conditions {
            for question in QUESTIONS.iter().chain(&OTHERS) {
                let question = question.replace("{}", condition);
                let [one, two] = [&with, &without].map(|sql| {
                    let mut lines = support::lines(&support::ask(sql, &question)?);
                    lines.sort();
                    Ok::<_, timestrata_engine::Error>(lines)
                });
                let [one, two] = [one, two].map(|lines| lines.map_err(|error| error.to_string()));
                assert_eq!(one, two, "{what}: {question}");
            }
        }
    }
}

/// Rows that the scan of a query has given.
pub(crate) fn rows_read(store: &Store, question: &str) -> u64 {
    let told = answer(&sql(store), &format!("EXPLAIN ANALYZE {question}")).join("\n");
    let scan = told.split("StreamScan").nth(1).unwrap_or_else(|| panic!("{told}"));
    let behind = scan.split("output_rows=").nth(1).unwrap();
    let figure = behind.split([',', ']']).next().unwrap().trim();
    let (figure, factor) = match figure.strip_suffix(" K") {
        Some(thousands) => (thousands, 1e3),
        None => (figure, 1.0),
    };
    (figure.parse::<f64>().unwrap() * factor) as u64
}

#[test]
fn what_is_kept_answers_without_a_row_being_read() {
    let twins = Twins::loaded();
    for question in QUESTIONS {
        let question = question.replace("{}", "");
        assert_eq!(rows_read(&twins.0[0].0, &question), 0, "{question}");
        assert!(rows_read(&twins.0[1].0, &question) > 0, "{question}");
    }
    for question in OTHERS {
        let question = question.replace("{}", "");
        assert!(rows_read(&twins.0[0].0, &question) > 0, "{question}");
    }
}

#[test]
fn answers_are_those_of_the_rows_whatever_came_behind() {
    let twins = Twins::loaded();
    twins.compare("compacted");
    let late: Vec<i64> = (0..5_000).map(|n| n * 17_001).collect();
    twins.each(|store, stream| insert(store, stream, rows(&late, ROWS)));
    twins.compare("late rows in memory");
    twins.each(|store, _| {
        store.flush().unwrap();
    });
    twins.compare("late rows flushed");
    twins.each(|store, stream| {
        let range = KeyRange::times(60_000_000, 61_500_000);
        store.commit(Changes::new().delete_range(stream, range), Durability::Written).unwrap();
    });
    twins.compare("a range deleted");
    let question = "SELECT host, sum(n) FROM t GROUP BY host";
    let read = rows_read(&twins.0[0].0, question);
    assert!((5_000..ROWS as u64 * 2 / 3).contains(&read), "{read} rows read");
    twins.each(|store, stream| {
        let times: Vec<i64> = (0..100).map(|n| 60_000_000 + n * 1000).collect();
        insert(store, stream, rows(&times, 7));
        store.compact(Some(stream)).unwrap();
    });
    twins.compare("compacted again");
    assert_eq!(rows_read(&twins.0[0].0, question), 0);
}

#[test]
fn a_snapshot_keeps_its_aggregates() {
    let twins = Twins::loaded();
    let (store, stream) = &twins.0[0];
    let question = "SELECT host, sum(n), count(*) FROM t GROUP BY host ORDER BY host";
    let (before, snapshot) = (answer(&sql(store), question), store.snapshot().unwrap());
    insert(store, *stream, rows(&[5_000, 6_000], 0));
    let range = KeyRange::times(0, 50_000_000);
    store.commit(Changes::new().delete_range(*stream, range), Durability::Written).unwrap();
    store.compact(Some(*stream)).unwrap();
    assert_ne!(answer(&sql(store), question), before);
    let then = sql(store).at_snapshot(snapshot);
    assert_eq!(answer(&then, question), before);
}

#[test]
fn sums_that_run_over_are_those_of_the_rows() {
    let twins = Twins::new();
    twins.each(|store, stream| {
        let times: Vec<i64> = (0..ROWS).map(|n| n * 1000).collect();
        let plain = rows(&times, 0);
        let mut columns = plain.columns().to_vec();
        let large = (0..ROWS).map(|n| i64::MAX - n * (n % 3));
        columns[3] = Arc::new(Int64Array::from_iter_values(large));
        let floats = (0..ROWS).map(|n| if n == 70_000 { f64::NAN } else { n as f64 / 2.0 });
        columns[4] = Arc::new(Float64Array::from_iter_values(floats));
        insert(store, stream, RecordBatch::try_new(schema(), columns).unwrap());
        store.compact(Some(stream)).unwrap();
    });
    twins.compare("large numbers, and what is none");
}
