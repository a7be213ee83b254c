//! What is inferred of files that people have.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use timestrata_engine::Io;
use timestrata_ingest::rows::{OnError, ReadOptions, Source, open_path};

use crate::reading::{all, failure, types};

/// A file of the data for tests, if it is here.
fn open(name: &str, options: &ReadOptions) -> Option<timestrata_engine::Result<Source>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if !path.exists() {
        println!("skipped: {} is not here", path.display());
        return None;
    }
    Some(open_path(&Io::os(), &path, options))
}

#[test]
fn numbers_with_na_are_numbers_and_the_hour_is_the_time() {
    let Some(source) = open("flights/weather.csv", &ReadOptions::default()) else { return };
    let source = source.unwrap();
    assert_eq!(source.time_column(), Some("time_hour"));
    assert_eq!(
        types(&source.schema()),
        "origin Utf8, year Int64, month Int64, day Int64, hour Int64, temp Float64, \
         dewp Float64, humid Float64, wind_dir Int64, wind_speed Float64, wind_gust Float64, \
         precip Float64, pressure Float64, visib Float64, time_hour Timestamp(µs, \"UTC\")"
    );
    assert_eq!(all(source).0.num_rows(), 26_115);
}

#[test]
fn nanoseconds_since_1970_are_times_where_the_name_says_so() {
    let name = "market/spot_btcusdt_20240808_trades.csv.gz";
    let Some(source) = open(name, &ReadOptions::default()) else { return };
    let source = source.unwrap();
    assert_eq!(source.time_column(), Some("local_ts_ns"));
    assert_eq!(
        types(&source.schema()),
        "local_ts_ns Timestamp(ns, \"UTC\"), exch_ts_ms Timestamp(µs, \"UTC\"), symbol Utf8, \
         price Float64, qty Float64, side Utf8, trade_id Int64"
    );
    let (batch, _) = all(source);
    assert_eq!(batch.num_rows(), 9_757);
    let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
    assert_eq!(times.value(0), 1_723_161_254_087_896_568);
}

#[test]
fn dates_with_slashes_and_fractions_are_times() {
    let Some(source) = open("sensors/earthquakes.txt", &ReadOptions::default()) else { return };
    let source = source.unwrap();
    assert_eq!(source.time_column(), Some("DateTime"));
    assert!(types(&source.schema()).starts_with("DateTime Timestamp(µs, \"UTC\"), Latitude"));
    assert_eq!(all(source).0.num_rows(), 38_094);
}

#[test]
fn a_word_far_behind_the_sample_is_told_to_the_line_or_skipped() {
    let name = "sensors/CGM.csv.gz";
    let Some(source) = open(name, &ReadOptions::default()) else { return };
    let message = failure(source).to_string();
    assert!(message.contains("column 'isig': 'nil' is not a number (Float64)"), "{message}");
    let skip = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    let (batch, report) = all(open(name, &skip).unwrap().unwrap());
    assert_eq!(report.rows + report.skipped, 52_281);
    assert_eq!(u64::try_from(batch.num_rows()).unwrap(), report.rows);
    let nil = Some(vec!["nil".to_owned()]);
    let as_null = ReadOptions { null_text: nil, ..ReadOptions::default() };
    let (batch, _) = all(open(name, &as_null).unwrap().unwrap());
    assert_eq!(batch.num_rows(), 52_281);
}

#[test]
fn lookup_tables_have_no_time() {
    for (name, rows) in [("flights/planes.csv", 3_322), ("flights/airports.csv", 1_458)] {
        let Some(source) = open(name, &ReadOptions::default()) else { return };
        let source = source.unwrap();
        assert_eq!(source.time_column(), None);
        assert_eq!(all(source).0.num_rows(), rows);
    }
}

#[test]
fn json_lines_of_a_server_are_read_with_their_groups() {
    let Some(source) = open("logs/nginxplus_json_logs.ndjson", &ReadOptions::default()) else {
        return;
    };
    let source = source.unwrap();
    assert_eq!(source.time_column(), Some("timestamp"));
    assert_eq!(all(source).0.num_rows(), 500);
}

#[test]
fn source_text_in_json_lines_is_kept() {
    let name = "graph/cpython_stdlib_blocks.ndjson.gz";
    let Some(source) = open(name, &ReadOptions::default()) else { return };
    let (batch, _) = all(source.unwrap());
    assert_eq!(batch.num_rows(), 17_957);
    assert_eq!(batch.schema().field(0).name(), "id");
}
