//! Rows that are replaced by keys which their time is no part of leave the files, without anybody asking for it.

#![expect(clippy::unwrap_used, reason = "a test fails that way")]

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use timestrata_engine::{Maintenance, Settings, Store};
use timestrata_table::{Table, TableOptions, TableScan, WriteOptions};

const FLUSHES: i64 = 120;
const ROWS_A_FLUSH: i64 = 20;

fn row(time: i64) -> RecordBatch {
    let times = TimestampMillisecondArray::from(vec![time]).with_timezone("UTC");
    let columns: [(&str, ArrayRef); 3] = [
        ("time", Arc::new(times)),
        ("host", Arc::new(StringArray::from(vec![format!("host {}", time % 2)]))),
        ("value", Arc::new(Int64Array::from(vec![time]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn replaced_rows_of_a_keyed_table_do_not_gather_in_files() {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let store = Store::memory(settings).unwrap();
    let options = TableOptions { key: vec!["host".into()], ..TableOptions::default() };
    let table = Table::create_for(&store, "current", &row(0), &options).unwrap();
    for flush in 0..FLUSHES {
        for at in 0..ROWS_A_FLUSH {
            table.append(&row(flush * ROWS_A_FLUSH + at), WriteOptions::default()).unwrap();
        }
        store.flush().unwrap();
        while store.maintain_step().unwrap() {}
    }
    let streams = store.stats().streams;
    let stats = streams.iter().find(|stream| stream.name == "current").unwrap();
    println!("{} runs of {} rows", stats.runs, stats.run_rows);
    // A run for each flush, and every row that was ever written, if nothing joined them.
    assert!(stats.runs < 30, "{} runs", stats.runs);
    assert!(stats.run_rows < 300, "{} rows in runs", stats.run_rows);
    let view = table.view().unwrap();
    let scan = view.scan(&TableScan::default()).unwrap();
    assert_eq!(scan.map(|rows| rows.unwrap().num_rows()).sum::<usize>(), 2);
}
